/*
 * ranges.c - the range files of Have I Been Pwned.
 *
 * Its web service returns the hashes that begin with five given digits, without
 * those digits. Programs that download the whole list store each answer in a
 * file named after them: 1,048,576 files, of which some are missing if the
 * download was interrupted.
 */
#include "keylist/ranges.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the text after a prefix, or the whole text if it does not begin with
 * it. */
static const char *skip(const char *text, const char *prefix)
{
    size_t len = strlen(prefix);

    return strncmp(text, prefix, len) == 0 ? text + len : text;
}

bool um_range_of(const char *path, bool packed, char out[UM_RANGE_DIGITS + 1])
{
    static const char *const suffixes[] = {"", ".gz", ".zst", ".bz2"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char range[UM_RANGE_DIGITS + 1] = "";
    bool found = false;

    for (size_t i = 0; i < UM_RANGE_DIGITS; i++) {
        int digit = um_hex_value((uint8_t)name[i]);
        if (digit < 0)
            return false;
        range[i] = "0123456789ABCDEF"[digit];
    }
    name = skip(name + UM_RANGE_DIGITS, ".txt");
    for (size_t i = 0; i < (packed ? UM_COUNT(suffixes) : 1); i++)
        found |= strcmp(name, suffixes[i]) == 0;
    if (found)
        memcpy(out, range, sizeof range);
    return found;
}

/* --- missing and doubled files -------------------------------------------- */

void um_range_count_add(um_range_count *c, const char *range)
{
    uint32_t x = 0;

    for (size_t i = 0; i < UM_RANGE_DIGITS; i++)
        x = x * 16 + (uint32_t)um_hex_value((uint8_t)range[i]);
    uint64_t bit = UINT64_C(1) << x % 64;
    if (c->seen[x / 64] & bit) {
        if (c->doubled++ == 0)
            snprintf(c->first_doubled, sizeof c->first_doubled, "%s", range);
        return;
    }
    c->seen[x / 64] |= bit;
    c->n++;
}

void um_range_count_other(um_range_count *c, const char *name)
{
    char copy[sizeof c->first_other];

    snprintf(copy, sizeof copy, "%.63s", name);
    um_disarm(copy);
    if (c->others++ == 0 || strcmp(copy, c->first_other) < 0)
        memcpy(c->first_other, copy, sizeof copy);
}

bool um_range_report(const um_range_count *c, char *out, size_t cap)
{
    char missing[120] = "", doubled[120] = "", others[160] = "";
    uint32_t first = 0;

    while (first < UM_RANGES && c->seen[first / 64] >> first % 64 & 1)
        first++;
    if (c->n < UM_RANGES)
        snprintf(missing, sizeof missing,
                 " %zu of %d are missing (first %05X), so their keys were not "
                 "read;",
                 (size_t)UM_RANGES - c->n, UM_RANGES, first);
    if (c->doubled)
        snprintf(doubled, sizeof doubled, " %zu doubled (first %s), both used;",
                 c->doubled, c->first_doubled);
    if (c->others)
        snprintf(others, sizeof others,
                 " %zu with another name left out (first %s);", c->others,
                 c->first_other);
    snprintf(out, cap, "range files:%s%s%s", missing, doubled, others);
    out[strlen(out) - 1] = '\0'; /* the last semicolon */
    return c->n && (*missing || *doubled || *others);
}

/* --- a directory ---------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static umbel_status append_name(um_range_dir *d, const char *name,
                                umbel_error *err)
{
    size_t cap = d->cap ? 2 * d->cap : 1024;

    if (d->n == 4 * (size_t)UM_RANGES)
        return um_fail(err, UMBEL_E_LIMIT, "too many range files");
    if (d->n == d->cap) {
        if (!um_array_resize(&d->names, cap, sizeof *d->names))
            return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu names", cap);
        d->cap = cap;
    }
    snprintf(d->names[d->n++], sizeof *d->names, "%.15s", name);
    return UMBEL_OK;
}

umbel_status um_range_dir_open(um_range_dir *d, const char *path,
                               um_range_count *c, umbel_error *err)
{
    DIR *dir = opendir(path);
    umbel_status status = UMBEL_OK;
    const struct dirent *entry;
    char range[UM_RANGE_DIGITS + 1];

    *d = (um_range_dir){0};
    if (!dir)
        return um_fail_path(err, path);
    while (!status && (errno = 0, entry = readdir(dir))) {
        if (um_range_of(entry->d_name, true, range))
            status = append_name(d, entry->d_name, err);
        else if (entry->d_name[0] != '.')
            um_range_count_other(c, entry->d_name);
    }
    if (!status && errno)
        status = um_fail_path(err, path);
    closedir(dir);
    if (!status && d->n == 0)
        status = um_fail(err, UMBEL_E_FORMAT,
                         "%s%s: no range files in this directory, such as "
                         "00000 or 00000.txt",
                         um_path_dots(path), um_path_tail(path));
    if (status)
        um_range_dir_close(d);
    else
        qsort(d->names, d->n, sizeof *d->names, compare_names);
    return status;
}

void um_range_dir_close(um_range_dir *d)
{
    free(d->names);
    *d = (um_range_dir){0};
}

/* --- tar ------------------------------------------------------------------ */

/*
 *   0 name[100]   124 size[12], octal   148 checksum[8], octal
 * 156 type        257 "ustar"           345 first part of a long name
 *
 * Extended headers (types x, g, L, K) only hold names that are longer than
 * those of range files, times and owners, so they are skipped.
 */
enum { SIZE_AT = 124, SUM_AT = 148, TYPE_AT = 156, MAGIC_AT = 257 };

/* Parses an octal number, which ends at a blank or NUL. */
static bool parse_octal(const uint8_t *at, size_t len, uint64_t *out)
{
    size_t i = 0;

    while (i < len && at[i] == ' ')
        i++;
    size_t first = i;
    for (*out = 0; i < len && at[i] >= '0' && at[i] <= '7'; i++)
        *out = *out * 8 + (uint64_t)(at[i] - '0');
    return i > first && (i == len || at[i] == ' ' || at[i] == '\0');
}

/* Returns the sum of all bytes, those of the checksum taken as blanks. */
static uint64_t sum_block(const uint8_t block[UM_TAR_BLOCK])
{
    uint64_t sum = 0;

    for (size_t i = 0; i < UM_TAR_BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + 8 ? ' ' : block[i];
    return sum;
}

static bool has_magic(const uint8_t *block)
{
    return memcmp(block + MAGIC_AT, "ustar", 5) == 0;
}

bool um_is_tar(const void *bytes, size_t len)
{
    return len >= MAGIC_AT + 5 && has_magic(bytes) &&
           !memchr(bytes, '\n', MAGIC_AT);
}

bool um_tar_parse(const uint8_t block[UM_TAR_BLOCK], um_tar_member *out,
                  bool *end)
{
    static const uint8_t zeros[UM_TAR_BLOCK];
    uint64_t sum;
    uint8_t type = block[TYPE_AT];

    *out = (um_tar_member){.file = type == '0' || type == '\0'};
    *end = memcmp(block, zeros, sizeof zeros) == 0;
    if (*end)
        return true;
    memcpy(out->name, block, sizeof out->name - 1);
    return has_magic(block) && parse_octal(block + SUM_AT, 8, &sum) &&
           sum == sum_block(block) &&
           parse_octal(block + SIZE_AT, 12, &out->len);
}
