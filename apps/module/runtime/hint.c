/*
 * hint.c - prefetches cells when a command arrives.
 */
#include "module/runtime/hint.h"

#include "base/bits.h"
#include "base/bytes.h"

static um_look_up *watched[3];
static size_t nwatched;

/* Folds upper and lower case. Some other characters become equal, too; then
 * the wrong cells are prefetched, which is harmless. */
static uint64_t lower(const char *text)
{
    return um_load64((const uint8_t *)text) | UINT64_C(0x2020202020202020);
}

static bool has_name(const um_look_up *l, uint64_t begin, char last)
{
    return begin == l->begin && (last | 0x20) == l->name[UM_LOOK_UP_NAME - 1];
}

static void fetch_for(um_look_up *l, um_filtered *command)
{
    um_hint *h = l->only;
    umbel_slice item;

    if (!h)
        h = l->now = um_hint_of(l, um_api.CommandFilterArgGet(command, 1));
    if (!h->places)
        return;
    item.data =
        um_api.StringPtrLen(um_api.CommandFilterArgGet(command, 2), &item.len);
    l->fetch(h, item);
}

static void on_command(um_filtered *command)
{
    size_t len;

    if (um_api.CommandFilterArgsCount(command) != 3)
        return;
    const char *text =
        um_api.StringPtrLen(um_api.CommandFilterArgGet(command, 0), &len);
    if (len != UM_LOOK_UP_NAME)
        return;
    uint64_t begin = lower(text);
    for (size_t i = 0; i < nwatched; i++)
        if (has_name(watched[i], begin, text[UM_LOOK_UP_NAME - 1])) {
            fetch_for(watched[i], command);
            return;
        }
}

static void watch(um_ctx *ctx, um_look_up *l)
{
    if (!um_api.RegisterCommandFilter || !um_api.CommandFilterArgsCount ||
        !um_api.CommandFilterArgGet)
        return;
    if (nwatched == 0 && !um_api.RegisterCommandFilter(ctx, on_command, 0))
        return;
    watched[nwatched++] = l;
    l->begin = lower(l->name);
}

void um_set_hint(um_ctx *ctx, um_look_up *l, const um_str *name, um_hint is)
{
    um_hint *h = um_hint_of(l, name);

    if (!h->places)
        l->only = l->used++ == 0 ? h : NULL;
    *h = is;
    if (!l->begin)
        watch(ctx, l);
}
