/*
 * edits.c - the neighbours of a key, made a batch at a time.
 */
#include "query/edits.h"

#include "base/error.h"

#include <string.h>

enum {
    FIRST = ' ',
    LAST = '~',
    LETTERS = LAST - FIRST + 1,
    BATCH = 128,
    ROOM = UM_EDITS_LONGEST + 1
};

/* Neighbours that are to be asked. */
typedef struct batch {
    const umbel_filter *f;
    uint8_t text[BATCH][ROOM];
    umbel_slice key[BATCH];
    size_t n;
    bool hit;
} batch;

uint64_t um_edits_lookups(size_t len)
{
    uint64_t n = len;
    return n + (LETTERS - 1) * n + LETTERS * (n + 1);
}

static umbel_status ask(batch *b, umbel_error *err)
{
    bool hit[BATCH];
    size_t n = b->n;

    b->n = 0;
    if (!n)
        return UMBEL_OK;
    UM_TRY(umbel_query_many(b->f, b->key, n, hit, err));
    for (size_t i = 0; i < n; i++)
        b->hit |= hit[i];
    return UMBEL_OK;
}

/* Adds the key with `gone` bytes at `at` replaced by the letter, or by nothing
 * if it is 0. */
static umbel_status add(batch *b, const umbel_slice *key, size_t at,
                        size_t gone, uint8_t letter, umbel_error *err)
{
    const uint8_t *from = key->data;
    uint8_t *to = b->text[b->n];
    size_t rest = key->len - at - gone, more = letter ? 1 : 0;

    memcpy(to, from, at);
    if (more)
        to[at] = letter;
    memcpy(to + at + more, from + at + gone, rest);
    b->key[b->n++] = (umbel_slice){to, at + more + rest};
    return b->n == BATCH ? ask(b, err) : UMBEL_OK;
}

static umbel_status add_at(batch *b, const umbel_slice *key, size_t at,
                           umbel_error *err)
{
    const uint8_t *bytes = key->data;

    if (at < key->len)
        UM_TRY(add(b, key, at, 1, 0, err));
    for (int letter = FIRST; !b->hit && letter <= LAST; letter++) {
        UM_TRY(add(b, key, at, 0, (uint8_t)letter, err));
        if (at < key->len && bytes[at] != letter)
            UM_TRY(add(b, key, at, 1, (uint8_t)letter, err));
    }
    return UMBEL_OK;
}

umbel_status um_query_edits(const umbel_filter *f, const umbel_slice *key,
                            bool *hit, umbel_error *err)
{
    batch b = {.f = f, .n = 0};

    if (key->len > UM_EDITS_LONGEST)
        return um_fail(err, UMBEL_E_KEY,
                       "a key of %zu bytes: edits are tried for keys of up to "
                       "%d",
                       key->len, UM_EDITS_LONGEST);
    for (size_t at = 0; !b.hit && at <= key->len; at++)
        UM_TRY(add_at(&b, key, at, err));
    if (!b.hit)
        UM_TRY(ask(&b, err));
    *hit = b.hit;
    return UMBEL_OK;
}
