/*
 * hint.c - what the module does when a command has come.
 */
#include "module/hint.h"

#include "base/bits.h"
#include "base/bytes.h"

static um_look_up *watched[3];
static size_t nwatched;

/* Letters of both cases become one. Other characters may, too: then cells are
 * fetched in vain. */
static uint64_t lower(const char *text)
{
    return um_load64((const uint8_t *)text) | UINT64_C(0x2020202020202020);
}

static bool has_name(const um_look_up *l, const char *text)
{
    return lower(text) == lower(l->name) &&
           (text[UM_LOOK_UP_NAME - 1] | 0x20) == l->name[UM_LOOK_UP_NAME - 1];
}

static void fetch_for(um_look_up *l, um_filtered *command)
{
    umbel_slice item;

    l->now = um_hint_of(l, um_api.CommandFilterArgGet(command, 1));
    if (!l->now->places)
        return;
    item.data =
        um_api.StringPtrLen(um_api.CommandFilterArgGet(command, 2), &item.len);
    l->fetch(l->now, item);
}

static void on_command(um_filtered *command)
{
    size_t len;

    if (um_api.CommandFilterArgsCount(command) != 3)
        return;
    const char *text =
        um_api.StringPtrLen(um_api.CommandFilterArgGet(command, 0), &len);
    for (size_t i = 0; len == UM_LOOK_UP_NAME && i < nwatched; i++)
        if (has_name(watched[i], text)) {
            fetch_for(watched[i], command);
            return;
        }
}

void um_write_hint(um_ctx *ctx, um_look_up *l, um_hint *h, um_hint is)
{
    *h = is;
    if (l->watched || !is.places || !um_api.RegisterCommandFilter ||
        !um_api.CommandFilterArgsCount || !um_api.CommandFilterArgGet)
        return;
    if (nwatched == 0 && !um_api.RegisterCommandFilter(ctx, on_command, 0))
        return;
    watched[nwatched++] = l;
    l->watched = true;
}
