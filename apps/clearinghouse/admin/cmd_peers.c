/*
 * cmd_peers.c - umbel clearinghouse peers: who counts together with us.
 */
#include "clearinghouse/admin/ask.h"
#include "clearinghouse/admin/commands.h"

typedef struct peers_args {
    const char *config;
} peers_args;

static const um_option options[] = {UM_SERVER_CONFIG(peers_args), {0}};

static int run(const um_args *args)
{
    const peers_args *a = args->values;
    umbel_error err;
    umbel_status status = um_ask(
        a->config, args->common.json ? "peers --json" : "peers",
        (umbel_slice){NULL, 0}, args->common.quiet ? NULL : stdout, &err);

    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_clearinghouse_cmd_peers = {
    .name = "clearinghouse peers",
    .summary = "list peers and origins, what they said and how far behind they "
               "are",
    .details = "An origin is a server whose reports count here; its name is "
               "its public key, of which the first digits are printed.",
    .example = "--json",
    .manual = "8 System Administration",
    .values_len = sizeof(peers_args),
    .options = {{options, .base = 0}},
    .run = run,
};
