/*
 * choose_state.h - one call of umbel_choose: what its parts share.
 */
#ifndef UM_OPS_CHOOSE_STATE_H
#define UM_OPS_CHOOSE_STATE_H

#include "base/error.h"
#include "negatives/choose/choose.h"
#include "negatives/choose/place.h"
#include "negatives/choose/round.h"
#include "query/digest_index.h"

/* A step of the work on n members, in their order, from number `at` on. */
typedef struct choosing choosing;
typedef umbel_status choose_step(choosing *c, size_t at, const umbel_digest *d,
                                 size_t n, umbel_error *err);

/* One call of umbel_choose. */
struct choosing {
    umbel_filter *f, *plain; /* plain: the same with one group */
    const um_digest_source *members;
    const umbel_key_list *never;
    const umbel_choose_params *params;
    const uint8_t *like; /* cells; or NULL */
    unsigned threads;
    bool *member; /* of never; or NULL */

    um_pool pool;
    double *weight; /* 0 for unwanted keys that are left out: */
    bool *out;      /* members, and those that stood before */
    um_digest_index unwanted;
    um_choices choices;
    um_sieve listed; /* digests of unwanted keys */
    um_placing placing;
    uint32_t passes, improving; /* in which all members are chosen again */
    uint64_t fresh;             /* members that were new */

    uint64_t
        first_sum; /* of digests, when they are read again: choose_pass.c */
    umbel_choose_result bill;
};

/* Goes through all members. E_MISMATCH when they are read again, and differ. */
umbel_status um_go_through(choosing *c, choose_step *step, umbel_error *err);
/* Goes through members from .. to - 1, which are kept. */
umbel_status um_go_through_some(choosing *c, size_t from, size_t to,
                                choose_step *step, umbel_error *err);

/* Runs two things that do not depend on each other, in two threads if there are
 * any and the members are in memory. Returns the failure of the first, if any.
 */
typedef umbel_status choose_side(choosing *c, umbel_error *err);
umbel_status um_run_both(choosing *c, choose_side *first, choose_side *second,
                         umbel_error *err);

/* Makes the first choice of all members, c->improving times again. */
choose_side um_place_all;
/* Finds members among the unwanted keys, and what one group would do. */
choose_side um_survey;

#endif
