/*
 * retouch.h - take back false positives that hurt, and the bill for it.
 *
 * Given the members of a filter and keys that must not match, bits are cleared
 * until those keys do not match any more (Donnet, Baynat, Friedman 2006). Size,
 * format and query stay what they were. The price is members that are denied
 * from then on: the bill tells how many, and the filter admits it.
 *
 * Only for kinds whose cells are single bits (bloom), on any addressing.
 */
#ifndef UMBEL_RETOUCH_H
#define UMBEL_RETOUCH_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Keys as digests of the filter (umbel_digest_many), and what each is worth:
 * finite, not negative. A key that stands twice counts once, with the larger
 * weight.
 */
typedef struct umbel_keyset {
    const umbel_digest *digests;
    const double *weights; /* NULL: all 1 */
    size_t n;
} umbel_keyset;

/* How far it has come; numbers and weights of keys. */
typedef struct umbel_retouch_step {
    uint64_t lost, removed; /* members; keys that must not match */
    double lost_weight, removed_weight;
} umbel_retouch_step;

/*
 * Called after every move, many times a second while annealing, with how things
 * stand then; what comes back at the end is not in it. false asks to stop. A
 * stopped call succeeds: the best so far is in the filter, and the bill says
 * stopped.
 */
typedef bool umbel_retouch_watch(void *ctx, const umbel_retouch_step *step);

/* Zero means the default everywhere; start with UMBEL_RETOUCH_INIT. */
typedef struct umbel_retouch_params {
    size_t size;        /* sizeof(umbel_retouch_params): lets it grow */
    const char *method; /* NULL means "greedy": umbel_retouch_method_at */
    /*
     * The share of the members that may be lost: 0 means 0.01, or no limit when
     * cost is given; 1 is no limit; below 0, none may.
     */
    double max_fn;
    /* Stop when a step loses more weight than this times what it gains. */
    double cost;
    /* The share of the matching keys that must go; 0 means 1, all. */
    double beta;
    bool heaviest;      /* choose these, and go, by weight; else at random */
    bool count_outside; /* methods that count keys count the others as well */
    bool closure;       /* clear bits that no member needs any more; greedy and
                           anneal always do */
    bool allow_members; /* keys that must not match may be members: lost */
    bool force;         /* members need not be those of this filter */
    uint64_t moves;     /* anneal: tries, 0 means 500 a member;
                           random-bits: bits to clear, 0 means no limit */
    double seconds;     /* anneal: instead of moves; not reproducible */
    uint64_t seed;      /* same input, same seed: same bits */
    umbel_retouch_watch *watch; /* or NULL */
    void *ctx;
} umbel_retouch_params;

#ifdef __cplusplus
#define UMBEL_RETOUCH_INIT                                                     \
    {                                                                          \
        sizeof(umbel_retouch_params), 0, 0, 0, 0, false, false, false, false,  \
            false, 0, 0, 0, 0, 0                                               \
    }
#else
#define UMBEL_RETOUCH_INIT                                                     \
    {                                                                          \
        .size = sizeof(umbel_retouch_params)                                   \
    }
#endif

typedef struct umbel_retouch_result {
    uint64_t never;           /* different keys given that must not match */
    uint64_t matched;         /* of them matched, and had to go */
    uint64_t removed, left;   /* of these */
    uint64_t outside;         /* matched, but beta spared them */
    uint64_t outside_removed; /* of these, gone all the same */
    uint64_t members;         /* different members given that matched */
    uint64_t denied_before;   /* and that did not */
    uint64_t lost;            /* members that are denied now */
    double lost_share;        /* lost / members; 0 without members */
    double matched_weight, left_weight;
    double members_weight, lost_weight;
    uint64_t bits_cleared;
    /*
     * Share of the known false positives removed / share of members lost: what
     * the papers call chi. NAN without losses. It rewards what beta spared, so
     * read it beside lost.
     */
    double chi;
    double seconds;
    bool stopped; /* by watch */
} umbel_retouch_result;

/*
 * Clear bits of f, which must own its memory, so that keys of never match no
 * longer; members are all keys that f holds. lost[i], when lost is given, tells
 * whether members->digests[i] matched before and is denied now.
 *
 * E_KEY when a key of never is a member, E_MISMATCH when members are not those
 * of f: some are denied that f does not admit, or f holds more. E_UNSUPPORTED
 * for other kinds. f is untouched when the call fails.
 */
UMBEL_API umbel_status umbel_retouch(umbel_filter *f,
                                     const umbel_keyset *members,
                                     const umbel_keyset *never,
                                     const umbel_retouch_params *params,
                                     umbel_retouch_result *bill, bool *lost,
                                     umbel_error *err);

/* both[i] tells whether never->digests[i] is a member; *n, how many are. f
 * gives the memory. */
UMBEL_API umbel_status umbel_in_both(const umbel_filter *f,
                                     const umbel_keyset *members,
                                     const umbel_keyset *never, bool *both,
                                     size_t *n, umbel_error *err);

/* The methods: false when i is past the end. summary may be NULL. */
UMBEL_API bool umbel_retouch_method_at(size_t i, const char **name,
                                       const char **summary);

/* Members of f that are known to be denied. */
UMBEL_API uint64_t umbel_denied(const umbel_filter *f);

#ifdef __cplusplus
}
#endif
#endif
