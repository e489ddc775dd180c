/*
 * json.h - a reader of JSON in memory: forwards only, no tree, no
 * allocation.
 *
 * The first error is recorded and makes all later calls do nothing, so a caller
 * needs to check only once, at the end. A value that ends where the bytes end
 * is `cut`: it may continue in bytes that have not arrived yet.
 */
#ifndef UM_KEYLIST_JSON_H
#define UM_KEYLIST_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { UM_JSON_DEPTH = 64 }; /* of nested values */

typedef struct um_json {
    const uint8_t *at, *end;
    unsigned depth;
    const char *wrong; /* NULL if no error; UM_JSON_CUT if the bytes ended */
} um_json;

extern const char UM_JSON_CUT[];

/* The text between quotes, as written. */
typedef struct um_json_slice {
    const char *at;
    size_t len;
    bool escaped; /* contains a backslash */
} um_json_slice;

static inline bool um_json_bad(const um_json *j)
{
    return j->wrong != NULL;
}

/* Returns true for a byte that may stand between values. */
static inline bool um_json_blank(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Skips blanks; returns the next byte, or 0 at the end or after an error. */
uint8_t um_json_peek_slowly(um_json *j);
static inline uint8_t um_json_peek(um_json *j)
{
    return j->at<j->end && * j->at> ' ' && !um_json_bad(j)
               ? *j->at
               : um_json_peek_slowly(j);
}

/*
 * Iterates over an object or array whose bracket comes next:
 *
 *     for (bool first = true; um_json_member(&j, &first, &key);)
 *         read or skip the value;
 *
 * Returns false at its end, or after an error.
 */
bool um_json_member(um_json *j, bool *first, um_json_slice *key);
bool um_json_element(um_json *j, bool *first);

/* Skips a value of any type. */
void um_json_skip(um_json *j);

/* Returns a number, true, false or null as it is written. Skips other values
 * and returns an empty text. */
um_json_slice um_json_read_word(um_json *j);
/* Reads a string. Skips any other value and returns an empty text. */
um_json_slice um_json_read_string(um_json *j);
/* Reads a number without its fraction. Skips other values and returns 0, as for
 * negative numbers. */
uint64_t um_json_read_whole(um_json *j);
/* Reads a number and returns it times 1000, rounded. Skips other values and
 * returns 0, as for numbers that are negative or have an exponent. */
uint64_t um_json_read_thousandths(um_json *j);

/* Returns true if exactly these bytes come next, blanks included: a shortcut
 * for the most frequent inputs. */
static inline bool um_json_begins(const um_json *j, const char *bytes,
                                  size_t len)
{
    return (size_t)(j->end - j->at) >= len && memcmp(j->at, bytes, len) == 0;
}

/* Returns true if the text equals a name of len bytes, after unescaping. */
bool um_json_is_escaped(const um_json_slice *text, const char *name,
                        size_t len);
static inline bool um_json_is(const um_json_slice *text, const char *name,
                              size_t len)
{
    if (text->escaped)
        return um_json_is_escaped(text, name, len);
    return text->len == len && *text->at == *name &&
           memcmp(text->at, name, len) == 0;
}
/* Copies the unescaped text to out: text->len bytes are enough. Returns its
 * length, cap if it does not fit, or UM_JSON_INVALID if an escape is
 * invalid. */
#define UM_JSON_INVALID SIZE_MAX
size_t um_json_copy(const um_json_slice *text, char *out, size_t cap);

#endif
