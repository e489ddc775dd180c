/*
 * amounts.h - keys that come more often than once, and keys that go.
 */
#ifndef UM_CLI_AMOUNTS_H
#define UM_CLI_AMOUNTS_H

#include "cli/keys.h"

/* --times and --amount-field: of commands that add keys. */
extern const um_option um_amount_options[];

bool um_has_amounts(const um_args *args);

/* As um_add_all, as often as these options say. */
umbel_status um_add_amounts(const um_args *args, const char *const *paths,
                            size_t npaths, umbel_filter *f, uint64_t *n,
                            umbel_error *err);
/* Take all of it back; the first key that is not in ends it. */
umbel_status um_remove_all(const um_args *args, const char *const *paths,
                           size_t npaths, umbel_filter *f, uint64_t *n,
                           umbel_error *err);

#endif
