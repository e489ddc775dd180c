/*
 * watch.c - shows watched notes of a start to their reader.
 */
#include "store/state.h"

#include "base/error.h"

#include <string.h>

static bool is_leader(const um_store_watch *w, umbel_slice name)
{
    return w->leader && name.len == strlen(w->leader) &&
           memcmp(name.data, w->leader, name.len) == 0;
}

bool um_watch_has_prefix(const um_store_watch *w, umbel_slice name)
{
    return w->prefix && name.len >= strlen(w->prefix) &&
           memcmp(name.data, w->prefix, strlen(w->prefix)) == 0;
}

bool um_watch_wants(const um_store_watch *w, umbel_slice name)
{
    return w && w->note && (is_leader(w, name) || um_watch_has_prefix(w, name));
}

umbel_status um_watch_show(const um_store_watch *w, const um_state *st,
                           size_t nlists, umbel_slice name, umbel_slice value,
                           umbel_error *err)
{
    const um_list *lists[UM_STORE_MAX_LISTS];

    for (size_t i = 0; i < nlists; i++)
        lists[i] = st->list[i];
    return w->note(w->ctx, lists, nlists, name, value, err);
}

umbel_status um_watch_show_all(const um_store_watch *w, const um_state *st,
                               size_t nlists, umbel_error *err)
{
    umbel_slice name, value;

    if (!w->note)
        return UMBEL_OK;
    if (w->leader) {
        name = (umbel_slice){w->leader, strlen(w->leader)};
        if (um_notes_get(&st->notes, name, &value))
            UM_TRY(um_watch_show(w, st, nlists, name, value, err));
    }
    for (size_t at = 0; um_notes_next(&st->notes, &at, &name, &value);)
        if (um_watch_has_prefix(w, name))
            UM_TRY(um_watch_show(w, st, nlists, name, value, err));
    return UMBEL_OK;
}
