/*
 * sniff.c - files that are easily mistaken for others.
 */
#include "keys/sniff.h"

#include "base/error.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MAGIC_LEN = 8 };

typedef struct file_type {
    const char *magic; /* the first bytes */
    size_t len;
    const char *not_keys;   /* why not, and what to do; NULL: may be keys */
    const char *not_filter; /* the same; NULL: is a filter */
} file_type;

static const file_type types[] = {
    {"\x89UMB\r\n\x1A\n", 8,
     "this is a filter, not a list of keys: umbel merge unites filters", NULL},
    {"\x89UMD\r\n\x1A\n", 8, "this is a difference, not a list of keys",
     "this is a difference, not a filter: umbel patch OLD DIFFERENCE makes "
     "one"},
    {"\x1F\x8B\x08", 3, NULL,
     "this is compressed: gunzip it; umbel convert --from dcso takes files of "
     "DCSO's bloom as they are"},
    {"\x28\xB5\x2F\xFD", 4,
     "this is compressed: decompress it with zstdcat, and pipe the keys to "
     "umbel",
     "this is compressed: decompress it with unzstd"},
    {"\xFD"
     "7zXZ\0",
     6,
     "this is compressed: decompress it with xzcat, and pipe the keys to umbel",
     "this is compressed: decompress it with unxz"},
    {"\1\0\0\0\0\0\0\0", 8,
     "this begins like a file of DCSO's bloom, not like a list of keys: umbel "
     "convert --from dcso makes a filter of it",
     "this begins like a file of DCSO's bloom: umbel convert --from dcso makes "
     "a filter of it"},
    {"umbel-ma", 8, NULL,
     "this is a manifest, not a filter: umbel pull fetches what it names"},
};

static const file_type *find_type(int fd)
{
    uint8_t bytes[MAGIC_LEN];
    ssize_t got = pread(fd, bytes, sizeof bytes, 0);

    for (size_t i = 0; i < UM_COUNT(types); i++)
        if (got >= (ssize_t)types[i].len &&
            memcmp(bytes, types[i].magic, types[i].len) == 0)
            return &types[i];
    return NULL;
}

const char *um_why_not_keys(int fd)
{
    const file_type *type = find_type(fd);

    return type ? type->not_keys : NULL;
}

const char *um_why_not_filter(int fd)
{
    const file_type *type = find_type(fd);

    return type ? type->not_filter : NULL;
}

void um_explain_not_filter(const char *path, umbel_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *why = fd >= 0 ? um_why_not_filter(fd) : NULL;

    if (why)
        um_set_error(err, UMBEL_E_FORMAT, "%.100s: %s", path, why);
    if (fd >= 0)
        close(fd);
}
