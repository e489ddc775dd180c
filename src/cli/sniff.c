/*
 * sniff.c - beginnings of files that are easily mistaken for others.
 */
#include "cli/sniff.h"

#include "base/error.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { START = 8 };

typedef struct beginning {
    const char *bytes;
    size_t len;
    const char *as_keys;   /* why not, and what to do; NULL: it may be keys */
    const char *as_filter; /* NULL: it is one, as far as this tells */
} beginning;

static const beginning beginnings[] = {
    {"\x89UMB\r\n\x1A\n", 8,
     "this is a filter, not a list of keys: umbel merge unites filters", NULL},
    {"\x89UMD\r\n\x1A\n", 8, "this is a difference, not a list of keys",
     "this is a difference, not a filter: umbel patch OLD DIFFERENCE makes "
     "one"},
    {"\x1F\x8B\x08", 3,
     "this is compressed: let zcat read it, and umbel what zcat writes",
     "this is compressed: gunzip it; umbel convert --from dcso takes files of "
     "DCSO's bloom as they are"},
    {"\x28\xB5\x2F\xFD", 4,
     "this is compressed: let zstdcat read it, and umbel what zstdcat writes",
     "this is compressed: decompress it with unzstd"},
    {"\xFD"
     "7zXZ\0",
     6, "this is compressed: let xzcat read it, and umbel what xzcat writes",
     "this is compressed: decompress it with unxz"},
    {"\1\0\0\0\0\0\0\0", 8,
     "this begins like a file of DCSO's bloom, not like a list of keys: umbel "
     "convert --from dcso makes a filter of it",
     "this begins like a file of DCSO's bloom: umbel convert --from dcso makes "
     "a filter of it"},
    {"umbel-ma", 8, NULL,
     "this is a manifest, not a filter: umbel pull fetches what it names"},
};

static const beginning *find(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < UM_COUNT(beginnings); i++)
        if (len >= beginnings[i].len &&
            memcmp(bytes, beginnings[i].bytes, beginnings[i].len) == 0)
            return &beginnings[i];
    return NULL;
}

/* Of a pipe nothing is known: what is read there is gone. */
static const beginning *look(int fd)
{
    uint8_t bytes[START];
    ssize_t got = pread(fd, bytes, sizeof bytes, 0);

    return got > 0 ? find(bytes, (size_t)got) : NULL;
}

umbel_status um_check_is_keys(int fd, const char *path, umbel_error *err)
{
    const beginning *b = look(fd);

    if (b && b->as_keys)
        return um_fail(err, UMBEL_E_FORMAT, "%.100s: %s", path, b->as_keys);
    return UMBEL_OK;
}

const char *um_why_no_filter(int fd)
{
    const beginning *b = look(fd);

    return b ? b->as_filter : NULL;
}

void um_sniff_filter(const char *path, umbel_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *why = fd >= 0 ? um_why_no_filter(fd) : NULL;

    if (why)
        um_set_error(err, UMBEL_E_FORMAT, "%.100s: %s", path, why);
    if (fd >= 0)
        close(fd);
}
