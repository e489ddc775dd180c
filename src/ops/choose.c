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
#include "ops/choose.h"

#include "base/key_list.h"
#include "filter/handle.h"
#include "ops/choose_round.h"
#include "ops/digest_index.h"
#include "ops/query_each.h"

#include <inttypes.h>

enum { MOST_ROUNDS = 1000 };

/* A step of the work on some members, in their order. */
typedef struct choosing choosing;
typedef umbel_status choose_step(choosing *c, const umbel_digest *d, size_t n,
                                 umbel_error *err);

/* One call of umbel_choose. */
struct choosing {
    umbel_filter *f, *plain; /* plain: the same with one group */
    const um_digest_source *members;
    const umbel_key_list *never;
    const umbel_choose_params *params;
    const uint8_t *like; /* cells; or NULL */

    um_pool pool;
    double *weight; /* 0 for unwanted keys that are left out: */
    bool *out;      /* members, and those that stood before */
    um_digest_index unwanted;
    um_choices choices;
    uint8_t *count; /* members on each cell, four bits each; NULL: not kept */
    uint64_t fresh; /* members that were new */

    choose_step *step;
    size_t at;               /* the next member */
    uint64_t sum, first_sum; /* of digests, in this pass and in the first */
    umbel_choose_result bill;
};

/* --- going through the members --- */

static umbel_status fail_changed(const choosing *c, umbel_error *err)
{
    return um_fail(err, UMBEL_E_MISMATCH,
                   "the list of %zu members changed while it was read",
                   c->members->n);
}

static umbel_status take_some(void *ctx, const umbel_digest *d, size_t n,
                              umbel_error *err)
{
    choosing *c = ctx;

    if (n > c->members->n - c->at)
        return fail_changed(c, err);
    UM_TRY(c->step(c, d, n, err));
    for (size_t i = 0; i < n; i++)
        c->sum += um_remix(d[i].lo) + d[i].hi;
    c->at += n;
    return UMBEL_OK;
}

static umbel_status go_through(choosing *c, choose_step *step, umbel_error *err)
{
    c->step = step;
    c->at = 0;
    c->sum = 0;
    UM_TRY(c->members->each(c->members->ctx, take_some, c, err));
    if (!c->first_sum)
        c->first_sum = c->sum;
    return c->at == c->members->n && c->sum == c->first_sum
               ? UMBEL_OK
               : fail_changed(c, err);
}

/* --- the first choice --- */

static uint8_t nibble_at(const uint8_t *count, uint64_t cell)
{
    return count[cell >> 1] >> (cell & 1) * 4 & 0xf;
}

static void add_to_nibble(uint8_t *count, uint64_t cell, int by)
{
    count[cell >> 1] = (uint8_t)(count[cell >> 1] + by * (1 << (cell & 1) * 4));
}

/* A cell that was used by that many stays in use. */
enum { MOST = 15 };

static void use_cell(choosing *c, uint64_t cell)
{
    um_set_bit(c->choices.bits, cell);
    if (c->count && nibble_at(c->count, cell) < MOST)
        add_to_nibble(c->count, cell, 1);
}

static void disuse_cell(choosing *c, uint64_t cell)
{
    uint8_t *byte = &c->choices.bits[cell >> 3];

    if (nibble_at(c->count, cell) == MOST)
        return;
    add_to_nibble(c->count, cell, -1);
    if (nibble_at(c->count, cell) == 0)
        *byte &= (uint8_t) ~(1u << (cell & 7));
}

static void place(choosing *c, size_t i, const uint64_t *pos, uint32_t group)
{
    const um_layout *l = c->choices.layout;

    for (uint32_t j = 0; j < l->hashes; j++)
        use_cell(c, pos[(size_t)group * l->hashes + j]);
    um_set_choice(&c->choices, i, group);
}

/* How many of a member's cells are not set. */
static uint32_t count_clear(const um_layout *l, const uint8_t *bits,
                            const uint64_t *pos)
{
    uint32_t n = 0;

    for (uint32_t j = 0; j < l->hashes; j++)
        n += !um_bit(bits, pos[j]);
    return n;
}

/*
 * Returns how many groups of a member match the older filter. *group is the one
 * with most cells that nobody else has set so far: probably the one by which it
 * was added, the other matching by chance.
 */
static uint32_t find_like(const choosing *c, const uint64_t *pos,
                          uint32_t *group)
{
    const um_layout *l = c->choices.layout;
    uint32_t n = 0, most = 0;

    for (uint32_t g = 0; g < c->choices.groups; g++) {
        const uint64_t *cells = pos + (size_t)g * l->hashes;
        if (count_clear(l, c->like, cells))
            continue;
        uint32_t clear = count_clear(l, c->choices.bits, cells);
        if (n++ == 0 || clear > most)
            *group = g, most = clear;
    }
    return n;
}

static void place_member(choosing *c, size_t i, const umbel_digest *d,
                         bool again)
{
    um_choices *x = &c->choices;
    uint64_t pos[UM_GROUPED_CELLS], cost;
    uint32_t group = 0, matching = 0;

    um_group_cells(x->layout, x->groups, *d, pos);
    if (c->like)
        matching = find_like(c, pos, &group);
    if (matching != 1 && c->like && !again) {
        x->group[i] = UM_NO_CHOICE;
        return;
    }
    if (matching == 0)
        group = um_cheapest_group(x->layout, x->groups, x->bits, pos, &cost);
    place(c, i, pos, group);
    c->bill.kept += matching > 0;
}

/* A member is new if one group would have made it so, and f lacks it: that does
 * not depend on choices. */
static umbel_status count_new(choosing *c, const umbel_digest *d,
                              umbel_error *err)
{
    bool fresh, known = false;

    UM_TRY(umbel_add_digests(c->plain, d, 1, &fresh, err));
    if (fresh && c->f->added)
        UM_TRY(umbel_query_digests(c->f, d, 1, &known, err));
    c->fresh += fresh && !known;
    return UMBEL_OK;
}

static umbel_status place_first(choosing *c, const umbel_digest *d, size_t n,
                                umbel_error *err)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t listed = um_digest_index_find(&c->unwanted, &d[i]);
        if (listed)
            c->out[listed - 1] = true;
        UM_TRY(count_new(c, &d[i], err));
        place_member(c, c->at + i, &d[i], false);
    }
    return UMBEL_OK;
}

/* Those whose choice in the older filter is not certain, and new ones. */
static umbel_status place_others(choosing *c, const umbel_digest *d, size_t n,
                                 umbel_error *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++)
        if (c->choices.group[c->at + i] == UM_NO_CHOICE)
            place_member(c, c->at + i, &d[i], true);
    return UMBEL_OK;
}

/* Each is taken out and chosen again, now that all others stand: it uses fewer
 * cells. */
static umbel_status place_again(choosing *c, const umbel_digest *d, size_t n,
                                umbel_error *err)
{
    um_choices *x = &c->choices;
    uint64_t pos[UM_GROUPED_CELLS], cost;

    (void)err;
    for (size_t i = 0; i < n; i++) {
        uint32_t now = x->group[c->at + i] & 0xf;
        um_group_cells(x->layout, x->groups, d[i], pos);
        for (uint32_t j = 0; j < x->layout->hashes; j++)
            disuse_cell(c, pos[(size_t)now * x->layout->hashes + j]);
        place(c, c->at + i, pos,
              um_cheapest_group(x->layout, x->groups, x->bits, pos, &cost));
    }
    return UMBEL_OK;
}

/* --- the keys that must not match --- */

static umbel_status refuse_members(const choosing *c, bool *member,
                                   umbel_error *err)
{
    for (size_t i = 0; member && i < c->never->n; i++)
        member[i] = c->out[i];
    if (!c->bill.never_members || c->params->allow_members)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_KEY,
                   "%" PRIu64 " of the unwanted keys are members: a member "
                   "always matches; take them out of one of the lists",
                   c->bill.never_members);
}

/* When the members among them are known. */
static void weigh(choosing *c)
{
    umbel_choose_result *bill = &c->bill;

    for (size_t i = 0; i < c->never->n; i++) {
        size_t first =
            um_digest_index_find(&c->unwanted, &c->never->digests[i]) - 1;
        double weight = c->out[first] ? 0 : um_list_weight(c->never, i);
        c->weight[first] += weight;
        bill->weight += weight;
        bill->never_members += c->out[i] && first == i;
    }
    bill->members = c->members->n;
    bill->never = c->unwanted.n - bill->never_members;
}

/* Leaves the first of equal keys. */
static void drop_equal(choosing *c)
{
    for (size_t i = 0; i < c->never->n; i++)
        c->out[i] |= !um_digest_index_is_first(&c->unwanted, i);
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

/* What the same cells and members give without a choice. */
static umbel_status open_plain(choosing *c, umbel_error *err)
{
    um_shape shape = *um_shape_of(c->f);

    for (size_t i = 0; i < um_count_settings(shape.kind); i++)
        shape.setting[i] = shape.kind->settings[i].standard;
    UM_TRY(um_filter_make(&shape, &c->f->alloc, &c->plain, err));
    um_hasher_pass(&c->plain->hasher, &c->f->hasher);
    memcpy(c->plain->payload, c->f->payload, c->f->payload_len);
    return UMBEL_OK;
}

static umbel_status measure_before(choosing *c, umbel_error *err)
{
    UM_TRY(um_query_each(c->plain, NULL, c->never->digests, c->never->n,
                         take_before, c, err));
    c->bill.error_before = umbel_predict(c->plain);
    umbel_close(c->plain);
    c->plain = NULL;
    return UMBEL_OK;
}

/* --- all of it --- */

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
                      .alloc = &c->f->alloc};
    um_pool_init(&c->pool, &c->f->alloc);
    x->group = um_pool_get(&c->pool, c->members->n, sizeof *x->group);
    x->bits = um_pool_get(&c->pool, x->len, 1);
    if (!c->like && x->groups > 1)
        c->count = um_pool_get(&c->pool, x->len, 4);
    c->weight = um_pool_get(&c->pool, c->never->n, sizeof *c->weight);
    c->out = um_pool_get(&c->pool, c->never->n, sizeof *c->out);
    if (c->pool.failed)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu members",
                       c->members->n);
    x->weight = c->weight;
    memcpy(x->bits, x->base, x->len);
    for (uint64_t i = 0; c->count && i < c->f->layout.cells; i++)
        if (um_bit(x->base, i))
            add_to_nibble(c->count, i, MOST);
    return um_digest_index_init(&c->unwanted, &c->f->alloc, c->never->digests,
                                c->never->n, err);
}

static void fini(choosing *c)
{
    umbel_close(c->plain);
    um_pool_fini(&c->pool);
    um_digest_index_fini(&c->unwanted);
}

static umbel_status choose_first(choosing *c, bool *member, umbel_error *err)
{
    UM_TRY(get_memory(c, err));
    UM_TRY(open_plain(c, err));
    UM_TRY(go_through(c, place_first, err));
    if (c->like)
        UM_TRY(go_through(c, place_others, err));
    for (uint32_t i = 0; c->count && i < c->params->rounds; i++)
        UM_TRY(go_through(c, place_again, err));
    weigh(c);
    UM_TRY(refuse_members(c, member, err));
    drop_equal(c);
    return measure_before(c, err);
}

static umbel_status collect(choosing *c, const umbel_digest *d, size_t n,
                            umbel_error *err)
{
    return um_round_collect(&c->choices, c->at, d, n, err);
}

static umbel_status choose_round(choosing *c, size_t most, bool freely,
                                 size_t *matching, umbel_error *err)
{
    um_choices *x = &c->choices;
    umbel_status status = um_round_begin(x, most, matching, err);

    if (status == UMBEL_OK && *matching)
        status = go_through(c, collect, err);
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

static umbel_status count_lost(choosing *c, const umbel_digest *d, size_t n,
                               umbel_error *err)
{
    bool hit;

    (void)err;
    for (size_t i = 0; i < n; i++) {
        c->f->kind->query(c->f->self, &d[i], 1, &hit);
        c->bill.lost += !hit;
    }
    return UMBEL_OK;
}

static umbel_status choose(choosing *c, bool *member, umbel_error *err)
{
    umbel_choose_result *bill = &c->bill;

    UM_TRY(choose_first(c, member, err));
    UM_TRY(choose_again(c, err));
    write_cells(c);
    bill->error = umbel_predict(c->f);
    UM_TRY(go_through(c, count_lost, err));
    UM_TRY(um_query_each(c->f, NULL, c->never->digests, c->never->n, take_after,
                         c, err));
    bill->share_left = bill->weight > 0 ? bill->weight_left / bill->weight : 0;
    return UMBEL_OK;
}

static umbel_status check_params(const umbel_choose_params *p,
                                 const umbel_filter *f, umbel_error *err)
{
    if (p->size < sizeof *p)
        return um_fail(err, UMBEL_E_RANGE,
                       "params.size is not set: start from UMBEL_CHOOSE_INIT");
    if (p->rounds > MOST_ROUNDS)
        return um_fail(err, UMBEL_E_RANGE, "rounds must be 0..%d, got %" PRIu32,
                       MOST_ROUNDS, p->rounds);
    if (!um_has_bits(f->kind))
        return um_cannot(f, "choose between groups", err);
    if (p->like)
        UM_TRY(umbel_same_shape(p->like, f, err));
    UM_TRY(um_check_writable(f, err));
    return um_check_ready(f, err);
}

umbel_status um_choose(umbel_filter *f, const um_digest_source *members,
                       const umbel_key_list *never,
                       const umbel_choose_params *params, bool *member,
                       umbel_choose_result *out, umbel_error *err)
{
    static const umbel_choose_params standard = UMBEL_CHOOSE_INIT;
    choosing c = {.f = f,
                  .members = members,
                  .never = never,
                  .params = params ? params : &standard};

    UM_TRY(um_check_key_list(never, err));
    UM_TRY(check_params(c.params, f, err));
    UM_TRY(um_check_weights(never->weights, never->n, err));
    if (c.params->like)
        c.like = f->kind->bits->cells(c.params->like->self);
    umbel_status status = choose(&c, member, err);
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
    return um_choose(f, &source, never, params, NULL, out, err);
}
