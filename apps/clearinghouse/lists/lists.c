/*
 * lists.c - connects the lists with the store, the sync engine, and the rules
 * of the welcome file.
 */
#include "clearinghouse/lists/internal.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

umbel_status um_lists_open(const um_lists_params *p, um_lists **out,
                           umbel_error *err)
{
    um_lists *l = calloc(1, sizeof *l);
    um_exception_set *set = calloc(1, sizeof *set);

    if (!l || !set) {
        free(l);
        free(set);
        return um_no_memory(err, sizeof *l + sizeof *set);
    }
    *l = (um_lists){.opened = p->opened,
                    .config = p->config,
                    .clock = p->clock,
                    .log = p->log,
                    .logged = set};
    *out = l;
    return UMBEL_OK;
}

void um_lists_close(um_lists *l)
{
    if (!l)
        return;
    um_welcome_close(l->welcome);
    free(l->logged->item);
    free(l->logged);
    free(l);
}

void um_lists_set_store(um_lists *l, um_store *store)
{
    l->store = store;
    um_lists_watch(l);
}

void um_lists_set_peers(um_lists *l, um_lists_append *append, void *ctx)
{
    l->append = append;
    l->append_ctx = ctx;
}

void um_lists_set_machine(um_lists *l, umbel_sync *machine)
{
    l->machine = machine;
}

void um_lists_set_log_read(um_lists *l)
{
    l->log_read = true;
}

bool um_lists_next_replica(const um_lists *l, unsigned list, size_t *at,
                           umbel_sync_replica *out)
{
    while (l->machine && umbel_sync_next_replica(l->machine, at, out))
        if (out->list == list && !out->own && !out->muted && out->version)
            return true;
    return false;
}

/* --- welcome rules -------------------------------------------------------- */

const um_welcome *um_lists_welcome(const um_lists *l)
{
    return l->welcome;
}

bool um_lists_welcomes(const um_lists *l, umbel_slice digest)
{
    um_welcome_mail mail = {.digest = &digest, .ndigests = 1};

    return um_welcome_match(l->welcome, &mail, NULL);
}

umbel_status um_lists_read_welcome(const um_lists *l, um_welcome **out,
                                   umbel_error *err)
{
    const char *path = l->config->welcome;

    /* A file that is missing for a moment must not turn welcome mail into
     * hits. */
    if (path && l->welcome && um_welcome_rules(l->welcome) &&
        access(path, F_OK) != 0)
        return um_fail(err, UMBEL_E_IO,
                       "%s: %s (to have no rules, make it an empty file)", path,
                       strerror(errno));
    return um_welcome_read(path, um_log_warning, l->log, out, err);
}

void um_lists_set_welcome(um_lists *l, um_welcome *rules)
{
    um_welcome_close(l->welcome);
    l->welcome = rules;
}

umbel_status um_lists_reload_welcome(um_lists *l, umbel_error *err)
{
    um_welcome *fresh;
    umbel_error why;
    umbel_status status = um_lists_read_welcome(l, &fresh, &why);

    if (status != UMBEL_OK) {
        um_log_event(l->log, "welcome file not reloaded: %s", why.text);
        return um_fail(err, status, "%s", why.text);
    }
    um_lists_set_welcome(l, fresh);
    um_log_event(l->log, "welcome file reloaded, rules: %zu",
                 um_welcome_rules(l->welcome));
    return UMBEL_OK;
}
