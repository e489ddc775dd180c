/*
 * exceptions.h - digests that servers took back, as entries of their signed
 * logs.
 *
 *   type 16   when it was made, the begin of the newest epoch with a count, the
 *             digest as the lists hash it (16), the length of the list's name
 *             (1), the name, and the digest as text; numbers have 8 bytes,
 *             little-endian
 *
 * The set is read from the machine whenever entries have changed.
 */
#ifndef UM_CLEARINGHOUSE_EXCEPTIONS_H
#define UM_CLEARINGHOUSE_EXCEPTIONS_H

#include "clearinghouse/lists/forget.h"

enum { UM_LOG_FORGET = UMBEL_SYNC_LOG_FIRST };

/* Appends an entry to our own log. */
umbel_status um_exceptions_append(um_server *h, const um_exception *e,
                                  uint64_t *ticket, umbel_error *err);
/* Takes back those of a digest and list that we appended. *n is how many. */
umbel_status um_exceptions_undo(um_server *h, unsigned list,
                                const umbel_digest *d, size_t *n,
                                uint64_t *ticket, umbel_error *err);

/* Walks those of all servers, of one digest and list if d is given; *at is 0 at
 * first. */
bool um_exceptions_next(const um_server *h, unsigned list,
                        const umbel_digest *d, size_t *at, um_exception *out);
/* Returns true if nothing is forgotten. */
bool um_exceptions_none(const um_server *h);
/* An empty set; NULL: no memory. */
struct um_exceptions *um_exceptions_create(void);
void um_exceptions_free(struct um_exceptions *x);

#endif
