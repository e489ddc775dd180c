/*
 * report.h - a line, or an object, for every case.
 */
#ifndef UM_BENCH_REPORT_H
#define UM_BENCH_REPORT_H

#include "bench/cases.h"
#include "cli/framework/command.h"

/* What stands above the lines. */
void um_bench_head(const um_args *args, uint64_t seed);
void um_bench_report(const um_args *args, const um_bench_case *c, uint64_t n,
                     const um_times *t, uint64_t seed);

#endif
