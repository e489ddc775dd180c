/*
 * exceptions.h - digests that were taken back.
 *
 * Nothing can be taken out of refined counters, so a digest is forgotten by an
 * exception: a note of the store, one for each list that has a count of it. It
 * lasts until the epochs that held the counts are gone. Meanwhile the digest
 * has no count and is not counted, as if its mail were welcome; so when the
 * exception ends the count is 0, not what came in behind it. Exceptions are
 * journaled like reports.
 *
 * With peers an exception is an entry of our signed log as well, and
 * holds at all servers once revoke_quorum of them have it. Entries of
 * others hold here the same way.
 */
#ifndef UM_CLEARINGHOUSE_EXCEPTIONS_H
#define UM_CLEARINGHOUSE_EXCEPTIONS_H

#include "clearinghouse/lists/lists.h"

enum { UM_LOG_FORGET = UMBEL_SYNC_LOG_FIRST }; /* type of an entry */
enum { UM_FORGET_MAX = 50000 }; /* exceptions, one for each digest and list */

/* Returns true if clients get 0 for a digest of a list, and it is not
 * counted. */
bool um_forgotten(const um_lists *l, unsigned list, const umbel_digest *d);
/* Returns the number of exceptions in the store. */
size_t um_forget_count(const um_lists *l);
/* Returns true if certainly nothing is forgotten. */
bool um_forget_none(const um_lists *l);
/* Returns the number of servers that must have taken a digest back. */
size_t um_forget_quorum(const um_lists *l);

/*
 * Forgets a digest (runtime/digest_text.h) in all lists that have a count of
 * it; *lists gets their number. E_UNKNOWN: none has; E_LIMIT: too many
 * exceptions; E_IO: the store has failed. *ticket is what the store has to
 * commit.
 */
umbel_status um_forget(um_lists *l, const char *text, size_t *lists,
                       uint64_t *ticket, umbel_error *err);
/* The same in lists that revoke only: what they made
 * no hit is one again. */
umbel_status um_forget_revoked(um_lists *l, const char *text, size_t *lists,
                               uint64_t *ticket, umbel_error *err);
/* Undoes um_forget. E_UNKNOWN: the digest is not forgotten. */
umbel_status um_forget_undo(um_lists *l, const char *text, size_t *lists,
                            uint64_t *ticket, umbel_error *err);

/* An exception. */
typedef struct um_exception {
    unsigned list;
    umbel_digest digest;
    uint64_t made;  /* seconds since 1970 */
    uint64_t begin; /* of the newest epoch that had a count */
    umbel_slice text;
    const uint8_t *origin;     /* whose entry it is; NULL: a note of our own */
    uint64_t incarnation, seq; /* of the entry */
} um_exception;

/* Where a walk is; zeros at first. */
typedef struct um_forget_walk {
    size_t note, other;
} um_forget_walk;

/* Walks our own, then those of other servers, in no order. */
bool um_forget_next(const um_lists *l, um_forget_walk *at, um_exception *out);

/* Counts the exceptions of a store that was opened. */
void um_forget_open(um_lists *l);
/* Removes some of the exceptions whose epochs are gone; once a second. */
void um_forget_tick(um_lists *l);

#endif
