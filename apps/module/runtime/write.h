/*
 * write.h - keys that a command changes, at once or by a thread.
 */
#ifndef UM_MODULE_WRITE_H
#define UM_MODULE_WRITE_H

#include "module/runtime/command.h"
#include "module/runtime/jobs.h"
#include "module/runtime/type.h"

#include <umbel/experimental/retouch.h>

/* --- keys that a command changes ----------------------------------------- */

/*
 * Gives the filter of argv[1] to change, which nobody else holds. If somebody
 * does, the key gets a copy: a large one is made in a thread, and then `again`,
 * the command itself, runs again. NULL: a reply was given, or will be.
 */
um_body *um_begin_change(um_ctx *ctx, um_str **argv, int argc,
                         um_command_run *again);

/* After a change: replicates the command as it came, and notifies. event is the
 * name of the command. */
void um_end_change(um_ctx *ctx, um_str *name, const char *event);

/*
 * Puts a body into a key, in place of what is there; the key holds it then. The
 * caller has seen that the key has no other type.
 */
void um_write_body(um_ctx *ctx, um_str *name, um_body *b);

/* Gives the body in a key, NULL: no key. False if the key has another type. */
bool um_peek_body(um_ctx *ctx, um_str *name, um_body **out);

/* --- a new filter made from those of several keys, in a thread ----------- */

/* What is made of what. from[0] is the filter of argv[1], NULL: no such key;
 * from[i] that of argv[i + 2]. */
typedef struct um_change {
    um_job job;
    const char *event; /* of the keyspace */
    um_command_run *again;
    umbel_status (*make)(struct um_change *c, umbel_error *err);
    int (*answer)(um_ctx *ctx, const struct um_change *c);
    umbel_filter *made;
    double error; /* predicted, of made */

    umbel_merge_op op; /* merge */
    double max_error;  /* merge; 0: any */
    uint64_t by;       /* fold */

    umbel_digest *members, *never; /* retouch */
    size_t nmembers, nnever;
    double max_fn;
    bool (*unchanged)(um_ctx *ctx, const struct um_change *c, um_str **argv);
    umbel_retouch_result bill;

    size_t n;
    um_body *from[];
} um_change;

/* Returns zeros, with room for n filters; from[0] is held if it is given. */
um_change *um_change_open(um_body *first, size_t n);
void um_change_close(um_change *c);

/*
 * Makes the filter, puts it into argv[1] and replicates the command as it came.
 * If one of the keys was changed meanwhile, it is done again, at once.
 */
int um_change_run(um_change *c, um_ctx *ctx, um_str **argv, int argc);

#endif
