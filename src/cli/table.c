/*
 * table.c - all commands, in the order of a first session.
 */
#include "cli/table.h"

#include "base/error.h"

#include <string.h>

static const um_command *const table[] = {
    &um_cmd_plan,  &um_cmd_build,   &um_cmd_add,
    &um_cmd_check, &um_cmd_info,    &um_cmd_verify,
    &um_cmd_merge, &um_cmd_convert, &um_cmd_keygen,
};

const um_command *um_command_row(size_t i)
{
    return i < UM_COUNT(table) ? table[i] : NULL;
}

const um_command *um_command_find(const char *name)
{
    for (size_t i = 0; i < UM_COUNT(table); i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}
