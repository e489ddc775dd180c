/*
 * hint.h - fetches the cells of a look-up before its key is opened.
 *
 * To open a key takes the server about as long as memory takes to answer. So a
 * hint remembers where the cells of a name were when it was last asked: the
 * item is hashed and its cells are fetched first, then the key is opened as
 * ever. A hint is never believed. Addresses in it are fetched, not read: one of
 * a filter that is gone costs a little time.
 */
#ifndef UM_MODULE_HINT_H
#define UM_MODULE_HINT_H

#include "module/api.h"

#include <umbel/base.h>

typedef struct um_hint {
    void *cells;
    uint64_t places; /* 0: no hint */
    uint64_t more;   /* length of a place, or number of rows */
    uint64_t seed;
} um_hint;

/* Each table of hints belongs to one type of values. */
enum { UM_HINTS = 64 };

/* Returns the hint of a name, which another may have written. Names mostly
 * differ at their end. */
static inline um_hint *um_hint_of(um_hint table[UM_HINTS], const um_str *name)
{
    size_t len;
    const char *text = um_api.StringPtrLen(name, &len);
    uint32_t end = (uint32_t)len;

    for (size_t i = len < 4 ? 0 : len - 4; i < len; i++)
        end = end * 251 + (uint8_t)text[i];
    return &table[end % UM_HINTS];
}

/* Cells that take less than this are in the second cache, or soon will be. */
enum { UM_HINT_FROM = 256 << 10 };

#endif
