/*
 * choose_first.c - the first choice of every member, and what is known about
 * the unwanted keys before they matter.
 */
#include "base/batch.h"
#include "base/key_list.h"
#include "filter/handle.h"
#include "negatives/choose/state.h"
#include "query/query_each.h"

#include <inttypes.h>

/* --- the first choice --- */

/* Sets the cells of a member in a group, when there is an older filter. */
static void place(choosing *c, size_t i, const uint64_t *pos, uint32_t group)
{
    const um_layout *l = c->choices.layout;

    for (uint32_t j = 0; j < l->hashes; j++)
        um_set_bit(c->choices.bits, pos[(size_t)group * l->hashes + j]);
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

/* A member is new if one group would have made it so, and f lacks it: that does
 * not depend on choices. */
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
        uint32_t listed = um_sieve_holds(&c->listed, d[i].lo)
                              ? um_digest_index_find(&c->unwanted, &d[i])
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

/* Those whose choice in the older filter is not certain, and new ones. */
static umbel_status place_others(choosing *c, size_t at, const umbel_digest *d,
                                 size_t n, umbel_error *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++)
        if (c->choices.group[at + i] == UM_NO_CHOICE)
            place_member(c, at + i, &d[i], true);
    return UMBEL_OK;
}

/* Each is taken out and chosen again, now that all others stand: it uses fewer
 * cells. */
static umbel_status place_again(choosing *c, size_t at, const umbel_digest *d,
                                size_t n, umbel_error *err)
{
    (void)err;
    um_place_members(&c->placing, d, n, c->choices.group + at, true,
                     c->passes == c->improving ? c->choices.bits : NULL);
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

/* Returns the number of the first key that is equal to key i. */
static size_t first_equal(const choosing *c, size_t i)
{
    if (c->unwanted.n == c->never->n)
        return i;
    return um_digest_index_find(&c->unwanted, &c->never->digests[i]) - 1;
}

/* When the members among them are known. */
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

/* Leaves the first of equal keys. */
static void drop_equal(choosing *c)
{
    for (size_t i = 0; i < c->never->n; i++)
        c->out[i] |= first_equal(c, i) != i;
}

static void consume_before(void *ctx, size_t i, bool hit)
{
    choosing *c = ctx;

    c->bill.matched_before += hit && !c->out[i];
    c->bill.weight_before += hit ? c->weight[i] : 0;
}

static umbel_status measure_before(choosing *c, umbel_error *err)
{
    UM_TRY(um_query_each(c->plain, NULL, c->never->digests, c->never->n,
                         consume_before, c, err));
    c->bill.error_before = umbel_predict(c->plain);
    return UMBEL_OK;
}

umbel_status um_place_all(choosing *c, umbel_error *err)
{
    UM_TRY(um_go_through(c, place_first, err));
    if (c->like)
        UM_TRY(um_go_through(c, place_others, err));
    while (c->passes++ < c->improving)
        UM_TRY(um_go_through(c, place_again, err));
    return UMBEL_OK;
}

umbel_status um_survey(choosing *c, umbel_error *err)
{
    UM_TRY(um_go_through(c, survey_some, err));
    weigh(c);
    UM_TRY(refuse_members(c, c->member, err));
    drop_equal(c);
    return measure_before(c, err);
}
