/*
 * change.h - a new filter made from those of several keys, in a thread.
 */
#ifndef UM_MODULE_CHANGE_H
#define UM_MODULE_CHANGE_H

#include "module/runtime/body.h"
#include "module/runtime/command.h"
#include "module/runtime/jobs.h"

#include <umbel/experimental/retouch.h>

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
