/*
 * peers_load.c - what a start finds on disk.
 */
#include "clearinghouse/peering/store_inside.h"

#include "base/error.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOGGED_MOST = 8 }; /* files that are named */

static umbel_status load_state(um_peers_store *p, umbel_error *err)
{
    uint8_t *bytes;
    size_t len = 0;
    umbel_error why;
    umbel_status status = um_state_file_read(p->disk, &bytes, &len, &why);

    if (status == UMBEL_E_IO || status == UMBEL_E_NOMEM)
        return um_fail(err, status, "%s", why.text);
    if (!status && !bytes)
        return UMBEL_OK;
    if (!status) {
        p->state_sum = um_checksum(bytes, len);
        status = umbel_sync_import_state(p->set.machine, bytes, len, &why);
        free(bytes);
    }
    if (!status)
        return UMBEL_OK;
    p->stats.state_lost = true;
    um_peers_store_log(p,
                       "%s: %s; it is kept as %s.bad, and which origins were "
                       "dropped or muted is not known any more",
                       UM_PEERS_STATE, why.text, UM_PEERS_STATE);
    return um_disk_status(
        p->disk->ops->rename(p->disk, UM_PEERS_STATE, UM_PEERS_STATE ".bad"),
        UM_PEERS_STATE, err);
}

/* Names of files that were not looked at yet. */
typedef struct listing {
    const um_saved_copies *done;
    um_copy_name *name;
    size_t n;
} listing;

static void note_name(void *ctx, const char *name)
{
    listing *l = ctx;

    if (l->n < UM_PEERS_NAMES && um_copy_name_is(name) &&
        !um_saved_find(l->done, name))
        snprintf(l->name[l->n++].text, UM_DISK_NAME, "%s", name);
}

static umbel_status remove_bad(um_peers_store *p, const char *name,
                               const umbel_error *why, umbel_error *err)
{
    if (p->stats.bad++ < LOGGED_MOST)
        um_peers_store_log(p, "%s: %s; it is removed, and peers send it again",
                           name, why->text);
    return um_disk_status(p->disk->ops->remove(p->disk, name), name, err);
}

static umbel_status load_copy(um_peers_store *p, const um_copy_name *name,
                              umbel_error *err)
{
    umbel_filter *f;
    umbel_error why;
    umbel_status status =
        um_copy_file_read(p->disk, name->text, p->set.memory, &f, &why);

    if (!status) {
        status = umbel_sync_import(p->set.machine, f, &why);
        umbel_close(f);
    }
    if (status)
        return remove_bad(p, name->text, &why, err);
    um_saved_copy *all = realloc(p->saved.item, (p->saved.n + 1) * sizeof *all);
    if (!all)
        return um_no_memory(err, sizeof *all);
    p->saved.item = all;
    all[p->saved.n++] = (um_saved_copy){.name = *name};
    return UMBEL_OK;
}

/* Looks at some files; *more: there are others. */
static umbel_status load_some(um_peers_store *p, um_copy_name *names,
                              bool *more, umbel_error *err)
{
    um_saved_copies done = {p->saved.item, p->saved.n};
    listing l = {&done, names, 0};

    UM_TRY(um_disk_status(p->disk->ops->names(p->disk, note_name, &l), "names",
                          err));
    for (size_t i = 0; i < l.n; i++)
        UM_TRY(load_copy(p, &names[i], err));
    if (p->saved.n)
        qsort(p->saved.item, p->saved.n, sizeof *p->saved.item,
              um_copy_name_order);
    *more = l.n == UM_PEERS_NAMES;
    return UMBEL_OK;
}

/* A file may have the name of another copy: then it is written again. */
static umbel_status note_versions(um_peers_store *p, umbel_error *err)
{
    um_saved_copies all;
    size_t n = 0;

    if (!um_saved_list(p, &all))
        return um_no_memory(err, 1);
    for (size_t i = 0; i < all.n; i++)
        if (um_saved_find(&p->saved, all.item[i].name.text))
            all.item[n++] = all.item[i];
    all.n = n;
    um_saved_free(&p->saved);
    p->saved = all;
    p->stats.files = n;
    return UMBEL_OK;
}

umbel_status um_peers_store_load(um_peers_store *p, umbel_error *err)
{
    um_copy_name *names = malloc(UM_PEERS_NAMES * sizeof *names);
    bool more = true;

    if (!names)
        return um_no_memory(err, UM_PEERS_NAMES * sizeof *names);
    umbel_status status = load_state(p, err);
    while (!status && more)
        status = load_some(p, names, &more, err);
    free(names);
    if (p->stats.bad > LOGGED_MOST)
        um_peers_store_log(p, "%" PRIu64 " more files like these",
                           p->stats.bad - LOGGED_MOST);
    return status ? status : note_versions(p, err);
}
