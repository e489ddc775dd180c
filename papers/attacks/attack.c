/*
 * attack.c - the attacks: chosen content, chosen targets, pollution, erasure.
 */
#include "papers/attacks/attack.h"

#include "base/error.h"
#include "papers/frame/paper.h"

#include <stdlib.h>
#include <string.h>

/* Keys and their places; release with free. */
typedef struct batch {
    uint64_t *key;
    uint32_t *place;
} batch;

static umbel_status draw(const lab *l, const umbel_filter *hash, size_t n,
                         um_rng *rng, batch *out, umbel_error *err)
{
    out->key = malloc(n * sizeof *out->key);
    out->place = malloc(n * MAX_PLACES * sizeof *out->place);
    if (!out->key || !out->place)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for keys");
    for (size_t i = 0; i < n; i++)
        out->key[i] = um_random_key(rng);
    return lab_places(l, hash, out->key, n, out->place, err);
}

static void drop(batch *b)
{
    free(b->key);
    free(b->place);
}

static const uint32_t *places_of(const batch *b, size_t i)
{
    return b->place + i * MAX_PLACES;
}

/* --- contents --------------------------------------------------------------*/

static umbel_status ask_random(lab *l, um_rng *rng, double *share,
                               umbel_error *err)
{
    uint64_t *keys = malloc(QUERIES * sizeof *keys);

    if (!keys)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for keys");
    for (size_t i = 0; i < QUERIES; i++)
        keys[i] = um_random_key(rng);
    lab_arrive(l);
    umbel_status status = lab_ask(l, keys, QUERIES, share, err);
    free(keys);
    return status;
}

umbel_status attack_content(lab *l, double ones, um_rng *rng, double *share,
                            umbel_error *err)
{
    lab_fill(l, ones);
    return ask_random(l, rng, share, err);
}

static umbel_status all_ones(lab *l, um_rng *rng, double *cost,
                             umbel_error *err)
{
    return attack_content(l, 1, rng, cost, err);
}

static umbel_status half_ones(lab *l, um_rng *rng, double *cost,
                              umbel_error *err)
{
    return attack_content(l, 0.5, rng, cost, err);
}

static umbel_status more_ones(lab *l, um_rng *rng, double *cost,
                              umbel_error *err)
{
    return attack_content(l, 0.75, rng, cost, err);
}

/* Runs the attack with the share of ones that suits the enemy best among those
 * that pass the check. */
static umbel_status best_share(lab *l, um_rng *rng, double *cost,
                               umbel_error *err)
{
    const defence *d = l->row;
    double ones = d->k0 ? (double)d->k1 / (d->k0 + d->k1) : lab_limit(d);

    return attack_content(l, ones, rng, cost, err);
}

/* --- targets ---------------------------------------------------------------*/

/* Returns true if a target needs a bit with the value opposite to the one that
 * an earlier target gave it. */
static bool contradicts(const lab *l, const uint8_t *used,
                        const uint32_t *place)
{
    for (unsigned i = 0; i < l->row->k0 + l->row->k1; i++)
        if (um_bit(used, place[i]) &&
            um_bit(l->bits, place[i]) != (i >= l->row->k0))
            return true;
    return false;
}

static void insert_targets(lab *l, const batch *b, bool greedy)
{
    uint8_t used[BITS / 8] = {0};

    for (size_t i = 0; i < TARGETS; i++) {
        const uint32_t *place = places_of(b, i);
        if (greedy && contradicts(l, used, place))
            continue;
        lab_insert(l, place);
        for (unsigned j = 0; j < l->row->k0 + l->row->k1; j++)
            um_set_bit(used, place[j]);
    }
}

/* Sends a filter that contains only the keys that shall be accepted. */
static umbel_status aim(lab *l, const umbel_filter *hash, bool greedy,
                        um_rng *rng, double *cost, umbel_error *err)
{
    batch b = {0};
    umbel_status status = draw(l, hash, TARGETS, rng, &b, err);

    lab_fill(l, 0);
    if (status == UMBEL_OK) {
        insert_targets(l, &b, greedy);
        lab_arrive(l);
        status = lab_ask(l, b.key, TARGETS, cost, err);
    }
    drop(&b);
    return status;
}

static umbel_status target(lab *l, um_rng *rng, double *cost, umbel_error *err)
{
    return aim(l, l->guess, false, rng, cost, err);
}

static umbel_status target_greedy(lab *l, um_rng *rng, double *cost,
                                  umbel_error *err)
{
    return aim(l, l->guess, true, rng, cost, err);
}

/* Runs it for a sender who knows how to hash: a sender must know the salt or
 * the secret. */
static umbel_status target_reported(lab *l, um_rng *rng, double *cost,
                                    umbel_error *err)
{
    return aim(l, l->ours, false, rng, cost, err);
}

/* --- pollution -------------------------------------------------------------*/

/* Returns the number of zeros among the places of a key: ones that it adds, and
 * zeros that it need not make. */
static unsigned worth(const lab *l, const uint32_t *place)
{
    unsigned zeros = 0;

    for (unsigned i = 0; i < l->row->k0 + l->row->k1; i++)
        zeros += um_bit(l->bits, place[i]) ? 0u : 1u;
    return zeros;
}

/* Inserts the best of several keys: chosen with the enemy's hash, inserted with
 * the owner's. */
static umbel_status insert_best(lab *l, um_rng *rng, umbel_error *err)
{
    enum { SOME = 16 };
    unsigned most = 0, all = l->row->k0 + l->row->k1;
    uint32_t place[SOME * MAX_PLACES];
    uint64_t key[SOME], best = um_random_key(rng);
    umbel_status status = UMBEL_OK;

    for (size_t tried = 0; tried < TRIES && most < all; tried += SOME) {
        for (size_t i = 0; i < SOME; i++)
            key[i] = um_random_key(rng);
        status = lab_places(l, l->guess, key, SOME, place, err);
        if (status != UMBEL_OK)
            return status;
        for (size_t i = 0; i < SOME; i++) {
            unsigned value = worth(l, place + i * MAX_PLACES);
            best = value > most ? key[i] : best;
            most = value > most ? value : most;
        }
    }
    status = lab_places(l, l->ours, &best, 1, place, err);
    if (status == UMBEL_OK)
        lab_insert(l, place);
    return status;
}

static umbel_status pollute(lab *l, um_rng *rng, double *cost, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    lab_fill(l, 0);
    for (size_t i = 0; status == UMBEL_OK && i < POLLUTERS; i++)
        status = insert_best(l, rng, err);
    return status == UMBEL_OK ? ask_random(l, rng, cost, err) : status;
}

/* --- erasure ---------------------------------------------------------------*/

/* For each bit, how many remaining members need it to be 0, and to be 1. */
typedef struct needs {
    uint8_t zero[BITS], one[BITS];
} needs;

static size_t count_needs(const lab *l, const batch *members, needs *out)
{
    size_t lost = 0;

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < MEMBERS; i++) {
        const uint32_t *place = places_of(members, i);
        if (!lab_has(l, place)) {
            lost++;
            continue;
        }
        for (unsigned j = 0; j < l->row->k0; j++)
            out->zero[place[j]]++;
        for (unsigned j = l->row->k0; j < l->row->k0 + l->row->k1; j++)
            out->one[place[j]]++;
    }
    return lost;
}

/* Returns the candidate that harms the most members. */
static size_t best_eraser(const lab *l, const batch *pool, const needs *n)
{
    size_t best = 0;
    unsigned most = 0;

    for (size_t i = 0; i < POOL; i++) {
        const uint32_t *place = places_of(pool, i);
        unsigned hurt = 0;
        for (unsigned j = 0; j < l->row->k0; j++)
            hurt += n->one[place[j]];
        for (unsigned j = l->row->k0; j < l->row->k0 + l->row->k1; j++)
            hurt += n->zero[place[j]];
        if (hurt > most) {
            most = hurt;
            best = i;
        }
    }
    return best;
}

/* Inserts an eraser: chosen with the enemy's hash, inserted with the
 * owner's. */
static umbel_status insert_eraser(lab *l, const needs *n, um_rng *rng,
                                  umbel_error *err)
{
    uint32_t place[MAX_PLACES];
    batch pool = {0};
    umbel_status status = draw(l, l->guess, POOL, rng, &pool, err);

    if (status == UMBEL_OK) {
        size_t best = best_eraser(l, &pool, n);
        status = lab_places(l, l->ours, &pool.key[best], 1, place, err);
    }
    if (status == UMBEL_OK)
        lab_insert(l, place);
    drop(&pool);
    return status;
}

static umbel_status erase_members(lab *l, const batch *members, needs *n,
                                  um_rng *rng, double lost[ERASE_POINTS],
                                  umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    for (size_t i = 0; i < MEMBERS; i++)
        lab_insert(l, places_of(members, i));
    for (size_t i = 0; status == UMBEL_OK && i <= ERASERS; i++) {
        size_t gone = count_needs(l, members, n);
        if (i % ERASE_STEP == 0)
            lost[i / ERASE_STEP] = (double)gone / MEMBERS;
        status = insert_eraser(l, n, rng, err);
    }
    return status;
}

umbel_status attack_erase(lab *l, um_rng *rng, double lost[ERASE_POINTS],
                          umbel_error *err)
{
    batch members = {0};
    needs *n = malloc(sizeof *n);

    if (!n)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for an erasure");
    lab_fill(l, 0);
    umbel_status status = draw(l, l->ours, MEMBERS, rng, &members, err);
    if (status == UMBEL_OK)
        status = erase_members(l, &members, n, rng, lost, err);
    drop(&members);
    free(n);
    return status;
}

/* --- the table -------------------------------------------------------------*/

/*
 * Half a percent is a little above what a fill-checked filter of 8 functions
 * and one of 4 + 4 promise. Pollution is stopped if it does hardly more harm
 * than as many random keys, 0.06 %.
 */
const attack attacks[] = {
    {"all ones", "random keys accepted", QUERIES, 0.005, all_ones},
    {"half ones", "random keys accepted", QUERIES, 0.005, half_ones},
    {"3/4 ones", "random keys accepted", QUERIES, 0.005, more_ones},
    {"best share of ones", "random keys accepted", QUERIES, 0.005, best_share},
    {"targets inserted", "targets accepted", TARGETS, 0.005, target},
    {"targets, greedy", "targets accepted", TARGETS, 0.005, target_greedy},
    {"targets, salt told", "targets accepted", TARGETS, 0.005, target_reported},
    {"pollution", "random keys accepted", QUERIES, 0.001, pollute},
};
_Static_assert(UM_COUNT(attacks) == ATTACKS, "as many as told");

const attack attack_erasing = {"erasing", "members lost", MEMBERS, 0.2, NULL};
