/*
 * list.h - counts that expire: a named list of reported digests with their
 * counts.
 *
 * A list has a few live epochs, each an ordinary filter of a counting kind.
 * Digests are added to the newest one; a count is the sum over all of them.
 * Epochs are numbered by time (number = time / epoch_seconds), the same on
 * every server. An epoch ends when the next number begins: um_list_advance then
 * begins a new one, and the oldest one is dropped with its counts.
 *
 * An epoch that contains as many digests as it was made for is full. Then
 * um_list_extend gives it another filter, for as long as the caller has memory.
 * Without memory it ends early (um_list_advance), and its successor may have
 * the same number; or, with `hold`, it stays until its time is over, still
 * counts the digests that it contains, and refuses others. Peers know one
 * filter for each number: publish the newest one that is not extra
 * (um_list_is_extra). Digests of extra filters count on this server only.
 *
 * Clients without an account (strangers, with a tag for their network) must not
 * crowd out what others report. A list counts how many digests they added to
 * the newest epoch, and knows whether all of its counts come from one network:
 * um_list_is_sole. The caller decides with these what it admits.
 *
 * A list has no clock and never advances or extends by itself: the caller
 * records what it does, and then does it. A journal of adds, advances and
 * extensions, replayed in order, gives the same list.
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
    UM_LIST_MAX_FILTERS = 128, /* of all epochs, extra ones included */
    UM_LIST_MAX_NAME = 32,
    UM_LIST_MAX_THRESHOLD = 255,
    /* Largest number of digests in one call; a list that is not full has space
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
 * added. This cannot happen if um_list_is_full was false before the call.
 */
umbel_status um_list_add(um_list *l, const umbel_digest *d,
                         const uint32_t *amount, size_t n, umbel_error *err);
/*
 * The same for reports of clients: reporter[i] is the tag of the network of a
 * client without an account, or 0 for anybody else. A digest that the newest
 * epoch contains is added to the filter that has it.
 */
umbel_status um_list_add_reports(um_list *l, const umbel_digest *d,
                                 const uint32_t *amount,
                                 const uint16_t *reporter, size_t n,
                                 umbel_error *err);
/* Returns a number that changes with each um_list_add and um_list_write_mail.
 */
uint64_t um_list_changes(const um_list *l);

/* Writes a mail to a list of kind near. E_FULL if um_list_has_space is
 * false. */
umbel_status um_list_write_mail(um_list *l, const um_near_write *w,
                                umbel_error *err);
/* Returns false if the mail needs a new record, and the newest epoch is full.
 */
bool um_list_has_space(const um_list *l, const um_near_write *w);
/* Returns the filter that um_list_write_mail would change. */
const umbel_filter *um_list_mail_filter(const um_list *l,
                                        const um_near_write *w);

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
                              uint64_t count[UM_LIST_MAX_FILTERS]);
/* Returns the time at which the oldest live epoch began. */
uint64_t um_list_oldest_begin(const um_list *l);

/*
 * Finds when a digest was added, to the precision of an epoch: entered is the
 * beginning of the oldest epoch that contains it, updated the end of the newest
 * one (now, if that has not ended). Returns false if no live epoch contains it.
 */
bool um_list_times(const um_list *l, const umbel_digest *d, uint64_t now,
                   uint64_t *entered, uint64_t *updated);

/* Returns the number of digests that still fit into the newest filter, even if
 * um_list_is_full. */
size_t um_list_space(const um_list *l);
/* Returns true if the newest filter has as many digests as it was made for. */
bool um_list_is_full(const um_list *l);
/* Returns um_list_config.hold. */
bool um_list_holds(const um_list *l);
/* Returns true if the newest epoch is full and held. */
bool um_list_is_held(const um_list *l);
bool um_list_newest_contains(const um_list *l, const umbel_digest *d);
/* Returns the time at which the newest epoch is over; UINT64_MAX: never. */
uint64_t um_list_epoch_end(const um_list *l);
/* Returns true if the time of the newest epoch is over. A clock that is set
 * back ends none. */
bool um_list_is_over(const um_list *l, uint64_t now);

/* Returns the number of digests that the newest epoch was made for. */
uint64_t um_list_capacity(const um_list *l);
/* Returns the number of digests of the newest epoch, of all its filters. */
uint64_t um_list_newest_digests(const um_list *l);
/* Returns how many of them strangers reported first. */
uint64_t um_list_anonymous(const um_list *l);
/*
 * Returns true if all that is known to be reported in live epochs came from
 * this network; 0: from any one network without an account. certain: also false
 * if an epoch is older than this knowledge.
 */
bool um_list_is_sole(const um_list *l, uint16_t reporter, bool certain);

/*
 * Ends the newest epoch and begins the next one: now or, if the clock was set
 * back, when the last one began. Drops epochs beyond the configured number, and
 * those whose number is that far behind. If it fails (E_NOMEM), nothing has
 * changed.
 */
umbel_status um_list_advance(um_list *l, uint64_t now, umbel_error *err);
/*
 * Gives the newest epoch another filter for new digests. Its error is smaller
 * the more filters the epoch has, so that all of them add less than 0.65 of the
 * error of the first. The oldest filter of more than UM_LIST_MAX_FILTERS is
 * dropped: check um_list_can_extend. If it fails (E_NOMEM), nothing has
 * changed.
 */
umbel_status um_list_extend(um_list *l, uint64_t now, umbel_error *err);
/* Returns true if um_list_extend drops nothing, and leaves space for the epochs
 * to come. */
bool um_list_can_extend(const um_list *l);
/* Returns the bytes of all filters, of extra ones, and of the newest one. */
uint64_t um_list_filter_bytes(const um_list *l);
uint64_t um_list_extra_bytes(const um_list *l);
uint64_t um_list_newest_bytes(const um_list *l);

/* Creates the filter of a new epoch, for um_list_reset. */
umbel_status um_list_create_filter(const um_list *l, umbel_filter **out,
                                   umbel_error *err);
/* Drops all epochs, except extra filters, which peers do not have, and begins
 * one with that filter, which the list then owns. Cannot fail, so that several
 * lists can be reset together. */
void um_list_reset(um_list *l, umbel_filter *fresh, uint64_t now);

/* Returns the number of filters of live epochs. */
unsigned um_list_epochs(const um_list *l);
/* Returns the number of the epoch of filter i, newest first: begin /
 * epoch_seconds. */
uint64_t um_list_epoch_number(const um_list *l, unsigned i);
/* Returns true if um_list_extend made filter i. */
bool um_list_is_extra(const um_list *l, unsigned i);
/* Returns filter i, valid until the list advances. */
const umbel_filter *um_list_filter(const um_list *l, unsigned i);
/* Returns the secret of the list, UMBEL_SECRET_LEN bytes. */
const uint8_t *um_list_secret(const um_list *l);
/* Creates an empty filter as a list of that configuration does. Release *out
 * with umbel_close. */
umbel_status um_list_config_filter(const um_list_config *c,
                                   const uint8_t *secret, umbel_filter **out,
                                   umbel_error *err);

/* One filter of a live epoch. */
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
    double fill;          /* of the newest epoch: digests / capacity; above 1
                             with extra filters */
    uint64_t capacity;    /* of the newest epoch */
    uint64_t anonymous;   /* digests of it that strangers reported first */
    bool sole;            /* all counts come from one network without account */
    unsigned extra;       /* extra filters, of all live epochs */
    bool most_filters;    /* no further one is possible, whatever the memory */
    uint64_t ended_early; /* epochs that ended before their time, */
    uint64_t ended_at;    /* and when the last one did */
    double error;         /* predicted for the live epochs, summed */
    double max_error;     /* as configured */
    uint64_t bytes;       /* of memory */
    uint64_t count_limit; /* largest count of an epoch; counts stay there */
    unsigned threshold;   /* as configured */
    double f_compound, f_paper; /* of the live epochs, summed */
    bool held;                  /* refuses new digests until epoch_end */
    uint64_t epoch_end;         /* when the newest epoch is over */
    unsigned n;                 /* filters, newest first */
    um_epoch_stats epoch[UM_LIST_MAX_FILTERS];
} um_list_stats;

/* Returns the statistics, in constant time for a fixed threshold. name and kind
 * are valid as long as the list. */
void um_list_stats_get(const um_list *l, um_list_stats *out);
/* Sets only name, kind, capacity, fill, anonymous, sole, extra, most_filters,
 * ended_early, ended_at, held, epoch_end and n: cheap enough for every
 * second. */
void um_list_fullness_get(const um_list *l, um_list_stats *out);

#endif
