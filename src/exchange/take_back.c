/*
 * take_back.c - remove the false positives that readers reported.
 */
#include "base/alloc.h"
#include "base/key_list.h"
#include "ops/digest_index.h"

#include <umbel/exchange.h>
#include <umbel/experimental/retouch.h>

#include <stdlib.h>

/* A list without the keys that are members. */
typedef struct reports {
    bool *member;
    umbel_digest *digests;
    double *weights;
    umbel_key_list left;
} reports;

static void reports_fini(reports *r)
{
    free(r->member);
    free(r->digests);
    free(r->weights);
}

/* Counts different keys among the members that were reported. */
static umbel_status count_members(const reports *r, const umbel_key_list *all,
                                  size_t *n, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(NULL);
    um_digest_index index = {0};

    UM_TRY(um_digest_index_init(&index, &alloc, all->digests, all->n, err));
    *n = 0;
    for (size_t i = 0; i < all->n; i++)
        if (r->member[i] &&
            um_digest_index_find(&index, &all->digests[i]) == i + 1)
            ++*n;
    um_digest_index_fini(&index);
    return UMBEL_OK;
}

/* Readers may be wrong: a member stays, whatever they report. */
static umbel_status drop_members(reports *r, const umbel_filter *f,
                                 const umbel_key_list *members,
                                 const umbel_key_list *all, size_t *dropped,
                                 umbel_error *err)
{
    r->member = malloc(all->n + 1);
    r->digests = malloc((all->n + 1) * sizeof *r->digests);
    r->weights = malloc((all->n + 1) * sizeof *r->weights);
    if (!r->member || !r->digests || !r->weights)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", all->n);
    UM_TRY(umbel_in_both(f, members, all, r->member, dropped, err));
    r->left = (umbel_key_list)UMBEL_KEY_LIST(r->digests, 0);
    r->left.weights = r->weights;
    for (size_t i = 0; i < all->n; i++)
        if (!r->member[i]) {
            r->digests[r->left.n] = all->digests[i];
            r->weights[r->left.n++] = um_list_weight(all, i);
        }
    return count_members(r, all, dropped, err);
}

umbel_status umbel_take_back(umbel_filter *f, const umbel_key_list *members,
                             const umbel_key_list *reported,
                             umbel_taken_back *out, umbel_error *err)
{
    umbel_retouch_params params = UMBEL_RETOUCH_INIT; /* 1 % may be lost */
    umbel_retouch_result cost;
    reports r = {.member = NULL};
    size_t dropped = 0;

    umbel_status status = drop_members(&r, f, members, reported, &dropped, err);
    if (status)
        goto done;
    status = umbel_retouch(f, members, &r.left, &params, &cost, NULL, err);
    if (status)
        goto done;
    *out = (umbel_taken_back){.matched = cost.matched,
                              .left = cost.left,
                              .members = dropped,
                              .lost = cost.lost};
done:
    reports_fini(&r);
    return status;
}
