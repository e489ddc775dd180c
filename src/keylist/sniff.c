/*
 * sniff.c - recognises files that are easily mistaken for others.
 */
#include "keylist/sniff.h"

#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "keylist/internal.h"
#include "keylist/list_format.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC_LEN = 16 };

#define UTF16(order)                                                           \
    "this is UTF-16: convert it with iconv -f UTF-16" order                    \
    " -t UTF-8, and pipe the keys to umbel"
#define FILTER_MAGIC "\x89UMB\r\n\x1A\n"

typedef struct file_type {
    const char *magic; /* the first bytes */
    size_t len;
    size_t any; /* the magic byte with this number may differ; 0: none */
    const char *not_keys; /* why it is not a list of keys, and what to do; NULL:
                             may be one */
    const char *not_filter; /* the same for filters; NULL: it is one */
} file_type;

static const file_type types[] = {
    {FILTER_MAGIC, 8, 0,
     "this is a filter, not a list of keys: give the list that it was built "
     "from, or unite filters with umbel merge",
     NULL},
    {"\x89UMD\r\n\x1A\n", 8, 0, "this is a difference, not a list of keys",
     "this is a difference, not a filter: umbel patch OLD DIFFERENCE makes "
     "one"},
    {"\x1F\x8B\x08", 3, 0, NULL,
     "this is compressed: gunzip it; umbel convert --from dcso takes files of "
     "DCSO's bloom as they are"},
    {"\x28\xB5\x2F\xFD", 4, 0, NULL,
     "this is compressed: decompress it with unzstd"},
    {"\x50\x2A\x4D\x18", 4, 0, NULL,
     "this is compressed: decompress it with unzstd"},
    {"\xFD"
     "7zXZ\0",
     6, 0,
     "this is compressed: decompress it with xzcat, and pipe the keys to umbel",
     "this is compressed: decompress it with unxz"},
    {"BZh91AY&SY", 10, 3, /* the digit is the size of a block */
     NULL, "this is compressed: decompress it with bunzip2"},
    {"PK\3\4", 4, 0,
     "this is a zip archive: unpack it with unzip -p, and pipe the keys to "
     "umbel",
     "this is a zip archive: unpack it with unzip"},
    {"SQLite format 3", 16, 0,
     "this is an SQLite database: pipe the keys to umbel with sqlite3 FILE "
     "'select COLUMN from TABLE'",
     "this is an SQLite database, not a filter"},
    {"PAR1\x15", 5, 0, /* then comes a page header */
     "this is a Parquet file: pipe the keys to umbel with duckdb -noheader "
     "-list -c \"select COLUMN from 'FILE'\"",
     "this is a Parquet file, not a filter"},
    {"\xFF\xFE", 2, 0, UTF16(""), "this is a text in UTF-16, not a filter"},
    {"\xFE\xFF", 2, 0, UTF16(""), "this is a text in UTF-16, not a filter"},
    {"\1\0\0\0\0\0\0\0", 8, 0,
     "this begins like a file of DCSO's bloom, not like a list of keys: umbel "
     "convert --from dcso makes a filter of it",
     "this begins like a file of DCSO's bloom: umbel convert --from dcso makes "
     "a filter of it"},
    {"umbel-manifest", 14, 0,
     "this is a manifest, not a list of keys: umbel pull fetches what it names",
     "this is a manifest, not a filter: umbel pull fetches what it names"},
    {"umbel-secret-", 13, 0,
     "this is the secret of keyed filters, not a list of keys: did you mean "
     "--key-file?",
     "this is the secret of keyed filters, not a filter: did you mean "
     "--key-file?"},
    {"umbel-sign-", 11, 0,
     "this is a secret key that signs, not a list of keys: did you mean "
     "publish --sign?",
     "this is a secret key that signs, not a filter: did you mean publish "
     "--sign?"},
    {"umbel-trust-", 12, 0,
     "this is a public key, not a list of keys: did you mean pull --trust?",
     "this is a public key, not a filter: did you mean pull --trust?"},
};

static const file_type unknown_type = {
    .not_filter = "not an umbel file: it does not begin like one; umbel build "
                  "makes a filter of a list of keys, umbel convert of some "
                  "other formats"};

/* Compares as many bytes as there are with the magic of a type. */
static bool begins_like(const file_type *t, const char *bytes, size_t len)
{
    for (size_t i = 0; i < t->len && i < len; i++)
        if (bytes[i] != t->magic[i] && (i == 0 || i != t->any))
            return false;
    return true;
}

static const file_type *find_type(const void *bytes, size_t len)
{
    for (size_t i = 0; i < UM_COUNT(types); i++)
        if (len >= types[i].len && begins_like(&types[i], bytes, len))
            return &types[i];
    return &unknown_type;
}

bool um_may_begin_type(const void *bytes, size_t len)
{
    for (size_t i = 0; i < UM_COUNT(types); i++)
        if (len < types[i].len && begins_like(&types[i], bytes, len))
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

/*
 * Each of these functions finds one mistake in the first piece of a list. They
 * return a warning that says what to do, or NULL.
 */
typedef const char *find_mistake(const um_key_source *s, const um_piece *p);

#define AS_LINES "it is read as lines, but "

enum { LOOK_AT = 1000, MD5_DIGITS = 32 }; /* keys; the shortest usual digest */

static size_t first_keys(const um_piece *p)
{
    return p->n < LOOK_AT ? p->n : LOOK_AT;
}

/* Finds UTF-16 without a byte order mark: every other byte of a text is
 * NUL. */
static const char *find_utf16(const um_key_source *s, const um_piece *p)
{
    enum { SHORTEST = 8, LONGEST = 256 };
    size_t n = p->len < LONGEST ? p->len : LONGEST, nul[2] = {0, 0};

    for (size_t i = 0; i < n; i++)
        nul[i % 2] += p->text[i] == '\0';
    if (n < SHORTEST || (nul[0] && nul[1]) || 5 * (nul[0] + nul[1]) < 2 * n ||
        s->format.null_ended)
        return NULL;
    return nul[0] ? AS_LINES UTF16("BE") : AS_LINES UTF16("LE");
}

static const char *find_nul(const um_key_source *s, const um_piece *p)
{
    return p->len && !s->format.null_ended && memchr(p->text, '\0', p->len)
               ? "there are NUL bytes in it: is it a list of keys, one per "
                 "line? Keys that end with NUL need -0"
               : NULL;
}

/* Finds a tab in every line, although the format takes weights only from *.tsv
 * files. */
static const char *find_weights(const um_key_source *s, const um_piece *p)
{
    const um_key_format *f = &s->format;
    size_t i = 0;

    if (f->weights != UM_WEIGHTS_TSV || f->field ||
        um_file_has_weights(f, p->file))
        return NULL;
    while (i < p->n &&
           memchr(p->lines[i].data, f->delimiter ? f->delimiter : '\t',
                  p->lines[i].len))
        i++;
    return i && i == p->n
               ? "every line has a tab in it, and is taken as a key, tab "
                 "included: if a weight follows the tab, name the file *.tsv; "
                 "if the key comes first, give --field 1"
               : NULL;
}

/* Returns the keys as they are written. */
static const umbel_slice *key_texts(const um_key_source *s, const um_piece *p)
{
    return um_lines_are_keys(&s->format) ? p->keys : p->texts;
}

/*
 * Formats that are recognised by what most lines look like. Comments and empty
 * lines at the beginning are usual, so not all lines must match.
 */

/* Returns true if a line looks like one of the format. */
typedef bool looks_like(umbel_slice line);

/* Quotation marks around the whole line or a field. */
static bool like_csv(umbel_slice line)
{
    const char *at = line.data;
    size_t marks = 0;

    for (size_t i = 0; i < line.len; i++)
        if (at[i] == '"') {
            bool begins = i == 0 || at[i - 1] == ',' || at[i - 1] == ';';
            bool ends =
                i + 1 == line.len || at[i + 1] == ',' || at[i + 1] == ';';
            marks += begins || ends;
        }
    return marks >= 2 && at[0] != '{' && at[0] != '[';
}

static bool like_json(umbel_slice line)
{
    const char *at = line.data;

    return line.len > 4 && at[0] == '{' && at[line.len - 1] == '}' &&
           memchr(at, '"', line.len) && memchr(at, ':', line.len);
}

static bool like_adblock(umbel_slice line)
{
    const char *at = line.data;

    return line.len > 3 && at[0] == '|' && at[1] == '|' &&
           memchr(at, '^', line.len);
}

/* Names in lines such as "0.0.0.0 ads.example". */
static bool like_hosts(umbel_slice line)
{
    um_left_out ignored;
    umbel_slice names = line, name;
    const char *at = line.data;

    return (memchr(at, ' ', line.len) || memchr(at, '\t', line.len)) &&
           !um_list_names(UM_LIST_HOSTS, &names, &ignored) &&
           um_next_word(&names, &name);
}

/* HASH:COUNT, where the hash may lack the five digits of its range. */
static bool like_hibp(umbel_slice line)
{
    uint8_t hash[UM_HIBP_DIGITS];
    const char *at = line.data;
    size_t digits = 0;

    while (digits < line.len && um_hex_value((uint8_t)at[digits]) >= 0)
        digits++;
    return digits < line.len && at[digits] == ':' &&
           (!um_hibp_hash(&line, "", hash) ||
            !um_hibp_hash(&line, "00000", hash));
}

/* Returns true for comments, of which a list of another format may have many at
 * its beginning. */
static bool is_comment(umbel_slice line)
{
    const char *at = line.data;

    return at[0] == '#' || at[0] == '!' || at[0] == '[';
}

static bool has_comment(const um_key_source *s, const um_piece *p)
{
    for (size_t i = 0; i < first_keys(p); i++)
        if (is_comment(key_texts(s, p)[i]))
            return true;
    return false;
}

/* Returns true if most lines that are no comments look like the format. The
 * first one may be a header. */
static bool most_look_like(const um_key_source *s, const um_piece *p,
                           looks_like *like)
{
    size_t found = 0, others = 0, n = first_keys(p);

    for (size_t i = 0; i < n; i++)
        if (like(key_texts(s, p)[i]))
            found++;
        else if (!is_comment(key_texts(s, p)[i]))
            others += i > 0;
    return found > others;
}

const char *um_what_list(const um_key_format *f, const um_piece *p)
{
    umbel_slice text = {p->text, p->len}, line;
    size_t lines = 0, hosts = 0, rules = 0, comments = 0;

    if (f->form != UMBEL_KEYS_DOMAIN || f->list || f->csv || f->json_field ||
        f->null_ended)
        return NULL;
    while (lines < LOOK_AT && um_next_line(&text, &line)) {
        line = um_trim(line);
        if (!line.len)
            continue;
        lines++;
        if (is_comment(line))
            comments++;
        else if (like_hosts(line))
            hosts++;
        else if (like_adblock(line))
            rules++;
    }
    if (2 * hosts > lines - comments)
        return "this looks like a hosts file: give --list-format hosts";
    if (2 * rules > lines - comments)
        return "these look like adblock rules: give --list-format adblock";
    return comments ? "--list-format domains skips comments" : NULL;
}

static const char *find_format(const um_key_source *s, const um_piece *p)
{
    static const struct {
        looks_like *like;
        const char *text;
    } rows[] = {
        {like_json, AS_LINES "most lines are JSON objects: --json-field NAME "
                             "takes a member of each as the key"},
        {like_csv, AS_LINES "fields are in quotation marks, as in CSV: give "
                            "--csv --column NAME, or a number"},
        {like_hibp, AS_LINES "most lines are HASH:COUNT, as of Have I Been "
                             "Pwned: give --list-format hibp"},
        {like_hosts, AS_LINES "most lines are an address and a name, as in a "
                              "hosts file: give --list-format hosts"},
        {like_adblock, AS_LINES "most lines are adblock rules: give "
                                "--list-format adblock"},
    };

    for (size_t i = 0; i < UM_COUNT(rows) && !s->format.hex; i++)
        if (most_look_like(s, p, rows[i].like))
            return rows[i].text;
    return NULL;
}

#define DIGEST(delimiter)                                                      \
    AS_LINES "most lines begin with a hexadecimal digest: if it is the key, "  \
             "give --field 1 --delimiter '" delimiter "' --hex"

/* Finds lines such as those of sha1sum. */
static const char *find_digests(const um_key_source *s, const um_piece *p)
{
    static const struct {
        char delimiter;
        const char *text;
    } rows[] = {{':', DIGEST(":")}, {',', DIGEST(",")}, {';', DIGEST(";")},
                {'|', DIGEST("|")}, {' ', DIGEST(" ")}, {'\t', DIGEST("\\t")}};
    size_t n = first_keys(p), found[UM_COUNT(rows)] = {0}, others = 0;

    for (size_t i = 0; i < n && !s->format.hex; i++) {
        const char *key = key_texts(s, p)[i].data;
        size_t len = key_texts(s, p)[i].len, digits = 0, row = 0;
        while (digits < len && um_hex_value((uint8_t)key[digits]) >= 0)
            digits++;
        while (row < UM_COUNT(rows) && (digits < MD5_DIGITS || digits == len ||
                                        rows[row].delimiter != key[digits]))
            row++;
        if (row < UM_COUNT(rows))
            found[row]++;
        else
            others += i > 0 && !is_comment(key_texts(s, p)[i]);
    }
    for (size_t row = 0; row < UM_COUNT(rows); row++)
        if (found[row] > others)
            return rows[row].text;
    return NULL;
}

/* Finds comments in a list of domain names. */
static const char *find_comments(const um_key_source *s, const um_piece *p)
{
    size_t names = 0, n = first_keys(p), comments = 0;
    um_left_out ignored;

    if (!has_comment(s, p))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        umbel_slice name = key_texts(s, p)[i];
        const char *at = name.data;
        comments += is_comment(name);
        names += !is_comment(name) && memchr(at, '.', name.len) &&
                 !um_list_names(UM_LIST_DOMAINS, &name, &ignored);
    }
    return 2 * names > n - comments ? AS_LINES
               "some are comments, and would be keys: "
               "--list-format domains skips them"
                                    : NULL;
}

#define AS_DIGESTS(form)                                                       \
    "all keys look like hexadecimal digests, but are taken as text, where "    \
    "upper and lower case differ: did you mean --key-form " form " --hex?"

/* Returns the warning about keys that all have that many hexadecimal digits; 0:
 * their lengths differ. */
static const char *hex_warning(size_t digits)
{
    switch (digits) {
    case 32:
        return AS_DIGESTS("md5");
    case 40:
        return AS_DIGESTS("sha1");
    case 64:
        return AS_DIGESTS("sha256");
    default:
        return "all keys look like hexadecimal, but are taken as text, where "
               "upper and lower case differ: did you mean --hex?";
    }
}

static const char *find_hex(const um_key_source *s, const um_piece *p)
{
    enum { LONGEST = 256 };
    uint8_t bytes[LONGEST / 2];
    size_t i = 0, n = first_keys(p), digits = n ? key_texts(s, p)[0].len : 0;
    bool hashed = !s->format.hex && s->format.form >= UMBEL_KEYS_SHA1 &&
                  s->format.form <= UMBEL_KEYS_NTLM;

    while (
        (s->suggest_hex || hashed) && i < n &&
        key_texts(s, p)[i].len >= MD5_DIGITS &&
        key_texts(s, p)[i].len <= LONGEST &&
        um_hex_decode(key_texts(s, p)[i].data, key_texts(s, p)[i].len, bytes)) {
        digits = key_texts(s, p)[i].len == digits ? digits : 0;
        i++;
    }
    if (i && i == n && hashed)
        return "all keys look like digests, but are hashed again: did you mean "
               "--hex?";
    return i && i == n ? hex_warning(digits) : NULL;
}

const char *um_what_is_odd(const um_key_source *s, const um_piece *p)
{
    static find_mistake *const mistakes[] = {
        find_utf16,   find_nul,      find_weights, find_format,
        find_digests, find_comments, find_hex};
    const um_key_format *f = &s->format;
    size_t n = f->list || f->csv || f->json_field ? 2 : UM_COUNT(mistakes);
    const char *text = NULL;

    for (size_t i = 0; !text && i < n && f->list != UM_LIST_HIBP; i++)
        text = mistakes[i](s, p);
    return text;
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
