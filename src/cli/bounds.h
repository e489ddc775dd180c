/*
 * bounds.h - what umbel plan says of filters with bounded errors.
 */
#ifndef UM_CLI_BOUNDS_H
#define UM_CLI_BOUNDS_H

#include "cli/command.h"

/* --fp-bound and --fn-bound. */
extern const um_option um_bounds_options[];
/* Whether one of them was given. */
bool um_has_bounds(const um_args *args);
/* Answer them; gives the exit code. */
int um_answer_bounds(const um_args *args);

#endif
