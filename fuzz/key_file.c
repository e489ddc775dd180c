/*
 * key_file.c - arbitrary files of keys and secrets.
 *
 * The input is the file. It is read as each of the three kinds; at most one of
 * them accepts it, and the key that was read must be the one in the text.
 */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"

#include "base/error.h"
#include "trust/key_file.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef umbel_status loader(const char *path, uint8_t *out, umbel_error *err);

static const struct kind {
    const char *start;
    size_t len;
    loader *load;
} kinds[] = {
    {"umbel-secret-1 ", UMBEL_SECRET_LEN, um_secret_load},
    {"umbel-sign-1 ", UMBEL_SIGN_KEY_LEN, umbel_sign_key_load},
    {"umbel-trust-1 ", UMBEL_TRUST_KEY_LEN, umbel_trust_key_load},
};

/*
 * Replaces the content of the one file of this process. If it ends with \r, the
 * file becomes readable by others.
 */
static int rewrite(const uint8_t *data, size_t len)
{
    static int fd = -1;
    mode_t mode = len && data[len - 1] == '\r' ? 0644 : 0600;

    if (fd < 0)
        fd = memfd_create("umbel", MFD_CLOEXEC);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, len, 0) != (ssize_t)len ||
        fchmod(fd, mode) != 0)
        abort();
    return fd;
}

static void expect_text(const struct kind *k, const uint8_t *key,
                        const uint8_t *data, size_t len)
{
    uint8_t found[UMBEL_SIGN_KEY_LEN];
    size_t start = strlen(k->start), n = 0;

    UM_WANT(len == start + 2 * k->len + 1 && data[len - 1] == '\n');
    UM_WANT(memcmp(data, k->start, start) == 0);
    UM_WANT(sodium_hex2bin(found, sizeof found, (const char *)data + start,
                           2 * k->len, NULL, &n, NULL) == 0);
    UM_WANT(n == k->len && memcmp(found, key, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char path[64];
    int taken = 0;

    snprintf(path, sizeof path, "/proc/self/fd/%d", rewrite(data, len));
    for (size_t i = 0; i < UM_COUNT(kinds); i++) {
        uint8_t key[UMBEL_SIGN_KEY_LEN];
        umbel_error err;
        umbel_status status = kinds[i].load(path, key, &err);
        if (status != UMBEL_OK)
            um_fuzz_check_error(status, &err);
        else
            expect_text(&kinds[i], key, data, len);
        taken += status == UMBEL_OK;
    }
    UM_WANT(taken <= 1);
    return 0;
}
