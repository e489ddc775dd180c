/*
 * retouch.h - internals of retouching: positions in, cleared bits out.
 *
 * A problem is plain arrays of positions, so that other readers of bits than
 * our filters can be retouched. From it comes an instance, in which only bits
 * count that a key to be removed owns; they are numbered from 0. A method works
 * on the instance through a state, and is a row in methods.c.
 */
#ifndef UM_NEGATIVES_RETOUCH_RETOUCH_H
#define UM_NEGATIVES_RETOUCH_RETOUCH_H

#include "base/alloc.h"
#include "base/bits.h"
#include "base/rng.h"

#include <umbel/experimental/retouch.h>

/* Keys as positions, hashes each; repeated positions of a key count once. */
typedef struct um_placed {
    const uint64_t *pos;
    const double *weights; /* NULL: all 1 */
    size_t n;
} um_placed;

typedef struct um_retouch_problem {
    uint8_t *bits; /* the cells; those of members and keys are set */
    uint64_t cells;
    uint32_t hashes;
    um_placed members;
    um_placed keys;  /* in the order in which the papers' methods take them */
    size_t ntargets; /* the first ntargets of keys must go */
    uint8_t *needed; /* cells that members beside these own; is changed. NULL:
                        there are none */
} um_retouch_problem;

/* Members that own no cell of a key that must go: they stay, with their
 * cells. */
typedef struct um_bystanders {
    uint8_t *needed; /* their cells, as a filter has them */
    size_t n;        /* that match */
    size_t denied;   /* that do not */
} um_bystanders;

/* Refuses kinds whose cells are not bits, and a filter without its secret. */
umbel_status um_check_retouchable(const umbel_filter *f, umbel_error *err);

/* As umbel_retouch, with members beside the given ones. */
umbel_status um_retouch_among(umbel_filter *f, const umbel_key_list *members,
                              const um_bystanders *others,
                              const umbel_key_list *never,
                              const umbel_retouch_params *params,
                              umbel_retouch_result *result, bool *lost,
                              umbel_error *err);

/*
 * Runs params->method on bits. params must be settled (um_retouch_settle). *out
 * gets the members that are denied now, the keys that are gone, the number of
 * bits cleared, and if watch stopped it. A failure leaves the bits untouched.
 */
typedef struct um_outcome {
    bool *lost, *gone; /* of members.n and keys.n */
    uint64_t cleared;
    bool stopped;
} um_outcome;

umbel_status um_retouch_run(const um_retouch_problem *p,
                            const umbel_retouch_params *params,
                            const umbel_alloc *alloc, um_outcome *out,
                            umbel_error *err);

/* *out is what given (or NULL) means, in range; the method's name exists. */
umbel_status um_retouch_settle(const umbel_retouch_params *given,
                               umbel_retouch_params *out, umbel_error *err);

/* Lists of numbers: the i-th is item[start[i]] .. item[start[i + 1] - 1]. */
typedef struct um_lists {
    size_t n;
    uint32_t *start, *item; /* start NULL: not made */
} um_lists;

/* Goes through list i of lists: *it is each of its numbers. */
#define UM_EACH_IN(it, lists, i)                                               \
    for (const uint32_t *it = (lists).item + (lists).start[i];                 \
         it < (lists).item + (lists).start[(i) + 1]; it++)

typedef struct um_instance {
    um_pool *pool;
    uint32_t nbits, nmembers, nkeys, ntargets;
    uint64_t *cell; /* of each bit */
    um_lists member_bits, key_bits;
    um_lists bit_members, bit_keys; /* made on demand */
    /*
     * Weights in whole units, so that sums are exact; NULL: all 1. A unit is
     * worth member_unit, key_unit.
     */
    uint32_t *member_weight, *key_weight;
    double member_unit, key_unit;
    const double *key_worth; /* as given, for reports; NULL: all 1 */
    /* Other bits that a member owns alone; NULL: hardly any. */
    uint8_t *spare;
} um_instance;

/* Bits that count: those of the keys, or every bit that is set. */
umbel_status um_instance_create(um_instance *out, const um_retouch_problem *p,
                                const umbel_retouch_params *params,
                                bool all_bits, um_pool *pool, umbel_error *err);
/* The other direction; a second call does nothing. False: no memory. */
bool um_check_bit_members(um_instance *in);
bool um_check_bit_keys(um_instance *in);

static inline uint32_t um_member_weight(const um_instance *in, uint32_t a)
{
    return in->member_weight ? in->member_weight[a] : 1;
}

static inline uint32_t um_key_weight(const um_instance *in, uint32_t b)
{
    return in->key_weight ? in->key_weight[b] : 1;
}

/*
 * What methods change. A kept member is one that still matches, a live key one
 * that still does.
 */
typedef struct um_bit_state {
    uint32_t owners;  /* kept members on it */
    uint32_t who;     /* XOR of their numbers: the owner when there is one */
    uint32_t live;    /* weight of live keys on it */
    uint32_t pivotal; /* weight of keys of which it is the only bit closed */
} um_bit_state;

typedef struct um_key_state {
    uint32_t closed; /* how many of its bits are; 0: live */
    uint32_t which;  /* XOR of these: the bit when there is one */
} um_key_state;

typedef struct um_retouch_state {
    um_instance *in;
    const umbel_retouch_params *params;
    um_rng rng;
    uint64_t budget; /* members that may be lost */
    bool limited;    /* by budget or cost: some may stay */
    bool stopped;
    bool pivots; /* pivotal is kept up to date */

    um_bit_state *bit;
    um_key_state *key;
    bool *kept;
    uint8_t *closed; /* bits that the methods of the papers closed */

    uint32_t live_targets;
    uint64_t live_weight; /* units */
    uint64_t lost, lost_weight;
    double removed_worth;

    /* Only while a greedy method runs. */
    uint32_t *gain; /* live weight on bits that a member owns alone; or NULL */
    void (*risen)(struct um_retouch_state *s, uint32_t member);
    void *queue;
    double rate; /* units gained for a unit lost, by the last moves */

    /* Memory of the parts of greedy, made when first needed. */
    uint32_t *gain_memory;
    void *bucket_memory, *heap_memory, *restore_memory;
} um_retouch_state;

bool um_state_init(um_retouch_state *s, um_instance *in,
                   const umbel_retouch_params *params);
/* Reports progress to watch; false, and stopped set, when it asks to stop. */
bool um_state_tell(um_retouch_state *s);

/*
 * Retouching is choosing the members to keep: a bit without a kept member is
 * closed, at no cost. um_drop loses a member, um_keep takes it back; either
 * undoes the other. Closing what has no owner from the start: um_close_free.
 */
void um_drop(um_retouch_state *s, uint32_t member);
void um_keep(um_retouch_state *s, uint32_t member);
void um_close_free(um_retouch_state *s);
/* From now on pivotal is right; greedy does without, to be fast. */
void um_find_pivots(um_retouch_state *s);
/* Every kept member on a bit: their weight; lose them. After
 * um_check_bit_members. */
uint64_t um_owners_weight(const um_retouch_state *s, uint32_t bit);
void um_drop_owners(um_retouch_state *s, uint32_t bit);

/* A move gained rate units for every unit it lost. */
static inline void um_pay(um_retouch_state *s, double rate)
{
    s->rate += (rate - s->rate) * (s->rate > 0 ? 0.1 : 1);
}

/* Returns true if losing that weight for that gain is within params->cost. */
bool um_worth_it(const um_retouch_state *s, uint64_t lost_weight,
                 uint64_t gained);

/* Parameters that only some methods use: a method's row names its own. */
typedef enum um_method_param {
    UM_USES_MOVES = 1 << 0,
    UM_USES_SECONDS = 1 << 1,
    UM_USES_CLOSURE = 1 << 2,
    UM_USES_OUTSIDE = 1 << 3, /* count_outside: it counts keys */
    UM_USES_SEED = 1 << 4     /* also when the order of the keys is given */
} um_method_param;

/* A method: one row. */
typedef struct um_method {
    const char *name, *summary;
    unsigned uses; /* um_method_param */
    bool tracked;  /* counts follow what is gone */
    bool all_bits; /* not only those of keys */
    bool closes;   /* bits without kept members are always closed */
    /* The papers': which of a key's bits goes. */
    uint32_t (*pick)(um_retouch_state *s, const uint32_t *bits, uint32_t n);
    /* False: no memory, or stopped. */
    bool (*run)(um_retouch_state *s, const struct um_method *self);
} um_method;

/* NULL when none has that name, or i is past the end. */
const um_method *um_method_find(const char *name);
const um_method *um_method_row(size_t i);

bool um_run_greedy(um_retouch_state *s, const um_method *self);
bool um_run_anneal(um_retouch_state *s, const um_method *self);
uint32_t um_pick_min_fn(um_retouch_state *s, const uint32_t *bits, uint32_t n);

/*
 * The trade-off of a retouching: keys removed against members
 * lost, step by step.
 */

/* Zero to begin; release with um_curve_fini. */
typedef struct um_curve {
    umbel_retouch_step *steps; /* each removed more than the one before */
    size_t n, cap;
    bool no_memory; /* steps are missing */
} um_curve;

/* Appends a step if it removed something: annealing also goes back. */
void um_curve_add(um_curve *c, const umbel_retouch_step *step);
void um_curve_fini(um_curve *c);

/* Returns the last step that lost at most this many members; all zero before
 * the first. */
umbel_retouch_step um_curve_at(const um_curve *c, uint64_t lost);

/* Returns the weight of the keys that still match after a step: exactly 0 when
 * all are removed. */
double um_weight_left(const umbel_retouch_result *result,
                      const umbel_retouch_step *step);

#endif
