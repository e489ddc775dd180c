/*
 * strategies.c - the ways to keep listed keys from matching, as rows.
 */
#include "base/alloc.h"
#include "base/batch.h"
#include "base/error.h"
#include "filter/handle.h"
#include "filter/sizing.h"
#include "ops/compare.h"

#include <umbel/choose.h>
#include <umbel/exact.h>
#include <umbel/file.h>
#include <umbel/plan.h>

#include <inttypes.h>
#include <math.h>

enum { HEAD = 256, LINE = 64 };

/* --- the ways ---------------------------------------------------------------
 */

static umbel_status open_bloom(const um_scene *s, uint64_t bytes, uint64_t keys,
                               uint32_t groups, umbel_filter **out,
                               umbel_error *err)
{
    umbel_setting setting = {"groups", groups};
    umbel_params p = s->params;
    umbel_plan plan;

    p.fpr = 0;
    p.capacity = keys ? keys : 1;
    p.settings = &setting;
    p.nsettings = groups > 1;
    UM_TRY(umbel_make_plan("bloom", &p, bytes, &plan, err));
    if (plan.bytes > bytes)
        return um_fail(err, UMBEL_E_RANGE,
                       "%" PRIu64 " bytes are too few: the least file takes "
                       "%" PRIu64,
                       bytes, plan.bytes);
    p.cells = plan.cells;
    p.hashes = plan.hashes;
    return umbel_open("bloom", &p, out, err);
}

umbel_status um_make_plain(const um_scene *s, uint64_t bytes,
                           umbel_filter **out, umbel_error *err)
{
    UM_TRY(open_bloom(s, bytes, s->members->n, 1, out, err));
    return umbel_add_digests(*out, s->members->digests, s->members->n, NULL,
                             err);
}

static umbel_status make_retouched(const um_scene *s, uint32_t groups,
                                   um_made *out, umbel_error *err)
{
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_keyset members = {s->members->digests, NULL, s->members->n};
    umbel_retouch_result bill;
    umbel_status status = um_make_plain(s, s->bytes, &out->filter, err);

    (void)groups;
    return status == UMBEL_OK ? umbel_retouch(out->filter, &members, s->never,
                                              &p, &bill, NULL, err)
                              : status;
}

static umbel_status make_groups(const um_scene *s, uint32_t groups,
                                um_made *out, umbel_error *err)
{
    umbel_choose_params p = UMBEL_CHOOSE_INIT;
    umbel_choose_bill bill;
    umbel_status status =
        open_bloom(s, s->bytes, s->members->n, groups, &out->filter, err);

    return status == UMBEL_OK
               ? umbel_choose(out->filter, s->members->digests, s->members->n,
                              s->never->digests, s->never->weights, s->never->n,
                              &p, &bill, err)
               : status;
}

/* The ribbon has its own addressing, and no hash that comes with another. */
static umbel_status take_hash(const um_scene *s, umbel_params *p,
                              umbel_error *err)
{
    um_shape shape;
    umbel_status status =
        um_shape_from_params("bloom", &s->params, &shape, err);

    if (status == UMBEL_OK && shape.addressing->hash)
        status = um_fail(err, UMBEL_E_UNSUPPORTED,
                         "kind ribbon does not hash as addressing %s does",
                         shape.addressing->name);
    *p = s->params;
    p->addressing = NULL;
    p->fpr = 0;
    return status;
}

static umbel_status make_ribbon(const um_scene *s, uint32_t groups,
                                um_made *out, umbel_error *err)
{
    umbel_members members = UMBEL_MEMBERS_INIT;
    umbel_exact_bill bill;
    umbel_exact *x = NULL;
    umbel_params p;
    umbel_status status = take_hash(s, &p, err);

    (void)groups;
    if (status == UMBEL_OK && s->bytes < HEAD + LINE)
        status = um_fail(err, UMBEL_E_RANGE,
                         "%" PRIu64 " bytes are too few: the least file takes "
                         "%d",
                         s->bytes, HEAD + LINE);
    if (status != UMBEL_OK)
        return status;
    p.cells = (s->bytes - HEAD) / LINE * LINE * 8;
    members.digests = s->members->digests;
    members.n = s->members->n;
    status = umbel_exact_open(&p, &members, s->listed.n, &x, err);
    if (status == UMBEL_OK)
        status = umbel_exact_never(x, s->never->digests, s->never->weights,
                                   s->never->n, NULL, err);
    if (status == UMBEL_OK)
        status = umbel_exact_finish(x, &out->filter, &bill, err);
    umbel_exact_close(x);
    return status;
}

/* --- the filter of exceptions -----------------------------------------------
 */

static double error_within(const um_scene *s, uint64_t bytes, double keys)
{
    umbel_params p = s->params;
    umbel_plan plan;

    if (isnan(keys))
        return NAN;
    p.fpr = 0;
    p.capacity = keys < 1 ? 1 : (uint64_t)ceil(keys);
    umbel_status status = umbel_make_plan("bloom", &p, bytes, &plan, NULL);
    return status == UMBEL_OK && plan.bytes <= bytes ? plan.error : NAN;
}

/*
 * Bytes of the second filter. The fewer, the better the first; but its own
 * errors deny members. So: the fewest that let expect no member lost (less than
 * half of one), or else those that let expect the fewest. 0: no two files fit.
 */
static uint64_t split(const um_scene *s)
{
    double fewest = INFINITY, members = (double)s->ndistinct;
    uint64_t best = 0, second = HEAD + LINE;

    for (; second < s->bytes; second += second / 8) {
        double first = error_within(s, s->bytes - second, members);
        double passed = (double)s->listed.n * first;
        double lost =
            members * error_within(s, second, passed + 4 * sqrt(passed));
        if (lost < fewest) { /* which no NAN is */
            fewest = lost;
            best = second;
        }
        if (lost < 0.5)
            break;
    }
    return best;
}

/* Those of the list that match, each once. */
static umbel_status matching(const um_scene *s, const umbel_filter *f,
                             umbel_digest *out, size_t *n, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    bool hit[UM_BATCH];

    *n = 0;
    for (size_t i = 0, some; status == UMBEL_OK && i < s->never->n; i += some) {
        const umbel_digest *d = s->never->digests + i;
        some = um_next_batch(s->never->n - i);
        status = umbel_query_digests(f, d, some, hit, err);
        for (size_t j = 0; status == UMBEL_OK && j < some; j++)
            if (hit[j] && um_digest_index_find(&s->listed, &d[j]) == i + j + 1)
                out[(*n)++] = d[j];
    }
    return status;
}

static umbel_status make_second(const um_scene *s, umbel_digest *room,
                                um_made *out, umbel_error *err)
{
    uint64_t left = s->bytes - umbel_encoded_len(out->filter);
    size_t n;

    UM_TRY(matching(s, out->filter, room, &n, err));
    UM_TRY(open_bloom(s, left, n, 1, &out->second, err));
    return umbel_add_digests(out->second, room, n, NULL, err);
}

static umbel_status make_exceptions(const um_scene *s, uint32_t groups,
                                    um_made *out, umbel_error *err)
{
    uint64_t second = split(s);
    size_t room = s->never->n * sizeof(umbel_digest);

    (void)groups;
    if (!second)
        return um_fail(err, UMBEL_E_RANGE,
                       "%" PRIu64 " bytes are too few for two files", s->bytes);
    UM_TRY(um_make_plain(s, s->bytes - second, &out->filter, err));
    umbel_digest *passed = um_get(&s->alloc, room);
    if (!passed)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys",
                       s->never->n);
    umbel_status status = make_second(s, passed, out, err);
    um_put(&s->alloc, passed, room);
    return status;
}

const um_strategy_row um_strategies[] = {
    {"retouch", "bits cleared; some members are lost", false, 1,
     make_retouched},
    {"groups", "members go by one of two groups", true, 2, make_groups},
    {"anti-filter", "a second filter of the false positives", true, 1,
     make_exceptions},
    {"ribbon", "a static set that knows the list", true, 1, make_ribbon},
    {0}};

_Static_assert(UM_COUNT(um_strategies) <= UMBEL_MAX_STRATEGIES + 1,
               "room for all ways");
