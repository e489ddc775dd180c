/*
 * sniff.c - recognises files that are easily mistaken for others.
 */
#include "keylist/sniff.h"

#include "base/error.h"
#include "base/hex.h"
#include "keylist/internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC_LEN = 14 };

#define FILTER_MAGIC "\x89UMB\r\n\x1A\n"

typedef struct file_type {
    const char *magic; /* the first bytes */
    size_t len;
    const char *not_keys; /* why it is not a list of keys, and what to do; NULL:
                             may be one */
    const char *not_filter; /* the same for filters; NULL: it is one */
} file_type;

static const file_type types[] = {
    {FILTER_MAGIC, 8,
     "this is a filter, not a list of keys: give the list that it was built "
     "from, or unite filters with umbel merge",
     NULL},
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
    {"umbel-manifest", 14,
     "this is a manifest, not a list of keys: umbel pull fetches what it names",
     "this is a manifest, not a filter: umbel pull fetches what it names"},
    {"umbel-secret-", 13,
     "this is the secret of keyed filters, not a list of keys: did you mean "
     "--key-file?",
     "this is the secret of keyed filters, not a filter: did you mean "
     "--key-file?"},
    {"umbel-sign-", 11,
     "this is a secret key that signs, not a list of keys: did you mean "
     "publish --sign?",
     "this is a secret key that signs, not a filter: did you mean publish "
     "--sign?"},
    {"umbel-trust-", 12,
     "this is a public key, not a list of keys: did you mean pull --trust?",
     "this is a public key, not a filter: did you mean pull --trust?"},
};

static const file_type unknown_type = {
    .not_filter = "not an umbel file: it does not begin like one; umbel build "
                  "makes a filter of a list of keys, umbel convert of some "
                  "other formats"};

static const file_type *find_type(const void *bytes, size_t len)
{
    for (size_t i = 0; i < UM_COUNT(types); i++)
        if (len >= types[i].len &&
            memcmp(bytes, types[i].magic, types[i].len) == 0)
            return &types[i];
    return &unknown_type;
}

bool um_may_begin_type(const void *bytes, size_t len)
{
    for (size_t i = 0; i < UM_COUNT(types); i++)
        if (len < types[i].len && memcmp(bytes, types[i].magic, len) == 0)
            return true;
    return false;
}

const char *um_why_not_keys(const void *bytes, size_t len)
{
    return find_type(bytes, len)->not_keys;
}

const char *um_why_not_filter(int fd)
{
    uint8_t bytes[MAGIC_LEN];
    ssize_t got = pread(fd, bytes, sizeof bytes, 0);
    bool cut =
        got < 8 && got >= 0 && memcmp(bytes, FILTER_MAGIC, (size_t)got) == 0;

    return got < 0 || cut ? NULL : find_type(bytes, (size_t)got)->not_filter;
}

/* --- suspicious lists ----------------------------------------------------- */

static bool has_nul(const um_key_source *s, const um_piece *p)
{
    return p->len && !s->format.null_ended && memchr(p->text, '\0', p->len);
}

/* Returns true if every line has a tab, although the format takes weights only
 * from *.tsv files. */
static bool has_silent_weights(const um_key_source *s, const um_piece *p)
{
    const um_key_format *f = &s->format;
    size_t i = 0;

    if (f->weights != UM_WEIGHTS_TSV || f->field ||
        um_file_has_weights(f, p->file))
        return false;
    while (i < p->n &&
           memchr(p->lines[i].data, f->delimiter ? f->delimiter : '\t',
                  p->lines[i].len))
        i++;
    return i && i == p->n;
}

/* Returns true if every key has at least as many hexadecimal digits as MD5. */
static bool has_silent_hex(const um_key_source *s, const um_piece *p)
{
    enum { LOOK_AT = 1000, SHORTEST = 32, LONGEST = 256 };
    uint8_t bytes[LONGEST / 2];
    size_t i = 0, n = p->n < LOOK_AT ? p->n : LOOK_AT;

    while (s->suggest_hex && i < n && p->keys[i].len >= SHORTEST &&
           p->keys[i].len <= LONGEST &&
           um_hex_decode(p->keys[i].data, p->keys[i].len, bytes))
        i++;
    return i && i == n;
}

const char *um_what_is_odd(const um_key_source *s, const um_piece *p)
{
    static const struct {
        bool (*found)(const um_key_source *s, const um_piece *p);
        const char *text;
    } rows[] = {
        {has_nul, "there are NUL bytes in it: is it a list of keys, one per "
                  "line? Keys that end with NUL need -0"},
        {has_silent_weights,
         "every line has a tab in it, and is taken as a key, tab included: if "
         "a weight follows the tab, name the file *.tsv; if the key comes "
         "first, give --field 1"},
        {has_silent_hex,
         "all keys look like hexadecimal, but are taken as text, where upper "
         "and lower case differ: did you mean --hex?"},
    };

    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (rows[i].found(s, p))
            return rows[i].text;
    return NULL;
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

bool um_is_file(const char *path, bool *filter)
{
    char bytes[sizeof FILTER_MAGIC - 1];
    struct stat st;

    *filter = false;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *filter = fd >= 0 && read(fd, bytes, sizeof bytes) == sizeof bytes &&
              memcmp(bytes, FILTER_MAGIC, sizeof bytes) == 0;
    if (fd >= 0)
        close(fd);
    return true;
}
