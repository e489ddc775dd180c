/*
 * choose.c - chooses the hash group by which each member is added.
 *
 * A member that is in the filter of the previous edition keeps its group; a new
 * one gets the group that needs the fewest new cells: the fewer cells are used,
 * the fewer other keys match (Lumetta and Mitzenmacher 2007, "Using the power
 * of two choices to improve Bloom filters"). Then the negatives that match are
 * found, and only for members on their cells is the group chosen again
 * (round.c). So most choices depend on little, and stay the same from edition
 * to edition.
 */
#include "negatives/choose/choose.h"

#include "base/batch.h"
#include "base/threads.h"
#include "filter/handle.h"
#include "negatives/choose/internal.h"
#include "query/digest_set.h"
#include "query/query.h"

#include <inttypes.h>

/*
 * Passes over the members, and two concurrent tasks.
 */

/* --- passes over the members ---------------------------------------------- */

static umbel_status fail_changed(const choosing *c, umbel_error *err)
{
    return um_fail(err, UMBEL_E_MISMATCH,
                   "the list of %zu members changed while it was read",
                   c->members->n);
}

typedef struct pass {
    choosing *c;
    choose_step *step;
    size_t at;    /* the next member */
    uint64_t sum; /* sum of the digests */
} pass;

static umbel_status consume_some(void *ctx, const umbel_digest *d, size_t n,
                                 umbel_error *err)
{
    pass *p = ctx;

    if (n > p->c->members->n - p->at)
        return fail_changed(p->c, err);
    UM_TRY(p->step(p->c, p->at, d, n, err));
    for (size_t i = 0; !p->c->members->kept && i < n; i++)
        p->sum += um_remix(d[i].lo) + d[i].hi;
    p->at += n;
    return UMBEL_OK;
}

static umbel_status go_on(pass *p, size_t to, umbel_error *err)
{
    const um_digest_source *members = p->c->members;

    UM_TRY(members->each(members->ctx, p->at, to, consume_some, p, err));
    return p->at == to ? UMBEL_OK : fail_changed(p->c, err);
}

/* Passes members from .. to - 1, which are in memory, to a step. */
static umbel_status go_through_some(choosing *c, size_t from, size_t to,
                                    choose_step *step, umbel_error *err)
{
    pass p = {c, step, from, 0};

    return go_on(&p, to, err);
}

/* Passes all members to a step. Fails if members that are read again differ
 * from the first pass. */
static umbel_status go_through(choosing *c, choose_step *step, umbel_error *err)
{
    pass p = {c, step, 0, 0};

    UM_TRY(go_on(&p, c->members->n, err));
    if (c->members->kept)
        return UMBEL_OK;
    if (!c->first_sum)
        c->first_sum = p.sum;
    return p.sum == c->first_sum ? UMBEL_OK : fail_changed(c, err);
}

/* --- two concurrent tasks ------------------------------------------------- */

typedef struct side {
    choose_side *run;
    umbel_status status;
    umbel_error err;
} side;

typedef struct sides {
    choosing *c;
    side both[2];
    size_t begun;
} sides;

static bool next_side(void *ctx, void *piece)
{
    sides *s = ctx;

    if (s->begun == UM_COUNT(s->both))
        return false;
    *(side **)piece = &s->both[s->begun++];
    return true;
}

static void run_side(void *ctx, void *piece)
{
    side *one = *(side **)piece;

    one->status = one->run(((sides *)ctx)->c, &one->err);
}

static bool always_continue(void *ctx, void *piece)
{
    (void)ctx;
    (void)piece;
    return true;
}

/* Runs two tasks. If the members are not in memory, they run one after the
 * other, since only one can read the members at a time. */
static umbel_status run_both(choosing *c, choose_side *first,
                             choose_side *second, umbel_error *err)
{
    sides s = {.c = c, .both = {{.run = first}, {.run = second}}};
    side *slot[2] = {NULL};
    void *pieces[] = {&slot[0], &slot[1]};
    um_pipeline crew = {.threads = c->members->kept ? c->threads : 1,
                        .pieces = pieces,
                        .npieces = UM_COUNT(pieces),
                        .ctx = &s,
                        .fill = next_side,
                        .work = run_side,
                        .drain = always_continue};

    um_pipeline_run(&crew);
    const side *failed = s.both[0].status ? &s.both[0] : &s.both[1];
    if (failed->status && err)
        *err = failed->err;
    return failed->status;
}

/*
 * The first choice for every member, and facts about the negatives that are
 * needed before the rounds.
 */

/* --- the first choice ----------------------------------------------------- */

/* Sets the cells of a member in a group. Used if there is an older filter. */
static void place(choosing *c, size_t i, const uint64_t *pos, uint32_t group)
{
    const um_layout *l = c->choices.layout;

    for (uint32_t j = 0; j < l->hashes; j++)
        um_set_bit(c->choices.bits, pos[(size_t)group * l->hashes + j]);
    um_set_choice(&c->choices, i, group);
}

/* Returns the number of a member's cells that are not set. */
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
 * with the most cells that nobody else has set so far: probably the one by
 * which it was added, while others match by chance.
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
    matching = find_like(c, pos, &group);
    if (matching != 1 && !again) {
        x->group[i] = UM_NO_CHOICE;
        return;
    }
    if (matching == 0)
        group = um_cheapest_group(x->layout, x->groups, x->bits, pos, &cost);
    place(c, i, pos, group);
    c->bill.kept += matching > 0;
}

/* Counts new members: those that would be new in a filter with one group, and
 * that f does not contain. This does not depend on choices. */
static umbel_status count_new(choosing *c, const umbel_digest *d, size_t n,
                              umbel_error *err)
{
    bool fresh[UM_BATCH], known[UM_BATCH];
    uint64_t before = umbel_added(c->plain);

    if (!c->f->added) {
        UM_TRY(umbel_add_digests(c->plain, d, n, NULL, err));
        c->fresh += umbel_added(c->plain) - before;
        return UMBEL_OK;
    }
    for (size_t done = 0, some; done < n; done += some) {
        some = um_next_batch(n - done);
        UM_TRY(umbel_query_digests(c->f, d + done, some, known, err));
        UM_TRY(umbel_add_digests(c->plain, d + done, some, fresh, err));
        for (size_t i = 0; i < some; i++)
            c->fresh += fresh[i] && !known[i];
    }
    return UMBEL_OK;
}

static void find_listed(choosing *c, const umbel_digest *d, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t listed = um_prefilter_holds(&c->listed, d[i].lo)
                              ? um_digest_set_find(&c->unwanted, &d[i])
                              : 0;
        if (listed)
            c->out[listed - 1] = true;
    }
}

static umbel_status survey_some(choosing *c, size_t at, const umbel_digest *d,
                                size_t n, umbel_error *err)
{
    (void)at;
    find_listed(c, d, n);
    return count_new(c, d, n, err);
}

static umbel_status place_first(choosing *c, size_t at, const umbel_digest *d,
                                size_t n, umbel_error *err)
{
    (void)err;
    if (!c->like)
        um_place_members(&c->placing, d, n, c->choices.group + at, false, NULL);
    for (size_t i = 0; c->like && i < n; i++)
        place_member(c, at + i, &d[i], false);
    return UMBEL_OK;
}

/* Places members whose group in the older filter is not certain, and new
 * ones. */
static umbel_status place_others(choosing *c, size_t at, const umbel_digest *d,
                                 size_t n, umbel_error *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++)
        if (c->choices.group[at + i] == UM_NO_CHOICE)
            place_member(c, at + i, &d[i], true);
    return UMBEL_OK;
}

/* Removes each member and chooses again, now that all others are placed: this
 * uses fewer cells. */
static umbel_status place_again(choosing *c, size_t at, const umbel_digest *d,
                                size_t n, umbel_error *err)
{
    (void)err;
    um_place_members(&c->placing, d, n, c->choices.group + at, true,
                     c->passes == c->improving ? c->choices.bits : NULL);
    return UMBEL_OK;
}

/* --- negatives ------------------------------------------------------------ */

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

/* Returns the index of the first negative that is equal to negative i. */
static size_t first_equal(const choosing *c, size_t i)
{
    if (c->unwanted.n == c->never->n)
        return i;
    return um_digest_set_find(&c->unwanted, &c->never->digests[i]) - 1;
}

/* Computes the weights of the negatives, once the members among them are
 * known. */
static void weigh(choosing *c)
{
    umbel_choose_result *bill = &c->bill;

    for (size_t i = 0; i < c->never->n; i++) {
        size_t first = first_equal(c, i);
        double weight = c->out[first] ? 0 : um_list_weight(c->never, i);
        c->weight[first] += weight;
        bill->weight += weight;
        bill->never_members += c->out[i] && first == i;
    }
    bill->members = c->members->n;
    bill->never = c->unwanted.n - bill->never_members;
}

/* Marks all but the first of equal negatives. */
static void drop_equal(choosing *c)
{
    for (size_t i = 0; i < c->never->n; i++)
        c->out[i] |= first_equal(c, i) != i;
}

static void count_before(void *ctx, size_t i, bool hit)
{
    choosing *c = ctx;

    c->bill.matched_before += hit && !c->out[i];
    c->bill.weight_before += hit ? c->weight[i] : 0;
}

static umbel_status measure_before(choosing *c, umbel_error *err)
{
    UM_TRY(um_query_each(c->plain, NULL, c->never->digests, c->never->n,
                         count_before, c, err));
    c->bill.error_before = umbel_predict(c->plain);
    return UMBEL_OK;
}

umbel_status um_place_all(choosing *c, umbel_error *err)
{
    UM_TRY(go_through(c, place_first, err));
    if (c->like)
        UM_TRY(go_through(c, place_others, err));
    while (c->passes++ < c->improving)
        UM_TRY(go_through(c, place_again, err));
    return UMBEL_OK;
}

umbel_status um_survey(choosing *c, umbel_error *err)
{
    UM_TRY(go_through(c, survey_some, err));
    weigh(c);
    UM_TRY(refuse_members(c, c->member, err));
    drop_equal(c);
    return measure_before(c, err);
}

enum { MAX_ROUNDS = 1000 };

/* Creates a filter with the same cells, but with one group. */
static umbel_status open_plain(choosing *c, umbel_error *err)
{
    um_shape shape = *um_shape_of(c->f);

    for (size_t i = 0; i < um_count_settings(shape.kind); i++)
        shape.setting[i] = shape.kind->settings[i].standard;
    UM_TRY(um_filter_create(&shape, &c->f->alloc, &c->plain, err));
    um_hasher_copy_secret(&c->plain->hasher, &c->f->hasher);
    memcpy(c->plain->payload, c->f->payload, c->f->payload_len);
    return UMBEL_OK;
}

/*
 * Returns the number of further passes. Choosing again, when all others are
 * placed, uses fewer cells. The first choice keeps the requested error, and
 * five more reduce it by a third; but each pass takes as long as a plain build,
 * so large sets get none.
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
    um_prefilter_init(&c->listed, &c->pool, c->never->n);
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
        um_prefilter_add(&c->listed, c->never->digests[i].lo);
    return um_digest_set_init(&c->unwanted, &c->f->alloc, c->never->digests,
                              c->never->n, err);
}

static void fini(choosing *c)
{
    umbel_close(c->plain);
    um_pool_fini(&c->pool);
    um_digest_set_fini(&c->unwanted);
}

static umbel_status choose_first(choosing *c, umbel_error *err)
{
    UM_TRY(get_memory(c, err));
    UM_TRY(open_plain(c, err));
    return run_both(c, um_survey, um_place_all, err);
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

/* Removes the affected members from the cells. */
static umbel_status part(choosing *c, umbel_error *err)
{
    UM_TRY(go_through(c, collect, err));
    UM_TRY(um_round_part(&c->choices, err));
    if (!c->choices.by_block)
        UM_TRY(go_through(c, find_others, err));
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
 * Runs the rounds; the first one moves as few members as possible. From the
 * third on, a round is skipped if the previous one had little effect.
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

/* Counts lost members. A member matches by its group, which is queried in a
 * filter with one group; if it does not, it may still match by another one. */
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

static void count_after(void *ctx, size_t i, bool hit)
{
    choosing *c = ctx;

    c->bill.matched += hit && !c->out[i];
    c->bill.weight_left += hit ? c->weight[i] : 0;
}

static umbel_status check_first_half(choosing *c, umbel_error *err)
{
    return go_through_some(c, 0, c->members->n / 2, count_lost, err);
}

static umbel_status measure_after(choosing *c, umbel_error *err)
{
    umbel_choose_result *bill = &c->bill;

    bill->error = umbel_predict(c->f);
    UM_TRY(um_query_each(c->f, NULL, c->never->digests, c->never->n,
                         count_after, c, err));
    bill->share_left = bill->weight > 0 ? bill->weight_left / bill->weight : 0;
    return UMBEL_OK;
}

static umbel_status check_the_rest(choosing *c, umbel_error *err)
{
    UM_TRY(
        go_through_some(c, c->members->n / 2, c->members->n, count_lost, err));
    return measure_after(c, err);
}

static umbel_status check_all(choosing *c, umbel_error *err)
{
    memcpy(c->f->kind->bits->cells(c->plain->self), c->choices.bits,
           c->choices.len);
    if (c->members->kept)
        return run_both(c, check_first_half, check_the_rest, err);
    UM_TRY(go_through(c, count_lost, err));
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
