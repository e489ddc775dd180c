/*
 * pyzord_dump.c - reads what gdbm_dump prints for a pyzord database.
 *
 *     #:len=40
 *     MzllYTczZDg4OTM1YTIy...       key, base64: 40 hexadecimal digits
 *     #:len=60
 *     MSw1LDIwMjYtMTEtMTYg...       "1,5,ENTERED,UPDATED,0,None,None"
 *
 * A record has the version 1, the number of reports and their times, then the
 * number of whitelistings and their times; older pyzords wrote
 * "5,ENTERED,UPDATED".
 */
#include "clearinghouse/admin/import_files.h"

#include "base/decimal.h"
#include "base/error.h"
#include "base/text.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE = 256, ITEM = 512 };

/* Reads a line without its newline; false at the end of the file. */
static bool read_line(um_pyzord_dump *d, char line[LINE], bool *whole)
{
    bool read = um_read_line(d->in, line, LINE, whole);

    d->line += read;
    return read;
}

static um_import_next broken(const um_pyzord_dump *d, const char *what,
                             umbel_error *err)
{
    um_set_error(err, UMBEL_E_FORMAT, "line %" PRIu64 ": %s", d->line, what);
    return UM_IMPORT_BROKEN;
}

/* Reads lines of base64 until want bytes are decoded. */
static um_import_next read_bytes(um_pyzord_dump *d, size_t want, char out[ITEM],
                                 umbel_error *err)
{
    char line[LINE];
    size_t len = 0, n;
    bool whole;

    while (len < want) {
        if (!read_line(d, line, &whole) || !whole)
            return broken(d, "the dump ends within an item", err);
        if (sodium_base642bin((unsigned char *)out + len, ITEM - 1 - len, line,
                              strlen(line), NULL, &n, NULL,
                              sodium_base64_VARIANT_ORIGINAL) != 0 ||
            n == 0)
            return broken(d, "no base64", err);
        len += n;
    }
    if (len != want)
        return broken(d, "an item is longer than its len says", err);
    out[len] = '\0';
    return UM_IMPORT_RECORD;
}

/* Reads the next key or value. */
static um_import_next read_item(um_pyzord_dump *d, char out[ITEM],
                                umbel_error *err)
{
    static const char begin[] = "#:len=", end[] = "#:count=";
    char line[LINE];
    uint64_t n;
    bool whole;

    for (;;) {
        if (!read_line(d, line, &whole))
            return broken(d,
                          d->line ? "the dump ends before its #:count"
                                  : "the file is empty",
                          err);
        if (d->line == 1 && strncmp(line, "# GDBM dump file", 16) != 0)
            return broken(
                d, "not a dump: make one with gdbm_dump pyzord.db FILE", err);
        if (strncmp(line, begin, sizeof begin - 1) == 0)
            break;
        if (strncmp(line, end, sizeof end - 1) == 0) {
            um_decimal_scan(line + sizeof end - 1,
                            strlen(line) - (sizeof end - 1), &n);
            if (n * 2 != d->items)
                return broken(d, "the dump has another number of records", err);
            return UM_IMPORT_END;
        }
        if (line[0] != '#' || !whole)
            return broken(d, "neither an item nor a comment", err);
    }
    if (!um_decimal_parse(line + sizeof begin - 1, ITEM - 1, &n) || n == 0)
        return broken(d, "#:len is not a number from 1 to 511", err);
    d->items++;
    return read_bytes(d, (size_t)n, out, err);
}

/* Returns the seconds of "2026-11-16 10:00:00.123456", 0 for None. pyzord
 * writes local time. */
static uint64_t read_time(const char *text)
{
    struct tm t = {.tm_isdst = -1};

    if (sscanf(text, "%4d-%2d-%2d %2d:%2d:%2d", &t.tm_year, &t.tm_mon,
               &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec) != 6)
        return 0;
    t.tm_year -= 1900;
    t.tm_mon--;
    time_t seconds = mktime(&t);
    return seconds > 0 ? (uint64_t)seconds : 0;
}

/* Cuts a value at its commas; returns the number of parts. */
static size_t split(char *value, char *part[8])
{
    size_t n = 0;
    char *comma = value;

    part[n++] = value;
    while (n < 8 && (comma = strchr(comma, ','))) {
        *comma++ = '\0';
        part[n++] = comma;
    }
    return n;
}

static bool read_value(char *value, um_pyzord_record *out)
{
    char *part[8];
    size_t n = split(value, part);

    if (n == 3) { /* before version 1 */
        out->whitelistings = 0;
        return um_decimal_parse(part[0], UINT64_MAX, &out->reports) &&
               um_decimal_parse(part[2], UINT64_MAX, &out->updated);
    }
    if (n != 7 || strcmp(part[0], "1") != 0 ||
        !um_decimal_parse(part[1], UINT64_MAX, &out->reports) ||
        !um_decimal_parse(part[4], UINT64_MAX, &out->whitelistings))
        return false;
    uint64_t reported = read_time(part[3]), whitelisted = read_time(part[6]);
    out->updated = reported > whitelisted ? reported : whitelisted;
    return true;
}

um_import_next um_pyzord_dump_next(um_pyzord_dump *d, um_pyzord_record *out,
                                   umbel_error *err)
{
    char key[ITEM], value[ITEM];
    um_import_next next = read_item(d, key, err);

    if (next != UM_IMPORT_RECORD)
        return next;
    next = read_item(d, value, err);
    if (next == UM_IMPORT_END)
        return broken(d, "a key has no value", err);
    if (next != UM_IMPORT_RECORD)
        return next;
    *out = (um_pyzord_record){.reports = 0};
    if (strlen(key) != 40 || um_signature_read((umbel_slice){key, strlen(key)},
                                               out->digest, NULL) != UMBEL_OK) {
        um_set_error(err, UMBEL_E_FORMAT, "line %" PRIu64 ": not a digest",
                     d->line);
        return UM_IMPORT_SKIPPED;
    }
    if (!read_value(value, out)) {
        um_set_error(err, UMBEL_E_FORMAT,
                     "line %" PRIu64 ": not a record of pyzord", d->line);
        return UM_IMPORT_SKIPPED;
    }
    return UM_IMPORT_RECORD;
}
