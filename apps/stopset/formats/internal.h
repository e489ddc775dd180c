/*
 * internal.h - a reader of JSON in memory: forwards only, no tree, no
 * allocation.
 *
 * The first error is recorded and makes all later calls do nothing, so a caller
 * needs to check only once, at the end. A value that ends where the bytes end
 * is `cut`: it may continue in bytes that have not arrived yet.
 */
#ifndef UM_STOPSET_FORMATS_INTERNAL_H
#define UM_STOPSET_FORMATS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SS_JSON_DEPTH = 64 }; /* of nested values */

typedef struct ss_json {
    const uint8_t *at, *end;
    unsigned depth;
    const char *wrong; /* NULL if no error; SS_JSON_CUT if the bytes ended */
} ss_json;

extern const char SS_JSON_CUT[];

/* The text between quotes, as written. */
typedef struct ss_json_text {
    const char *at;
    size_t len;
    bool escaped; /* contains a backslash */
} ss_json_text;

static inline bool ss_json_bad(const ss_json *j)
{
    return j->wrong != NULL;
}

/* Skips blanks; returns the next byte, or 0 at the end or after an error. */
uint8_t ss_json_peek_slowly(ss_json *j);
static inline uint8_t ss_json_peek(ss_json *j)
{
    return j->at<j->end && * j->at> ' ' && !ss_json_bad(j)
               ? *j->at
               : ss_json_peek_slowly(j);
}

/*
 * Iterates over an object or array whose bracket comes next:
 *
 *     for (bool first = true; ss_json_member(&j, &first, &key);)
 *         read or skip the value;
 *
 * Returns false at its end, or after an error.
 */
bool ss_json_member(ss_json *j, bool *first, ss_json_text *key);
bool ss_json_element(ss_json *j, bool *first);

/* Skips a value of any type. */
void ss_json_skip(ss_json *j);

/* Reads a string. Skips any other value and returns an empty text. */
ss_json_text ss_json_string(ss_json *j);
/* Reads a number without its fraction. Skips other values and returns 0, as for
 * negative numbers. */
uint64_t ss_json_whole(ss_json *j);
/* Reads a number and returns it times 1000, rounded. Skips other values and
 * returns 0, as for numbers that are negative or have an exponent. */
uint64_t ss_json_thousandths(ss_json *j);

/* Returns true if exactly these bytes come next, blanks included: a shortcut
 * for the most frequent inputs. */
static inline bool ss_json_begins(const ss_json *j, const char *bytes,
                                  size_t len)
{
    return (size_t)(j->end - j->at) >= len && memcmp(j->at, bytes, len) == 0;
}

/* Returns true if the text equals a name of len bytes, after unescaping. */
bool ss_json_is_escaped(const ss_json_text *text, const char *name, size_t len);
static inline bool ss_json_is(const ss_json_text *text, const char *name,
                              size_t len)
{
    if (text->escaped)
        return ss_json_is_escaped(text, name, len);
    return text->len == len && *text->at == *name &&
           memcmp(text->at, name, len) == 0;
}
/* Copies the unescaped text to out. Returns its length, or cap if it does not
 * fit. */
size_t ss_json_copy(const ss_json_text *text, char *out, size_t cap);

#endif
