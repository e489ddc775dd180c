/*
 * confirmed.h - publish --never: what readers found to match falsely is taken
 * back before they get the filter.
 */
#ifndef UM_CLI_CONFIRMED_H
#define UM_CLI_CONFIRMED_H

#include "cli/command.h"

#include <umbel/exchange.h>

/*
 * Retouch f so that the keys of --never match no more, as far as 1 % of
 * --members pay for. Readers may be wrong: keys that are members are named on
 * standard error and left as they are.
 */
umbel_status um_take_back(const um_args *args, umbel_filter *f,
                          umbel_taken_back *out, umbel_error *err);

/*
 * Some lines about it, for name: what it cost, and the command that makes a
 * filter in which it costs no member.
 */
void um_tell_taken_back(FILE *out, const char *name, const um_args *args,
                        const umbel_filter *f, const umbel_taken_back *t);

#endif
