/*
 * trade.c - plain, grouped, retouched and double filters of the same bits.
 *
 * All filters are then queried with the same keys: members, keys that must not
 * match, and keys of neither list. So the ways are compared by their answers,
 * not by their own reports.
 */
#include "papers/rbf/ours/trade.h"

#include "base/error.h"

#include <umbel/describe.h>
#include <umbel/experimental/choose.h>
#include <umbel/experimental/retouch.h>
#include <umbel/filter.h>
#include <umbel/keys.h>
#include <umbel/umbel.h>

#include <math.h>
#include <stdlib.h>

static uint64_t *draw(um_rng *rng, size_t n)
{
    uint64_t *keys = malloc(n * sizeof *keys);

    for (size_t i = 0; keys && i < n; i++)
        keys[i] = um_random_key(rng); /* 64 bits: practically unique */
    return keys;
}

umbel_status trade_init(trade *t, um_rng *rng, umbel_error *err)
{
    *t = (trade){.members = draw(rng, TRADE_MEMBERS),
                 .never = draw(rng, TRADE_NEVER),
                 .asked = draw(rng, TRADE_ASKED),
                 .weight = malloc(TRADE_NEVER * sizeof *t->weight)};
    t->seed = um_random(rng);
    if (!t->members || !t->never || !t->asked || !t->weight)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a round");
    for (size_t i = 0; i < TRADE_NEVER; i++) {
        t->weight[i] = fmin(10000, 90000 / (double)(i + 1));
        t->total += t->weight[i];
    }
    return UMBEL_OK;
}

void trade_fini(trade *t)
{
    free(t->members);
    free(t->never);
    free(t->asked);
    free(t->weight);
}

static uint32_t hashes_of(const trade_way *how, uint64_t bits)
{
    double best = log(2) * (double)bits / TRADE_MEMBERS;
    return how->best ? (uint32_t)lround(best) : how->hashes;
}

uint64_t trade_probes(const trade_way *how, uint64_t bits)
{
    uint64_t groups = how->groups ? how->groups : 1;
    return groups * hashes_of(how, bits) * (how->anti ? 2 : 1);
}

static umbel_status open_filter(const trade *t, const trade_way *how,
                                uint64_t bits, umbel_filter **out,
                                umbel_error *err)
{
    umbel_setting groups = {"groups", how->groups};
    umbel_params p = {.size = sizeof p,
                      .addressing = "classic",
                      .cells = bits,
                      .hashes = hashes_of(how, bits),
                      .seed = t->seed,
                      .settings = &groups,
                      .nsettings = how->groups ? 1 : 0};

    return umbel_create("bloom", &p, out, err);
}

/* --- measuring ------------------------------------------------------------ */

/* Queries keys: hit[i] is true if key i matches f and not the anti-filter,
 * which may be NULL. */
static umbel_status ask(const umbel_filter *f, const umbel_filter *anti,
                        const uint64_t *keys, size_t n, bool *hit,
                        umbel_error *err)
{
    umbel_status status = umbel_query_fixed(f, keys, sizeof *keys, n, hit, err);

    for (size_t i = 0; anti && status == UMBEL_OK && i < n; i++) {
        bool denied;
        if (!hit[i])
            continue;
        status = umbel_query(anti, &keys[i], sizeof *keys, &denied, err);
        hit[i] = status == UMBEL_OK && !denied;
    }
    return status;
}

static double share(const bool *hit, size_t n)
{
    double hits = 0;

    for (size_t i = 0; i < n; i++)
        hits += hit[i];
    return hits / (double)n;
}

static umbel_status judge(const trade *t, const umbel_filter *f,
                          const umbel_filter *anti, trade_result *out,
                          umbel_error *err)
{
    bool *hit = malloc(TRADE_ASKED * sizeof *hit); /* the longest list */
    umbel_status status;

    if (!hit)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a round");
    *out = (trade_result){0};
    status = ask(f, anti, t->members, TRADE_MEMBERS, hit, err);
    if (status == UMBEL_OK) {
        out->lost = 1 - share(hit, TRADE_MEMBERS);
        status = ask(f, anti, t->never, TRADE_NEVER, hit, err);
    }
    for (size_t i = 0; status == UMBEL_OK && i < TRADE_NEVER; i++)
        out->left += hit[i] ? t->weight[i] / t->total : 0;
    if (status == UMBEL_OK)
        status = ask(f, anti, t->asked, TRADE_ASKED, hit, err);
    if (status == UMBEL_OK)
        out->background = share(hit, TRADE_ASKED);
    free(hit);
    return status;
}

/* --- building ------------------------------------------------------------- */

static umbel_status add_members(const trade *t, umbel_filter *f,
                                umbel_error *err)
{
    return umbel_add_fixed(f, t->members, sizeof *t->members, TRADE_MEMBERS,
                           NULL, err);
}

/* Assigns groups, or retouches: both need digests. */
static umbel_status parse_back(const trade *t, const trade_way *how,
                               umbel_filter *f, const umbel_digest *members,
                               const umbel_digest *never, umbel_error *err)
{
    umbel_key_list all = UMBEL_KEY_LIST(members, TRADE_MEMBERS);
    umbel_key_list unwanted = UMBEL_KEY_LIST(never, TRADE_NEVER);
    umbel_retouch_params p = {.size = sizeof p,
                              .method = how->method,
                              .max_fn = how->max_fn,
                              .beta = 1,
                              .heaviest = true,
                              .seed = t->seed};
    umbel_choose_result chosen;
    umbel_retouch_result bill;

    unwanted.weights = t->weight;
    if (how->groups)
        return umbel_choose(f, &all, &unwanted, NULL, &chosen, err);
    umbel_status status = add_members(t, f, err);
    if (status == UMBEL_OK && how->method)
        status = umbel_retouch(f, &all, &unwanted, &p, &bill, NULL, err);
    return status;
}

static umbel_status run_single(const trade *t, const trade_way *how,
                               uint64_t bits, trade_result *out,
                               umbel_error *err)
{
    umbel_digest *digest =
        calloc((size_t)TRADE_MEMBERS + TRADE_NEVER, sizeof *digest);
    umbel_filter *f = NULL;

    if (!digest)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a round");
    umbel_status status = open_filter(t, how, bits, &f, err);
    if (status == UMBEL_OK)
        status = umbel_digest_fixed(f, t->members, sizeof *t->members,
                                    TRADE_MEMBERS, digest, err);
    if (status == UMBEL_OK)
        status = umbel_digest_fixed(f, t->never, sizeof *t->never, TRADE_NEVER,
                                    digest + TRADE_MEMBERS, err);
    if (status == UMBEL_OK)
        status = parse_back(t, how, f, digest, digest + TRADE_MEMBERS, err);
    if (status == UMBEL_OK)
        status = judge(t, f, NULL, out, err);
    umbel_close(f);
    free(digest);
    return status;
}

/*
 * Adds the unwanted keys that match the first filter to the second, heaviest
 * first, up to one key per ten bits: it is then wrong about 1 % of the members.
 */
static umbel_status fill_anti(const trade *t, const umbel_filter *f,
                              umbel_filter *anti, umbel_error *err)
{
    uint64_t room = umbel_cells(anti) / 10;
    umbel_status status = UMBEL_OK;

    for (size_t i = 0; status == UMBEL_OK && room > 0 && i < TRADE_NEVER; i++) {
        bool hit;
        status = umbel_query(f, &t->never[i], sizeof *t->never, &hit, err);
        if (status != UMBEL_OK || !hit)
            continue;
        room--;
        status = umbel_add(anti, &t->never[i], sizeof *t->never, NULL, err);
    }
    return status;
}

static umbel_status run_pair(const trade *t, const trade_way *how,
                             uint64_t bits, uint64_t anti_bits,
                             trade_result *out, umbel_error *err)
{
    umbel_filter *f = NULL, *anti = NULL;
    umbel_status status = open_filter(t, how, bits - anti_bits, &f, err);

    if (status == UMBEL_OK)
        status = open_filter(t, how, anti_bits, &anti, err);
    if (status == UMBEL_OK)
        status = add_members(t, f, err);
    if (status == UMBEL_OK)
        status = fill_anti(t, f, anti, err);
    if (status == UMBEL_OK)
        status = judge(t, f, anti, out, err);
    umbel_close(f);
    umbel_close(anti);
    return status;
}

/* Tries several divisions of the bits, and uses the one with the least weight
 * left and lost. */
static umbel_status run_anti(const trade *t, const trade_way *how,
                             uint64_t bits, trade_result *out, umbel_error *err)
{
    static const uint64_t percent[] = {2, 5, 10, 20, 30, 40, 50};
    umbel_status status = UMBEL_OK;
    double least = INFINITY;

    for (size_t i = 0; status == UMBEL_OK && i < UM_COUNT(percent); i++) {
        trade_result r = {0};
        status = run_pair(t, how, bits, bits * percent[i] / 100, &r, err);
        if (status != UMBEL_OK || r.left + r.lost >= least)
            continue;
        least = r.left + r.lost;
        *out = r;
    }
    return status;
}

umbel_status trade_run(const trade *t, const trade_way *how, uint64_t bits,
                       trade_result *out, umbel_error *err)
{
    return how->anti ? run_anti(t, how, bits, out, err)
                     : run_single(t, how, bits, out, err);
}
