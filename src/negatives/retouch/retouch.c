/*
 * retouch.c - umbel_retouch: creates a problem from digests, and a result from
 * its solution.
 *
 * A digest set finds duplicate keys. Members that did not match before cannot
 * be lost, and keys that do not match need not be removed; both are left out of
 * the problem.
 */
#include "negatives/retouch/retouch.h"

#include "base/batch.h"
#include "base/buffer.h"
#include "base/cpu.h"
#include "filter/handle.h"
#include "query/digest_set.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/*
 * The recorded steps of a retouch.
 */

static bool reserve(um_curve *c)
{
    c->no_memory |=
        !um_array_reserve(&c->steps, &c->cap, c->n + 1, sizeof *c->steps);
    return !c->no_memory;
}

void um_curve_add(um_curve *c, const umbel_retouch_step *step)
{
    bool removes = c->n == 0 || step->removed > c->steps[c->n - 1].removed;

    if (removes && reserve(c))
        c->steps[c->n++] = *step;
}

void um_curve_fini(um_curve *c)
{
    free(c->steps);
    *c = (um_curve){0};
}

umbel_retouch_step um_curve_at(const um_curve *c, uint64_t lost)
{
    umbel_retouch_step at = {0};

    for (size_t i = 0; i < c->n && c->steps[i].lost <= lost; i++)
        at = c->steps[i];
    return at;
}

/* Returns exactly 0 at the end, since the difference of two equal sums may not
 * be. */
double um_weight_left(const umbel_retouch_result *result,
                      const umbel_retouch_step *step)
{
    return step->removed == result->matched
               ? 0
               : result->matched_weight - step->removed_weight;
}

static umbel_status no_memory(size_t n, umbel_error *err)
{
    return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", n);
}

typedef struct entry {
    umbel_digest digest;
    double weight;
    size_t number;
    size_t link; /* in which it matches; 0 if there is only one */
    bool first;  /* first entry of its key */
} entry;

/* The distinct keys that match. */
typedef struct chosen {
    entry *list;
    bool weighted; /* false: all weights are 1 */
    size_t n;
    size_t keys;      /* fewer than n if some have several entries */
    size_t different; /* including those that do not match */
} chosen;

/* Returns the number of Bloom filters in f. Most filters are one; a kind with
 * links has several, and a key to be removed must be removed from each. */
static size_t count_links(const umbel_filter *f)
{
    return f->kind->links ? f->kind->links->n(f->self) : 1;
}

static uint32_t positions_in(const umbel_filter *f, size_t link,
                             const umbel_digest *d, uint64_t *pos)
{
    if (f->kind->links)
        return f->kind->links->positions(f->self, link, d, pos);
    f->layout.row->positions(&f->layout, d, 1, pos);
    return f->layout.hashes;
}

static bool matches_in(const umbel_filter *f, const uint8_t *bits, size_t link,
                       const umbel_digest *d)
{
    uint64_t pos[UM_MAX_HASHES];
    uint32_t n = positions_in(f, link, d, pos);

    for (uint32_t j = 0; j < n; j++)
        if (!um_bit(bits, pos[j]))
            return false;
    return n > 0;
}

/* Returns the first link, from `from` on, in which the key matches; the number
 * of links if none does. */
static size_t find_link(const umbel_filter *f, const uint8_t *bits, size_t from,
                        const umbel_digest *d)
{
    size_t n = count_links(f);

    while (from < n && !matches_in(f, bits, from, d))
        from++;
    return from;
}

static bool matches(const umbel_filter *f, const uint8_t *bits,
                    const umbel_digest *d)
{
    return find_link(f, bits, 0, d) < count_links(f);
}

/* Adds the weights of equal keys to the first of them. */
static void gather_weights(const umbel_key_list *set,
                           const um_digest_set *index, entry *list)
{
    for (size_t i = 0; i < set->n; i++)
        list[um_digest_set_find(index, &set->digests[i]) - 1].weight +=
            um_list_weight(set, i);
}

static umbel_status choose(const umbel_filter *f, const uint8_t *bits,
                           const umbel_key_list *set,
                           const um_digest_set *index, um_pool *pool,
                           chosen *out, umbel_error *err)
{
    entry *list = um_pool_get(pool, set->n, sizeof *list);
    size_t links = count_links(f);

    if (!list)
        return no_memory(set->n, err);
    *out = (chosen){.list = list,
                    .weighted = set->weights || index->n < set->n,
                    .different = index->n};
    if (out->weighted)
        gather_weights(set, index, list);
    for (size_t i = 0; i < set->n; i++) {
        size_t link = um_digest_set_is_first(index, i)
                          ? find_link(f, bits, 0, &set->digests[i])
                          : links;
        if (link < links)
            list[out->n++] = /* n <= i */
                (entry){set->digests[i], list[i].weight, i, link, true};
    }
    out->keys = out->n;
    return UMBEL_OK;
}

/* Adds entries for keys that match in several links, since they must be removed
 * from each. */
static umbel_status choose_again(const umbel_filter *f, const uint8_t *bits,
                                 um_pool *pool, chosen *c, umbel_error *err)
{
    size_t links = count_links(f), more = 0;

    for (size_t i = 0; i < c->n; i++)
        for (size_t l = c->list[i].link + 1;
             (l = find_link(f, bits, l, &c->list[i].digest)) < links; l++)
            more++;
    if (more == 0)
        return UMBEL_OK;
    entry *list = um_pool_get(pool, c->n + more, sizeof *list);
    if (!list)
        return no_memory(c->n + more, err);
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        for (size_t l = c->list[i].link;
             (l = find_link(f, bits, l, &c->list[i].digest)) < links; l++) {
            list[n] = c->list[i];
            list[n].first = l == c->list[i].link;
            list[n++].link = l;
        }
    c->list = list;
    c->n = n;
    return UMBEL_OK;
}

/* Returns the largest number of hashes of any link; 0 if one has too many. */
static uint32_t max_hashes(const umbel_filter *f)
{
    uint64_t pos[UM_MAX_HASHES];
    umbel_digest any = {0, 0};
    uint32_t most = 0;

    for (size_t i = 0; i < count_links(f); i++) {
        uint32_t n = positions_in(f, i, &any, pos);
        if (n == 0)
            return 0;
        most = n > most ? n : most;
    }
    return most;
}

/* Computes the cells of a key; repeats the last one if there are fewer than
 * hashes. */
static void place_key(const umbel_filter *f, uint32_t hashes, const entry *e,
                      uint64_t *pos)
{
    uint64_t own[UM_MAX_HASHES] = {0};
    uint32_t n = positions_in(f, e->link, &e->digest, own);

    for (uint32_t j = 0; j < hashes; j++)
        pos[j] = own[j < n ? j : n - 1];
}

static umbel_status place(const umbel_filter *f, const chosen *c, um_pool *pool,
                          um_placed *out, umbel_error *err)
{
    uint32_t hashes = max_hashes(f);
    uint64_t *pos = um_pool_get(pool, c->n, hashes * sizeof *pos);
    double *weights =
        c->weighted ? um_pool_get(pool, c->n, sizeof *weights) : NULL;

    if (pool->failed)
        return no_memory(c->n, err);
    for (size_t i = 0; i < c->n; i++) {
        place_key(f, hashes, &c->list[i], pos + i * hashes);
        if (weights)
            weights[i] = c->list[i].weight;
    }
    *out = (um_placed){pos, weights, c->n};
    return UMBEL_OK;
}

static void shuffle(chosen *c, uint64_t seed)
{
    um_rng rng = {um_remix(seed + 1)};

    for (size_t i = 0; i + 1 < c->n; i++) {
        size_t j = i + (size_t)um_random_below(&rng, c->n - i);
        entry e = c->list[i];
        c->list[i] = c->list[j];
        c->list[j] = e;
    }
}

static int heavier(const void *x, const void *y)
{
    const entry *a = x, *b = y;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* Returns the number of keys that the filter contains and the list does not. */
static uint64_t unlisted(const umbel_filter *f, const chosen *c)
{
    return f->added > c->different ? f->added - c->different : 0;
}

/* Fails unless the filter was built from these members: those that do not match
 * must be recorded as false negatives. */
static umbel_status check_members(const umbel_filter *f, const chosen *c,
                                  size_t others, umbel_error *err)
{
    uint64_t denied = c->different - c->n - others, known = f->false_negatives;

    if (denied > known)
        return um_fail(err, UMBEL_E_MISMATCH,
                       "%" PRIu64 " of %zu members do not match, but the "
                       "filter records %" PRIu64
                       " false negatives: it was built from other keys, or "
                       "from other fields of them",
                       denied, c->different, known);
    uint64_t doubt = f->estimated ? c->different / 10 + 100 : 0;
    if (unlisted(f, c) > known + doubt)
        return um_fail(err, UMBEL_E_MISMATCH,
                       "the filter holds %s %" PRIu64
                       " keys, but only %zu members are given: the others "
                       "would be lost unseen",
                       f->estimated ? "about" : "at least", f->added,
                       c->different);
    return UMBEL_OK;
}

static size_t count_both(const um_digest_set *members,
                         const umbel_key_list *never, bool *both)
{
    size_t n = 0;

    for (size_t i = 0; i < never->n; i++) {
        bool member = um_digest_set_find(members, &never->digests[i]) != 0;
        n += member;
        if (both)
            both[i] = member;
    }
    return n;
}

umbel_status umbel_find_conflicts(const umbel_filter *f,
                                  const umbel_key_list *members,
                                  const umbel_key_list *never, bool *both,
                                  size_t *n, umbel_error *err)
{
    um_digest_set index = {0};

    UM_TRY(um_check_key_list(members, err));
    UM_TRY(um_check_key_list(never, err));
    UM_TRY(um_digest_set_init(&index, &f->alloc, members->digests, members->n,
                              err));
    *n = count_both(&index, never, both);
    um_digest_set_fini(&index);
    return UMBEL_OK;
}

/* The data of a call, allocated before any bit is changed. */
typedef struct job {
    umbel_retouch_params params;
    um_bystanders others;
    um_pool pool;
    um_digest_set member_index, key_index;
    uint8_t *bits;
    chosen members, keys;
    um_retouch_problem problem;
    um_outcome outcome;
} job;

static umbel_status prepare_members(job *j, const umbel_filter *f,
                                    const umbel_key_list *members,
                                    const umbel_key_list *never,
                                    umbel_error *err)
{
    um_digest_set *index = &j->member_index;

    UM_TRY(um_digest_set_init(index, &f->alloc, members->digests, members->n,
                              err));
    size_t both = j->params.allow_members ? 0 : count_both(index, never, NULL);
    if (both)
        return um_fail(err, UMBEL_E_KEY,
                       "%zu of the keys that must not match are members", both);
    UM_TRY(choose(f, j->bits, members, index, &j->pool, &j->members, err));
    j->members.different += j->others.n + j->others.denied;
    return j->params.force ? UMBEL_OK
                           : check_members(f, &j->members, j->others.n, err);
}

static umbel_status prepare_keys(job *j, const umbel_filter *f,
                                 const umbel_key_list *never, umbel_error *err)
{
    UM_TRY(um_digest_set_init(&j->key_index, &f->alloc, never->digests,
                              never->n, err));
    UM_TRY(choose(f, j->bits, never, &j->key_index, &j->pool, &j->keys, err));
    UM_TRY(choose_again(f, j->bits, &j->pool, &j->keys, err));
    if (j->params.heaviest) /* all alike: they stay as they are */
        qsort(j->keys.list, j->keys.n, sizeof *j->keys.list, heavier);
    else
        shuffle(&j->keys, j->params.seed);
    return UMBEL_OK;
}

static umbel_status prepare_problem(job *j, const umbel_filter *f,
                                    umbel_error *err)
{
    um_retouch_problem *p = &j->problem;
    double targets = j->params.beta * (double)j->keys.n;

    *p = (um_retouch_problem){.bits = j->bits,
                              .cells = f->layout.cells,
                              .hashes = max_hashes(f),
                              .ntargets = (size_t)llround(targets),
                              .needed = j->others.needed};
    if (p->ntargets == 0 && j->keys.n > 0)
        p->ntargets = 1;
    UM_TRY(place(f, &j->members, &j->pool, &p->members, err));
    UM_TRY(place(f, &j->keys, &j->pool, &p->keys, err));
    j->outcome.lost = um_pool_get(&j->pool, p->members.n, sizeof(bool));
    j->outcome.gone = um_pool_get(&j->pool, p->keys.n, sizeof(bool));
    return j->pool.failed ? no_memory(p->members.n, err) : UMBEL_OK;
}

static double weight_of(const um_placed *k, size_t i)
{
    return k->weights ? k->weights[i] : 1;
}

/*
 * Updates the outcome for several links. A key with several entries is counted
 * at its first link, and is removed if no link matches. A member that lost its
 * link may match in another.
 */
static void settle_outcome(job *j, const umbel_filter *f)
{
    for (size_t i = 0; i < j->keys.n; i++)
        j->outcome.gone[i] = !matches(f, j->bits, &j->keys.list[i].digest);
    for (size_t i = 0; i < j->members.n; i++)
        j->outcome.lost[i] = !matches(f, j->bits, &j->members.list[i].digest);
}

static bool is_counted(const job *j, size_t i)
{
    return j->keys.n == j->keys.keys || j->keys.list[i].first;
}

static void bill_keys(const job *j, umbel_retouch_result *b)
{
    const um_retouch_problem *p = &j->problem;

    b->never = j->keys.different;
    for (size_t i = 0; i < p->keys.n; i++) {
        bool gone = j->outcome.gone[i];
        if (!is_counted(j, i))
            continue;
        b->matched += i < p->ntargets;
        b->outside += i >= p->ntargets;
        if (i >= p->ntargets) {
            b->outside_removed += gone;
            continue;
        }
        b->removed += gone;
        b->matched_weight += weight_of(&p->keys, i);
        b->left_weight += gone ? 0 : weight_of(&p->keys, i);
    }
    b->left = b->matched - b->removed;
}

static void bill_members(const job *j, umbel_retouch_result *b)
{
    const um_retouch_problem *p = &j->problem;

    b->members = p->members.n + j->others.n;
    b->members_weight = (double)j->others.n;
    b->false_negatives_before = j->members.different - b->members;
    for (size_t i = 0; i < p->members.n; i++) {
        b->lost += j->outcome.lost[i];
        b->members_weight += weight_of(&p->members, i);
        b->lost_weight += j->outcome.lost[i] ? weight_of(&p->members, i) : 0;
    }
    b->lost_share = b->lost ? (double)b->lost / (double)b->members : 0;
}

static double chi(const umbel_retouch_result *b)
{
    double known = (double)(b->matched + b->outside);
    double gone = (double)(b->removed + b->outside_removed);

    return b->lost ? gone / known / b->lost_share : NAN;
}

static void tell_lost(const umbel_filter *f, const uint8_t *bits,
                      const umbel_key_list *members, const uint8_t *before,
                      bool *lost)
{
    for (size_t i = 0; i < members->n; i++)
        lost[i] = matches(f, before, &members->digests[i]) &&
                  !matches(f, bits, &members->digests[i]);
}

/* Copies the bits, for callers that want to know which members are lost. */
static umbel_status save_bits(job *j, const umbel_filter *f, uint8_t **out,
                              umbel_error *err)
{
    size_t len = (size_t)((f->layout.cells + 7) / 8);

    *out = um_pool_get(&j->pool, len, 1);
    if (!*out)
        return um_no_memory(err, len);
    memcpy(*out, j->bits, len);
    return UMBEL_OK;
}

static void admit(umbel_filter *f, uint64_t denied)
{
    uint64_t *sum = &f->false_negatives;
    *sum = *sum > UINT64_MAX - denied ? UINT64_MAX : *sum + denied;
}

static umbel_status work(job *j, umbel_filter *f, const umbel_key_list *members,
                         const umbel_key_list *never,
                         umbel_retouch_result *result, bool *lost,
                         umbel_error *err)
{
    uint8_t *before = NULL;
    umbel_retouch_result b = {0};

    UM_TRY(prepare_members(j, f, members, never, err));
    um_digest_set_fini(&j->member_index);
    UM_TRY(prepare_keys(j, f, never, err));
    um_digest_set_fini(&j->key_index);
    UM_TRY(prepare_problem(j, f, err));
    if (lost)
        UM_TRY(save_bits(j, f, &before, err));
    UM_TRY(
        um_retouch_run(&j->problem, &j->params, &f->alloc, &j->outcome, err));
    if (f->kind->links)
        settle_outcome(j, f);
    bill_keys(j, &b);
    bill_members(j, &b);
    b.bits_cleared = j->outcome.cleared;
    b.stopped = j->outcome.stopped;
    b.chi = chi(&b);
    if (lost)
        tell_lost(f, j->bits, members, before, lost);
    admit(f, b.lost);
    if (j->params.force && b.bits_cleared) /* unlisted losses are unknown */
        admit(f, unlisted(f, &j->members));
    *result = b;
    return UMBEL_OK;
}

umbel_status um_check_retouchable(const umbel_filter *f, umbel_error *err)
{
    if (!um_has_bits(f->kind))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "kind %s cannot be retouched: only kinds of single "
                       "bits can, because there a cleared cell denies a key",
                       f->kind->name);
    return um_check_ready(f, err);
}

static umbel_status check_links(const umbel_filter *f, umbel_error *err)
{
    if (max_hashes(f) == 0)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a filter with more than %d hashes, or a damaged one, "
                       "cannot be retouched",
                       UM_MAX_HASHES);
    UM_TRY(um_check_ready(f, err));
    return um_check_writable(f, err);
}

static umbel_status check_filter(const umbel_filter *f, umbel_error *err)
{
    if (f->kind->links)
        return check_links(f, err);
    UM_TRY(um_check_retouchable(f, err));
    if (f->kind->bits->groups(f->self) > 1)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a filter with groups cannot be retouched: a key that "
                       "loses a cell may match by another group");
    return um_check_writable(f, err);
}

/* Scales the share that may be lost, which refers to all members. */
static void scale_share(job *j, size_t n)
{
    double all = (double)n + (double)j->others.n;

    if (n && j->params.max_fn > 0)
        j->params.max_fn = fmin(1, j->params.max_fn * all / (double)n);
}

umbel_status um_retouch_among(umbel_filter *f, const umbel_key_list *members,
                              const um_bystanders *others,
                              const umbel_key_list *never,
                              const umbel_retouch_params *params,
                              umbel_retouch_result *result, bool *lost,
                              umbel_error *err)
{
    double begun = um_seconds();
    job j = {.others = *others};

    UM_TRY(um_retouch_settle(params, &j.params, err));
    UM_TRY(check_filter(f, err));
    UM_TRY(um_check_key_list(members, err));
    UM_TRY(um_check_key_list(never, err));
    UM_TRY(um_check_weights(members->weights, members->n, err));
    UM_TRY(um_check_weights(never->weights, never->n, err));
    scale_share(&j, members->n);
    um_pool_init(&j.pool, &f->alloc);
    j.bits = f->kind->links ? f->kind->links->cells(f->self)
                            : f->kind->bits->cells(f->self);
    umbel_status status = work(&j, f, members, never, result, lost, err);
    um_digest_set_fini(&j.member_index);
    um_digest_set_fini(&j.key_index);
    um_pool_fini(&j.pool);
    if (status == UMBEL_OK)
        result->seconds = um_seconds() - begun;
    return status;
}

umbel_status umbel_retouch(umbel_filter *f, const umbel_key_list *members,
                           const umbel_key_list *never,
                           const umbel_retouch_params *params,
                           umbel_retouch_result *result, bool *lost,
                           umbel_error *err)
{
    static const um_bystanders nobody = {0};

    return um_retouch_among(f, members, &nobody, never, params, result, lost,
                            err);
}
