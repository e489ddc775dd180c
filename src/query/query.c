/*
 * query.c - queries keys in a filter of any kind.
 */
#include "query/query.h"

#include "base/batch.h"
#include "base/error.h"
#include "filter/handle.h"

#include <umbel/build.h>
#include <umbel/counting.h>
#include <umbel/describe.h>
#include <umbel/experimental/unless.h>
#include <umbel/umbel.h>

#include <inttypes.h>
#include <string.h>

/*
 * The neighbours of a key, made a batch at a time.
 */
enum {
    FIRST_LETTER = ' ',
    LAST_LETTER = '~',
    LETTERS = LAST_LETTER - FIRST_LETTER + 1,
    NEIGHBOURS = 128,
    MAX_NEIGHBOUR = UM_EDITS_LONGEST + 1
};

/* Neighbours that are to be asked. */
typedef struct batch {
    const umbel_filter *f;
    uint8_t text[NEIGHBOURS][MAX_NEIGHBOUR];
    umbel_slice key[NEIGHBOURS];
    size_t n;
    bool hit;
} batch;

uint64_t um_edits_lookups(size_t len)
{
    uint64_t n = len;
    return n + (LETTERS - 1) * n + LETTERS * (n + 1);
}

static umbel_status ask_neighbours(batch *b, umbel_error *err)
{
    bool hit[NEIGHBOURS];
    size_t n = b->n;

    b->n = 0;
    if (!n)
        return UMBEL_OK;
    UM_TRY(umbel_query_many(b->f, b->key, n, hit, err));
    for (size_t i = 0; i < n; i++)
        b->hit |= hit[i];
    return UMBEL_OK;
}

/* Adds the key with `gone` bytes at `at` replaced by the letter, or by nothing
 * if it is 0. */
static umbel_status add_neighbour(batch *b, const umbel_slice *key, size_t at,
                                  size_t gone, uint8_t letter, umbel_error *err)
{
    const uint8_t *from = key->data;
    uint8_t *to = b->text[b->n];
    size_t rest = key->len - at - gone, more = letter ? 1 : 0;

    memcpy(to, from, at);
    if (more)
        to[at] = letter;
    memcpy(to + at + more, from + at + gone, rest);
    b->key[b->n++] = (umbel_slice){to, at + more + rest};
    return b->n == NEIGHBOURS ? ask_neighbours(b, err) : UMBEL_OK;
}

static umbel_status add_at(batch *b, const umbel_slice *key, size_t at,
                           umbel_error *err)
{
    const uint8_t *bytes = key->data;

    if (at < key->len)
        UM_TRY(add_neighbour(b, key, at, 1, 0, err));
    for (int letter = FIRST_LETTER; !b->hit && letter <= LAST_LETTER;
         letter++) {
        UM_TRY(add_neighbour(b, key, at, 0, (uint8_t)letter, err));
        if (at < key->len && bytes[at] != letter)
            UM_TRY(add_neighbour(b, key, at, 1, (uint8_t)letter, err));
    }
    return UMBEL_OK;
}

umbel_status um_query_edits(const umbel_filter *f, const umbel_slice *key,
                            bool *hit, umbel_error *err)
{
    batch b = {.f = f, .n = 0};

    if (key->len > UM_EDITS_LONGEST)
        return um_fail(err, UMBEL_E_KEY,
                       "a key of %zu bytes: edits are tried for keys of up to "
                       "%d",
                       key->len, UM_EDITS_LONGEST);
    for (size_t at = 0; !b.hit && at <= key->len; at++)
        UM_TRY(add_at(&b, key, at, err));
    if (!b.hit)
        UM_TRY(ask_neighbours(&b, err));
    *hit = b.hit;
    return UMBEL_OK;
}

/*
 * A key matches when one filter matches and another does not.
 */
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
static umbel_status check_keys(const umbel_filter *f, const umbel_slice *keys,
                               size_t n, umbel_error *err)
{
    UM_TRY(um_check_ready(f, err));
    if (!f->kind->query)
        return um_cannot(f, "tell members", err);
    return f->hasher.row->accept ? f->hasher.row->accept(keys, n, err)
                                 : UMBEL_OK;
}

/* Asks the second filter only for keys that the first answered with want. */
static umbel_status query_both(const umbel_filter *first,
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

static umbel_status query_pair(const umbel_filter *f,
                               const umbel_filter *exceptions,
                               umbel_unless_order order,
                               const umbel_slice *keys, size_t n, bool *hit,
                               umbel_unless_cost *cost, umbel_error *err)
{
    bool filter_first = order == UMBEL_FILTER_FIRST;
    const umbel_filter *first = filter_first ? f : exceptions;
    const umbel_filter *second = filter_first ? exceptions : f;
    bool again[UM_BATCH], answer[UM_BATCH];
    open_keys open;

    UM_TRY(query_both(first, second, filter_first, keys, n, answer, again,
                      &open, err));
    memset(hit, 0, n * sizeof *hit);
    for (size_t i = 0; i < open.n; i++)
        hit[open.at[i]] = again[i] != filter_first;
    cost->keys += n;
    cost->asked_filter += filter_first ? n : open.n;
    cost->asked_exceptions += filter_first ? open.n : n;
    return UMBEL_OK;
}

umbel_status umbel_query_unless(const umbel_filter *f,
                                const umbel_filter *exceptions,
                                umbel_unless_order first,
                                const umbel_slice *keys, size_t n, bool *hit,
                                umbel_unless_cost *cost, umbel_error *err)
{
    umbel_unless_cost none = {0};

    UM_TRY(check_keys(f, keys, n, err));
    UM_TRY(check_keys(exceptions, keys, n, err));
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        UM_TRY(query_pair(f, exceptions, first, keys + done, some, hit + done,
                          cost ? cost : &none, err));
    }
    return UMBEL_OK;
}

/*
 * One question for many digests, one answer at a time.
 */
umbel_status um_query_each(const umbel_filter *f,
                           const umbel_filter *exceptions,
                           const umbel_digest *digests, size_t n,
                           um_hit_fn *take, void *ctx, umbel_error *err)
{
    bool hit[UM_BATCH], excepted[UM_BATCH] = {false};

    for (size_t done = 0, some; done < n; done += some) {
        const umbel_digest *d = digests + done;
        some = um_next_batch(n - done);
        UM_TRY(umbel_query_digests(f, d, some, hit, err));
        if (exceptions)
            UM_TRY(umbel_query_digests(exceptions, d, some, excepted, err));
        for (size_t i = 0; i < some; i++)
            take(ctx, done + i, hit[i] && !excepted[i]);
    }
    return UMBEL_OK;
}

static umbel_status refuse_counts(const um_query *q, umbel_error *err)
{
    const umbel_filter *f = q->filter;

    if (q->values && umbel_is_static(umbel_kind(f)) && !umbel_value_bits(f))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "this filter has no values: make a map with umbel build "
                       "--kind %s --value-bits W",
                       umbel_kind(f));
    return umbel_count_many(f, NULL, 0, NULL, err);
}

umbel_status um_query_init(um_query *q, umbel_error *err)
{
    uint64_t limit = umbel_count_limit(q->filter);

    q->map = q->values && !q->threshold && umbel_value_bits(q->filter);
    q->counting = (q->values || q->threshold) && !q->map;
    if (!q->counting)
        return UMBEL_OK;
    if (!limit)
        return refuse_counts(q, err);
    if (!q->threshold)
        q->threshold = 1;
    if (q->threshold > limit)
        return um_fail(err, UMBEL_E_RANGE,
                       "the threshold must be 1 to %" PRIu64
                       ", where the counters of this filter end; got %" PRIu64,
                       limit, q->threshold);
    return UMBEL_OK;
}

enum { SOME = 256 }; /* keys at a time */

static umbel_status add_counts(const umbel_filter *f, const umbel_slice *keys,
                               size_t n, uint64_t *counts, umbel_error *err)
{
    uint64_t own[SOME];

    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < SOME ? n - done : SOME;
        UM_TRY(umbel_count_many(f, keys + done, some, own, err));
        for (size_t i = 0; i < some; i++)
            counts[done + i] += own[i];
    }
    return UMBEL_OK;
}

static umbel_status add_hits(const umbel_filter *f, const umbel_slice *keys,
                             size_t n, bool *hit, umbel_error *err)
{
    bool own[SOME];

    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < SOME ? n - done : SOME;
        UM_TRY(umbel_query_many(f, keys + done, some, own, err));
        for (size_t i = 0; i < some; i++)
            hit[done + i] |= own[i];
    }
    return UMBEL_OK;
}

static umbel_status count_keys(const um_query *q, const umbel_slice *keys,
                               size_t n, bool *hit, uint64_t *counts,
                               umbel_unless_cost *cost, umbel_error *err)
{
    UM_TRY(umbel_count_many(q->filter, keys, n, counts, err));
    for (size_t i = 0; i < q->nmore; i++)
        UM_TRY(add_counts(q->more[i], keys, n, counts, err));
    if (q->exceptions)
        UM_TRY(umbel_query_many(q->exceptions, keys, n, hit, err));
    for (size_t i = 0; i < n; i++)
        hit[i] = counts[i] >= q->threshold && !(q->exceptions && hit[i]);
    cost->keys += n;
    cost->asked_filter += n;
    cost->asked_exceptions += q->exceptions ? n : 0;
    return UMBEL_OK;
}

/* The keys from that one on. */
static umbel_status query_some(const um_query *q, const umbel_slice *keys,
                               size_t from, size_t n, um_query_result *out,
                               umbel_error *err)
{
    bool *hit = out->hit + from;

    keys += from;
    if (q->counting)
        return count_keys(q, keys, n, hit, out->values + from, &out->cost, err);
    if (q->map)
        UM_TRY(umbel_values_many(q->filter, keys, n, out->values + from, err));
    if (q->exceptions)
        return umbel_query_unless(q->filter, q->exceptions, q->order, keys, n,
                                  hit, &out->cost, err);
    UM_TRY(umbel_query_many(q->filter, keys, n, hit, err));
    for (size_t i = 0; i < q->nmore; i++)
        UM_TRY(add_hits(q->more[i], keys, n, hit, err));
    for (size_t i = 0; q->edits && i < n; i++)
        if (!hit[i])
            UM_TRY(um_query_edits(q->filter, &keys[i], &hit[i], err));
    return UMBEL_OK;
}

umbel_status um_query_keys(const um_query *q, const umbel_slice *keys, size_t n,
                           um_query_result *out, size_t *answered,
                           umbel_error *err)
{
    umbel_status status = query_some(q, keys, 0, n, out, err);

    *answered = status == UMBEL_OK ? n : 0;
    while (status == UMBEL_E_KEY && *answered < n &&
           query_some(q, keys, *answered, 1, out, err) == UMBEL_OK)
        ++*answered;
    return status;
}

bool um_allows_false_negatives(const umbel_filter *f, uint64_t denied)
{
    uint64_t recorded = umbel_known_false_negatives(f);

    return denied <= recorded ||
           (recorded == 0 && umbel_has_false_negatives(f));
}

/*
 * Questions with several keys each.
 */

/* Returns true if a key of the question is an exception. */
static umbel_status find_exception(const um_query *q, um_question *ask,
                                   umbel_slice stored, umbel_slice text,
                                   bool *found, umbel_error *err)
{
    bool hit[UM_MAX_CANDIDATES];

    um_question_expand(ask, q->exceptions, stored, text);
    UM_TRY(umbel_query_many(q->exceptions, ask->key, ask->n, hit, err));
    *found = false;
    for (size_t i = 0; i < ask->n; i++)
        *found |= hit[i];
    return UMBEL_OK;
}

static umbel_status query_form(const um_query *q, um_question *ask,
                               umbel_slice stored, umbel_slice text, size_t i,
                               um_query_result *out, umbel_error *err)
{
    bool hit[UM_MAX_CANDIDATES], excepted = false;
    uint64_t values[UM_MAX_CANDIDATES], largest = 0;
    um_query_result each = {.hit = hit, .values = values};
    um_query keys = *q;
    size_t first = 0;

    keys.exceptions = NULL;
    um_question_expand(ask, q->filter, stored, text);
    if (ask->n)
        UM_TRY(query_some(&keys, ask->key, 0, ask->n, &each, err));
    while (first < ask->n && !hit[first])
        first++;
    out->hit[i] = first < ask->n;
    out->which[i] = out->hit[i] ? (uint8_t)first : 0;
    for (size_t j = 0; q->counting && j < ask->n; j++)
        /* NOLINTNEXTLINE(clang-analyzer-*): query_some sets all values */
        largest = values[j] > largest ? values[j] : largest;
    if (q->map)
        /* NOLINTNEXTLINE(clang-analyzer-*): the same */
        largest = out->hit[i] ? values[first] : 0;
    if (out->values)
        out->values[i] = largest;
    out->cost.keys++;
    out->cost.asked_filter++;
    if (q->exceptions && out->hit[i]) {
        out->cost.asked_exceptions++;
        UM_TRY(find_exception(q, ask, stored, text, &excepted, err));
        out->hit[i] = !excepted;
    }
    return UMBEL_OK;
}

/* Asks many questions at once, so that memory fetches overlap. */
static umbel_status query_forms(const um_query *q, um_question *ask,
                                const umbel_slice *stored,
                                const umbel_slice *texts, size_t n,
                                um_query_result *out, size_t *answered,
                                umbel_error *err)
{
    umbel_digest digest[UM_BATCH + UM_MAX_CANDIDATES];
    bool hit[UM_BATCH + UM_MAX_CANDIDATES];
    uint8_t keys[UM_BATCH]; /* of each question */

    while (*answered < n) {
        size_t some = 0, nkeys = 0;
        for (; some < UM_BATCH && nkeys < UM_BATCH && *answered + some < n;
             some++) {
            um_question_expand(ask, q->filter, stored[*answered + some],
                               texts[*answered + some]);
            UM_TRY(umbel_digest_many(q->filter, ask->key, ask->n,
                                     digest + nkeys, err));
            keys[some] = (uint8_t)ask->n;
            nkeys += ask->n;
        }
        UM_TRY(umbel_query_digests(q->filter, digest, nkeys, hit, err));
        const bool *at = hit;
        for (size_t i = 0; i < some; at += keys[i++], ++*answered) {
            const bool *first = memchr(at, 1, keys[i]);
            out->hit[*answered] = first != NULL;
            out->which[*answered] = first ? (uint8_t)(first - at) : 0;
        }
    }
    return UMBEL_OK;
}

umbel_status um_query_forms(const um_query *q, const umbel_slice *stored,
                            const umbel_slice *texts, size_t n,
                            um_query_result *out, size_t *answered,
                            umbel_error *err)
{
    um_question ask;

    if (!um_form_asks_several(umbel_key_form_of(q->filter)))
        return um_query_keys(q, stored, n, out, answered, err);
    ask.raw = false;
    ask.digests = q->digests;
    *answered = 0;
    if (!q->counting && !q->map && !q->exceptions && !q->nmore && !q->edits)
        return query_forms(q, &ask, stored, texts, n, out, answered, err);
    for (; *answered < n; ++*answered)
        UM_TRY(query_form(q, &ask, stored[*answered], texts[*answered],
                          *answered, out, err));
    return UMBEL_OK;
}
