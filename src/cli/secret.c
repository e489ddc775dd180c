/*
 * secret.c - key files: one line, "umbel-secret-1 " and 32 hexadecimal digits.
 *
 * A secret that others can read is none, so a file with any right for group or
 * others is refused.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char start[] = "umbel-secret-1 ";

enum { START_LEN = sizeof start - 1, TEXT_LEN = START_LEN + 32 + 1 };

static umbel_status parse(const char *text, size_t len, const char *path,
                          uint8_t *secret, umbel_error *err)
{
    static const char digits[] = "0123456789abcdef";
    bool fine = len == TEXT_LEN && memcmp(text, start, START_LEN) == 0 &&
                text[TEXT_LEN - 1] == '\n';

    for (size_t i = 0; fine && i < UMBEL_SECRET_LEN; i++) {
        const char *high = strchr(digits, text[START_LEN + 2 * i]);
        const char *low = strchr(digits, text[START_LEN + 2 * i + 1]);
        fine = high && low && *high && *low;
        if (fine)
            secret[i] = (uint8_t)((high - digits) << 4 | (low - digits));
    }
    if (!fine)
        return um_fail(err, UMBEL_E_SECRET,
                       "%s%s is no key file: make one with umbel keygen",
                       um_path_dots(path), um_path_tail(path));
    return UMBEL_OK;
}

static umbel_status read_open_file(int fd, const char *path, uint8_t *secret,
                                   umbel_error *err)
{
    char text[TEXT_LEN + 1];
    struct stat st;

    if (fstat(fd, &st) != 0)
        return um_fail_path(err, path);
    if (st.st_mode & 077)
        return um_fail(err, UMBEL_E_SECRET,
                       "%s%s can be read by others (mode %04o): chmod 600 it",
                       um_path_dots(path), um_path_tail(path),
                       (unsigned)(st.st_mode & 07777));
    ssize_t len = read(fd, text, sizeof text);
    if (len < 0)
        return um_fail_path(err, path);
    umbel_status status = parse(text, (size_t)len, path, secret, err);
    sodium_memzero(text, sizeof text);
    return status;
}

umbel_status um_read_secret(const um_args *args, uint8_t *secret, bool *given,
                            umbel_error *err)
{
    return um_read_secret_of(args, "key-file", secret, given, err);
}

umbel_status um_read_secret_of(const um_args *args, const char *option,
                               uint8_t *secret, bool *given, umbel_error *err)
{
    const char *path = um_value(args, option);

    *given = path != NULL;
    if (!path)
        return UMBEL_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return um_fail_path(err, path);
    umbel_status status = read_open_file(fd, path, secret, err);
    close(fd);
    return status;
}

umbel_status um_write_secret(const char *path, const uint8_t *secret,
                             umbel_error *err)
{
    char text[TEXT_LEN + 1];

    memcpy(text, start, START_LEN);
    for (size_t i = 0; i < UMBEL_SECRET_LEN; i++)
        snprintf(text + START_LEN + 2 * i, 3, "%02x", secret[i]);
    text[TEXT_LEN - 1] = '\n';
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return um_fail_path(err, path);
    bool fine = write(fd, text, TEXT_LEN) == TEXT_LEN && fsync(fd) == 0;
    if (!fine)
        um_note_path(err, path);
    close(fd);
    sodium_memzero(text, sizeof text);
    if (!fine)
        unlink(path);
    return fine ? UMBEL_OK : UMBEL_E_IO;
}
