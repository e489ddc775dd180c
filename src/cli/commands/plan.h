/*
 * plan.h - the options of umbel plan, and its ways of answering.
 */
#ifndef UM_CLI_PLAN_H
#define UM_CLI_PLAN_H

#include "cli/framework/groups.h"
#include "cli/framework/report.h"

typedef struct plan_args {
    um_whole capacity, bytes;
    um_whole wire, max_memory;
    um_whole clear;
    um_share retouch;
    um_whole threshold;
    const char *counts;
    um_share fp_bound, fn_bound;
    um_list members, never;
    bool weights;
    const char *output;
    um_shape_args shape;
    um_key_args keys;
    um_secret_args secret;
} plan_args;

/* Keys, error and size: any two give the third. With --clear or --retouch also
 * what clearing bits costs, with --counts how wrong a threshold is. */
umbel_status um_plan_size(const um_args *args, umbel_error *err);
/* --wire: the filter with the lowest error for the bytes of its coded file. */
umbel_status um_plan_wire(const um_args *args, umbel_error *err);
/* --fp-bound --fn-bound: a generalized filter with bounded errors. */
umbel_status um_plan_bounds(const um_args *args, umbel_error *err);
/* --members --never: the ways to keep listed keys from matching. */
umbel_status um_plan_compare(const um_args *args, umbel_error *err);

/* Prints the command that builds a way, which can be had within bytes bytes. */
void um_print_strategy(FILE *out, const um_args *args,
                       const umbel_strategy *way, uint64_t bytes);

#endif
