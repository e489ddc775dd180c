/*
 * choose.c - which of its groups each member is added by.
 *
 * Every member goes where it went in the filter that this one is to be like,
 * and a new one where it costs the fewest new cells: the fewer are used, the
 * fewer other keys match (Lumetta and Mitzenmacher 2007, "Using the power of
 * two choices to improve Bloom filters"). Then the unwanted keys that match
 * are looked for, and only members on their cells are chosen for again
 * (choose_round.c). So most choices depend on little, and stay from edition to
 * edition.
 */
#include "negatives/choose/choose.h"

#include "base/batch.h"
#include "base/key_list.h"
#include "filter/handle.h"
#include "negatives/choose/state.h"
#include "query/query_each.h"

#include <inttypes.h>

enum { MAX_ROUNDS = 1000 };

/* What the same cells and members give without a choice. */
static umbel_status open_plain(choosing *c, umbel_error *err)
{
    um_shape shape = *um_shape_of(c->f);

    for (size_t i = 0; i < um_count_settings(shape.kind); i++)
        shape.setting[i] = shape.kind->settings[i].standard;
    UM_TRY(um_filter_create(&shape, &c->f->alloc, &c->plain, err));
    um_hasher_pass(&c->plain->hasher, &c->f->hasher);
    memcpy(c->plain->payload, c->f->payload, c->f->payload_len);
    return UMBEL_OK;
}

/*
 * A choice that is made again, now that all others stand, uses fewer cells. The
 * first choice keeps the error that was asked for, and five more take a third
 * of it away; but each costs as much as the plain build, so that members of
 * large sets choose once.
 */
static uint32_t passes_for(const choosing *c, uint32_t groups)
{
    enum { MANY = 1 << 19 };

    return groups == 1 || c->members->n > MANY ? 0 : c->params->rounds;
}

static umbel_status no_memory(const choosing *c, umbel_error *err)
{
    return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu members",
                   c->members->n);
}

static umbel_status get_memory(choosing *c, umbel_error *err)
{
    um_choices *x = &c->choices;
    const um_row_bits *row = c->f->kind->bits;

    *x = (um_choices){.layout = &c->f->layout,
                      .groups = row->groups(c->f->self),
                      .base = row->cells(c->f->self),
                      .len = (size_t)((c->f->layout.cells + 7) / 8),
                      .never = c->never->digests,
                      .nnever = c->never->n,
                      .by_block = c->f->layout.blocks > 1,
                      .alloc = &c->f->alloc};
    if (!c->like)
        c->improving = passes_for(c, x->groups);
    um_pool_init(&c->pool, &c->f->alloc);
    x->group = um_pool_get(&c->pool, c->members->n, sizeof *x->group);
    x->bits = um_pool_get(&c->pool, x->len / 8 + 1, 8); /* whole words */
    um_sieve_init(&c->listed, &c->pool, c->never->n);
    c->weight = um_pool_get(&c->pool, c->never->n, sizeof *c->weight);
    c->out = um_pool_get(&c->pool, c->never->n, sizeof *c->out);
    if (c->pool.failed)
        return no_memory(c, err);
    x->weight = c->weight;
    memcpy(x->bits, x->base, x->len);
    if (!c->like && !um_placing_init(&c->placing, &c->pool, x->layout,
                                     x->groups, c->improving > 0, x->bits))
        return no_memory(c, err);
    for (size_t i = 0; i < c->never->n; i++)
        um_sieve_append(&c->listed, c->never->digests[i].lo);
    return um_digest_index_init(&c->unwanted, &c->f->alloc, c->never->digests,
                                c->never->n, err);
}

static void fini(choosing *c)
{
    umbel_close(c->plain);
    um_pool_fini(&c->pool);
    um_digest_index_fini(&c->unwanted);
}

static umbel_status choose_first(choosing *c, umbel_error *err)
{
    UM_TRY(get_memory(c, err));
    UM_TRY(open_plain(c, err));
    return um_run_both(c, um_survey, um_place_all, err);
}

static umbel_status collect(choosing *c, size_t at, const umbel_digest *d,
                            size_t n, umbel_error *err)
{
    return um_round_collect(&c->choices, at, d, n, err);
}

static umbel_status find_others(choosing *c, size_t at, const umbel_digest *d,
                                size_t n, umbel_error *err)
{
    (void)err;
    um_round_others(&c->choices, at, d, n);
    return UMBEL_OK;
}

/* Takes the members in question out. */
static umbel_status part(choosing *c, umbel_error *err)
{
    UM_TRY(um_go_through(c, collect, err));
    UM_TRY(um_round_part(&c->choices, err));
    if (!c->choices.by_block)
        UM_TRY(um_go_through(c, find_others, err));
    um_round_consume_out(&c->choices);
    return UMBEL_OK;
}

static umbel_status choose_round(choosing *c, size_t most, bool freely,
                                 size_t *matching, umbel_error *err)
{
    um_choices *x = &c->choices;
    umbel_status status = um_round_begin(x, most, matching, err);

    if (status == UMBEL_OK && *matching)
        status = part(c, err);
    if (status == UMBEL_OK && *matching)
        status = um_round_choose(x, freely, err);
    um_round_fini(x);
    return status;
}

/*
 * Moves members, in the first round as few as possible. From the third on, a
 * round that follows one of little effect would have less.
 */
static umbel_status choose_again(choosing *c, umbel_error *err)
{
    size_t matching = SIZE_MAX;

    c->choices.cell_cost = UM_CELL_COST;
    if (c->bill.weight > 0)
        c->choices.cell_cost *= c->bill.weight / (double)c->bill.never;
    for (uint32_t i = 0; matching && i < c->params->rounds; i++) {
        size_t most = i < 2 ? SIZE_MAX : matching / 4 * 3;
        UM_TRY(choose_round(c, most, i > 0, &matching, err));
    }
    return UMBEL_OK;
}

static void write_cells(choosing *c)
{
    um_choices *x = &c->choices;
    uint64_t *added = &c->f->added;

    memcpy(c->f->kind->bits->cells(c->f->self), x->bits, x->len);
    *added = *added > UINT64_MAX - c->fresh ? UINT64_MAX : *added + c->fresh;
    for (size_t i = 0; i < c->members->n; i++)
        c->bill.moved += um_was_moved(x->group[i]);
}

/* Members match by their group, which is asked for in a filter of one group;
 * any that does not may still match by another one. */
static umbel_status count_lost(choosing *c, size_t at, const umbel_digest *d,
                               size_t n, umbel_error *err)
{
    uint64_t lost = 0;
    umbel_digest chosen[UM_BATCH];
    bool hit[UM_BATCH];

    for (size_t done = 0, some; done < n; done += some) {
        const uint8_t *group = c->choices.group + at + done;
        some = um_next_batch(n - done);
        for (size_t i = 0; i < some; i++)
            chosen[i] = um_group_digest(d[done + i], group[i] & 0xf);
        UM_TRY(umbel_query_digests(c->plain, chosen, some, hit, err));
        for (size_t i = 0; i < some; i++) {
            if (!hit[i])
                UM_TRY(
                    umbel_query_digests(c->f, &d[done + i], 1, &hit[i], err));
            lost += !hit[i];
        }
    }
    if (lost) /* two threads may count */
        __atomic_fetch_add(&c->bill.lost, lost, __ATOMIC_RELAXED);
    return UMBEL_OK;
}

static void consume_after(void *ctx, size_t i, bool hit)
{
    choosing *c = ctx;

    c->bill.matched += hit && !c->out[i];
    c->bill.weight_left += hit ? c->weight[i] : 0;
}

static umbel_status check_first_half(choosing *c, umbel_error *err)
{
    return um_go_through_some(c, 0, c->members->n / 2, count_lost, err);
}

static umbel_status measure_after(choosing *c, umbel_error *err)
{
    umbel_choose_result *bill = &c->bill;

    bill->error = umbel_predict(c->f);
    UM_TRY(um_query_each(c->f, NULL, c->never->digests, c->never->n,
                         consume_after, c, err));
    bill->share_left = bill->weight > 0 ? bill->weight_left / bill->weight : 0;
    return UMBEL_OK;
}

static umbel_status check_the_rest(choosing *c, umbel_error *err)
{
    UM_TRY(um_go_through_some(c, c->members->n / 2, c->members->n, count_lost,
                              err));
    return measure_after(c, err);
}

static umbel_status check_all(choosing *c, umbel_error *err)
{
    memcpy(c->f->kind->bits->cells(c->plain->self), c->choices.bits,
           c->choices.len);
    if (c->members->kept)
        return um_run_both(c, check_first_half, check_the_rest, err);
    UM_TRY(um_go_through(c, count_lost, err));
    return measure_after(c, err);
}

static umbel_status choose(choosing *c, umbel_error *err)
{
    UM_TRY(choose_first(c, err));
    UM_TRY(choose_again(c, err));
    write_cells(c);
    return check_all(c, err);
}

static umbel_status check_params(const umbel_choose_params *p,
                                 const umbel_filter *f, umbel_error *err)
{
    if (p->size < sizeof *p)
        return um_fail(err, UMBEL_E_RANGE,
                       "params.size is not set: start from UMBEL_CHOOSE_INIT");
    if (p->rounds > MAX_ROUNDS)
        return um_fail(err, UMBEL_E_RANGE, "rounds must be 0..%d, got %" PRIu32,
                       MAX_ROUNDS, p->rounds);
    if (!um_has_bits(f->kind))
        return um_cannot(f, "choose between groups", err);
    if (p->like)
        UM_TRY(umbel_same_shape(p->like, f, err));
    UM_TRY(um_check_writable(f, err));
    return um_check_ready(f, err);
}

umbel_status um_choose(umbel_filter *f, const um_digest_source *members,
                       const umbel_key_list *never,
                       const umbel_choose_params *params, unsigned threads,
                       bool *member, umbel_choose_result *out, umbel_error *err)
{
    static const umbel_choose_params standard = UMBEL_CHOOSE_INIT;
    choosing c = {.f = f,
                  .members = members,
                  .never = never,
                  .threads = threads,
                  .member = member,
                  .params = params ? params : &standard};

    UM_TRY(um_check_key_list(never, err));
    UM_TRY(check_params(c.params, f, err));
    UM_TRY(um_check_weights(never->weights, never->n, err));
    if (c.params->like)
        c.like = f->kind->bits->cells(c.params->like->self);
    umbel_status status = choose(&c, err);
    fini(&c);
    if (status == UMBEL_OK)
        *out = c.bill;
    return status;
}

umbel_status umbel_choose(umbel_filter *f, const umbel_key_list *members,
                          const umbel_key_list *never,
                          const umbel_choose_params *params,
                          umbel_choose_result *out, umbel_error *err)
{
    UM_TRY(um_check_key_list(members, err));
    um_digest_source source = um_source_of_list(members);
    return um_choose(f, &source, never, params, 1, NULL, out, err);
}
