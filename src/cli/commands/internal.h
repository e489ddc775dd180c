/*
 * internal.h - the table of commands, and what several commands share.
 */
#ifndef UM_CLI_COMMANDS_INTERNAL_H
#define UM_CLI_COMMANDS_INTERNAL_H

#include "cli/framework/command.h"
#include "cli/framework/option_groups.h"
#include "cli/framework/report.h"
#include "keylist/key_log.h"
#include "keylist/source.h"
#include "query/query.h"

#include <umbel/base.h>
#include <umbel/file.h>
#include <umbel/umbel.h>

#include <stdio.h>

/*
 * The commands. A new one is a line here.
 */

/* In the order of a first session. X(name) stands for the row um_cmd_name. */
#define UM_COMMANDS(X)                                                         \
    X(plan)                                                                    \
    X(build)                                                                   \
    X(add)                                                                     \
    X(check)                                                                   \
    X(info)                                                                    \
    X(verify)                                                                  \
    X(admit)                                                                   \
    X(retouch)                                                                 \
    X(merge)                                                                   \
    X(convert)                                                                 \
    X(diff)                                                                    \
    X(patch)                                                                   \
    X(publish)                                                                 \
    X(pull)                                                                    \
    X(sync)                                                                    \
    X(keygen)

#define UM_COMMAND_DECLARE(name) extern const um_command um_cmd_##name;
UM_COMMANDS(UM_COMMAND_DECLARE)

/*
 * The options of umbel plan, and its ways of answering.
 */

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

/* --members --never: the ways to keep listed keys from matching. */
umbel_status um_plan_compare(const um_args *args, umbel_error *err);

/*
 * Work that is done again and again: the pauses, and a command that
 * runs after each change.
 */

enum { UM_WATCH_MAX_PAUSE = 900 }; /* seconds, unless the interval is longer */

/*
 * Returns the milliseconds until the next round: the interval, twice as long
 * after each failure in a row, up to UM_WATCH_MAX_PAUSE seconds. Readers that
 * were started together must not stay together: jitter, from 0 to 1, takes off
 * up to a tenth.
 */
uint64_t um_watch_pause(uint64_t seconds, unsigned failures, double jitter);

/* Waits for um_watch_pause with a random jitter. */
void um_watch_wait(uint64_t seconds, unsigned failures);

/*
 * Ends the process with exit code 0 at SIGINT and SIGTERM. A command of
 * um_watch_run gets the signal first, and is waited for.
 */
void um_watch_signals(void);

/* Runs a command with /bin/sh, and waits for it. E_IO: it failed. */
umbel_status um_watch_run(const char *command, umbel_error *err);

/*
 * Filters that live in Redis or Valkey: redis://HOST:PORT/KEY.
 */

/* What a server may cost; 0 means the default. */
typedef struct um_redis_limits {
    uint64_t timeout;   /* seconds: 30 */
    uint64_t max_bytes; /* of the filter: 1 GiB */
    uint64_t max_memory;
} um_redis_limits;

bool um_is_redis(const char *address);

/*
 * Fetches the filter of a key: one of umbel's module (UMB.EXPORT), or one of
 * RedisBloom (BF.SCANDUMP). moved receives the bytes that came.
 */
umbel_status um_redis_fetch(const char *address, const um_redis_limits *limits,
                            umbel_filter **out, uint64_t *moved,
                            umbel_error *err);
/* Makes a key of the bytes of a file (UMB.IMPORT). */
umbel_status um_redis_store(const char *address, const um_redis_limits *limits,
                            const void *bytes, size_t len, umbel_error *err);

/*
 * The keys of a stream with the largest counts.
 *
 * A filter answers the same count whenever a key comes, so a key that was left
 * out never comes back, and memory is bounded by the keys that are wanted.
 */

enum { UM_MAX_TOP = 1000 }; /* each new key is compared with all of them */

typedef struct um_top_key {
    umbel_digest digest;
    uint64_t count, order; /* order: the how-manieth it was */
    char *text;
    size_t len;
} um_top_key;

/* Zeroed, but for cap: how many keys are wanted, up to UM_MAX_TOP. */
typedef struct um_top {
    size_t cap, n, weakest;
    uint64_t seen;
    um_top_key key[UM_MAX_TOP];
} um_top;

void um_top_fini(um_top *t);

/*
 * The answers to keys, as 'umbel check' prints them.
 */

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

/* Other sets of the same keys and error, if one saves more than that share of
 * bytes (plan.c). */
void um_note_smaller(um_report *r, uint64_t keys, double fpr, uint64_t bytes,
                     double least);

#endif
