/*
 * report.c - what was measured, in words and as JSON.
 */
#include "bench/report.h"

#include "cli/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void machine_name(char *out, size_t cap)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");

    snprintf(out, cap, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            snprintf(out, cap, "%s", colon + 2);
            out[strcspn(out, "\n")] = '\0';
            break;
        }
    }
    if (f)
        fclose(f);
}

void um_bench_head(const um_args *args, uint64_t seed)
{
    char machine[128];

    if (um_has(args, "json"))
        return;
    machine_name(machine, sizeof machine);
    printf("%s, umbel %s (%s), seed %" PRIu64 "\n", machine, umbel_version(),
           UM_COMMIT, seed);
    printf("%-27s %11s %12s %12s\n", "case", "keys", "a key", "limit");
}

static void print_line(const um_bench_case *c, uint64_t n, const um_times *t)
{
    double against = isinf(t->limit) ? t->rival : t->limit;

    printf("%-27s %11s %9.2f ns %9.2f ns %7.2f x", c->name, um_grouped(n).text,
           t->ns, against, t->ns / against);
    if (c->rival)
        printf("   %s", c->rival);
    if (!isinf(t->one))
        printf("   %.2f x as fast as one thread", t->one / t->ns);
    if (!isinf(t->plain))
        printf("   %.2f x the plain filter beside it", t->ns / t->plain);
    putchar('\n');
    fflush(stdout);
}

static double times_if(double a, double b)
{
    return isinf(a) || isinf(b) ? NAN : a / b;
}

static void print_object(const um_bench_case *c, uint64_t n, const um_times *t,
                         uint64_t seed)
{
    char machine[128];
    umbel_info info = {0};

    machine_name(machine, sizeof machine);
    um_info_text(&info, "case", c->name);
    um_info_count(&info, "keys", n);
    um_info_real(&info, "ns", t->ns);
    if (c->rival) {
        um_info_real(&info, "other_ns", t->rival);
        um_info_real(&info, "times_other", t->ns / t->rival);
    } else {
        um_info_real(&info, "limit_ns", t->limit);
        um_info_real(&info, "times_limit", t->ns / t->limit);
        um_info_real(&info, "times_one_thread", times_if(t->one, t->ns));
        um_info_real(&info, "times_plain", times_if(t->ns, t->plain));
    }
    um_info_count(&info, "seed", seed);
    um_info_text(&info, "machine", machine);
    um_info_text(&info, "commit", UM_COMMIT);
    um_print_json(stdout, &info);
}

void um_bench_report(const um_args *args, const um_bench_case *c, uint64_t n,
                     const um_times *t, uint64_t seed)
{
    if (um_has(args, "json"))
        print_object(c, n, t, seed);
    else
        print_line(c, n, t);
}
