/*
 * internal.h - the table of commands, and declarations shared by several
 * commands.
 */
#ifndef UM_CLI_COMMANDS_INTERNAL_H
#define UM_CLI_COMMANDS_INTERNAL_H

#include "base/buffer.h"
#include "cli/framework/command.h"
#include "cli/framework/option_groups.h"
#include "cli/framework/report.h"
#include "keylist/key_log.h"
#include "keylist/source.h"
#include "query/query.h"

#include <umbel/base.h>
#include <umbel/file.h>
#include <umbel/umbel.h>

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * The commands. A new one is a line here.
 */

/* The commands in the order of a first session. X(name) stands for the row
 * um_cmd_name. */
#define UM_COMMANDS(X)                                                         \
    X(plan)                                                                    \
    X(build)                                                                   \
    X(add)                                                                     \
    X(check)                                                                   \
    X(scan)                                                                    \
    X(where)                                                                   \
    X(info)                                                                    \
    X(verify)                                                                  \
    X(admit)                                                                   \
    X(lint)                                                                    \
    X(retouch)                                                                 \
    X(merge)                                                                   \
    X(convert)                                                                 \
    X(diff)                                                                    \
    X(patch)                                                                   \
    X(publish)                                                                 \
    X(pull)                                                                    \
    X(sync)                                                                    \
    X(reconcile)                                                               \
    X(join)                                                                    \
    X(keygen)

#define UM_COMMAND_DECLARE(name) extern const um_command um_cmd_##name;
UM_COMMANDS(UM_COMMAND_DECLARE)

/*
 * The options of umbel plan.
 */

typedef struct plan_args {
    um_whole capacity, bytes;
    um_whole wire, max_memory;
    um_whole clear;
    um_share retouch;
    um_whole threshold;
    const char *counts;
    um_share fp_bound, fn_bound;
    um_whole flows, traffic;
    um_list members, never;
    bool weights;
    const char *output;
    um_shape_args shape;
    um_key_args keys;
    um_secret_args secret;
} plan_args;

/* Plans with --members and --never: compares the ways to keep listed keys from
 * matching. */
umbel_status um_plan_compare(const um_args *args, umbel_error *err);

/*
 * Repeated work: the pauses, and a command that runs after each change.
 */

enum { UM_WATCH_MAX_PAUSE = 900 }; /* seconds, unless the interval is longer */

/*
 * Returns the milliseconds until the next round: the interval, doubled after
 * each consecutive failure, up to UM_WATCH_MAX_PAUSE seconds. jitter, from 0 to
 * 1, subtracts up to a tenth, so that readers that were started together spread
 * out.
 */
uint64_t um_watch_pause(uint64_t seconds, unsigned failures, double jitter);

/* Waits for um_watch_pause with a random jitter. */
void um_watch_wait(uint64_t seconds, unsigned failures);

/*
 * Makes SIGINT and SIGTERM end the process with exit code 0. A running command
 * of um_watch_run receives the signal first, and is waited for.
 */
void um_watch_signals(void);

/* Runs a command with /bin/sh, and waits for it. E_IO if it failed. */
umbel_status um_watch_run(const char *command, umbel_error *err);

/*
 * The other side of sync, reconcile and join (remote.c).
 */

enum { UM_REMOTE_PATIENCE_MS = 60000 };

/* A program at two pipes, or standard input and output. */
typedef struct um_remote {
    int in, out;
    pid_t pid;               /* -1: standard input and output */
    struct sigaction before; /* of SIGPIPE, which is ignored meanwhile */
} um_remote;

/* Returns true for exec:COMMAND and ssh://HOST/PATH. */
bool um_is_remote(const char *target);
/* Runs COMMAND, or "umbel COMMAND PATH" on HOST with ssh. */
umbel_status um_remote_open(um_remote *r, const char *target,
                            const char *command, umbel_error *err);
/* Uses standard input and output. */
void um_remote_stdio(um_remote *r);
/* Waits for the program and returns its exit code; 0 for standard input and
 * output. */
int um_remote_close(um_remote *r);

/* Write all bytes, and read at least one. E_IO if the other side has ended, or
 * is silent for UM_REMOTE_PATIENCE_MS. */
umbel_status um_remote_send(um_remote *r, umbel_slice bytes, umbel_error *err);
umbel_status um_remote_read(um_remote *r, void *out, size_t cap, size_t *n,
                            umbel_error *err);

/*
 * Lists in memory, for reconcile and join (reconcile.c).
 */

typedef struct um_loaded_keys {
    um_buffer text; /* of all keys */
    umbel_slice *keys;
    size_t n, cap;
    struct stat st; /* of the file when it was read */
} um_loaded_keys;

/* Reads all keys of one file, or of standard input. E_IO if the file changes
 * meanwhile. */
umbel_status um_load_keys(um_loaded_keys *out, const um_key_source *s,
                          umbel_error *err);
void um_loaded_keys_fini(um_loaded_keys *k);
/* Fails with E_IO if path is not the file that was read, or has changed. */
umbel_status um_check_unchanged(const char *path, const struct stat *was,
                                umbel_error *err);

/*
 * Filters stored in Redis or Valkey: redis://HOST:PORT/KEY.
 */

/* Limits for a server; 0 means the default. */
typedef struct um_redis_limits {
    uint64_t timeout;   /* seconds: 30 */
    uint64_t max_bytes; /* of the filter: 1 GiB */
    uint64_t max_memory;
} um_redis_limits;

/* Returns true for redis:// and rediss://, which is then refused. */
bool um_is_redis(const char *address);

/*
 * Fetches the filter of a key: one of umbel's module (UMB.EXPORT), or one of
 * RedisBloom (BF.SCANDUMP). *moved is the number of bytes received.
 */
umbel_status um_redis_fetch(const char *address, const um_redis_limits *limits,
                            umbel_filter **out, uint64_t *moved,
                            umbel_error *err);
/* Creates a key from the bytes of a file (UMB.IMPORT). */
umbel_status um_redis_store(const char *address, const um_redis_limits *limits,
                            const void *bytes, size_t len, umbel_error *err);

/*
 * The keys of a stream with the largest counts.
 *
 * A filter always returns the same count for a key, so a key that was dropped
 * never comes back, and memory is limited by the number of requested keys.
 */

enum { UM_MAX_TOP = 1000 }; /* each new key is compared with all of them */

typedef struct um_top_key {
    umbel_digest digest;
    uint64_t count, order; /* order: position in the stream */
    char *text;
    size_t len;
} um_top_key;

/* Zero-initialise, except for cap: the number of keys requested, up to
 * UM_MAX_TOP. */
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

/* What is queried and printed, and the totals of the answers so far. */
typedef struct um_check_ctx {
    um_query query;
    umbel_key_form form;          /* of its keys */
    umbel_filter *const *filters; /* that of the query, and others */
    const char *const *names;     /* of the filters */
    size_t nfilters; /* 0, 1: the query alone; at most UM_MAX_FILTERS */
    um_top *top;     /* the keys to print at the end; NULL: all that match */
    FILE *out;       /* for messages: standard output */
    bool json, count, invert, quiet;
    bool print_all;   /* also print keys that do not match */
    bool on_terminal; /* answers are printed on the same terminal as progress */
    bool log_keys;    /* log keys as written, not their lines */
    char end;         /* of a printed line */
    uint64_t count_limit; /* counts are cut off here; or 0 */
    um_key_log log;       /* for keys that match */

    umbel_unless_cost cost;
    uint64_t selected;
    uint64_t bad; /* lines without a valid key */
    bool decided; /* no further key can change the exit code */
} um_check_ctx;

/* Returns a job that queries in any thread, and prints in the order of the
 * input. */
um_key_job um_check_job(um_check_ctx *c);

/* Queries one key and prints the answer; line is the key as it was typed.
 * Allocates nothing. */
umbel_status um_check_one(um_check_ctx *c, const umbel_slice *key,
                          const umbel_slice *line, umbel_error *err);

/* Prints the answer for a line without a valid key, if every line is
 * answered. */
void um_check_print_bad(const um_check_ctx *c, const umbel_slice *line,
                        const char *what);

/* Print an answer for one key, and for every line of standard input as soon as
 * it is read: the protocol of query/answer.c. */
void um_check_answer(um_check_ctx *c, um_question *q, umbel_slice text);
umbel_status um_check_answer_lines(um_check_ctx *c, um_question *q,
                                   umbel_error *err);

/* Prints the keys in c->top. */
void um_check_print_top(um_check_ctx *c);

/* Notes other sets for the same keys and error, if one saves more than that
 * share of the bytes (plan.c). */
void um_note_smaller(um_report *r, uint64_t keys, double fpr, uint64_t bytes,
                     double least);

#endif
