/*
 * main.c - umbel-clearinghouse.
 */
#include "clearinghouse/admin/commands.h"
#include "clearinghouse/server/server.h"
#include "cli/framework/program.h"
#include "mail/pool.h"

#include <string.h>

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
        um_server_list_settings();
        return UM_EXIT_FINE;
    }
    return um_program_group_main(&group, argv);
}
