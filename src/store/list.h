/*
 * list.h - counts that expire: a named list of reported digests with their
 * counts.
 *
 * A list has a few live epochs, each an ordinary filter of a counting kind.
 * Digests are added to the newest one; a count is the sum over all of them.
 * Epochs are numbered by time (number = time / epoch_seconds), the same on
 * every server. An epoch ends when the next number begins, or when it contains
 * as many digests as it was made for, so the error stays within the configured
 * limit. Then um_list_advance begins a new epoch, and the oldest one is dropped
 * with its counts.
 *
 * An epoch that was full and its successor may have the same number. Peers know
 * one filter for each number: publish the newest of them. With `hold` this
 * cannot happen: a full epoch stays until its time is over, still counts the
 * digests that it contains, and refuses others.
 *
 * A list has no clock and never advances by itself: the caller checks
 * um_list_is_due, records the advance, and then makes it. A journal of adds and
 * advances, replayed in order, gives the same list.
 *
 * All lists of one secret use the same digests (hash "sip", seed 0): a key is
 * hashed once, with um_list_digest, for any number of lists.
 *
 * A list must be used by one thread at a time.
 */
#ifndef UM_STORE_LIST_H
#define UM_STORE_LIST_H

#include "kinds/near/near.h"

enum {
    UM_LIST_MAX_EPOCHS = 64,
    UM_LIST_MAX_NAME = 32,
    UM_LIST_MAX_THRESHOLD = 255,
    /* Largest number of digests in one call; a list that is not due has space
     * for them. */
    UM_LIST_BATCH = 256
};

typedef struct um_list_config {
    const char *name;       /* for messages; copied */
    const char *kind;       /* a counting kind */
    const char *addressing; /* NULL: the kind's default */
    uint64_t capacity;      /* distinct digests of an epoch */
    double error;           /* probability of a count other than 0 for a digest
                               that was never added, over all live epochs */
    uint64_t epoch_seconds; /* an epoch ends when the time is a multiple of
                               this; 0: only when it is full */
    unsigned epochs;        /* number of live epochs */
    unsigned cell_bits;     /* of a count; 0: the kind's default */
    unsigned hashes;        /* cells of a digest; 0: the best number */
    bool refined;           /* kind counting: only the smallest cells grow */
    bool hold;              /* a full epoch stays until its time is over, and
                               refuses digests that it does not contain */
    unsigned threshold;     /* count that matters to users, up to
                               UM_LIST_MAX_THRESHOLD: the list then keeps a
                               histogram of counts, and predicts how many
                               digests reach it wrongly. 0: none */
    unsigned recent_column; /* the store keeps times of the last hour for this
                               list, in column 1 or 2; 0: it does not */
    const umbel_alloc *alloc; /* may be NULL (malloc) */
} um_list_config;

typedef struct um_list um_list;

/*
 * Creates an empty list whose first epoch begins now. The secret has
 * UMBEL_SECRET_LEN bytes. E_RANGE or E_UNKNOWN name what is wrong with the
 * configuration. Release *out with um_list_close.
 */
umbel_status um_list_open(const um_list_config *c, const uint8_t *secret,
                          uint64_t now, um_list **out, umbel_error *err);
/* Frees the list; NULL is accepted. */
void um_list_close(um_list *l);

/* Hashes keys for all lists of the same secret. */
void um_list_digest(const um_list *l, const umbel_slice *keys, size_t n,
                    umbel_digest *out);

/*
 * Adds digest d[i] amount[i] times, for n digests, at most UM_LIST_BATCH.
 * E_FULL if the newest epoch has no space for some of them; the others were
 * added. This cannot happen if um_list_is_due was false and um_list_accepts
 * true before the call.
 */
umbel_status um_list_add(um_list *l, const umbel_digest *d,
                         const uint32_t *amount, size_t n, umbel_error *err);
/* Returns a number that changes with each um_list_add and um_list_write_mail.
 */
uint64_t um_list_changes(const um_list *l);

/* Writes a mail to a list of kind near. E_FULL if um_list_has_space is
 * false. */
umbel_status um_list_write_mail(um_list *l, const um_near_write *w,
                                umbel_error *err);
/* Returns false if the mail needs a new record, and the newest epoch is held or
 * has no record left. */
bool um_list_has_space(const um_list *l, const um_near_write *w);

/* Sums the counts of each digest over the live epochs. One call for many
 * digests is faster than one call each, because memory is prefetched. */
void um_list_count(const um_list *l, const umbel_digest *d, size_t n,
                   uint64_t *count);

/*
 * Prefetches what um_list_count will read. To query several lists, prefetch in
 * all of them first, then count in each.
 */
void um_list_fetch(const um_list *l, const umbel_digest *d, size_t n);

/*
 * Continues to add up the epochs that have ended, about `bytes` bytes of them,
 * with at most `space` bytes of memory beyond um_list_totals_bytes. Returns
 * true if there is more to do. um_list_advance starts this over.
 */
bool um_list_build_totals(um_list *l, uint64_t space, size_t bytes);
size_t um_list_totals_bytes(const um_list *l);
/*
 * Sets bound[i] to an upper bound of the count of digest i. Returns true if
 * these are the counts themselves; false if they come from the totals, which
 * takes two lookups for each digest.
 */
bool um_list_upper_bound(const um_list *l, const umbel_digest *d, size_t n,
                         uint64_t *bound);

/* Counts one digest in each live epoch, newest first; returns the number of
 * epochs. */
unsigned um_list_count_epochs(const um_list *l, const umbel_digest *d,
                              uint64_t count[UM_LIST_MAX_EPOCHS]);
/* Returns the time at which the oldest live epoch began. */
uint64_t um_list_oldest_begin(const um_list *l);

/*
 * Finds when a digest was added, to the precision of an epoch: entered is the
 * beginning of the oldest epoch that contains it, updated the end of the newest
 * one (now, if that has not ended). Returns false if no live epoch contains it.
 */
bool um_list_times(const um_list *l, const umbel_digest *d, uint64_t now,
                   uint64_t *entered, uint64_t *updated);

/* Returns the number of digests that still fit into the newest epoch, even if
 * um_list_is_due. */
size_t um_list_space(const um_list *l);
/* Returns true if the newest epoch is full and held (um_list_config.hold). */
bool um_list_is_held(const um_list *l);
bool um_list_newest_contains(const um_list *l, const umbel_digest *d);
/* Returns false if the newest epoch is held and does not contain the digest: it
 * must not be added. */
bool um_list_accepts(const um_list *l, const umbel_digest *d);
/* Returns the time at which the newest epoch is over; UINT64_MAX: never. */
uint64_t um_list_epoch_end(const um_list *l);

/* Returns true if the newest epoch has ended: by time, or because it is full
 * and not held. Setting the clock back ends no epoch. */
bool um_list_is_due(const um_list *l, uint64_t now);
/*
 * Ends the newest epoch and begins the next one: now or, if the clock was set
 * back, when the last one began. Drops epochs beyond the configured number, and
 * those whose number is that far behind. If it fails (E_NOMEM), nothing has
 * changed.
 */
umbel_status um_list_advance(um_list *l, uint64_t now, umbel_error *err);

/* Creates the filter of a new epoch, for um_list_reset. */
umbel_status um_list_create_filter(const um_list *l, umbel_filter **out,
                                   umbel_error *err);
/* Drops all epochs and begins one with that filter, which the list then owns.
 * Cannot fail, so that several lists can be reset together. */
void um_list_reset(um_list *l, umbel_filter *fresh, uint64_t now);

/* Returns the number of live epochs. */
unsigned um_list_epochs(const um_list *l);
/* Returns the number of live epoch i, newest first: begin / epoch_seconds. */
uint64_t um_list_epoch_number(const um_list *l, unsigned i);
/* Returns the filter of live epoch i, valid until the list advances. */
const umbel_filter *um_list_filter(const um_list *l, unsigned i);
/* Returns the secret of the list, UMBEL_SECRET_LEN bytes. */
const uint8_t *um_list_secret(const um_list *l);
/* Creates an empty filter as a list of that configuration does. Release *out
 * with umbel_close. */
umbel_status um_list_config_filter(const um_list_config *c,
                                   const uint8_t *secret, umbel_filter **out,
                                   umbel_error *err);

/* One live epoch. */
typedef struct um_epoch_stats {
    uint64_t begin, end; /* seconds; end 0: it has not ended */
    uint64_t digests;    /* distinct ones */
    uint64_t capacity;
    double error; /* probability of a count for a digest never added */
    /* Probability that a digest never added reaches the threshold: from the
     * histogram of counts (compound Poisson), and from equation (4) of Yan and
     * Cho 2006, which assumes that each digest was added once. 0 without a
     * threshold; f_paper is NAN if the kind has no cells. */
    double f_compound, f_paper;
} um_epoch_stats;

typedef struct um_list_stats {
    const char *name, *kind;
    uint64_t digests;     /* distinct ones of each epoch, summed over epochs */
    double fill;          /* of the newest epoch: digests / capacity */
    double error;         /* predicted for the live epochs, summed */
    double max_error;     /* as configured */
    uint64_t bytes;       /* of memory */
    uint64_t count_limit; /* largest count of an epoch; counts stay there */
    unsigned threshold;   /* as configured */
    double f_compound, f_paper; /* of the live epochs, summed */
    bool held;                  /* full until epoch_end: um_list_is_held */
    uint64_t epoch_end;         /* when the newest epoch is over */
    unsigned n;                 /* live epochs, newest first */
    um_epoch_stats epoch[UM_LIST_MAX_EPOCHS];
} um_list_stats;

/* Returns the statistics, in constant time for a fixed threshold. name and kind
 * are valid as long as the list. */
void um_list_stats_get(const um_list *l, um_list_stats *out);

#endif
