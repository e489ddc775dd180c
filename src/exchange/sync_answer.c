/*
 * sync_answer.c - what a list answers: sums over origins, and the word that is
 * the same where answers are.
 */
#include "base/batch.h"
#include "base/error.h"
#include "exchange/sync_inside.h"
#include "filter/head.h"

#include <umbel/counting.h>

#include <sodium.h>

static int compare_copies(const um_copy *a, const um_copy *b)
{
    int origins = memcmp(a->id.origin, b->id.origin, UMBEL_ORIGIN_LEN);

    if (a->id.list != b->id.list)
        return a->id.list < b->id.list ? -1 : 1;
    if (origins)
        return origins;
    if (a->id.incarnation != b->id.incarnation)
        return a->id.incarnation < b->id.incarnation ? -1 : 1;
    return (a->id.epoch > b->id.epoch) - (a->id.epoch < b->id.epoch);
}

/* One copy more or less: insertion is enough. */
void um_sync_sort(umbel_sync *s)
{
    s->norder = 0;
    for (size_t i = 0; i < s->ncopies; i++) {
        size_t at = s->norder;
        if (!s->copy[i])
            continue;
        for (; at && compare_copies(s->copy[s->order[at - 1]], s->copy[i]) > 0;
             at--)
            s->order[at] = s->order[at - 1];
        s->order[at] = i;
        s->norder++;
    }
}

static bool counts_for(const umbel_sync *s, const um_copy *c, size_t list)
{
    return c->id.list == list && c->now.version &&
           um_standing_of(s, c->id.origin) == UM_ALLOWED;
}

static umbel_status count_copy(const um_copy *c, const umbel_digest *d,
                               size_t n, uint64_t *out, umbel_error *err)
{
    bool hit[UM_BATCH];

    if (umbel_is_counting(umbel_kind(c->filter)))
        return umbel_count_digests(c->filter, d, n, out, err);
    UM_TRY(umbel_query_digests(c->filter, d, n, hit, err));
    for (size_t i = 0; i < n; i++)
        out[i] = hit[i];
    return UMBEL_OK;
}

/* What one origin says, and then nothing. */
static void add_origin(uint64_t most, uint64_t *own, size_t n, uint64_t *counts,
                       uint32_t *origins)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x = own[i] < most ? own[i] : most;
        counts[i] = counts[i] + x < x ? UINT64_MAX : counts[i] + x;
        if (origins)
            origins[i] += own[i] > 0;
        own[i] = 0;
    }
}

static umbel_status count_batch(const umbel_sync *s, size_t list,
                                const umbel_digest *d, size_t n,
                                uint64_t *counts, uint32_t *origins,
                                umbel_error *err)
{
    const um_sync_of_list *l = &s->list[list];
    bool counting = umbel_is_counting(umbel_kind(l->shape));
    uint64_t own[UM_BATCH] = {0}, one[UM_BATCH];
    uint64_t most = l->set.origin_cap ? l->set.origin_cap : UINT64_MAX;
    const um_copy *last = NULL;

    most = counting ? most : 1;
    memset(counts, 0, n * sizeof *counts);
    if (origins)
        memset(origins, 0, n * sizeof *origins);
    for (size_t i = 0; i < s->norder; i++) {
        const um_copy *c = s->copy[s->order[i]];
        if (!counts_for(s, c, list))
            continue;
        if (last &&
            memcmp(last->id.origin, c->id.origin, UMBEL_ORIGIN_LEN) != 0)
            add_origin(most, own, n, counts, origins);
        UM_TRY(count_copy(c, d, n, one, err));
        for (size_t j = 0; j < n; j++)
            own[j] = own[j] + one[j] < one[j] ? UINT64_MAX : own[j] + one[j];
        last = c;
    }
    add_origin(most, own, n, counts, origins);
    return UMBEL_OK;
}

umbel_status umbel_sync_count(const umbel_sync *s, size_t list,
                              const umbel_digest *d, size_t n, uint64_t *counts,
                              uint32_t *origins, umbel_error *err)
{
    if (list >= s->nlists)
        return um_fail(err, UMBEL_E_RANGE, "there is no such list");
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        UM_TRY(count_batch(s, list, d + done, some, counts + done,
                           origins ? origins + done : NULL, err));
    }
    return UMBEL_OK;
}

umbel_status umbel_sync_query(const umbel_sync *s, size_t list,
                              const umbel_digest *d, size_t n, bool *hit,
                              umbel_error *err)
{
    uint64_t counts[UM_BATCH];
    uint32_t origins[UM_BATCH];

    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        UM_TRY(umbel_sync_count(s, list, d + done, some, counts, origins, err));
        for (size_t i = 0; i < some; i++)
            hit[done + i] = origins[i] >= s->list[list].set.quorum;
    }
    return UMBEL_OK;
}

static void hash_logs(const umbel_sync *s, crypto_generichash_state *h)
{
    uint64_t sum[2];

    um_log_sum(s, sum);
    um_store64(&sum[0], sum[0]);
    um_store64(&sum[1], sum[1]);
    crypto_generichash_update(h, (const uint8_t *)sum, sizeof sum);
}

uint64_t umbel_sync_agreement(const umbel_sync *s, size_t list)
{
    const um_sync_of_list *l = &s->list[list];
    crypto_generichash_state h;
    uint8_t out[UM_HASH_LEN], numbers[24];

    um_store64(numbers, l->set.epochs);
    um_store64(numbers + 8, l->set.quorum);
    um_store64(numbers + 16, l->set.origin_cap);
    crypto_generichash_init(&h, (const uint8_t *)"umbel-sync-word1", 16,
                            sizeof out);
    crypto_generichash_update(&h, l->digest, sizeof l->digest);
    crypto_generichash_update(&h, numbers, sizeof numbers);
    for (size_t i = 0; i < s->norder; i++) {
        const um_copy *c = s->copy[s->order[i]];
        if (!counts_for(s, c, list) ||
            memcmp(um_tree_root(&c->tree), l->empty, UM_HASH_LEN) == 0)
            continue;
        um_store64(numbers, c->id.epoch);
        crypto_generichash_update(&h, c->id.origin, UMBEL_ORIGIN_LEN);
        crypto_generichash_update(&h, numbers, 8);
        crypto_generichash_update(&h, um_tree_root(&c->tree), UM_HASH_LEN);
    }
    hash_logs(s, &h);
    crypto_generichash_final(&h, out, sizeof out);
    return um_load64(out);
}

bool umbel_sync_next_copy(const umbel_sync *s, size_t *at, umbel_sync_copy *out)
{
    if (*at >= s->norder)
        return false;
    const um_copy *c = s->copy[s->order[(*at)++]];
    *out = (umbel_sync_copy){
        .origin = c->id.origin,
        .incarnation = c->id.incarnation,
        .epoch = c->id.epoch,
        .list = c->id.list,
        .version = c->now.version,
        .keys = c->now.keys,
        .own = c->own,
        .muted = um_standing_of(s, c->id.origin) != UM_ALLOWED,
        .held = c->held,
        .bytes = s->list[c->id.list].pages.bytes + c->history_bytes,
        .seen = c->seen,
        .filter = c->filter};
    return true;
}
