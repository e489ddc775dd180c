/*
 * main.c - umbel-bench-pyzor: sends a load of Pyzor requests, and has a bare
 * echo server for comparison. bench/clearinghouse runs it.
 *
 *   bench_pyzor echo ADDRESS
 *   bench_pyzor load ADDRESS NAME=VALUE...
 *
 * A load is set by op, count, seconds, rate, outstanding, many, first, range,
 * order=1, flood=1, seed, and pid: the server's, for its CPU seconds. Prints
 * one line of JSON.
 */
#include "bench/pyzor/load.h"

#include <umbel/base.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct setting {
    const char *name;
    uint64_t *whole;
    double *real;
} setting;

static int refuse(const char *what, const char *which)
{
    fprintf(stderr, "bench_pyzor: %s: \"%s\"\n", what, which);
    return 2;
}

static void print_result(const um_load *l, const um_load_result *r, double cpu)
{
    const um_latency *t = &r->latency;

    printf("{\"op\": \"%s\", \"sent\": %" PRIu64 ", \"answered\": %" PRIu64
           ", \"lost\": %" PRIu64 ", \"refused\": %" PRIu64
           ", \"zero\": %" PRIu64 ", \"strange\": %" PRIu64
           ", \"within_second\": %" PRIu64,
           l->op, r->sent, r->answered, r->lost, r->refused, r->zero,
           r->strange, r->within_second);
    printf(", \"seconds\": %.6f, \"per_second\": %.0f", r->seconds,
           (double)r->answered / r->seconds);
    if (cpu >= 0)
        printf(", \"cpu\": %.6f, \"per_cpu\": %.0f", cpu,
               (double)r->answered / cpu);
    printf(", \"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, "
           "\"max_us\": %.1f}\n",
           (double)um_latency_quantile(t, 0.5) / 1e3,
           (double)um_latency_quantile(t, 0.99) / 1e3,
           (double)um_latency_quantile(t, 0.999) / 1e3, (double)t->max / 1e3);
}

static const char *check_load(const um_load *l)
{
    if (l->outstanding < 1 || l->outstanding > UM_LOAD_OUTSTANDING)
        return "outstanding must be 1 to 8192";
    if (l->many < 1 || l->many > UM_LOAD_MAX_DIGESTS)
        return "many must be 1 to 100";
    if (l->range < 1)
        return "range must be at least 1";
    if (!l->count && l->seconds <= 0)
        return "count or seconds must end it";
    return NULL;
}

static int run_load(um_load *l, long pid)
{
    static um_load_result result;
    umbel_error err;
    double before = pid ? um_cpu_seconds(pid) : 0;

    if (check_load(l))
        return refuse("load", check_load(l));
    if (um_load_run(l, &result, &err))
        return refuse("load", err.text);
    print_result(l, &result, pid ? um_cpu_seconds(pid) - before : -1);
    return 0;
}

static bool apply_setting(const setting *rows, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(rows[i].name);

        if (strncmp(text, rows[i].name, len) != 0 || text[len] != '=')
            continue;
        if (rows[i].whole)
            *rows[i].whole = strtoull(text + len + 1, NULL, 10);
        else
            *rows[i].real = strtod(text + len + 1, NULL);
        return true;
    }
    return false;
}

static int load(const um_address *a, char **args)
{
    um_load l = {.server = *a, .op = "check"};
    uint64_t outstanding = 256, many = 1, order = 0, flood = 0, pid = 0;
    const setting rows[] = {
        {"count", &l.count, NULL}, {"seconds", NULL, &l.seconds},
        {"rate", NULL, &l.rate},   {"outstanding", &outstanding, NULL},
        {"many", &many, NULL},     {"first", &l.first, NULL},
        {"range", &l.range, NULL}, {"order", &order, NULL},
        {"flood", &flood, NULL},   {"seed", &l.seed, NULL},
        {"pid", &pid, NULL}};

    l.range = 1000000;
    for (; *args; args++)
        if (strncmp(*args, "op=", 3) == 0)
            l.op = *args + 3;
        else if (!apply_setting(rows, sizeof rows / sizeof rows[0], *args))
            return refuse("no such setting", *args);
    l.outstanding = (unsigned)outstanding;
    l.many = (unsigned)many;
    l.in_order = order;
    l.flood = flood;
    return run_load(&l, (long)pid);
}

int main(int argc, char **argv)
{
    um_address a;
    umbel_error err;

    if (argc < 3)
        return refuse("give echo or load, and an address", "");
    if (um_address_parse(argv[2], &a, &err))
        return refuse(err.text, argv[2]);
    if (strcmp(argv[1], "echo") == 0)
        return um_echo_run(&a);
    if (strcmp(argv[1], "load") == 0)
        return load(&a, argv + 3);
    return refuse("give echo or load", argv[1]);
}
