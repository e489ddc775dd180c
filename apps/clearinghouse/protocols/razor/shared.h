/*
 * razor_shared.h - accounts that servers share, as entries of their signed
 * logs.
 *
 *   type 17   when it was made (8 bytes, little-endian), the length of the name
 *             (1), the name, the password
 *
 * A server with accounts = "shared" appends its own accounts, those that it had
 * before too, and knows those of the others. Its own come first; of others with
 * the same name the oldest counts, of these the one of the smallest origin, so
 * that all servers take the same.
 */
#ifndef UM_CLEARINGHOUSE_RAZOR_SHARED_H
#define UM_CLEARINGHOUSE_RAZOR_SHARED_H

#include "clearinghouse/server/server.h"

enum { UM_LOG_RAZOR_ACCOUNT = UMBEL_SYNC_LOG_FIRST + 1 };

typedef struct um_razor_shared um_razor_shared;

/* NULL: no memory. */
um_razor_shared *um_razor_shared_create(void);
void um_razor_shared_free(um_razor_shared *s);

/* Finds an account in the logs; the password is valid until they change. */
bool um_razor_shared_find(um_razor_shared *s, const um_server *h,
                          umbel_slice name, umbel_slice *password);
/* Returns the number of names in the logs of other servers. */
size_t um_razor_shared_count(um_razor_shared *s, const um_server *h);

/* Appends an account of our own; *ticket is what the store has to commit. */
umbel_status um_razor_shared_append(um_server *h, umbel_slice name,
                                    umbel_slice password, uint64_t *ticket,
                                    umbel_error *err);
/*
 * Appends some of our own accounts that our log lacks: at a start, and after
 * our log has begun anew. Fails if the log takes none, or not all of these; the
 * next call goes on there.
 */
umbel_status um_razor_shared_publish(um_razor_shared *s, um_server *h,
                                     umbel_error *err);
/* An entry could not be appended: the next publish looks again. */
void um_razor_shared_again(um_razor_shared *s);

#endif
