/*
 * choose_groups.h - build --never: members chosen against a list of other keys.
 */
#ifndef UM_CLI_CHOOSE_GROUPS_H
#define UM_CLI_CHOOSE_GROUPS_H

#include "cli/keylist.h"

/* --never and --allow-members. */
extern const um_option um_choosing_options[];

/* Add the keys of the operands to f; *n tells how many there were. */
umbel_status um_choose_all(const um_args *args, umbel_filter *f, uint64_t *n,
                           umbel_choose_bill *bill, umbel_error *err);

/* both[i] tells whether key i of never is a member, and the first such; *n, how
 * many there are. */
umbel_status um_find_clashes(const umbel_filter *f, const umbel_keyset *set,
                             const um_keylist *never, bool *both, size_t *n,
                             umbel_error *err);

/* E_KEY: n keys of --never are members, these and more. */
umbel_status um_fail_members(size_t n, const char *names, bool more,
                             const char *what_to_do, umbel_error *err);

/* E_KEY when keys of never, whose lines are kept, are members: names some, and
 * says what to do. */
umbel_status um_refuse_members(const umbel_filter *f, const umbel_keyset *set,
                               const um_keylist *never, const char *what_to_do,
                               umbel_error *err);

/* The bill, as lines and as fields. */
void um_print_bill(FILE *out, const umbel_choose_bill *bill);
void um_bill_to_info(const umbel_choose_bill *bill, umbel_info *out);

#endif
