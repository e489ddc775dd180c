/*
 * retouch.h - internals of retouching: positions in, cleared bits out.
 *
 * A problem consists of plain arrays of positions, so that other bit arrays
 * than our filters can be retouched. It is turned into an instance, which has
 * only the bits that a key to be removed owns, numbered from 0. A method works
 * on the instance through a state, and is a row in methods.c.
 */
#ifndef UM_NEGATIVES_RETOUCH_RETOUCH_H
#define UM_NEGATIVES_RETOUCH_RETOUCH_H

#include "base/alloc.h"
#include "base/bits.h"
#include "base/rng.h"

#include <umbel/experimental/retouch.h>

/* Keys as positions, `hashes` each; repeated positions of a key count once. */
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
    um_placed keys;  /* in the order in which the papers' methods handle them */
    size_t ntargets; /* the first ntargets keys must be removed */
    uint8_t *needed; /* cells that other members own, modified; may be NULL */
} um_retouch_problem;

/* Members that own no cell of a key to be removed: they stay, with their
 * cells. */
typedef struct um_bystanders {
    uint8_t *needed; /* their cells, as a bit array */
    size_t n;        /* those that match */
    size_t denied;   /* those that do not */
} um_bystanders;

/* Refuses kinds whose cells are not bits, and a filter without its secret. */
umbel_status um_check_retouchable(const umbel_filter *f, umbel_error *err);

/* Does the work of umbel_retouch, with other members besides the listed
 * ones. */
umbel_status um_retouch_among(umbel_filter *f, const umbel_key_list *members,
                              const um_bystanders *others,
                              const umbel_key_list *never,
                              const umbel_retouch_params *params,
                              umbel_retouch_result *result, bool *lost,
                              umbel_error *err);

/*
 * Runs params->method on bits. params must be normalised (um_retouch_settle).
 * *out receives the members that no longer match, the keys that were removed,
 * the number of bits cleared, and whether watch stopped it. A failure leaves
 * the bits unchanged.
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

/* Checks the parameters and sets the defaults; given may be NULL. */
umbel_status um_retouch_settle(const umbel_retouch_params *given,
                               umbel_retouch_params *out, umbel_error *err);

/* Lists of numbers: the i-th is item[start[i]] .. item[start[i + 1] - 1]. */
typedef struct um_lists {
    size_t n;
    uint32_t *start, *item; /* start NULL: not computed */
} um_lists;

/* Iterates over list i of lists: *it is each of its numbers. */
#define UM_EACH_IN(it, lists, i)                                               \
    for (const uint32_t *it = (lists).item + (lists).start[i];                 \
         it < (lists).item + (lists).start[(i) + 1]; it++)

typedef struct um_instance {
    um_pool *pool;
    uint32_t nbits, nmembers, nkeys, ntargets;
    uint64_t *cell; /* of each bit */
    um_lists member_bits, key_bits;
    um_lists bit_members, bit_keys; /* computed on demand */
    /*
     * Weights in integer units, so that sums are exact; NULL: all 1. A unit is
     * worth member_unit or key_unit.
     */
    uint32_t *member_weight, *key_weight;
    double member_unit, key_unit;
    const double *key_worth; /* as passed, for reports; NULL: all 1 */
    /* Other bits that each member owns alone; NULL: hardly any. */
    uint8_t *spare;
} um_instance;

/* Creates an instance, with the bits of the keys or, if all_bits is set, every
 * bit that is set. */
umbel_status um_instance_create(um_instance *out, const um_retouch_problem *p,
                                const umbel_retouch_params *params,
                                bool all_bits, um_pool *pool, umbel_error *err);
/* Compute bit_members or bit_keys, unless they exist; return false if memory
 * runs out. */
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
 * The state that methods change. A kept member or live key is one that still
 * matches.
 */
typedef struct um_bit_state {
    uint32_t owners;  /* kept members on it */
    uint32_t who;     /* XOR of their numbers: the owner if there is one */
    uint32_t live;    /* weight of live keys on it */
    uint32_t pivotal; /* weight of keys whose only closed bit it is */
} um_bit_state;

typedef struct um_key_state {
    uint32_t closed; /* number of closed bits; 0: live */
    uint32_t which;  /* XOR of these: the bit if there is one */
} um_key_state;

typedef struct um_retouch_state {
    um_instance *in;
    const umbel_retouch_params *params;
    um_rng rng;
    uint64_t budget; /* members that may be lost */
    bool limited;    /* by budget or cost: some keys may stay */
    bool spent;      /* a method of the papers met a bit over the budget */
    bool stopped;
    bool pivots; /* pivotal is up to date */

    um_bit_state *bit;
    um_key_state *key;
    bool *kept;
    uint8_t *closed; /* bits closed by the papers' methods */

    uint32_t live_targets;
    uint64_t live_weight; /* units */
    uint64_t lost, lost_weight;
    double removed_worth;

    /* Used only while a greedy method runs. */
    uint32_t *gain; /* live weight on bits owned alone; may be NULL */
    void (*risen)(struct um_retouch_state *s, uint32_t member);
    void *queue;
    double rate; /* units gained per unit lost, by recent moves */

    /* Memory for the parts of greedy, allocated on first use. */
    uint32_t *gain_memory;
    void *bucket_memory, *heap_memory, *restore_memory;
} um_retouch_state;

bool um_state_init(um_retouch_state *s, um_instance *in,
                   const umbel_retouch_params *params);
/* Reports progress to watch; if it asks to stop, sets stopped and returns
 * false. */
bool um_state_tell(um_retouch_state *s);

/*
 * Retouching means choosing the members to keep: a bit without a kept member is
 * closed, at no cost. um_drop loses a member, um_keep restores it; each undoes
 * the other. um_close_free closes the bits that have no owner initially.
 */
void um_drop(um_retouch_state *s, uint32_t member);
void um_keep(um_retouch_state *s, uint32_t member);
void um_close_free(um_retouch_state *s);
/* Computes pivotal and keeps it up to date from now on; greedy does without,
 * for speed. */
void um_find_pivots(um_retouch_state *s);
/* um_owners_weight returns the weight of the kept members on a bit,
 * um_drop_owners loses them. Call um_check_bit_members first. */
uint64_t um_owners_weight(const um_retouch_state *s, uint32_t bit);
void um_drop_owners(um_retouch_state *s, uint32_t bit);

/* Records that a move gained rate units for every unit it lost. */
static inline void um_pay(um_retouch_state *s, double rate)
{
    s->rate += (rate - s->rate) * (s->rate > 0 ? 0.1 : 1);
}

/* Returns true if losing that weight for that gain is within params->cost. */
bool um_worth_it(const um_retouch_state *s, uint64_t lost_weight,
                 uint64_t gained);

/* Parameters that only some methods use, as listed in the method's row. */
typedef enum um_method_param {
    UM_USES_MOVES = 1 << 0,
    UM_USES_SECONDS = 1 << 1,
    UM_USES_CLOSURE = 1 << 2,
    UM_USES_OUTSIDE = 1 << 3, /* count_outside: the method counts keys */
    UM_USES_SEED = 1 << 4     /* even if the order of the keys is fixed */
} um_method_param;

/* A method: one row. */
typedef struct um_method {
    const char *name, *summary;
    unsigned uses; /* um_method_param */
    bool tracked;  /* counts are updated after each step */
    bool all_bits; /* not only bits of keys */
    bool closes;   /* bits without kept members are always closed */
    /* For the papers' methods: chooses which bit of a key to clear. */
    uint32_t (*pick)(um_retouch_state *s, const uint32_t *bits, uint32_t n);
    /* Runs the method; returns false if memory runs out or it was stopped. */
    bool (*run)(um_retouch_state *s, const struct um_method *self);
} um_method;

/* Return NULL if no method has that name, or i is past the end. */
const um_method *um_method_find(const char *name);
const um_method *um_method_row(size_t i);

bool um_run_greedy(um_retouch_state *s, const um_method *self);
bool um_run_anneal(um_retouch_state *s, const um_method *self);
uint32_t um_pick_min_fn(um_retouch_state *s, const uint32_t *bits, uint32_t n);

/*
 * The trade-off of a retouch: keys removed against members lost, step by step.
 */

/* The recorded steps. Zero-initialise; release with um_curve_fini. */
typedef struct um_curve {
    umbel_retouch_step *steps; /* each removed more than the one before */
    size_t n, cap;
    bool no_memory; /* steps are missing */
} um_curve;

/* Appends a step if it removed more than the last one: annealing may also go
 * back. */
void um_curve_add(um_curve *c, const umbel_retouch_step *step);
void um_curve_fini(um_curve *c);

/* Returns the last step that lost at most this many members; all zero before
 * the first. */
umbel_retouch_step um_curve_at(const um_curve *c, uint64_t lost);

/* Returns the weight of the keys that still match after a step: exactly 0 if
 * all are removed. */
double um_weight_left(const umbel_retouch_result *result,
                      const umbel_retouch_step *step);

#endif
