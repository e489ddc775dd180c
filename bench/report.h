/*
 * report.h - prints a line, or a JSON object, for every case.
 */
#ifndef UM_BENCH_REPORT_H
#define UM_BENCH_REPORT_H

#include "bench/cases.h"
#include "cli/framework/command.h"

/* Prints the heading. */
void um_bench_head(const um_args *args, uint64_t seed);
void um_bench_report(const um_args *args, const um_bench_case *c, uint64_t n,
                     const um_times *t, uint64_t seed);

#endif
