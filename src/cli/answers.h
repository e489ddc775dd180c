/*
 * answers.h - what a filter says to keys, as 'umbel check' prints it.
 */
#ifndef UM_CLI_ANSWERS_H
#define UM_CLI_ANSWERS_H

#include "cli/key_log.h"
#include "cli/keys.h"

#include <umbel/umbel.h>

/* What is asked, and what was answered so far. */
typedef struct um_check_ctx {
    const um_args *args;
    const umbel_filter *filter;
    const umbel_filter *revoked; /* NULL: no exceptions */
    umbel_unless_order order;
    umbel_unless_cost cost;
    bool json, count, invert, quiet;
    bool values;       /* print counts */
    bool map;          /* ... or what keys stand for */
    uint64_t at_least; /* count that matches; 0: no counts were asked for */
    char end;
    um_key_log confirmed; /* where keys that match go */
    uint64_t selected;
    bool decided; /* no further key can change the exit code */
} um_check_ctx;

/* For um_each_key: asks in any thread, prints in the order of the input. */
um_key_job um_check_job(um_check_ctx *a);

/* One key, and how it stood in the command line. */
umbel_status um_check_one(um_check_ctx *a, const umbel_slice *key,
                          const umbel_slice *line, umbel_error *err);

#endif
