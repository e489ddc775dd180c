/*
 * report.c - prints measurements as text and as JSON.
 */
#include "bench/report.h"

#include "cli/framework/progress.h"
#include "cli/framework/report.h"

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

    if (args->common.json)
        return;
    machine_name(machine, sizeof machine);
    printf("%s, umbel %s (%s), seed %" PRIu64 "\n", machine, umbel_version(),
           UM_COMMIT, seed);
    printf("%-27s %11s %12s %12s\n", "case", "keys", "a key", "limit");
}

/* --- bars ----------------------------------------------------------------- */

/* The bar of a case, and whether it is met. */
typedef struct verdict {
    double bar; /* 0 if not set */
    bool met;
} verdict;

static verdict judge(const um_bench_case *c, uint64_t n, const um_times *t)
{
    double at_most = um_bench_bar_at(c, n), at_least = c->bar.times_one;

    if (at_least > 0)
        return (verdict){at_least, t->one / t->ns >= at_least};
    return (verdict){at_most, t->ns / t->limit <= at_most};
}

static void print_bar(const um_bench_case *c, verdict v)
{
    if (v.bar > 0)
        printf("   bar %.2f x%s: %s", v.bar,
               c->bar.times_one > 0 ? " one thread" : "",
               v.met ? "met" : "MISSED");
}

static void report_bar(um_report *r, verdict v)
{
    if (v.bar <= 0)
        return;
    um_report_real(r, "bar", NULL, NULL, v.bar);
    um_report_flag(r, "bar_met", NULL, v.met);
}

static void print_line(const um_bench_case *c, uint64_t n, const um_times *t)
{
    double against = isinf(t->limit) ? t->rival : t->limit;

    printf("%-27s %11s %9.2f ns %9.2f ns %7.2f x", c->name, um_grouped(n).text,
           t->ns, against, t->ns / against);
    if (c->rival)
        printf("   %s", c->rival);
    if (!isinf(t->one))
        printf("   %.2f x as fast as one thread, lines alone %.2f x",
               t->one / t->ns, t->lines[0] / t->lines[1]);
    if (!isinf(t->plain))
        printf("   %.2f x the plain filter beside it", t->ns / t->plain);
    if (t->path)
        printf("   %s", t->path);
    print_bar(c, judge(c, n, t));
    putchar('\n');
    fflush(stdout);
}

static double times_if(double a, double b)
{
    return isinf(a) || isinf(b) ? NAN : a / b;
}

static void print_object(const um_args *args, const um_bench_case *c,
                         uint64_t n, const um_times *t, uint64_t seed)
{
    char machine[128];
    um_report r = {0};

    machine_name(machine, sizeof machine);
    um_report_text(&r, "case", NULL, c->name);
    um_report_count(&r, "keys", NULL, NULL, n);
    um_report_real(&r, "ns", NULL, NULL, t->ns);
    if (c->rival) {
        um_report_real(&r, "other_ns", NULL, NULL, t->rival);
        um_report_real(&r, "times_other", NULL, NULL, t->ns / t->rival);
    } else {
        um_report_real(&r, "limit_ns", NULL, NULL, t->limit);
        um_report_real(&r, "times_limit", NULL, NULL, t->ns / t->limit);
        um_report_real(&r, "times_one_thread", NULL, NULL,
                       times_if(t->one, t->ns));
        um_report_real(&r, "lines_times_one_thread", NULL, NULL,
                       times_if(t->lines[0], t->lines[1]));
        um_report_real(&r, "times_plain", NULL, NULL,
                       times_if(t->ns, t->plain));
    }
    if (t->path)
        um_report_text(&r, "fast_path", NULL, t->path);
    report_bar(&r, judge(c, n, t));
    um_report_count(&r, "seed", NULL, NULL, seed);
    um_report_text(&r, "machine", NULL, machine);
    um_report_text(&r, "commit", NULL, UM_COMMIT);
    um_report_print(args, &r);
    um_report_fini(&r);
}

void um_bench_report(const um_args *args, const um_bench_case *c, uint64_t n,
                     const um_times *t, uint64_t seed)
{
    um_progress_pause();
    if (args->common.json)
        print_object(args, c, n, t, seed);
    else
        print_line(c, n, t);
    um_progress_resume();
}
