/*
 * choose.c - which of its groups each member is added by.
 *
 * Members are taken in order. Each goes where the weight of unwanted keys that
 * match from then on, and a little for every new cell, is least. Then, some
 * rounds long, each is taken out and chosen again, now that all others stand.
 * Where an unwanted key would match, some member on it can mostly go by another
 * group. New cells cost because the fewer are used, the fewer other keys match;
 * choosing for that alone is Lumetta and Mitzenmacher 2007, "Using the power of
 * two choices to improve Bloom filters".
 */
#include "base/key_list.h"
#include "filter/handle.h"
#include "ops/digest_index.h"
#include "ops/negative_index.h"
#include "ops/query_each.h"

#include <umbel/experimental/choose.h>

#include <inttypes.h>
#include <math.h>

enum { MOST_ROUNDS = 1000 };

/* What a new cell costs, in mean weights of an unwanted key. */
#define CELL_COST 0.01

/* One call of umbel_choose. */
typedef struct choosing {
    umbel_filter *f;
    const umbel_digest *members, *never;
    size_t n, nnever;
    const double *given; /* weights; NULL: 1 */
    uint32_t rounds;
    bool allow_members;

    um_pool pool;
    double *weight; /* 0 for unwanted keys that are left out: */
    bool *out;      /* members, and those that stood before */
    uint8_t *group; /* of each member */
    um_digest_index roll, unwanted;
    um_negative_index cover;
    double cell_cost;
    umbel_choose_result bill;
} choosing;

static umbel_status get_memory(choosing *c, umbel_error *err)
{
    const umbel_alloc *alloc = &c->f->alloc;

    um_pool_init(&c->pool, alloc);
    c->weight = um_pool_get(&c->pool, c->nnever, sizeof *c->weight);
    c->out = um_pool_get(&c->pool, c->nnever, sizeof *c->out);
    c->group = um_pool_get(&c->pool, c->n, sizeof *c->group);
    if (c->pool.failed)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu members", c->n);
    UM_TRY(um_digest_index_init(&c->roll, alloc, c->members, c->n, err));
    return um_digest_index_init(&c->unwanted, alloc, c->never, c->nnever, err);
}

static void fini(choosing *c)
{
    um_pool_fini(&c->pool);
    um_digest_index_fini(&c->roll);
    um_digest_index_fini(&c->unwanted);
    um_negative_index_fini(&c->cover);
}

static umbel_status weigh(choosing *c, umbel_error *err)
{
    umbel_choose_result *bill = &c->bill;

    UM_TRY(um_check_weights(c->given, c->nnever, err));
    for (size_t i = 0; i < c->nnever; i++) {
        double weight = c->given ? c->given[i] : 1;
        size_t first = um_digest_index_find(&c->unwanted, &c->never[i]) - 1;
        bool member = um_digest_index_find(&c->roll, &c->never[i]) != 0;
        c->out[i] = member || first != i;
        c->weight[first] += member ? 0 : weight;
        bill->weight += member ? 0 : weight;
        bill->never_members += member && first == i;
    }
    bill->members = c->n;
    bill->never = c->unwanted.n - bill->never_members;
    if (bill->never_members && !c->allow_members)
        return um_fail(err, UMBEL_E_KEY,
                       "%" PRIu64 " of the unwanted keys are members: a member "
                       "always matches; take them out of one of the lists",
                       bill->never_members);
    return UMBEL_OK;
}

static void take_before(void *ctx, size_t i, bool hit)
{
    choosing *c = ctx;

    c->bill.matched_before += hit && !c->out[i];
    c->bill.weight_before += hit ? c->weight[i] : 0;
}

static void take_after(void *ctx, size_t i, bool hit)
{
    choosing *c = ctx;

    c->bill.matched += hit && !c->out[i];
    c->bill.weight_left += hit ? c->weight[i] : 0;
}

static void take_member(void *ctx, size_t i, bool hit)
{
    choosing *c = ctx;

    (void)i;
    c->bill.lost += !hit;
}

/* What the same cells and members give without a choice. */
static umbel_status measure_before(choosing *c, umbel_error *err)
{
    um_shape shape = c->f->shape;
    umbel_filter *plain;

    for (size_t i = 0; i < um_count_settings(shape.kind); i++)
        shape.setting[i] = shape.kind->settings[i].standard;
    UM_TRY(um_filter_make(&shape, &c->f->alloc, &plain, err));
    plain->hasher = c->f->hasher;
    memcpy(plain->payload, c->f->payload, c->f->payload_len);
    umbel_status status = umbel_add_digests(plain, c->members, c->n, NULL, err);
    if (status == UMBEL_OK)
        status = um_query_each(plain, NULL, c->never, c->nnever, take_before, c,
                               err);
    c->bill.error_before = umbel_predict(plain);
    umbel_close(plain);
    return status;
}

/* New cells, in blocks the dearer the fuller the block is. */
static double cost_of_cells(const um_negative_index *c, const uint64_t *pos)
{
    const um_layout *l = c->layout;
    double cost = (double)um_group_cost(l, c->bits, pos);
    double size = (double)l->cells / (double)l->blocks; /* whole */

    return l->blocks == 1 ? cost : cost / (size * size);
}

static uint8_t best_group(choosing *c, const uint64_t *pos)
{
    um_negative_index *cover = &c->cover;
    double least = INFINITY;
    uint8_t best = 0;

    for (uint32_t g = 0; g < cover->groups && least > 0; g++) {
        const uint64_t *cells = pos + (size_t)g * cover->layout->hashes;
        double cost = cost_of_cells(cover, cells) * c->cell_cost;
        if (cost >= least)
            continue;
        cost += um_negative_index_add(cover, cells);
        um_negative_index_remove(cover, cells);
        if (cost < least)
            least = cost, best = (uint8_t)g;
    }
    return best;
}

static void choose_all(choosing *c, bool again)
{
    um_negative_index *cover = &c->cover;
    uint32_t hashes = cover->layout->hashes;
    uint64_t pos[UM_GROUPED_CELLS];

    for (size_t i = 0; i < c->n; i++) {
        um_group_cells(cover->layout, cover->groups, c->members[i], pos);
        if (again)
            um_negative_index_remove(cover, pos + (size_t)c->group[i] * hashes);
        c->group[i] = best_group(c, pos);
        um_negative_index_add(cover, pos + (size_t)c->group[i] * hashes);
    }
}

/* Members that are new: each once, and not those that match already. */
static uint64_t count_new(const choosing *c)
{
    uint64_t n = 0;
    bool hit;

    for (size_t i = 0; i < c->roll.nslots; i++)
        if (c->roll.slot[i]) {
            const umbel_digest *d = &c->members[c->roll.slot[i] - 1];
            c->f->shape.kind->query(c->f->self, d, 1, &hit);
            n += !hit;
        }
    return n;
}

static void write_cells(choosing *c)
{
    const um_layout *l = &c->f->layout;
    uint8_t *bits = c->f->shape.kind->bits->cells(c->f->self);
    uint64_t fresh = count_new(c), *added = &c->f->shape.added;

    for (size_t i = 0; i < c->n; i++) {
        uint64_t pos[UM_MAX_HASHES];
        umbel_digest d = um_group_digest(c->members[i], c->group[i]);
        l->row->positions(l, &d, 1, pos);
        for (uint32_t j = 0; j < l->hashes; j++)
            um_set_bit(bits, pos[j]);
    }
    *added = *added > UINT64_MAX - fresh ? UINT64_MAX : *added + fresh;
}

static umbel_status choose(choosing *c, umbel_error *err)
{
    umbel_choose_result *bill = &c->bill;

    UM_TRY(get_memory(c, err));
    UM_TRY(weigh(c, err));
    UM_TRY(measure_before(c, err));
    UM_TRY(um_negative_index_init(&c->cover, c->f, c->never, c->weight,
                                  c->nnever, err));
    c->cell_cost = CELL_COST;
    if (bill->weight > 0)
        c->cell_cost *= bill->weight / (double)bill->never;
    choose_all(c, false);
    for (uint32_t i = 0; i < c->rounds; i++)
        choose_all(c, true);
    write_cells(c);
    bill->error = umbel_predict(c->f);
    UM_TRY(um_query_each(c->f, NULL, c->members, c->n, take_member, c, err));
    UM_TRY(um_query_each(c->f, NULL, c->never, c->nnever, take_after, c, err));
    bill->share_left = bill->weight > 0 ? bill->weight_left / bill->weight : 0;
    return UMBEL_OK;
}

umbel_status umbel_choose(umbel_filter *f, const umbel_key_list *members,
                          const umbel_key_list *never,
                          const umbel_choose_params *params,
                          umbel_choose_result *out, umbel_error *err)
{
    static const umbel_choose_params standard = UMBEL_CHOOSE_INIT;
    const umbel_choose_params *p = params ? params : &standard;
    choosing c = {.f = f,
                  .members = members->digests,
                  .n = members->n,
                  .never = never->digests,
                  .nnever = never->n,
                  .given = never->weights,
                  .rounds = p->rounds,
                  .allow_members = p->allow_members};

    UM_TRY(um_check_key_list(members, err));
    UM_TRY(um_check_key_list(never, err));
    if (p->size < sizeof *p)
        return um_fail(err, UMBEL_E_RANGE,
                       "params.size is not set: start from UMBEL_CHOOSE_INIT");
    if (p->rounds > MOST_ROUNDS)
        return um_fail(err, UMBEL_E_RANGE, "rounds must be 0..%d, got %" PRIu32,
                       MOST_ROUNDS, p->rounds);
    if (!um_has_bits(f->shape.kind))
        return um_cannot(f, "choose between groups", err);
    UM_TRY(um_check_writable(f, err));
    UM_TRY(um_check_ready(f, err));
    umbel_status status = choose(&c, err);
    fini(&c);
    if (status == UMBEL_OK)
        *out = c.bill;
    return status;
}
