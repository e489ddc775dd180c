/*
 * umb.c - the commands UMB.*.
 */
#include "module/umb.h"

static const um_arg key_item[] = {
    UM_ARG_THE_KEY, {.name = "item", .type = UM_ARG_STRING}, {0}};
static const um_arg key_items[] = {
    UM_ARG_THE_KEY,
    {.name = "item", .type = UM_ARG_STRING, .flags = UM_ARG_MULTIPLE},
    {0}};

const um_module_command um_module_umb[] = {
    {"umb.check", um_umb_check, 3, "readonly fast", um_keys_read,
     "Returns 1 if the item matches: it was added, or is a false positive.",
     "O(1)", key_item},
    {"umb.mcheck", um_umb_mcheck, -3, "readonly fast", um_keys_read,
     "Checks several items.", "O(N) for N items", key_items},
    {0}};
