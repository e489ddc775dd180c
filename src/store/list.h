/*
 * list.h - counts that expire: a named list of what was reported, and how
 * often.
 *
 * A list has a few live epochs, each an ordinary filter of a counting kind.
 * Adds go to the newest one; a count is the sum over all of them. Epochs are
 * numbered by time: number = time / epoch_seconds, the same on every server. An
 * epoch ends when the next number begins, or when it holds as many digests as
 * it was made for, so the error stays within what the configuration says. Then
 * um_list_turn begins a new epoch, and the oldest one goes with all its counts.
 *
 * An epoch that was full, and the one after it, may have the same number. Peers
 * know one filter for a number: the newest of them is the one to publish. With
 * `hold` that does not happen: a full epoch stays until its time is over, goes
 * on counting the digests that it has, and takes no others.
 *
 * The list has no clock and never turns by itself: the caller asks um_list_due,
 * records the turn, and then makes it. So a journal of adds and turns, replayed
 * in order, gives the same list.
 *
 * All lists of one secret take the same digests (hash "sip", seed 0): a key is
 * hashed once, with um_list_digest, for any number of them.
 *
 * A list is for one thread.
 */
#ifndef UM_STORE_LIST_H
#define UM_STORE_LIST_H

#include "kinds/near/near.h"
#include "store/pieces.h"

enum {
    UM_LIST_MAX_EPOCHS = 64,
    UM_LIST_MAX_NAME = 32,
    UM_LIST_MAX_THRESHOLD = 255,
    /* Digests that a list takes in one call, and always has room for unless it
     * is due. */
    UM_LIST_BATCH = 256
};

typedef struct um_list_config {
    const char *name;       /* for messages; copied */
    const char *kind;       /* one that counts */
    const char *addressing; /* NULL: the kind's default */
    uint64_t capacity;      /* different digests that an epoch holds */
    double error;           /* chance of a count other than 0 for a digest that
                               was never added, over all live epochs */
    uint64_t epoch_seconds; /* an epoch ends when the time is a multiple of
                               that; 0: only when it is full */
    unsigned epochs;        /* live ones */
    unsigned cell_bits;     /* of a count; 0: the kind's default */
    unsigned hashes;        /* cells of a digest; 0: the best number */
    bool refined;           /* kind counting: only the least cells grow */
    bool hold;              /* a full epoch goes on until its time is over, and
                               takes no digest that it has not */
    unsigned threshold;     /* from which on a count matters, up to
                               UM_LIST_MAX_THRESHOLD: the list then knows how
                               often digests came, and predicts how many reach
                               it wrongly. 0: none */
    unsigned times;         /* the store keeps times of the last hour, in this
                               column of recent.h, from 1 on; 0: it does not */
    const umbel_alloc *alloc; /* NULL: the C library's */
} um_list_config;

typedef struct um_list um_list;

/*
 * Makes an empty list whose first epoch begins now. The secret has
 * UMBEL_SECRET_LEN bytes. E_RANGE or E_UNKNOWN name what is wrong with the
 * configuration. Release *out with um_list_close.
 */
umbel_status um_list_open(const um_list_config *c, const uint8_t *secret,
                          uint64_t now, um_list **out, umbel_error *err);
/* NULL is accepted. */
void um_list_close(um_list *l);

/* Hashes keys for all lists of the same secret. */
void um_list_digest(const um_list *l, const umbel_slice *keys, size_t n,
                    umbel_digest *out);

/*
 * Adds digest d[i] amount[i] times, n of them, at most UM_LIST_BATCH. E_FULL
 * when the newest epoch has no room for some of them; the others were added.
 * That cannot happen if before the call um_list_due was false and um_list_takes
 * true.
 */
umbel_status um_list_add(um_list *l, const umbel_digest *d,
                         const uint32_t *amount, size_t n, umbel_error *err);
/* Returns a number that is another one after each um_list_add and
 * um_list_write. */
uint64_t um_list_changes(const um_list *l);

/* Writes a mail to a list of kind near. E_FULL as above; um_list_has_room tells
 * before. */
umbel_status um_list_write(um_list *l, const um_near_write *w,
                           umbel_error *err);
/* Returns false if the newest epoch is held, or has no record left, and the
 * mail needs one. */
bool um_list_has_room(const um_list *l, const um_near_write *w);

/* Sums the counts of each digest over the live epochs. Memory is fetched ahead,
 * so many at once cost less than one after the other. */
void um_list_count(const um_list *l, const umbel_digest *d, size_t n,
                   uint64_t *count);

/*
 * Begins to fetch what um_list_count will read. For a request that asks several
 * lists: fetch from all, then count in each.
 */
void um_list_fetch(const um_list *l, const umbel_digest *d, size_t n);

/*
 * Goes on to make sums of the epochs that have ended, for about that many bytes
 * of them, with at most `room` bytes of memory more than um_list_sums_bytes.
 * Returns true if there is more to do. A turn of the list begins anew.
 */
bool um_list_sum(um_list *l, uint64_t room, size_t bytes);
size_t um_list_sums_bytes(const um_list *l);
/*
 * Sets most[i] to a number that the count of digest i does not exceed. With
 * sums this takes two look-ups, and false is returned. Without, it is the
 * count: true.
 */
bool um_list_bound(const um_list *l, const umbel_digest *d, size_t n,
                   uint64_t *most);

/* The counts of one digest in each live epoch, newest first; returns the number
 * of epochs. */
unsigned um_list_count_epochs(const um_list *l, const umbel_digest *d,
                              uint64_t count[UM_LIST_MAX_EPOCHS]);
/* When the oldest live epoch began. */
uint64_t um_list_oldest(const um_list *l);

/*
 * When a digest was added, to the precision of an epoch: entered is the begin
 * of the oldest epoch that has it, updated the end of the newest one (now, if
 * that has not ended). Returns false if no live epoch has it.
 */
bool um_list_times(const um_list *l, const umbel_digest *d, uint64_t now,
                   uint64_t *entered, uint64_t *updated);

/* Returns how many more digests the newest epoch takes, whatever um_list_due
 * says. */
size_t um_list_room(const um_list *l);
/* Returns true if the newest epoch is full and held (um_list_config.hold). */
bool um_list_is_held(const um_list *l);
bool um_list_newest_has(const um_list *l, const umbel_digest *d);
/* Returns false if the newest epoch is held and does not have the digest: it
 * must not be added. */
bool um_list_takes(const um_list *l, const umbel_digest *d);
/* The time at which the newest epoch is over; UINT64_MAX: never. */
uint64_t um_list_over_at(const um_list *l);

/* Returns true if the newest epoch has ended: by time, or because it is full
 * and not held. A clock that is set back ends none. */
bool um_list_due(const um_list *l, uint64_t now);
/*
 * Ends the newest epoch and begins another: now, or with a clock that was set
 * back, when the last one began. Epochs that are too old go: those beyond the
 * configured number of them, and those whose number is as far behind. When it
 * fails (E_NOMEM) nothing has changed.
 */
umbel_status um_list_turn(um_list *l, uint64_t now, umbel_error *err);

/* Makes the filter of a new epoch, for um_list_empty. */
umbel_status um_list_create_filter(const um_list *l, umbel_filter **out,
                                   umbel_error *err);
/* Forgets all epochs, and begins one with that filter, which the list takes
 * over. Cannot fail, so that several lists can be emptied together. */
void um_list_empty(um_list *l, umbel_filter *fresh, uint64_t now);

/* Returns the number of live epochs. */
unsigned um_list_epochs(const um_list *l);
/* The number of live epoch i, newest first: begin / epoch_seconds. */
uint64_t um_list_epoch(const um_list *l, unsigned i);
/* Its filter, until the list is turned. */
const umbel_filter *um_list_filter(const um_list *l, unsigned i);
/* The secret that the list was made with, UMBEL_SECRET_LEN bytes. */
const uint8_t *um_list_secret(const um_list *l);
/* Makes an empty filter, as the list of that configuration makes them. Release
 * *out with umbel_close. */
umbel_status um_list_shape(const um_list_config *c, const uint8_t *secret,
                           umbel_filter **out, umbel_error *err);

/* One live epoch. */
typedef struct um_epoch_stats {
    uint64_t begin, end; /* seconds; end 0: it has not ended */
    uint64_t digests;    /* different ones */
    uint64_t capacity;
    double error; /* chance of a count for a digest never added */
    /* Chance that a digest never added reaches the threshold: by the counts of
     * those that were (compound Poisson), and by equation (4) of Yan and Cho
     * 2006, which lets each come once. 0 without a threshold; f_paper is NAN if
     * the kind has no cells. */
    double f_compound, f_paper;
} um_epoch_stats;

typedef struct um_list_stats {
    const char *name, *kind;
    uint64_t digests;     /* different ones in each epoch, summed over epochs */
    double fill;          /* of the newest epoch: digests / capacity */
    double error;         /* predicted from what the live epochs hold, summed */
    double max_error;     /* as configured */
    uint64_t bytes;       /* of memory */
    uint64_t count_limit; /* largest count of an epoch; counts stay there */
    unsigned threshold;   /* as configured */
    double f_compound, f_paper; /* of the live epochs, summed */
    bool held;                  /* full until over_at: um_list_is_held */
    uint64_t over_at;           /* when the newest epoch is over */
    unsigned n;                 /* live epochs, newest first */
    um_epoch_stats epoch[UM_LIST_MAX_EPOCHS];
} um_list_stats;

/* Takes constant time for one threshold. name and kind live as long as the
 * list. */
void um_list_stats_get(const um_list *l, um_list_stats *out);

/*
 * Writes the list's epochs. Memory is not copied: a forked child may write
 * while its parent goes on.
 */
umbel_status um_list_encode(const um_list *l, const um_sink *to,
                            umbel_error *err);
/*
 * Makes a list from bytes of any origin, with the present configuration: kind,
 * capacity, error and cell_bits may have changed and hold from the next epoch
 * on; surplus epochs are dropped. E_SECRET when it was made with another
 * secret, E_FORMAT, E_VERSION and E_CHECKSUM as umbel_decode. Takes no more
 * memory than from->left and one epoch of the configuration.
 */
umbel_status um_list_decode(const um_list_config *c, const uint8_t *secret,
                            um_feed *from, um_list **out, umbel_error *err);

#endif
