/*
 * shape.c - umbel clearinghouse shape: writes an empty filter of a list, with
 * the parameters that 'umbel sync --init DIR --like FILE' needs to exchange it
 * with this server.
 */
#include "clearinghouse/admin/commands.h"
#include "clearinghouse/admin/control.h"
#include "clearinghouse/peering/internal.h"
#include "clearinghouse/peering/peers.h"
#include "clearinghouse/protocols/protocol.h"

#include "base/error.h"
#include "cli/commands/files.h"
#include "store/store.h"
#include "sync/directory.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

typedef struct shape_args {
    const char *config, *list, *output;
} shape_args;

static const um_option options[] = {
    UM_SERVER_CONFIG(shape_args),
    {"output", 'o', "FILE", "write the filter to FILE",
     UM_TARGET(shape_args, output), .role = UM_OUTPUT, .required = true},
    {0}};

static umbel_status find_list(const char *name, size_t *list, umbel_error *err)
{
    char names[256] = "";

    for (*list = 0; um_list_name(*list); ++*list) {
        size_t len = strlen(names);
        if (strcmp(um_list_name(*list), name) == 0)
            return UMBEL_OK;
        snprintf(names + len, sizeof names - len, "%s%s", len ? ", " : "",
                 um_list_name(*list));
    }
    return um_fail(err, UMBEL_E_UNKNOWN, "unknown list %.40s: lists are %s",
                   name, names);
}

static umbel_status read_secret(const um_config *c,
                                uint8_t out[UMBEL_SECRET_LEN], umbel_error *err)
{
    bool found;

    UM_TRY(um_secret_check(c->data, c->secret, false, &found, out, err));
    return found ? UMBEL_OK
                 : um_fail(err, UMBEL_E_IO,
                           "the server has no secret yet: start it once, or "
                           "set secret = \"FILE\"");
}

static umbel_status create_shape(const um_config *c, size_t list,
                                 umbel_filter **out, umbel_error *err)
{
    um_list_config l = um_list_config_of(c, list);
    uint8_t secret[UMBEL_SECRET_LEN];
    um_peers_keys keys;

    if (!c->origin)
        return um_fail(err, UMBEL_E_RANGE,
                       "the configuration has no origin: nobody can exchange "
                       "with this server");
    UM_TRY(um_peers_keys_read(c, &keys, err));
    um_sync_parameters parameters = um_peers_parameters(c, list, keys.origin);
    um_peers_keys_fini(&keys);
    UM_TRY(read_secret(c, secret, err));
    umbel_status status = um_list_config_filter(&l, secret, out, err);
    sodium_memzero(secret, sizeof secret);
    UM_TRY(status);
    return um_sync_parameters_attach(&parameters, *out, err);
}

static umbel_status write_shape(const shape_args *a, umbel_error *err)
{
    umbel_filter *f = NULL;
    um_config c;
    size_t list;

    UM_TRY(find_list(a->list, &list, err));
    UM_TRY(um_load_config(&c, a->config, err));
    umbel_status status = create_shape(&c, list, &f, err);
    umbel_set_coded(f, true);
    if (status == UMBEL_OK)
        status = umbel_save(f, a->output, err);
    umbel_close(f);
    um_config_fini(&c);
    return status;
}

static int run(const um_args *args)
{
    umbel_error err;

    return write_shape(args->values, &err) == UMBEL_OK ? UM_EXIT_FINE
                                                       : um_trouble(args, &err);
}

const um_command um_clearinghouse_cmd_shape = {
    .name = "clearinghouse shape",
    .summary = "write an empty filter of a list, for umbel sync",
    .details =
        "With FILE, 'umbel sync --init DIR --name N --like FILE' makes a "
        "directory that exchanges this list with the server. FILE has no "
        "secret: to add keys there, or to check them, 'umbel add' and 'umbel "
        "check' need the server's, with --key-file.",
    .example = "pyzor-reports -o reports.umbel",
    .manual = "8 System Administration",
    .values_len = sizeof(shape_args),
    .options = {{options, .base = 0}},
    .operands = {{"LIST", UM_TEXT, offsetof(shape_args, list), UM_PLAIN_TEXT,
                  .min = 1}},
    .run = run,
};
