/*
 * retouching.h - a run of umbel retouch, and the bill that it prints.
 */
#ifndef UM_CLI_RETOUCHING_H
#define UM_CLI_RETOUCHING_H

#include "cli/command.h"
#include "cli/curve.h"
#include "cli/keylist.h"

/* Everything between the command line and the bill. */
typedef struct um_retouching {
    const um_args *args;
    umbel_filter *filter;
    um_keylist members, never;
    umbel_retouch_params params;
    umbel_retouch_result bill;
    bool *lost; /* per member; NULL: not asked for */
    um_curve curve;
    um_curve further; /* as if all were to go */
} um_retouching;

/* Whether it was said how much may be lost. */
static inline bool um_has_budget(const um_args *args)
{
    return um_has(args, "max-fn") || um_has(args, "cost");
}

/* In words or as JSON, where the arguments want it. */
void um_print_retouching(const um_retouching *r);

#endif
