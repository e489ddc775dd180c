/*
 * keygen.c - umbel keygen: creates secrets for keyed filters and keys for
 * publishers.
 */
#include "base/error.h"
#include "base/hash.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/report.h"
#include "publish/manifest.h"
#include "trust/key_file.h"

#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct keygen_args {
    const char *output;
    bool sign;
} keygen_args;

static const um_option options[] = {
    {"output", 'o', "FILE", "write the key to FILE, which must not exist yet",
     UM_TARGET(keygen_args, output), .role = UM_OUTPUT, .required = true},
    {"sign", 0, NULL,
     "make a key that signs what is published; FILE.pub is for readers",
     UM_TARGET(keygen_args, sign)},
    {0}};

/* Notes the options to type, with the file name quoted for the shell. */
static void note_use(um_report *r, const char *path)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return;
    um_print_quoted(out, path);
    if (fclose(out) == 0)
        um_report_note(r, "Keep it. Use it with --hash sip --key-file %s",
                       text);
    free(text);
}

static umbel_status create_secret(const char *path, um_report *r,
                                  umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];

    randombytes_buf(secret, sizeof secret);
    umbel_status status = um_secret_save(secret, path, err);
    uint64_t id = um_secret_id(secret);
    sodium_memzero(secret, sizeof secret);
    UM_TRY(status);
    um_report_file(r, "file", "secret key", path);
    um_report_hex(r, "secret_id", "identifier", id);
    note_use(r, path);
    return UMBEL_OK;
}

/* Writes both files, or neither. */
static umbel_status write_pair(const char *path, const char *public_path,
                               const uint8_t *secret, const uint8_t *key,
                               umbel_error *err)
{
    UM_TRY(umbel_sign_key_save(secret, path, err));
    umbel_status status = umbel_trust_key_save(key, public_path, err);
    if (status)
        unlink(path);
    return status;
}

static umbel_status create_pair(const char *path, um_report *r,
                                umbel_error *err)
{
    uint8_t secret[UMBEL_SIGN_KEY_LEN], key[UMBEL_TRUST_KEY_LEN];
    char public_path[PATH_MAX], text[UM_DIGEST_HEX];

    int len = snprintf(public_path, sizeof public_path, "%s.pub", path);
    if (len < 0 || (size_t)len >= sizeof public_path)
        return um_fail(err, UMBEL_E_IO, "the name is too long");
    UM_TRY(umbel_sign_keygen(secret, key, err));
    umbel_status status = write_pair(path, public_path, secret, key, err);
    sodium_memzero(secret, sizeof secret);
    UM_TRY(status);
    um_digest_text(key, text);
    um_report_file(r, "file", "signing key", path);
    um_report_file(r, "public_file", "public key file", public_path);
    um_report_text(r, "public_key", NULL, text);
    um_report_note(r, "Keep the signing key, and publish with --sign. Give the "
                      "public key to readers, who pull with --trust.");
    return UMBEL_OK;
}

static int run(const um_args *args)
{
    const keygen_args *a = args->values;
    um_report report = {0};
    umbel_error err;

    if (args->stdout_taken)
        return um_misuse(args, "a key is kept in a file: -o FILE");
    if (sodium_init() < 0)
        return um_misuse(args, "the system has no random numbers");
    umbel_status status =
        (a->sign ? create_pair : create_secret)(a->output, &report, &err);
    if (!status)
        um_report_print(args, &report);
    um_report_fini(&report);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command um_cmd_keygen = {
    .name = "keygen",
    .summary = "make a secret for keyed filters, or a signing key",
    .section = UM_EXCHANGE,
    .values_len = sizeof(keygen_args),
    .options = {{.rows = options}},
    .run = run,
    .example = "-o secret",
    .details = "Without --sign it makes a secret for 'umbel build --hash sip "
               "--key-file FILE'. The two are different keys. A lost key "
               "cannot be recovered.",
};
