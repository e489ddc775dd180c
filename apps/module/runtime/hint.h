/*
 * hint.h - fetches the cells of a look-up before its command runs.
 *
 * Memory takes longer to answer than the server takes to run a command. So a
 * hint remembers where the cells of a name were when it was last asked. As soon
 * as a command has come, and before the server looks it up, checks it and calls
 * it, the item is hashed and its cells are fetched. Everything else happens as
 * ever. A hint is never believed. Addresses in it are fetched, not read: one of
 * a filter that is gone costs a little time.
 *
 * The server shows each command of a client to the module for that, from the
 * first look-up into large cells on: about 10 ns for commands of others.
 */
#ifndef UM_MODULE_HINT_H
#define UM_MODULE_HINT_H

#include "module/runtime/api.h"

#include <string.h>
#include <umbel/base.h>

typedef struct um_hint {
    void *cells;
    uint64_t len;    /* of all cells, in bytes */
    uint64_t places; /* 0: no hint */
    uint64_t more;   /* length of a place, or number of rows */
    uint64_t seed;
} um_hint;

enum { UM_HINTS = 64 };

/* A command that looks up one item: COMMAND key item. */
typedef struct um_look_up {
    const char *name; /* UM_LOOK_UP_NAME characters, in lower case */
    /* Begins to fetch the cells of an item; the hint has places. */
    void (*fetch)(const um_hint *h, umbel_slice item);
    um_hint hints[UM_HINTS];
    um_hint *only; /* the only one that is in use; NULL: there are several */
    um_hint *now;  /* of the command that was fetched for; NULL: none */
    size_t used;
    uint64_t begin; /* first eight characters of the name; 0: not watched */
} um_look_up;

enum { UM_LOOK_UP_NAME = 9 };

extern um_look_up um_look_up_check, um_look_up_exists, um_look_up_query;

/* Returns the hint of a name, which another may have written. Names mostly
 * differ at their end. */
static inline um_hint *um_hint_of(um_look_up *l, const um_str *name)
{
    size_t len;
    const char *text = um_api.StringPtrLen(name, &len);
    uint32_t end = (uint32_t)len;

    for (size_t i = len < 4 ? 0 : len - 4; i < len; i++)
        end = end * 251 + (uint8_t)text[i];
    return &l->hints[end % UM_HINTS];
}

/* Cells that take less than this are in the second cache, or soon will be. */
enum { UM_HINT_FROM = 256 << 10 };

/* Returns true if the hint seems to be about these cells. If it is not,
 * the wrong cells are prefetched, which is harmless. */
static inline bool um_is_hint(const um_hint *h, const void *cells, uint64_t len)
{
    return h->cells == cells && h->len == len;
}

/* Returns the hint of the command that runs now. */
static inline um_hint *um_hint_now(um_look_up *l, const um_str *name)
{
    um_hint *h = l->now;

    if (l->only)
        return l->only;
    l->now = NULL;
    return h ? h : um_hint_of(l, name);
}

/* Notes where the cells of a name are, and has commands shown from the first
 * on. places is not 0. */
void um_set_hint(um_ctx *ctx, um_look_up *l, const um_str *name, um_hint is);

/* The item of the last fetch, if it is short: what was computed from it need
 * not be computed again. */
typedef struct um_last_item {
    size_t len; /* 0: none */
    char text[64];
} um_last_item;

static inline void um_retain_item(um_last_item *last, umbel_slice item)
{
    last->len = item.len <= sizeof last->text ? item.len : 0;
    memcpy(last->text, item.data, last->len);
}

static inline bool um_is_last(const um_last_item *last, umbel_slice item)
{
    return item.len == last->len && item.len &&
           memcmp(last->text, item.data, item.len) == 0;
}

#endif
