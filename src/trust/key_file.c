/*
 * key_file.c - key files: one line with a word and hexadecimal digits.
 *
 *     umbel-secret-1    32 digits: of keyed filters
 *     umbel-sign-1     128 digits: signs what is published (Ed25519)
 *     umbel-trust-1     64 digits: its public part, for readers
 *
 * A secret file with any permission for group or others is refused.
 */
#include "trust/key_file.h"

#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "filter/save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A kind of key file. */
typedef struct form {
    const char *start;
    size_t len; /* of the key */
    bool secret;
    umbel_status wrong; /* for a file that is not such a key */
    umbel_detail detail;
    const char *what;
} form;

static const form filter_secret = {
    "umbel-secret-1 ", UMBEL_SECRET_LEN,     true,
    UMBEL_E_SECRET,    UMBEL_D_NOT_A_SECRET, "a secret for keyed filters"};
static const form sign_key = {
    "umbel-sign-1 ", UMBEL_SIGN_KEY_LEN, true,
    UMBEL_E_FORMAT,  UMBEL_D_NOT_A_KEY,  "a key that signs"};
static const form trust_key = {
    "umbel-trust-1 ", UMBEL_TRUST_KEY_LEN, false,
    UMBEL_E_FORMAT,   UMBEL_D_NOT_A_KEY,   "a public key"};
static const form *const forms[] = {&filter_secret, &sign_key, &trust_key};

enum { TEXT_MAX = 16 + 2 * UMBEL_SIGN_KEY_LEN + 1 };

static size_t text_len(const form *f)
{
    return strlen(f->start) + 2 * f->len + 1;
}

static umbel_status parse(const form *f, const char *text, size_t len,
                          const char *path, uint8_t *key, umbel_error *err)
{
    size_t start = strlen(f->start);

    if (len != text_len(f) || memcmp(text, f->start, start) != 0 ||
        text[len - 1] != '\n' || !um_hex_read(text + start, key, f->len))
        return um_fail_detail(err, f->wrong, f->detail,
                              "%s%s is not a key file", um_path_dots(path),
                              um_path_tail(path));
    return UMBEL_OK;
}

/* Fails if the file is another kind of key, and names that kind. Called before
 * the permissions are checked. */
static umbel_status refuse_other(const form *f, const char *text, size_t len,
                                 const char *path, umbel_error *err)
{
    for (size_t i = 0; i < UM_COUNT(forms); i++) {
        size_t start = strlen(forms[i]->start);
        if (forms[i] != f && len > start &&
            memcmp(text, forms[i]->start, start) == 0)
            return um_fail(err, f->wrong, "%s%s is %s; this must be %s",
                           um_path_dots(path), um_path_tail(path),
                           forms[i]->what, f->what);
    }
    return UMBEL_OK;
}

static umbel_status check_rights(const form *f, mode_t mode, const char *path,
                                 umbel_error *err)
{
    if (f->secret && mode & 077)
        return um_fail(err, f->wrong,
                       "%s%s can be read by others (mode %04o): chmod 600 it",
                       um_path_dots(path), um_path_tail(path),
                       (unsigned)(mode & 07777));
    return UMBEL_OK;
}

/* Checks that both halves of a signing key match: with a wrong digit, nobody
 * could verify its signatures. */
static umbel_status check_halves(const form *f, const uint8_t *key,
                                 const char *path, umbel_error *err)
{
    uint8_t public[crypto_sign_PUBLICKEYBYTES], again[UMBEL_SIGN_KEY_LEN];

    if (f != &sign_key)
        return UMBEL_OK;
    crypto_sign_seed_keypair(public, again, key);
    bool same = sodium_memcmp(again, key, sizeof again) == 0;
    sodium_memzero(again, sizeof again);
    if (same)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FORMAT,
                   "%s%s is damaged: its halves are not of one key",
                   um_path_dots(path), um_path_tail(path));
}

/* Sets key to the f->len bytes of the file; on failure key is unchanged. */
static umbel_status read_open_file(const form *f, int fd, const char *path,
                                   uint8_t *key, umbel_error *err)
{
    char text[TEXT_MAX + 1];
    uint8_t found[UMBEL_SIGN_KEY_LEN];
    struct stat st;
    ssize_t len = read(fd, text, sizeof text);

    if (len < 0 || fstat(fd, &st) != 0)
        return um_fail_path(err, path);
    umbel_status status = refuse_other(f, text, (size_t)len, path, err);
    if (status == UMBEL_OK)
        status = check_rights(f, st.st_mode, path, err);
    if (status == UMBEL_OK)
        status = parse(f, text, (size_t)len, path, found, err);
    if (status == UMBEL_OK)
        status = check_halves(f, found, path, err);
    if (status == UMBEL_OK)
        memcpy(key, found, f->len);
    sodium_memzero(text, sizeof text);
    sodium_memzero(found, sizeof found);
    return status;
}

static umbel_status read_key(const form *f, const char *path, uint8_t *key,
                             umbel_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return um_fail_path(err, path);
    umbel_status status = read_open_file(f, fd, path, key, err);
    close(fd);
    return status;
}

umbel_status um_secret_load(const char *path, uint8_t out[UMBEL_SECRET_LEN],
                            umbel_error *err)
{
    return read_key(&filter_secret, path, out, err);
}

umbel_status umbel_sign_key_load(const char *path,
                                 uint8_t out[UMBEL_SIGN_KEY_LEN],
                                 umbel_error *err)
{
    return read_key(&sign_key, path, out, err);
}

umbel_status umbel_trust_key_load(const char *path,
                                  uint8_t out[UMBEL_TRUST_KEY_LEN],
                                  umbel_error *err)
{
    uint8_t key[UMBEL_TRUST_KEY_LEN];

    if (um_digest_read(path, key)) { /* the key has the length of a digest */
        memcpy(out, key, sizeof key);
        return UMBEL_OK;
    }
    if (access(path, F_OK) != 0)
        return um_fail(err, UMBEL_E_IO,
                       "%s%s is neither a file nor a key of %zu digits",
                       um_path_dots(path), um_path_tail(path), 2 * sizeof key);
    return read_key(&trust_key, path, out, err);
}

static umbel_status write_key(const form *f, const char *path,
                              const uint8_t *key, umbel_error *err)
{
    char text[TEXT_MAX + 1];
    size_t start = strlen(f->start), len = text_len(f);

    memcpy(text, f->start, start);
    um_hex_write(key, f->len, text + start);
    text[len - 1] = '\n';
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                  f->secret ? 0600 : 0644);
    if (fd < 0 && errno == EEXIST)
        return um_fail(err, UMBEL_E_IO,
                       "%s%s exists: whatever uses that key would need the new "
                       "one; write to another file, or remove it first",
                       um_path_dots(path), um_path_tail(path));
    if (fd < 0)
        return um_fail_path(err, path);
    /* Its name is synced, too: if the key is lost, readers can never be
     * updated. */
    bool fine = write(fd, text, len) == (ssize_t)len && fsync(fd) == 0 &&
                um_sync_name(path);
    if (!fine)
        um_set_error_path(err, path);
    close(fd);
    sodium_memzero(text, sizeof text);
    if (!fine)
        unlink(path);
    return fine ? UMBEL_OK : UMBEL_E_IO;
}

umbel_status um_secret_save(const uint8_t secret[UMBEL_SECRET_LEN],
                            const char *path, umbel_error *err)
{
    return write_key(&filter_secret, path, secret, err);
}

umbel_status umbel_sign_key_save(const uint8_t key[UMBEL_SIGN_KEY_LEN],
                                 const char *path, umbel_error *err)
{
    return write_key(&sign_key, path, key, err);
}

umbel_status umbel_trust_key_save(const uint8_t key[UMBEL_TRUST_KEY_LEN],
                                  const char *path, umbel_error *err)
{
    return write_key(&trust_key, path, key, err);
}

umbel_status umbel_sign_keygen(uint8_t sign[UMBEL_SIGN_KEY_LEN],
                               uint8_t trust[UMBEL_TRUST_KEY_LEN],
                               umbel_error *err)
{
    if (sodium_init() < 0)
        return um_fail(err, UMBEL_E_IO, "the system gives no random numbers");
    crypto_sign_keypair(trust, sign);
    return UMBEL_OK;
}
