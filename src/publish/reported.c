/*
 * reported.c - removes the false positives that readers reported.
 *
 * Few members share a cell with a reported key. Only these are stored while a
 * filter is retouched; of all others only the cells are.
 */
#include "publish/publish.h"

#include "base/alloc.h"
#include "base/batch.h"
#include "base/buffer.h"
#include "filter/handle.h"
#include "negatives/cell_index.h"
#include "negatives/choose/choose.h"
#include "negatives/retouch/retouch.h"
#include "query/digest_set.h"

#include <stdlib.h>

typedef struct reports {
    umbel_filter *f;
    const umbel_key_list *reported;
    um_digest_set index; /* of the reported keys */
    um_pool pool;
    um_cell_index hot; /* cells of reported keys that match */
    bool *member;      /* per reported key: is a member, first of its digest */

    umbel_digest *near; /* members that share these cells */
    size_t nnear, cap;
    um_bystanders others;

    umbel_digest *left; /* reported keys that are not members */
    double *weights;
    size_t nleft;
} reports;

static umbel_status no_memory(const reports *r, umbel_error *err)
{
    return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys",
                   r->reported->n);
}

static void reports_fini(reports *r)
{
    um_digest_set_fini(&r->index);
    um_pool_fini(&r->pool);
    free(r->near);
}

static void find_cells(const reports *r, const umbel_digest *d, uint64_t *pos)
{
    const um_layout *l = &r->f->layout;

    l->row->positions(l, d, 1, pos);
}

static bool matches(const reports *r, const uint64_t *pos)
{
    const uint8_t *bits = r->f->kind->bits->cells(r->f->self);

    for (uint32_t j = 0; j < r->f->layout.hashes; j++)
        if (!um_bit(bits, pos[j]))
            return false;
    return true;
}

/* Counts the reported keys that match; if put is set, adds their cells to the
 * index. */
static size_t find_hot(reports *r, bool put)
{
    uint64_t pos[UM_MAX_HASHES];
    size_t n = 0;

    for (size_t i = 0; i < r->reported->n; i++) {
        find_cells(r, &r->reported->digests[i], pos);
        if (!matches(r, pos))
            continue;
        n++;
        for (uint32_t j = 0; put && j < r->f->layout.hashes; j++)
            um_cell_add(&r->hot, pos[j]);
    }
    return n;
}

static umbel_status begin(reports *r, umbel_error *err)
{
    const um_layout *l = &r->f->layout;

    um_pool_init(&r->pool, &r->f->alloc);
    UM_TRY(um_digest_set_init(&r->index, &r->f->alloc, r->reported->digests,
                              r->reported->n, err));
    r->others.needed = um_pool_get(&r->pool, (size_t)(l->cells / 8 + 1), 1);
    r->left = um_pool_get(&r->pool, r->reported->n, sizeof *r->left);
    r->weights = um_pool_get(&r->pool, r->reported->n, sizeof *r->weights);
    if (!um_cell_index_init(&r->hot, &r->pool, find_hot(r, false) * l->hashes,
                            l->cells) ||
        r->pool.failed)
        return no_memory(r, err);
    find_hot(r, true);
    return UMBEL_OK;
}

/* --- members -------------------------------------------------------------- */

static bool append_near(reports *r, const umbel_digest *d)
{
    if (!um_array_reserve(&r->near, &r->cap, r->nnear + 1, sizeof *r->near))
        return false;
    r->near[r->nnear++] = *d;
    return true;
}

/* Records a member; returns false if memory runs out. */
static bool check_member(reports *r, const umbel_digest *d)
{
    uint32_t listed = um_digest_set_find(&r->index, d);
    uint32_t hashes = r->f->layout.hashes;
    uint64_t pos[UM_MAX_HASHES];

    if (listed)
        r->member[listed - 1] = true;
    find_cells(r, d, pos);
    for (uint32_t j = 0; j < hashes; j++)
        if (um_cell_known(&r->hot, pos[j]))
            return append_near(r, d);
    bool match = matches(r, pos);
    r->others.n += match;
    r->others.denied += !match;
    for (uint32_t j = 0; j < hashes; j++)
        um_set_bit(r->others.needed, pos[j]);
    return true;
}

static umbel_status check_members(void *ctx, const umbel_digest *d, size_t n,
                                  umbel_error *err)
{
    reports *r = ctx;

    for (size_t i = 0; i < n; i++)
        if (!check_member(r, &d[i]))
            return no_memory(r, err);
    return UMBEL_OK;
}

/* Drops reported keys that are members: readers may be wrong, and members
 * stay. */
static uint64_t drop_members(reports *r)
{
    const umbel_key_list *all = r->reported;
    uint64_t dropped = 0;

    for (size_t i = 0; i < all->n; i++) {
        dropped += r->member[i];
        if (r->member[um_digest_set_find(&r->index, &all->digests[i]) - 1])
            continue;
        r->left[r->nleft] = all->digests[i];
        r->weights[r->nleft++] = um_list_weight(all, i);
    }
    return dropped;
}

/* --- one group ------------------------------------------------------------ */

static umbel_status retouch(reports *r, const um_digest_source *members,
                            umbel_removed_reports *out, umbel_error *err)
{
    umbel_retouch_params params = UMBEL_RETOUCH_INIT; /* 1 % may be lost */
    umbel_retouch_result cost;

    UM_TRY(begin(r, err));
    UM_TRY(members->each(members->ctx, 0, members->n, check_members, r, err));
    uint64_t dropped = drop_members(r);
    umbel_key_list near = UMBEL_KEY_LIST(r->near, r->nnear);
    umbel_key_list left = UMBEL_KEY_LIST(r->left, r->nleft);
    left.weights = r->weights;
    UM_TRY(um_retouch_among(r->f, &near, &r->others, &left, &params, &cost,
                            NULL, err));
    *out = (umbel_removed_reports){.matched = cost.matched,
                                   .left = cost.left,
                                   .members = dropped,
                                   .lost = cost.lost};
    return UMBEL_OK;
}

/* --- groups --------------------------------------------------------------- */

/* Counts the distinct reported keys that match and are not members. */
static umbel_status count_matching(const umbel_filter *f,
                                   const umbel_key_list *reported,
                                   const bool *member, uint64_t *n,
                                   umbel_error *err)
{
    um_digest_set index;
    bool hit;

    UM_TRY(um_digest_set_init(&index, &f->alloc, reported->digests, reported->n,
                              err));
    *n = 0;
    for (size_t i = 0; i < reported->n; i++)
        if (um_digest_set_is_first(&index, i) && !member[i]) {
            f->kind->query(f->self, &reported->digests[i], 1, &hit);
            *n += hit;
        }
    um_digest_set_fini(&index);
    return UMBEL_OK;
}

/* Rebuilds the filter with other group choices. Works on a copy, since
 * params.like may be f itself. */
static umbel_status choose(umbel_filter *f, const um_digest_source *members,
                           const umbel_key_list *reported,
                           const umbel_filter *like, bool *member,
                           umbel_removed_reports *out, umbel_error *err)
{
    umbel_choose_params params = UMBEL_CHOOSE_INIT;
    umbel_choose_result chosen;
    umbel_filter *next = NULL;
    umbel_status status;
    uint64_t matched;

    params.allow_members = true;
    params.like = like && !umbel_same_shape(like, f, NULL) ? like : f;
    UM_TRY(umbel_copy(f, &next, err));
    status = umbel_clear(next, err);
    if (status)
        goto done;
    status =
        um_choose(next, members, reported, &params, 1, member, &chosen, err);
    if (status)
        goto done;
    status = count_matching(f, reported, member, &matched, err);
    if (status)
        goto done;
    memcpy(f->payload, next->payload, f->payload_len);
    f->added = next->added;
    *out = (umbel_removed_reports){.matched = matched,
                                   .left = chosen.matched,
                                   .members = chosen.never_members,
                                   .lost = chosen.lost,
                                   .moved = chosen.moved,
                                   .rebuilt = true};
done:
    umbel_close(next);
    return status;
}

umbel_status um_remove_reported(umbel_filter *f,
                                const um_digest_source *members,
                                const umbel_key_list *reported,
                                const umbel_filter *like, bool *member,
                                umbel_removed_reports *out, umbel_error *err)
{
    reports r = {.f = f, .reported = reported, .member = member};

    UM_TRY(um_check_key_list(reported, err));
    UM_TRY(um_check_retouchable(f, err));
    if (f->kind->bits->groups(f->self) > 1)
        return choose(f, members, reported, like, member, out, err);
    umbel_status status = retouch(&r, members, out, err);
    reports_fini(&r);
    return status;
}

umbel_status umbel_remove_reported(umbel_filter *f,
                                   const umbel_key_list *members,
                                   const umbel_key_list *reported,
                                   const umbel_filter *like,
                                   umbel_removed_reports *out, umbel_error *err)
{
    UM_TRY(um_check_key_list(members, err));
    UM_TRY(um_check_key_list(reported, err));
    um_digest_source source = um_source_of_list(members);
    bool *member = calloc(reported->n + 1, sizeof *member);
    if (!member)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys",
                       reported->n);
    umbel_status status =
        um_remove_reported(f, &source, reported, like, member, out, err);
    free(member);
    return status;
}
