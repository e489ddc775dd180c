/*
 * exceptions.h - digests that were forgotten.
 *
 * Refined counters cannot be decremented, so a digest is forgotten by an
 * exception: a record in the store for each list that has a count of it. It
 * lasts until the epochs that contain the counts have expired. Until then the
 * count reads as 0 and reports of the digest are ignored, as if its mail were
 * welcome; so the count is still 0 when the exception ends. Exceptions are
 * journaled like reports.
 *
 * With peers an exception is also an entry of our signed log. It applies on all
 * servers once revoke_quorum of them have logged it.
 */
#ifndef UM_CLEARINGHOUSE_EXCEPTIONS_H
#define UM_CLEARINGHOUSE_EXCEPTIONS_H

#include "clearinghouse/lists/lists.h"

enum { UM_LOG_FORGET = UMBEL_SYNC_LOG_FIRST }; /* type of an entry */
enum { UM_FORGET_MAX = 50000 }; /* exceptions, one for each digest and list */

/* Returns true if a digest is forgotten in a list: clients get 0, and reports
 * of it are ignored. */
bool um_forgotten(const um_lists *l, unsigned list, const umbel_digest *d);
/* Returns the number of exceptions in the store. */
size_t um_forget_count(const um_lists *l);
/* Returns true if it is certain that nothing is forgotten. */
bool um_forget_none(const um_lists *l);
/* Returns the number of servers that must have forgotten a digest. */
size_t um_forget_quorum(const um_lists *l);

/*
 * Forgets a digest (runtime/digest_text.h) in all lists that have a count of
 * it; *lists gets their number. Returns E_UNKNOWN if no list has one, E_LIMIT
 * if there are too many exceptions, E_IO if the store has failed. The change is
 * safe when *ticket is committed.
 */
umbel_status um_forget(um_lists *l, const char *text, size_t *lists,
                       uint64_t *ticket, umbel_error *err);
/* Does the same only in lists of revocations: mails that they had cleared
 * become hits again. */
umbel_status um_forget_revoked(um_lists *l, const char *text, size_t *lists,
                               uint64_t *ticket, umbel_error *err);
/* Undoes um_forget. Returns E_UNKNOWN if the digest is not forgotten. */
umbel_status um_forget_undo(um_lists *l, const char *text, size_t *lists,
                            uint64_t *ticket, umbel_error *err);

typedef struct um_exception {
    unsigned list;
    umbel_digest digest;
    uint64_t made;  /* seconds since 1970 */
    uint64_t begin; /* start of the newest epoch that had a count */
    umbel_slice text;
    const uint8_t *origin;     /* of the log entry; NULL if in our store */
    uint64_t incarnation, seq; /* of the entry */
} um_exception;

/* Position of an iteration; starts zeroed. */
typedef struct um_forget_walk {
    size_t note, other;
} um_forget_walk;

/* Iterates over our own exceptions, then those of other servers, in no
 * particular order. */
bool um_forget_next(const um_lists *l, um_forget_walk *at, um_exception *out);

/* Counts the exceptions in a store that was just opened. */
void um_forget_open(um_lists *l);
/* Removes some of the exceptions whose epochs have expired. Call it once a
 * second. */
void um_forget_tick(um_lists *l);

#endif
