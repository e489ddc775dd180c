/*
 * unless.c - a key matches when one filter matches and another does not.
 */
#include "base/batch.h"
#include "base/error.h"
#include "filter/handle.h"

#include <umbel/experimental/unless.h>

/* Keys that are still open, with what they are asked by. */
typedef struct open_keys {
    size_t n;
    size_t at[UM_BATCH]; /* numbers in the batch */
    umbel_slice key[UM_BATCH];
    umbel_digest digest[UM_BATCH]; /* of the first filter */
} open_keys;

static bool hash_alike(const um_shape *a, const um_shape *b)
{
    return a->hash == b->hash && a->seed == b->seed &&
           a->secret_id == b->secret_id;
}

/* Both filters accept all keys before the first answer is given. */
static umbel_status accept(const umbel_filter *f, const umbel_slice *keys,
                           size_t n, umbel_error *err)
{
    UM_TRY(um_check_ready(f, err));
    if (!f->kind->query)
        return um_cannot(f, "tell members", err);
    return f->hasher.row->accept ? f->hasher.row->accept(keys, n, err)
                                 : UMBEL_OK;
}

/* Asks the second filter only for keys that the first answered with want. */
static umbel_status ask_batch(const umbel_filter *first,
                              const umbel_filter *second, bool want,
                              const umbel_slice *keys, size_t n, bool *hit,
                              bool *again, open_keys *open, umbel_error *err)
{
    umbel_digest d[UM_BATCH];

    UM_TRY(umbel_digest_many(first, keys, n, d, err));
    UM_TRY(umbel_query_digests(first, d, n, hit, err));
    open->n = 0;
    for (size_t i = 0; i < n; i++)
        if (hit[i] == want) {
            open->at[open->n] = i;
            open->key[open->n] = keys[i];
            open->digest[open->n++] = d[i];
        }
    if (!hash_alike(um_shape_of(first), um_shape_of(second)))
        UM_TRY(
            umbel_digest_many(second, open->key, open->n, open->digest, err));
    return umbel_query_digests(second, open->digest, open->n, again, err);
}

static umbel_status ask(const umbel_filter *f, const umbel_filter *revoked,
                        umbel_unless_order order, const umbel_slice *keys,
                        size_t n, bool *hit, umbel_unless_cost *cost,
                        umbel_error *err)
{
    bool filter_first = order == UMBEL_FILTER_FIRST;
    const umbel_filter *first = filter_first ? f : revoked;
    const umbel_filter *second = filter_first ? revoked : f;
    bool again[UM_BATCH], answer[UM_BATCH];
    open_keys open;

    UM_TRY(ask_batch(first, second, filter_first, keys, n, answer, again, &open,
                     err));
    memset(hit, 0, n * sizeof *hit);
    for (size_t i = 0; i < open.n; i++)
        hit[open.at[i]] = again[i] != filter_first;
    cost->keys += n;
    cost->asked_filter += filter_first ? n : open.n;
    cost->asked_revoked += filter_first ? open.n : n;
    return UMBEL_OK;
}

umbel_status umbel_query_unless(const umbel_filter *f,
                                const umbel_filter *revoked,
                                umbel_unless_order first,
                                const umbel_slice *keys, size_t n, bool *hit,
                                umbel_unless_cost *cost, umbel_error *err)
{
    umbel_unless_cost none = {0};

    UM_TRY(accept(f, keys, n, err));
    UM_TRY(accept(revoked, keys, n, err));
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        UM_TRY(ask(f, revoked, first, keys + done, some, hit + done,
                   cost ? cost : &none, err));
    }
    return UMBEL_OK;
}
