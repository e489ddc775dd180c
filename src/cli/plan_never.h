/*
 * plan_never.h - umbel plan --members A --never B: which way keeps B out.
 */
#ifndef UM_CLI_PLAN_NEVER_H
#define UM_CLI_PLAN_NEVER_H

#include "cli/command.h"

/* --members, --never and what belongs to them. */
extern const um_option um_never_options[];
/* Whether one of them was given. */
bool um_has_never(const um_args *args);
/* Answer them; gives the exit code. */
int um_answer_never(const um_args *args);

#endif
