/*
 * check_answers.h - the answers to keys, as 'umbel check' prints them.
 */
#ifndef UM_CLI_CHECK_ANSWERS_H
#define UM_CLI_CHECK_ANSWERS_H

#include "keylist/log.h"
#include "keylist/source.h"
#include "keylist/top.h"
#include "query/query.h"

#include <stdio.h>

enum { UM_MAX_FILTERS = 64 }; /* bits of a mask */

/* What is asked and printed, and the sums of the answers so far. */
typedef struct um_check_ctx {
    um_query query;
    umbel_filter *const *filters; /* that of the query, and others to query */
    const char *const *names;     /* of the filters */
    size_t nfilters; /* 0, 1: the query alone; at most UM_MAX_FILTERS */
    um_top *top;     /* the keys to print at the end; NULL: all that match */
    FILE *out;       /* standard output, as failures call it */
    bool json, count, invert, quiet;
    bool print_all;       /* keys that do not match are printed, too */
    bool on_terminal;     /* answers go where progress is shown */
    bool log_keys;        /* the log gets keys, not their lines */
    char end;             /* of a printed line */
    uint64_t count_limit; /* counts that reach it are at least that; or 0 */
    um_key_log log;       /* of keys that match */

    umbel_unless_cost cost;
    uint64_t selected;
    uint64_t bad; /* lines that have no key to query */
    bool decided; /* no further key can change the exit code */
} um_check_ctx;

/* Returns a job that queries in any thread, and prints in the order of the
 * input. */
um_key_job um_check_job(um_check_ctx *c);

/* Queries one key and prints the answer; line is the key as it was typed.
 * Allocates nothing. */
umbel_status um_check_one(um_check_ctx *c, const umbel_slice *key,
                          const umbel_slice *line, umbel_error *err);

/* Answers a line that has no key to query, where every line is answered. */
void um_check_print_bad(const um_check_ctx *c, const umbel_slice *line,
                        const char *what);

/* Prints the keys in c->top. */
void um_check_print_top(um_check_ctx *c);

#endif
