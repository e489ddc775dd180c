/*
 * write.h - changes to keys, made at once or by a thread.
 */
#ifndef UM_MODULE_WRITE_H
#define UM_MODULE_WRITE_H

#include "module/runtime/command.h"
#include "module/runtime/jobs.h"
#include "module/runtime/type.h"

#include <umbel/experimental/retouch.h>

/* --- keys that a command changes ----------------------------------------- */

/*
 * Returns the filter of argv[1] for a change; it has no other holder. If it had
 * one, the key gets a copy. A large copy is made in a thread, after which
 * `again`, the command itself, is called. Returns NULL if a reply was sent, or
 * will be.
 */
um_body *um_begin_change(um_ctx *ctx, um_str **argv, int argc,
                         um_command_run *again);

/* Ends a change: replicates the command unchanged, and sends a notification.
 * event is the name of the command. */
void um_end_change(um_ctx *ctx, um_str *name, const char *event);

/*
 * Stores a body in a key, replacing its value; the key then holds the body. The
 * caller has checked that the key has no other type.
 */
void um_write_body(um_ctx *ctx, um_str *name, um_body *b);

/* Finds the body in a key; *out is NULL if there is no key. Returns false if
 * the key has another type. */
bool um_peek_body(um_ctx *ctx, um_str *name, um_body **out);

/* --- a new filter from those of several keys, made in a thread ------------ */

/* The sources and the result of a change. from[0] is the filter of argv[1], or
 * NULL if there is no such key; from[i] is that of argv[i + 2]. */
typedef struct um_change {
    um_job job;
    const char *event; /* for the keyspace notification */
    um_command_run *again;
    umbel_status (*make)(struct um_change *c, umbel_error *err);
    int (*answer)(um_ctx *ctx, const struct um_change *c);
    umbel_filter *made;
    double error; /* predicted error rate of made */

    umbel_merge_op op; /* for merge */
    double max_error;  /* for merge; 0 means any */
    uint64_t by;       /* for fold */

    umbel_digest *members, *never; /* for retouch */
    size_t nmembers, nnever;
    double max_fn;
    bool (*unchanged)(um_ctx *ctx, const struct um_change *c, um_str **argv);
    umbel_retouch_result bill;

    size_t n;
    um_body *from[];
} um_change;

/* Returns a zeroed change with space for n filters, which holds first as
 * from[0] if it is not NULL. */
um_change *um_change_open(um_body *first, size_t n);
void um_change_close(um_change *c);

/*
 * Creates the filter, stores it in argv[1] and replicates the command
 * unchanged. If one of the keys changed meanwhile, runs the command again, at
 * once.
 */
int um_change_run(um_change *c, um_ctx *ctx, um_str **argv, int argc);

#endif
