/*
 * internal.h - a reader of JSON in memory: forwards only, no tree, no
 * allocation.
 *
 * The first mistake is remembered and stops everything, so that a caller runs
 * straight and asks once. A value that ends where the bytes end is `cut`: it
 * may go on in bytes that are still to come.
 */
#ifndef UM_STOPSET_FORMATS_INTERNAL_H
#define UM_STOPSET_FORMATS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SS_JSON_DEPTH = 64 }; /* of values inside each other */

typedef struct ss_json {
    const uint8_t *at, *end;
    unsigned depth;
    const char *wrong; /* NULL: nothing is; SS_JSON_CUT: the bytes ended */
} ss_json;

extern const char SS_JSON_CUT[];

/* Text between quotes, as written. */
typedef struct ss_json_text {
    const char *at;
    size_t len;
    bool escaped; /* has a backslash */
} ss_json_text;

static inline bool ss_json_bad(const ss_json *j)
{
    return j->wrong != NULL;
}

/* Passes over blanks; returns the next byte, 0 at the end or after a mistake.
 */
uint8_t ss_json_peek_slowly(ss_json *j);
static inline uint8_t ss_json_peek(ss_json *j)
{
    return j->at<j->end && * j->at> ' ' && !ss_json_bad(j)
               ? *j->at
               : ss_json_peek_slowly(j);
}

/*
 * Walk an object or array whose bracket comes next:
 *
 *     for (bool first = true; ss_json_member(&j, &first, &key);)
 *         read or skip the value;
 *
 * False: it has ended, or there is a mistake.
 */
bool ss_json_member(ss_json *j, bool *first, ss_json_text *key);
bool ss_json_element(ss_json *j, bool *first);

/* Passes over a value of any type. */
void ss_json_skip(ss_json *j);

/* Reads a string. Any other value is passed over and gives an empty text. */
ss_json_text ss_json_string(ss_json *j);
/* Reads a number that is whole, or its whole part; passes over other values
 * and gives 0. Numbers below 0 give 0. */
uint64_t ss_json_whole(ss_json *j);
/* Reads a number and multiplies it by 1000, rounded; passes over other values
 * and gives 0, as it does for numbers below 0 or with an exponent. */
uint64_t ss_json_thousandths(ss_json *j);

/* Returns true if these bytes come next, blanks and all: for shapes that are so
 * frequent that they deserve a shorter way. */
static inline bool ss_json_begins(const ss_json *j, const char *bytes,
                                  size_t len)
{
    return (size_t)(j->end - j->at) >= len && memcmp(j->at, bytes, len) == 0;
}

/* Returns true if the text is that name of len bytes, however it is written. */
bool ss_json_is_escaped(const ss_json_text *text, const char *name, size_t len);
static inline bool ss_json_is(const ss_json_text *text, const char *name,
                              size_t len)
{
    if (text->escaped)
        return ss_json_is_escaped(text, name, len);
    return text->len == len && *text->at == *name &&
           memcmp(text->at, name, len) == 0;
}
/* Copies the text to out, with what escapes stand for. Returns its length, or
 * cap when it has no room. */
size_t ss_json_copy(const ss_json_text *text, char *out, size_t cap);

#endif
