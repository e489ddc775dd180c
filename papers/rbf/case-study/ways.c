/*
 * ways.c - filters of the red stop set.
 *
 * The paper removes stops "before the penultimate node" until at beta = 1 no
 * trace stops short, although 9.36 % of the list's do. So its set B is known
 * from the probing cycle, and has members of the stop set in it. Ours, which a
 * user could have before that cycle, is known from the learning cycle alone.
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

static void append(weighted *list, umbel_digest key, uint32_t weight)
{
    list->key[list->n] = key;
    list->weight[list->n++] = weight;
}

static void sort_out(notebook *n)
{
    const world *w = n->w;

    for (uint32_t a = 0; a < w->addresses; a++) {
        if (w->stop[a])
            append(&n->members, n->all[a], w->ending[a]);
        else if (w->through[a])
            append(&n->never[OF_LEARNING], n->all[a], w->through[a]);
        if (w->passed[a])
            append(&n->never[OF_PROBING], n->all[a], w->passed[a]);
    }
}

static bool weighted_init(weighted *list, size_t cap)
{
    list->key = calloc(cap, sizeof *list->key);
    list->weight = calloc(cap, sizeof *list->weight);
    return list->key && list->weight;
}

static void weighted_fini(weighted *list)
{
    free(list->key);
    free(list->weight);
}

umbel_status notebook_init(notebook *n, const world *w, uint64_t seed,
                           umbel_error *err)
{
    size_t cap = w->addresses;

    *n = (notebook){.w = w, .seed = seed};
    n->all = calloc(cap, sizeof *n->all);
    bool fine = n->all && weighted_init(&n->members, cap);
    for (size_t i = 0; i < NEGATIVES; i++)
        fine = fine && weighted_init(&n->never[i], cap);
    if (!fine)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the addresses");
    umbel_status status = digest_all(n, err);
    if (status == UMBEL_OK)
        sort_out(n);
    return status;
}

void notebook_fini(notebook *n)
{
    free(n->all);
    weighted_fini(&n->members);
    for (size_t i = 0; i < NEGATIVES; i++)
        weighted_fini(&n->never[i]);
}

static umbel_key_list key_list(const weighted *list)
{
    umbel_key_list k = UMBEL_KEY_LIST(list->key, list->n);

    k.weights = list->weight;
    return k;
}

static umbel_status retouch(const notebook *n, const way *how, umbel_filter *f,
                            umbel_error *err)
{
    umbel_key_list members = key_list(&n->members);
    umbel_key_list never = key_list(&n->never[how->never]);
    umbel_retouch_params p = {.size = sizeof p,
                              .method = how->method,
                              .max_fn = 1,
                              .cost = how->cost,
                              .beta = how->beta > 0 ? how->beta : 1,
                              .heaviest = true,
                              .count_outside = true,
                              .allow_members = how->never == OF_PROBING,
                              .seed = n->seed};
    umbel_retouch_result bill;

    return umbel_retouch(f, &members, &never, &p, &bill, NULL, err);
}

static umbel_status fill(const notebook *n, const way *how, umbel_filter *f,
                         umbel_error *err)
{
    umbel_key_list members = key_list(&n->members);
    umbel_key_list never = key_list(&n->never[how->never]);
    umbel_choose_result bill;

    if (how->groups)
        return umbel_choose(f, &members, &never, NULL, &bill, err);
    umbel_status status =
        umbel_add_digests(f, n->members.key, n->members.n, NULL, err);
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
