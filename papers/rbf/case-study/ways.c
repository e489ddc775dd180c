/*
 * ways.c - filters of the red stop set.
 *
 * Filters are built with knowledge of the learning cycle only: false positives
 * are addresses met there, weighted by the traces that passed them.
 */
#include "papers/rbf/case-study/ways.h"

#include "base/error.h"

#include <umbel/experimental/choose.h>
#include <umbel/experimental/retouch.h>
#include <umbel/filter.h>
#include <umbel/keys.h>
#include <umbel/umbel.h>

#include <stdlib.h>

static umbel_status open_filter(const notebook *n, const way *how,
                                uint64_t bits, umbel_filter **out,
                                umbel_error *err)
{
    umbel_setting groups = {"groups", how->groups};
    umbel_params p = {.size = sizeof p,
                      .addressing = "classic",
                      .cells = bits,
                      .hashes = how->hashes,
                      .seed = n->seed,
                      .settings = &groups,
                      .nsettings = how->groups ? 1 : 0};

    return umbel_create("bloom", &p, out, err);
}

static umbel_status digest_all(notebook *n, umbel_error *err)
{
    umbel_filter *f = NULL;
    umbel_status status = UMBEL_OK;

    status = open_filter(n, &(way){.hashes = 1}, 64, &f, err);
    for (uint64_t a = 0; status == UMBEL_OK && a < n->w->addresses; a++) {
        uint64_t key = um_le64(a);
        status = umbel_digest_fixed(f, &key, sizeof key, 1, &n->all[a], err);
    }
    umbel_close(f);
    return status;
}

static void sort_out(notebook *n)
{
    const world *w = n->w;

    for (uint32_t a = 0; a < w->addresses; a++)
        if (w->stop[a]) {
            n->ending[n->nmembers] = w->ending[a];
            n->members[n->nmembers++] = n->all[a];
        } else if (w->through[a]) {
            n->through[n->nothers] = w->through[a];
            n->others[n->nothers++] = n->all[a];
        }
}

umbel_status notebook_init(notebook *n, const world *w, uint64_t seed,
                           umbel_error *err)
{
    size_t room = w->addresses;

    *n = (notebook){.w = w, .seed = seed};
    n->all = calloc(room, sizeof *n->all);
    n->members = calloc(room, sizeof *n->members);
    n->ending = calloc(room, sizeof *n->ending);
    n->others = calloc(room, sizeof *n->others);
    n->through = calloc(room, sizeof *n->through);
    if (!n->all || !n->members || !n->ending || !n->others || !n->through)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the addresses");
    umbel_status status = digest_all(n, err);
    if (status == UMBEL_OK)
        sort_out(n);
    return status;
}

void notebook_fini(notebook *n)
{
    free(n->all);
    free(n->members);
    free(n->ending);
    free(n->others);
    free(n->through);
}

static umbel_key_list list_members(const notebook *n)
{
    umbel_key_list k = UMBEL_KEY_LIST(n->members, n->nmembers);

    k.weights = n->ending;
    return k;
}

static umbel_key_list list_others(const notebook *n)
{
    umbel_key_list k = UMBEL_KEY_LIST(n->others, n->nothers);

    k.weights = n->through;
    return k;
}

static umbel_status retouch(const notebook *n, const way *how, umbel_filter *f,
                            umbel_error *err)
{
    umbel_key_list members = list_members(n), never = list_others(n);
    umbel_retouch_params p = {.size = sizeof p,
                              .method = how->method,
                              .max_fn = 1,
                              .cost = how->cost,
                              .beta = how->beta > 0 ? how->beta : 1,
                              .heaviest = true,
                              .count_outside = true,
                              .seed = n->seed};
    umbel_retouch_result bill;

    return umbel_retouch(f, &members, &never, &p, &bill, NULL, err);
}

static umbel_status fill(const notebook *n, const way *how, umbel_filter *f,
                         umbel_error *err)
{
    umbel_key_list members = list_members(n), never = list_others(n);
    umbel_choose_result bill;

    if (how->groups)
        return umbel_choose(f, &members, &never, NULL, &bill, err);
    umbel_status status =
        umbel_add_digests(f, n->members, n->nmembers, NULL, err);
    if (status == UMBEL_OK && how->method)
        status = retouch(n, how, f, err);
    return status;
}

umbel_status write_down(const notebook *n, const way *how, uint64_t bits,
                        bool *match, umbel_error *err)
{
    umbel_filter *f = NULL;
    umbel_status status = open_filter(n, how, bits, &f, err);

    if (status == UMBEL_OK)
        status = fill(n, how, f, err);
    if (status == UMBEL_OK)
        status = umbel_query_digests(f, n->all, n->w->addresses, match, err);
    umbel_close(f);
    return status;
}
