/*
 * main.c - umbel-clearinghouse.
 */
#include "clearinghouse/admin/commands.h"
#include "clearinghouse/config/config.h"
#include "cli/framework/program.h"
#include "mail/pool.h"

#include <stdio.h>
#include <string.h>

/* Prints "section.name", type and initial value of every setting: for
 * tools/docs-match. */
static void list_settings(void)
{
    um_section_row s;

    for (size_t i = 0; um_config_section_at(i, &s); i++)
        for (const um_setting *row = s.rows; row->name; row++)
            printf("%s%s%s %s %s\n", s.name, s.name[0] ? "." : "", row->name,
                   row->type->name, row->initial ? row->initial : "-");
}

int main(int argc, char **argv)
{
    const um_program_group group = {.name = "clearinghouse",
                                    .summary = um_cmd_clearinghouse.summary,
                                    .manual = um_cmd_clearinghouse.manual,
                                    .plain = &um_cmd_clearinghouse,
                                    .rows = um_clearinghouse_commands};

    if (argc > 1 && strcmp(argv[1], UM_MAIL_WORKER_ARGUMENT) == 0)
        return um_mail_worker_main(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--list-settings") == 0) {
        list_settings();
        return UM_EXIT_FINE;
    }
    return um_program_group_main(&group, argv);
}
