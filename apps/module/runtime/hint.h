/*
 * hint.h - prefetches the cells of a look-up before its command runs.
 *
 * A memory access takes longer than the server needs to run a command. So a
 * hint remembers where the cells of a key's filter were at its last look-up. As
 * soon as a command arrives, before the server looks it up, checks it and calls
 * it, the item is hashed and its cells are prefetched. The command then runs as
 * usual and does not rely on the hint. Addresses in a hint are prefetched,
 * never read, so a hint to a freed filter costs only a little time.
 *
 * For this the module installs a command filter at the first look-up in a large
 * filter. It costs other commands about 10 ns.
 */
#ifndef UM_MODULE_HINT_H
#define UM_MODULE_HINT_H

#include "module/runtime/api.h"

#include <string.h>
#include <umbel/base.h>

typedef struct um_hint {
    void *cells;
    uint64_t len;    /* of all cells, in bytes */
    uint64_t places; /* 0 if there is no hint */
    uint64_t more;   /* length of a place, or number of rows */
    uint64_t seed;
} um_hint;

enum { UM_HINTS = 64 };

/* A command that looks up one item: COMMAND key item. */
typedef struct um_look_up {
    const char *name; /* UM_LOOK_UP_NAME characters, in lower case */
    /* Prefetches the cells of an item; places of the hint is not 0. */
    void (*fetch)(const um_hint *h, umbel_slice item);
    um_hint hints[UM_HINTS];
    um_hint *only; /* the only hint in use; NULL if there are several */
    um_hint *now;  /* of the command that was prefetched for; NULL if none */
    size_t used;
    uint64_t begin; /* first eight characters of name; 0 if not watched */
} um_look_up;

enum { UM_LOOK_UP_NAME = 9 };

extern um_look_up um_look_up_check, um_look_up_exists, um_look_up_query;

/* Returns the hint slot of a name, which names may share. Names mostly differ
 * at their end. */
static inline um_hint *um_hint_of(um_look_up *l, const um_str *name)
{
    size_t len;
    const char *text = um_api.StringPtrLen(name, &len);
    uint32_t end = (uint32_t)len;

    for (size_t i = len < 4 ? 0 : len - 4; i < len; i++)
        end = end * 251 + (uint8_t)text[i];
    return &l->hints[end % UM_HINTS];
}

/* Smaller filters are in the second-level cache, or soon will be. */
enum { UM_HINT_FROM = 256 << 10 };

/* Returns true if the hint seems to be about these cells. If it is not,
 * the wrong cells are prefetched, which is harmless. */
static inline bool um_is_hint(const um_hint *h, const void *cells, uint64_t len)
{
    return h->cells == cells && h->len == len;
}

/* Returns the hint of the command that is running. */
static inline um_hint *um_hint_now(um_look_up *l, const um_str *name)
{
    um_hint *h = l->now;

    if (l->only)
        return l->only;
    l->now = NULL;
    return h ? h : um_hint_of(l, name);
}

/* Records where the cells of a name are. The first call installs the command
 * filter. places must not be 0. */
void um_set_hint(um_ctx *ctx, um_look_up *l, const um_str *name, um_hint is);

/* The item of the last prefetch, if it is short, so that its hashes need not be
 * computed again. */
typedef struct um_last_item {
    size_t len; /* 0 if not set */
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
