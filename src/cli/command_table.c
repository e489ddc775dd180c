/*
 * command_table.c - the commands of umbel, in the order of --help.
 */
#include "base/error.h"
#include "cli/commands/internal.h"
#include "cli/framework/command.h"

#include <string.h>

#define ROW(name) &um_cmd_##name,
static const um_command *const table[] = {UM_COMMANDS(ROW)};

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
