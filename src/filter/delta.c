/*
 * delta.c - differences of counts, and the states they lie between.
 *
 * A later state minus an earlier one can be sent instead of the later one. To
 * add it twice, or to something else, gives counts that nobody notices to be
 * wrong. So it names both states by the checksum of their cells, which is the
 * payload's unless data is attached.
 */
#include "filter/delta.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <string.h>

static size_t cells_len(const umbel_filter *f)
{
    return f->payload_len - um_data_room(f);
}

static uint64_t state_of(const umbel_filter *f)
{
    return um_checksum(f->payload, cells_len(f));
}

/* Two differences, of which one continues the other. */
static umbel_status chain(const um_delta *a, const um_delta *b, um_delta *out,
                          umbel_error *err)
{
    bool swapped = a->to != b->from;

    if (swapped && b->to != a->from)
        return um_fail_detail(err, UMBEL_E_MISMATCH, UMBEL_D_DIFFERENCE,
                              "neither difference starts from the state that "
                              "the other leads to");
    *out = swapped ? (um_delta){b->from, a->to} : (um_delta){a->from, b->to};
    return UMBEL_OK;
}

static umbel_status check_start(const um_delta *d, const umbel_filter *f,
                                umbel_error *err)
{
    uint64_t state = state_of(f);

    if (state == d->from)
        return UMBEL_OK;
    if (state == d->to)
        return um_fail_detail(err, UMBEL_E_MISMATCH, UMBEL_D_DIFFERENCE,
                              "the counts hold this difference already");
    return um_fail_detail(err, UMBEL_E_MISMATCH, UMBEL_D_DIFFERENCE,
                          "the difference is to be added to cells with "
                          "checksum %016" PRIx64 ", and these have %016" PRIx64,
                          d->from, state);
}

umbel_status um_delta_merge(const umbel_filter *into, const umbel_filter *from,
                            umbel_merge_op op, um_delta *out,
                            uint64_t *expected, umbel_error *err)
{
    const um_delta *a = um_delta_of(into), *b = um_delta_of(from);
    bool first = um_is_delta(a), second = um_is_delta(b);

    *out = (um_delta){0, 0};
    *expected = 0;
    if (op == UMBEL_MINUS && second && !first && state_of(into) == b->to) {
        *expected = b->from;
        return UMBEL_OK;
    }
    if ((first || second) && op != UMBEL_ADD)
        return um_fail_detail(err, UMBEL_E_MISMATCH, UMBEL_D_DIFFERENCE,
                              "a difference of counts is added to the state "
                              "that it starts from, or taken from the one "
                              "that it leads to, and merged in no other way");
    if (op == UMBEL_MINUS && !first && !second)
        *out = (um_delta){state_of(from), state_of(into)};
    if (op != UMBEL_ADD || (!first && !second))
        return UMBEL_OK;
    if (first && second)
        return chain(a, b, out, err);
    *expected = first ? a->to : b->to;
    return first ? check_start(a, from, err) : check_start(b, into, err);
}

umbel_status um_delta_apply(umbel_filter *into, const umbel_filter *from,
                            umbel_merge_op op, uint64_t expected,
                            umbel_error *err)
{
    const um_row_merge *row = into->kind->merge;
    size_t len = cells_len(into);

    if (!expected)
        return row->cells(into->self, from->self, op, err);
    uint8_t *before = um_get(&into->alloc, len);
    if (!before)
        return um_no_memory(err, len);
    memcpy(before, into->payload, len);
    umbel_status status = row->cells(into->self, from->self, op, err);
    if (status == UMBEL_OK && state_of(into) != expected) {
        memcpy(into->payload, before, len);
        status = um_fail_detail(err, UMBEL_E_MISMATCH, UMBEL_D_DIFFERENCE,
                                "the difference was changed: it does not lead "
                                "to the counts that it names");
    }
    um_put(&into->alloc, before, len);
    return status;
}

void umbel_as_counts(umbel_filter *f)
{
    um_set_delta(f, (um_delta){0, 0});
}
