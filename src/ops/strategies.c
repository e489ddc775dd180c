/*
 * strategies.c - the ways to keep listed keys from matching, as rows.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "filter/handle.h"
#include "filter/sizing.h"
#include "ops/compare.h"
#include "ops/query_each.h"

#include <umbel/experimental/choose.h>
#include <umbel/experimental/exact.h>
#include <umbel/experimental/retouch.h>
#include <umbel/file.h>
#include <umbel/plan.h>

#include <inttypes.h>
#include <math.h>

enum {
    HEAD = 128, /* bytes, at most, of a set that knows the list */
    GROUPS = 2
};

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
                       "%" PRIu64 " bytes are too few: the smallest file takes "
                       "%" PRIu64,
                       bytes, plan.bytes);
    p.cells = plan.cells;
    p.hashes = plan.hashes;
    return umbel_create("bloom", &p, out, err);
}

static umbel_status fill_plain(const um_scene *s, uint64_t bytes, um_made *out,
                               umbel_error *err)
{
    UM_TRY(open_bloom(s, bytes, s->capacity, 1, &out->filter, err));
    return umbel_add_digests(out->filter, s->members->digests, s->members->n,
                             NULL, err);
}

static umbel_status make_plain(const um_scene *s, um_made *out,
                               umbel_error *err)
{
    return fill_plain(s, s->bytes, out, err);
}

static umbel_status make_retouched(const um_scene *s, um_made *out,
                                   umbel_error *err)
{
    umbel_retouch_params p = UMBEL_RETOUCH_INIT;
    umbel_key_list members = UMBEL_KEY_LIST(s->members->digests, s->members->n);
    umbel_retouch_result bill;

    UM_TRY(make_plain(s, out, err));
    return umbel_retouch(out->filter, &members, s->never, &p, &bill, NULL, err);
}

static umbel_status make_groups(const um_scene *s, um_made *out,
                                umbel_error *err)
{
    umbel_choose_params p = UMBEL_CHOOSE_INIT;
    umbel_choose_result result;

    p.like = s->like;
    UM_TRY(open_bloom(s, s->bytes, s->capacity, GROUPS, &out->filter, err));
    return umbel_choose(out->filter, s->members, s->never, &p, &result, err);
}

/* The ribbon has its own addressing, and no hash that comes with another. */
static umbel_status take_hash(const um_scene *s, umbel_params *p,
                              umbel_error *err)
{
    um_shape shape;

    UM_TRY(um_shape_from_params("bloom", &s->params, &shape, err));
    if (shape.addressing->hash)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "kind ribbon does not hash as addressing %s does",
                       shape.addressing->name);
    *p = s->params;
    p->addressing = NULL;
    p->fpr = 0;
    return UMBEL_OK;
}

static umbel_status make_ribbon(const um_scene *s, um_made *out,
                                umbel_error *err)
{
    umbel_exact_result result;
    umbel_key_list members = UMBEL_KEY_LIST(s->members->digests, s->members->n);
    umbel_exact *x = NULL;
    umbel_params p;

    UM_TRY(take_hash(s, &p, err));
    if (s->bytes < HEAD + UM_SECTION_ALIGN)
        return um_fail(err, UMBEL_E_RANGE,
                       "%" PRIu64
                       " bytes are too few: the smallest file takes %d",
                       s->bytes, HEAD + UM_SECTION_ALIGN);
    p.cells = (s->bytes - HEAD) / UM_SECTION_ALIGN * UM_SECTION_ALIGN * 8;
    UM_TRY(umbel_exact_open(&p, &members, NULL, s->listed.n, &x, err));
    umbel_status status = umbel_exact_never(x, s->never, NULL, err);
    if (status == UMBEL_OK)
        status = umbel_exact_finish(x, &out->filter, &result, err);
    umbel_exact_close(x);
    return status;
}

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
    double fewest = INFINITY, members = (double)s->held.n;
    uint64_t best = 0, second = HEAD + UM_SECTION_ALIGN;

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

/* Listed keys that match, each once. */
typedef struct matching {
    const um_scene *s;
    umbel_digest *digests;
    size_t n;
} matching;

static void take_listed(void *ctx, size_t i, bool hit)
{
    matching *m = ctx;

    if (hit && um_digest_index_is_first(&m->s->listed, i))
        m->digests[m->n++] = m->s->never->digests[i];
}

static umbel_status make_second(const um_scene *s, umbel_digest *room,
                                um_made *out, umbel_error *err)
{
    uint64_t left = s->bytes - umbel_encoded_len(out->filter);
    matching m = {.s = s, .digests = room};

    UM_TRY(um_query_each(out->filter, NULL, s->never->digests, s->never->n,
                         take_listed, &m, err));
    UM_TRY(open_bloom(s, left, m.n, 1, &out->second, err));
    return umbel_add_digests(out->second, room, m.n, NULL, err);
}

static umbel_status make_exceptions(const um_scene *s, um_made *out,
                                    umbel_error *err)
{
    uint64_t second = split(s);
    size_t room = s->never->n * sizeof(umbel_digest);

    if (!second)
        return um_fail(err, UMBEL_E_RANGE,
                       "%" PRIu64 " bytes are too few for two files", s->bytes);
    UM_TRY(fill_plain(s, s->bytes - second, out, err));
    umbel_digest *passed = um_get(&s->alloc, room);
    if (!passed)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys",
                       s->never->n);
    umbel_status status = make_second(s, passed, out, err);
    um_put(&s->alloc, passed, room);
    return status;
}

const um_strategy_row um_no_strategy = {"plain", "", false, 1, make_plain};

const um_strategy_row um_strategies[] = {
    {"retouch", "bits cleared; some members are lost", false, 1,
     make_retouched},
    {"groups", "members go by one of two groups", true, GROUPS, make_groups},
    {"anti-filter", "a second filter of the false positives", true, 1,
     make_exceptions},
    {"ribbon", "a static set that knows the list", true, 1, make_ribbon},
    {0}};

_Static_assert(UM_COUNT(um_strategies) <= UMBEL_MAX_STRATEGIES + 1,
               "room for all ways");
