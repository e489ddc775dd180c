/*
 * answers.c - answers queries of a list: sums over origins, and the agreement
 * hash.
 */
#include "base/batch.h"
#include "base/error.h"
#include "filter/head.h"
#include "sync/internal.h"

#include <umbel/counting.h>

#include <sodium.h>

static bool counts_for(const umbel_sync *s, const um_replica *c, size_t list)
{
    return c->id.list == list && c->now.version &&
           um_origin_status_of(s, c->id.origin) == UM_ALLOWED;
}

static umbel_status count_replica(const um_replica *c, const umbel_digest *d,
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

static uint64_t add_up(uint64_t a, uint64_t b)
{
    return a + b < b ? UINT64_MAX : a + b;
}

/*
 * A batch of digests being counted. Counts are added to counts directly, unless
 * the counts per origin are needed (to cap them, or to count origins); then
 * they are first summed in said.
 */
typedef struct counting {
    const umbel_sync *s;
    size_t list;
    const umbel_digest *d;
    size_t n;
    uint64_t most;           /* most that one origin can contribute */
    uint64_t said[UM_BATCH]; /* counts of the current origin */
    uint64_t *counts;
    uint32_t *origins; /* may be NULL */
    uint64_t *sum;     /* points to said or counts */
    /* For each column of the index, the digests that it may contain. */
    uint8_t likely[UM_INDEX_MAX][UM_BATCH];
    uint16_t nlikely[UM_INDEX_MAX];
} counting;

_Static_assert(UM_BATCH <= 256, "numbers of digests are bytes");

/* Adds the counts of the current origin to the result and clears them. */
static void end_origin(counting *c)
{
    for (size_t i = 0; i < c->n && c->sum == c->said; i++) {
        uint64_t x = c->said[i] < c->most ? c->said[i] : c->most;
        c->counts[i] = add_up(c->counts[i], x);
        if (c->origins)
            c->origins[i] += c->said[i] > 0;
        c->said[i] = 0;
    }
}

static void find_likely(counting *c)
{
    const um_sync_list *l = &c->s->list[c->list];
    uint64_t mask[UM_BATCH];

    memset(c->nlikely, 0, sizeof c->nlikely);
    if (!l->index.used)
        return;
    um_index_find(l, c->d, c->n, mask);
    for (size_t i = 0; i < c->n; i++)
        for (uint64_t left = mask[i]; left; left &= left - 1) {
            int column = __builtin_ctzll(left);
            c->likely[column][c->nlikely[column]++] = (uint8_t)i;
        }
}

/* Counts in a replica only the digests that it may contain. */
static umbel_status add_likely(counting *c, const um_replica *from,
                               umbel_error *err)
{
    const uint8_t *which = c->likely[from->column - 1];
    size_t n = c->nlikely[from->column - 1];
    umbel_digest d[UM_BATCH];
    uint64_t one[UM_BATCH];

    if (!n)
        return UMBEL_OK;
    for (size_t i = 0; i < n; i++)
        d[i] = c->d[which[i]];
    UM_TRY(count_replica(from, d, n, one, err));
    for (size_t i = 0; i < n; i++)
        c->sum[which[i]] = add_up(c->sum[which[i]], one[i]);
    return UMBEL_OK;
}

static umbel_status add_replica(counting *c, const um_replica *from,
                                umbel_error *err)
{
    uint64_t one[UM_BATCH];

    if (um_index_covers(c->s, from))
        return add_likely(c, from, err);
    UM_TRY(count_replica(from, c->d, c->n, one, err));
    for (size_t i = 0; i < c->n; i++)
        c->sum[i] = add_up(c->sum[i], one[i]);
    return UMBEL_OK;
}

/* Adds the replicas of our own origin. If live is set, those that the live
 * filter replaces are skipped. */
static umbel_status add_ours(counting *c, bool live, umbel_error *err)
{
    for (size_t i = 0; i < c->s->norder; i++) {
        const um_replica *from = c->s->replica[c->s->order[i]];
        if (counts_for(c->s, from, c->list) &&
            um_is_our_origin(c->s, from->id.origin) && !(live && from->own))
            UM_TRY(add_replica(c, from, err));
    }
    end_origin(c);
    return UMBEL_OK;
}

static umbel_status add_others(counting *c, umbel_error *err)
{
    const um_replica *last = NULL;

    for (size_t i = 0; i < c->s->norder; i++) {
        const um_replica *from = c->s->replica[c->s->order[i]];
        if (!counts_for(c->s, from, c->list) ||
            um_is_our_origin(c->s, from->id.origin))
            continue;
        if (last &&
            memcmp(last->id.origin, from->id.origin, UMBEL_ORIGIN_LEN) != 0)
            end_origin(c);
        UM_TRY(add_replica(c, from, err));
        last = from;
    }
    end_origin(c);
    return UMBEL_OK;
}

static umbel_status count_batch(const umbel_sync *s, size_t list,
                                const umbel_digest *d, size_t n,
                                const uint64_t *own, uint64_t *counts,
                                uint32_t *origins, umbel_error *err)
{
    const um_sync_list *l = &s->list[list];
    counting c; /* not zeroed: its arrays are large and rarely all used */

    c.s = s;
    c.list = list;
    c.d = d;
    c.n = n;
    c.most = !umbel_is_counting(umbel_kind(l->shape)) ? 1
             : l->set.origin_cap                      ? l->set.origin_cap
                                                      : UINT64_MAX;
    c.counts = counts;
    c.origins = origins;
    c.sum = c.most < UINT64_MAX || origins ? c.said : counts;
    memset(counts, 0, n * sizeof *counts);
    if (origins)
        memset(origins, 0, n * sizeof *origins);
    memset(c.sum, 0, n * sizeof *c.sum);
    if (own)
        memcpy(c.sum, own, n * sizeof *own);
    find_likely(&c);
    UM_TRY(add_ours(&c, own, err));
    return add_others(&c, err);
}

static umbel_status check_list(const umbel_sync *s, size_t list,
                               umbel_error *err)
{
    return list < s->nlists
               ? UMBEL_OK
               : um_fail(err, UMBEL_E_RANGE, "there is no such list");
}

umbel_status umbel_sync_count(const umbel_sync *s, size_t list,
                              const umbel_digest *d, size_t n, uint64_t *counts,
                              uint32_t *origins, umbel_error *err)
{
    UM_TRY(check_list(s, list, err));
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        UM_TRY(count_batch(s, list, d + done, some, NULL, counts + done,
                           origins ? origins + done : NULL, err));
    }
    return UMBEL_OK;
}

umbel_status umbel_sync_count_with(const umbel_sync *s, size_t list,
                                   const umbel_digest *d, size_t n,
                                   const uint64_t *own, uint64_t *counts,
                                   umbel_error *err)
{
    uint32_t origins[UM_BATCH] = {0}, quorum;

    UM_TRY(check_list(s, list, err));
    quorum = s->list[list].set.quorum;
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        UM_TRY(count_batch(s, list, d + done, some, own ? own + done : NULL,
                           counts + done, quorum > 1 ? origins : NULL, err));
        for (size_t i = 0; i < some && quorum > 1; i++)
            if (origins[i] < quorum)
                counts[done + i] = 0;
    }
    return UMBEL_OK;
}

/* Counts in our own filters: own, the counts of the live filter, or the
 * published replicas if it is NULL. */
static umbel_status count_ours(const umbel_sync *s, size_t list,
                               const umbel_digest *d, size_t n,
                               const uint64_t *own, uint64_t *ours,
                               umbel_error *err)
{
    uint64_t one[UM_BATCH];

    memset(ours, 0, n * sizeof *ours);
    if (own)
        memcpy(ours, own, n * sizeof *own);
    for (size_t i = 0; i < s->norder && !own; i++) {
        const um_replica *c = s->replica[s->order[i]];
        if (!c->own || !counts_for(s, c, list))
            continue;
        UM_TRY(count_replica(c, d, n, one, err));
        for (size_t j = 0; j < n; j++)
            ours[j] = add_up(ours[j], one[j]);
    }
    return UMBEL_OK;
}

/* Sets open to the indices of the digests that may reach the threshold. */
static umbel_status find_open(const umbel_sync *s, size_t list,
                              const umbel_digest *d, size_t n,
                              const uint64_t *own, uint64_t threshold,
                              uint8_t open[UM_BATCH], size_t *nopen,
                              umbel_error *err)
{
    uint64_t ours[UM_BATCH];
    uint8_t most[UM_BATCH];
    bool know = um_totals_cover(s, list);

    *nopen = 0;
    if (know) {
        UM_TRY(count_ours(s, list, d, n, own, ours, err));
        um_totals_bound(&s->list[list], d, n, most);
    }
    for (size_t i = 0; i < n; i++)
        if (!know || most[i] == UM_TOTAL_MAX ||
            add_up(ours[i], most[i]) >= threshold)
            open[(*nopen)++] = (uint8_t)i;
    return UMBEL_OK;
}

static umbel_status reach_batch(const umbel_sync *s, size_t list,
                                const umbel_digest *d, size_t n,
                                const uint64_t *own, uint64_t threshold,
                                bool *reached, umbel_error *err)
{
    uint8_t open[UM_BATCH];
    umbel_digest some[UM_BATCH];
    uint64_t some_own[UM_BATCH], counts[UM_BATCH];
    size_t nopen;

    UM_TRY(find_open(s, list, d, n, own, threshold, open, &nopen, err));
    for (size_t i = 0; i < nopen; i++) {
        some[i] = d[open[i]];
        some_own[i] = own ? own[open[i]] : 0;
    }
    UM_TRY(umbel_sync_count_with(s, list, some, nopen, own ? some_own : NULL,
                                 counts, err));
    memset(reached, 0, n * sizeof *reached);
    for (size_t i = 0; i < nopen; i++)
        reached[open[i]] = counts[i] >= threshold;
    return UMBEL_OK;
}

umbel_status umbel_sync_reaches(const umbel_sync *s, size_t list,
                                const umbel_digest *d, size_t n,
                                const uint64_t *own, uint64_t threshold,
                                bool *reached, umbel_error *err)
{
    UM_TRY(check_list(s, list, err));
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        UM_TRY(reach_batch(s, list, d + done, some, own ? own + done : NULL,
                           threshold, reached + done, err));
    }
    return UMBEL_OK;
}

void umbel_sync_set_trust(umbel_sync *s, size_t list, uint32_t quorum,
                          uint64_t origin_cap)
{
    s->list[list].set.quorum = quorum ? quorum : 1;
    s->list[list].set.origin_cap = origin_cap;
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
    const um_sync_list *l = &s->list[list];
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
        const um_replica *c = s->replica[s->order[i]];
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

bool umbel_sync_next_replica(const umbel_sync *s, size_t *at,
                             umbel_sync_replica *out)
{
    if (*at >= s->norder)
        return false;
    const um_replica *c = s->replica[s->order[(*at)++]];
    uint64_t seconds = s->list[c->id.list].set.epoch_seconds;
    *out = (umbel_sync_replica){
        .origin = c->id.origin,
        .incarnation = c->id.incarnation,
        .epoch = c->id.epoch,
        .begin = c->id.epoch * seconds,
        .end = (c->id.epoch + 1) * seconds,
        .list = c->id.list,
        .version = c->now.version,
        .keys = c->now.keys,
        .own = c->own,
        .muted = um_origin_status_of(s, c->id.origin) != UM_ALLOWED,
        .held = c->held,
        .bytes = um_replica_bytes(&s->list[c->id.list], c->written) +
                 c->history_bytes,
        .seen = c->seen,
        .filter = c->filter};
    return true;
}
