/*
 * cmd_keygen.c - umbel keygen: a secret for keyed filters.
 */
#include "base/hash.h"
#include "cli/files.h"
#include "cli/report.h"
#include "cli/table.h"

#include <inttypes.h>
#include <sodium.h>

static const um_option options[] = {
    {"output", 'o', "FILE", "write the secret there (must not exist yet)"},
    {0}};

static int run(const um_args *args)
{
    const char *path = um_value(args, "output");
    uint8_t secret[UMBEL_SECRET_LEN];
    umbel_info info = {0};
    umbel_error err;

    if (!path || args->noperands)
        return um_misuse(args, "say where: -o FILE, and nothing else");
    if (sodium_init() < 0)
        return um_misuse(args, "the system gives no random numbers");
    randombytes_buf(secret, sizeof secret);
    if (um_write_secret(path, secret, &err) != UMBEL_OK)
        return um_trouble(args, &err);
    uint64_t id = um_secret_id(secret);
    sodium_memzero(secret, sizeof secret);
    um_info_text(&info, "file", path);
    um_info_hex(&info, "secret_id", id);
    if (um_has(args, "json")) {
        um_print_json(stdout, &info);
    } else if (!um_has(args, "quiet")) {
        um_print_path(stdout, path);
        printf("secret key %016" PRIx64
               "; keep it, use it with --hash sip --key-file ",
               id);
        um_print_quoted(stdout, path);
        putchar('\n');
    }
    return UM_EXIT_FINE;
}

const um_command um_cmd_keygen = {
    .name = "keygen",
    .args = "-o FILE",
    .summary = "make a secret key, for filters that enemies cannot aim at",
    .options = {options},
    .run = run,
};
