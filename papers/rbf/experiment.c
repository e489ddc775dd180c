/*
 * experiment.c - draws an instance, and retouches it in many ways.
 */
#include "papers/rbf/experiment.h"

#include "base/error.h"

#include <umbel/experimental/retouch.h>
#include <umbel/filter.h>
#include <umbel/keys.h>
#include <umbel/umbel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8192 };

const double um_rbf_beta[RBF_BETAS] = {1, 2, 5, 10, 25, 50, 75, 100};

/* Draws and marks the members: different integers of the universe. */
static void draw_members(bool *member, uint64_t *keys, um_rng *rng)
{
    for (size_t n = 0; n < RBF_MEMBERS;) {
        uint64_t key = um_random_below(rng, RBF_UNIVERSE);
        if (member[key])
            continue;
        member[key] = true;
        keys[n++] = um_le64(key);
    }
}

static umbel_status fill(um_rbf *x, const uint64_t *keys, umbel_error *err)
{
    umbel_status status = umbel_digest_fixed(x->filter, keys, sizeof *keys,
                                             RBF_MEMBERS, x->members, err);
    if (status == UMBEL_OK)
        status =
            umbel_add_digests(x->filter, x->members, RBF_MEMBERS, NULL, err);
    return status;
}

static umbel_status retain_positives(um_rbf *x, const uint64_t *keys, size_t n,
                                     umbel_error *err)
{
    umbel_digest digest[BATCH];
    bool hit[BATCH];
    umbel_status status =
        umbel_digest_fixed(x->filter, keys, sizeof *keys, n, digest, err);

    if (status == UMBEL_OK)
        status = umbel_query_digests(x->filter, digest, n, hit, err);
    for (size_t i = 0; status == UMBEL_OK && i < n; i++)
        if (hit[i])
            x->positives[x->npositives++] = digest[i];
    return status;
}

/* Queries all keys that are not members. */
static umbel_status find_positives(um_rbf *x, const bool *member,
                                   umbel_error *err)
{
    uint64_t keys[BATCH];
    umbel_status status = UMBEL_OK;
    size_t n = 0;

    for (uint64_t i = 0; status == UMBEL_OK && i < RBF_UNIVERSE; i++) {
        if (!member[i])
            keys[n++] = um_le64(i);
        if (n < BATCH && i + 1 < RBF_UNIVERSE)
            continue;
        status = retain_positives(x, keys, n, err);
        n = 0;
    }
    return status;
}

static umbel_status create(um_rbf *x, bool *member, uint64_t *keys, um_rng *rng,
                           umbel_error *err)
{
    umbel_params p = {.size = sizeof p,
                      .addressing = "classic",
                      .cells = RBF_BITS,
                      .hashes = RBF_HASHES,
                      .seed = um_random(rng)};

    draw_members(member, keys, rng);
    umbel_status status = umbel_create("bloom", &p, &x->filter, err);
    if (status == UMBEL_OK)
        status = fill(x, keys, err);
    if (status == UMBEL_OK)
        status = find_positives(x, member, err);
    x->seed = um_random(rng);
    return status;
}

umbel_status um_rbf_init(um_rbf *x, um_rng *rng, umbel_error *err)
{
    bool *member = calloc(RBF_UNIVERSE, sizeof *member);
    uint64_t *keys = calloc(RBF_MEMBERS, sizeof *keys);
    umbel_status status;

    memset(x, 0, sizeof *x);
    x->members = calloc(RBF_MEMBERS, sizeof *x->members);
    x->positives = calloc(RBF_UNIVERSE, sizeof *x->positives);
    if (member && keys && x->members && x->positives)
        status = create(x, member, keys, rng, err);
    else
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for a round");
    free(member);
    free(keys);
    return status;
}

void um_rbf_fini(um_rbf *x)
{
    umbel_close(x->filter);
    free(x->members);
    free(x->positives);
    memset(x, 0, sizeof *x);
}

umbel_status um_rbf_retouch(const um_rbf *x, const umbel_retouch_params *how,
                            umbel_retouch_result *bill, umbel_error *err)
{
    umbel_key_list members = UMBEL_KEY_LIST(x->members, RBF_MEMBERS);
    umbel_key_list never = UMBEL_KEY_LIST(x->positives, x->npositives);
    umbel_retouch_params p = *how;
    umbel_filter *f = NULL;
    umbel_status status = umbel_copy(x->filter, &f, err);

    p.size = sizeof p;
    p.seed = x->seed;
    if (p.max_fn == 0)
        p.max_fn = 1;
    if (status == UMBEL_OK)
        status = umbel_retouch(f, &members, &never, &p, bill, NULL, err);
    umbel_close(f);
    return status;
}

/* --- curves against beta -------------------------------------------------- */

size_t um_rbf_column(size_t curve, size_t beta, size_t what)
{
    return (curve * RBF_BETAS + beta) * RBF_NUMBERS + what;
}

static umbel_status run_point(const um_rbf *x, const um_rbf_curve *c,
                              size_t beta, double *out, umbel_error *err)
{
    umbel_retouch_params how = c->how;
    umbel_retouch_result bill;

    how.beta = um_rbf_beta[beta] / 100;
    umbel_status status = um_rbf_retouch(x, &how, &bill, err);
    if (status != UMBEL_OK)
        return status;
    out[RBF_CHI] = bill.chi;
    out[RBF_RESET] = (double)bill.bits_cleared;
    out[RBF_LOST] = bill.lost_share;
    return UMBEL_OK;
}

umbel_status um_rbf_sweep(um_rng *rng, const um_rbf_curve *curves, size_t n,
                          double *out, umbel_error *err)
{
    um_rbf x;
    umbel_status status = um_rbf_init(&x, rng, err);

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; status == UMBEL_OK && j < RBF_BETAS; j++)
            status =
                run_point(&x, &curves[i], j, out + um_rbf_column(i, j, 0), err);
    um_rbf_fini(&x);
    return status;
}

um_figure *um_rbf_draw(um_study *s, const char *id, const char *title,
                       const char *y, const um_rbf_curve *curves, size_t n,
                       size_t what)
{
    um_figure *f = um_record_figure(&s->record, id, title, "beta, %", y);

    for (size_t i = 0; i < n; i++) {
        um_series *c = um_figure_series(f, curves[i].name);
        for (size_t j = 0; j < RBF_BETAS; j++) {
            um_mean m = um_column(s, um_rbf_column(i, j, what));
            um_series_point(c, um_rbf_beta[j], m.value, m.error);
        }
    }
    return f;
}

void um_rbf_check(um_study *s, const um_rbf_curve *curves, size_t n,
                  size_t what)
{
    char item[UM_TEXT_LEN];

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < RBF_BETAS; j++) {
            um_mean m = um_column(s, um_rbf_column(i, j, what));
            snprintf(item, sizeof item, "%s, beta %.0f %%", curves[i].id,
                     um_rbf_beta[j]);
            um_check_mean(s, item, &m);
        }
}
