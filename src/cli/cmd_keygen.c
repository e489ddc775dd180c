/*
 * cmd_keygen.c - umbel keygen: secrets for keyed filters, keys for publishers.
 */
#include "base/error.h"
#include "base/hash.h"
#include "cli/files.h"
#include "cli/report.h"
#include "cli/table.h"
#include "exchange/key_file.h"
#include "exchange/manifest.h"

#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

static const um_option options[] = {
    {"output", 'o', "FILE", "write it there (must not exist yet)"},
    {"sign", 0, NULL,
     "a key that signs what is published; FILE.pub is for readers"},
    {0}};

static umbel_status make_secret(const um_args *args, const char *path,
                                umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];
    umbel_info info = {0};

    randombytes_buf(secret, sizeof secret);
    umbel_status status = um_secret_save(secret, path, err);
    uint64_t id = um_secret_id(secret);
    sodium_memzero(secret, sizeof secret);
    if (status != UMBEL_OK)
        return status;
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
    return UMBEL_OK;
}

/* Both files, or none. */
static umbel_status write_pair(const char *path, const char *public_path,
                               const uint8_t *secret, const uint8_t *key,
                               umbel_error *err)
{
    umbel_status status = umbel_sign_key_save(secret, path, err);

    if (status != UMBEL_OK)
        return status;
    status = umbel_trust_key_save(key, public_path, err);
    if (status != UMBEL_OK)
        unlink(path);
    return status;
}

static void report_pair(const um_args *args, const char *path,
                        const char *public_path, const uint8_t *key)
{
    char text[UM_DIGEST_HEX];
    umbel_info info = {0};

    um_digest_text(key, text);
    um_info_text(&info, "file", path);
    um_info_text(&info, "public_file", public_path);
    um_info_text(&info, "public_key", text);
    if (um_has(args, "json")) {
        um_print_json(stdout, &info);
    } else if (!um_has(args, "quiet")) {
        um_print_path(stdout, path);
        puts("signs; keep it, and publish with --sign");
        um_print_path(stdout, public_path);
        puts("for readers, who pull with --trust");
    }
}

static umbel_status make_pair(const um_args *args, const char *path,
                              umbel_error *err)
{
    uint8_t secret[UMBEL_SIGN_KEY_LEN], key[UMBEL_TRUST_KEY_LEN];
    char public_path[PATH_MAX];

    int len = snprintf(public_path, sizeof public_path, "%s.pub", path);
    if (len < 0 || (size_t)len >= sizeof public_path)
        return um_fail(err, UMBEL_E_IO, "the name is too long");
    UM_TRY(umbel_sign_keygen(secret, key, err));
    umbel_status status = write_pair(path, public_path, secret, key, err);
    sodium_memzero(secret, sizeof secret);
    if (status == UMBEL_OK)
        report_pair(args, path, public_path, key);
    return status;
}

static int run(const um_args *args)
{
    const char *path = um_value(args, "output");
    umbel_error err;

    if (!path || args->noperands)
        return um_misuse(args, "say where: -o FILE, and nothing else");
    if (strcmp(path, "-") == 0)
        return um_misuse(args, "a key is kept in a file: -o FILE");
    if (sodium_init() < 0)
        return um_misuse(args, "the system gives no random numbers");
    umbel_status status = um_has(args, "sign") ? make_pair(args, path, &err)
                                               : make_secret(args, path, &err);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_keygen = {
    .name = "keygen",
    .args = "[--sign] -o FILE",
    .summary = "make a secret for keyed filters, or a key that signs",
    .options = {options},
    .details = "Without --sign it is for 'umbel build --hash sip --key-file "
               "FILE'. The two are different keys. Who loses one cannot get it "
               "back.",
    .run = run,
    .example = "-o secret",
};
