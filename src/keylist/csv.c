/*
 * csv.c - comma-separated values as in RFC 4180.
 *
 * A record ends at a newline that follows an even number of quotation marks, so
 * text can be cut into records without parsing fields. That holds for valid
 * records only: quotation marks inside a field without quotation marks around
 * it are refused, because they might hide the end of a record.
 */
#include "keylist/csv.h"

#include "base/error.h"
#include "base/text.h"
#include "keylist/internal.h"

#include <string.h>

size_t um_csv_whole(const uint8_t *text, size_t len, bool *quoted)
{
    bool inside = *quoted;
    size_t whole = 0;

    for (size_t i = 0; i < len; i++) {
        inside ^= text[i] == '"';
        whole = text[i] == '\n' && !inside ? i + 1 : whole;
    }
    *quoted = inside;
    return whole;
}

const uint8_t *um_csv_record_end(const uint8_t *at, const uint8_t *end)
{
    for (bool inside = false; at < end; at++) {
        inside ^= *at == '"';
        if (*at == '\n' && !inside)
            break;
    }
    return at;
}

/* Finds the end of the field in quotation marks that begins at `at`, behind the
 * first of them: the last one, or NULL. */
static const char *quoted_end(const char *at, const char *end, bool *doubled)
{
    *doubled = false;
    while ((at = memchr(at, '"', (size_t)(end - at)))) {
        if (end - at < 2 || at[1] != '"')
            return at;
        *doubled = true;
        at += 2;
    }
    return NULL;
}

/* Cuts the next field off a record. *last is true if it is the last one. */
static const char *next_field(umbel_slice *rest, char delimiter,
                              umbel_slice *field, bool *doubled, bool *last)
{
    const char *at = rest->data, *end = at + rest->len, *stop;

    *doubled = false;
    if (at < end && *at == '"') {
        stop = quoted_end(++at, end, doubled);
        if (!stop)
            return "a quotation mark is not closed";
        *field = (umbel_slice){at, (size_t)(stop++ - at)};
        if (stop < end && *stop != delimiter)
            return "something follows a closing quotation mark (a quotation "
                   "mark inside a field is doubled)";
    } else {
        stop = memchr(at, delimiter, (size_t)(end - at));
        stop = stop ? stop : end;
        *field = (umbel_slice){at, (size_t)(stop - at)};
        if (memchr(at, '"', (size_t)(stop - at)))
            return "a quotation mark inside a field that does not begin with "
                   "one";
    }
    *last = stop == end;
    at = *last ? end : stop + 1;
    *rest = (umbel_slice){at, (size_t)(end - at)};
    return NULL;
}

const char *um_csv_field(umbel_slice record, char delimiter, uint64_t n,
                         umbel_slice *field, bool *doubled)
{
    umbel_slice next;
    bool last = false, pairs, found = false;

    for (uint64_t i = 1; !last; i++) {
        const char *wrong =
            next_field(&record, delimiter, &next, &pairs, &last);
        if (wrong)
            return wrong;
        if (i == n || (last && n == UM_LAST_FIELD)) {
            *field = next;
            *doubled = pairs;
            found = true;
        }
    }
    return found ? NULL : "too few columns";
}

size_t um_csv_unquote(umbel_slice field, uint8_t *out)
{
    const uint8_t *at = field.data;
    size_t n = 0;

    for (size_t i = 0; i < field.len; i++) {
        out[n++] = at[i];
        i += at[i] == '"';
    }
    return n;
}

/* Returns true if a field of a header is the name. */
static bool is_name(umbel_slice field, bool doubled, const char *name)
{
    const char *at = field.data;
    size_t i = 0;

    for (; i < field.len && *name && at[i] == *name; i++, name++)
        i += doubled && at[i] == '"';
    return i >= field.len && !*name;
}

umbel_status um_csv_column(const um_key_format *f, const uint8_t *text,
                           size_t len, const char *file, uint64_t *field,
                           umbel_error *err)
{
    size_t mark = um_mark_len(text, len);
    const uint8_t *at = text + mark, *end = um_csv_record_end(at, text + len);
    umbel_slice rest = {at, (size_t)(end - at)}, next, all;
    bool last = false, doubled;

    rest.len -= rest.len && end[-1] == '\r';
    all = rest;
    for (*field = 1; !last; ++*field) {
        const char *wrong =
            next_field(&rest, um_format_delimiter(f), &next, &doubled, &last);
        if (wrong)
            return um_fail(err, UMBEL_E_KEY, "%s%s, line 1: %s",
                           um_path_dots(file), um_path_tail(file), wrong);
        if (is_name(next, doubled, f->column))
            return UMBEL_OK;
    }
    return um_fail(err, UMBEL_E_KEY,
                   "%s%s: no column \"%.40s\" in its first line: %.*s",
                   um_path_dots(file), um_path_tail(file), f->column,
                   all.len < 100 ? (int)all.len : 100, (const char *)all.data);
}
