/*
 * welcome_edit.h - changes of the welcome file: whole or not at all, and
 * comments stay.
 */
#ifndef UM_CLEARINGHOUSE_WELCOME_EDIT_H
#define UM_CLEARINGHOUSE_WELCOME_EDIT_H

#include "clearinghouse/lists/welcome.h"

typedef umbel_status um_welcome_edit(const char *path, const um_welcome_rule *r,
                                     umbel_error *err);

/* Appends a rule; makes the file if it does not exist. E_REFUSED: it is there
 * already. A file with a mistake is not changed. */
um_welcome_edit um_welcome_add;
/* Removes a rule, with the comment on its line. E_UNKNOWN: it is not there. */
um_welcome_edit um_welcome_remove;

/* Calls each for every rule, in the order of the file. */
umbel_status um_welcome_each(const char *path,
                             void (*each)(void *ctx, const um_welcome_rule *r),
                             void *ctx, umbel_error *err);

#endif
