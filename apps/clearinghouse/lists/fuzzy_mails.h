/*
 * fuzzy_mails.h - mails of rspamd's fuzzy storage: what this server and its
 * peers say of one, together.
 *
 * Each server writes to filters of its own (kinds/near/near.h), one an epoch.
 * All of them are asked. A deletion hides whatever has no later stamp, at any
 * server, once revoke_quorum servers have one. Of what is left, flags that
 * fewer than quorum servers have do not count. The flag is that of the latest
 * record, and the value the sum of the records that have it and are later than
 * any with another flag, of each server at most origin_cap. What a peer has
 * stamped with a time that is more than an hour ahead does not count until
 * then.
 */
#ifndef UM_CLEARINGHOUSE_FUZZY_MAILS_H
#define UM_CLEARINGHOUSE_FUZZY_MAILS_H

#include "clearinghouse/lists/lists.h"
#include "kinds/near/near.h"

enum { UM_FUZZY_SOURCES = 512 }; /* filters that are asked, at most */

/* Filters that count at this moment: valid until the store, or the machine of
 * the peers, changes. */
typedef struct um_fuzzy_view {
    const um_lists *lists;
    size_t n, own; /* own: the first ones are this server's */
    struct um_fuzzy_source {
        const umbel_filter *filter;
        const uint8_t *origin; /* NULL: this server */
    } source[UM_FUZZY_SOURCES];
} um_fuzzy_view;

void um_fuzzy_look(um_fuzzy_view *v, const um_lists *l, unsigned list);

typedef struct um_fuzzy_mail {
    bool there;   /* clients get it as a hit */
    bool written; /* some server has it, whatever the quorum says */
    uint8_t flag;
    int32_t value;
    uint32_t stamp;   /* of the latest record */
    uint32_t deleted; /* stamp of the deletion that holds; 0: none does */
    uint32_t other;   /* the latest stamp with another flag; 0: none */
    uint32_t latest;  /* stamp of anything about it; 0: nothing */
} um_fuzzy_mail;

/* Asks for a digest; name NULL: it is not known (um_near_find). */
void um_fuzzy_ask(const um_fuzzy_view *v, const umbel_digest *d,
                  const uint8_t *name, um_fuzzy_mail *out);

/* Returns the digest of a name, as lists hash its text. */
umbel_digest um_fuzzy_digest(const um_lists *l, const uint8_t *name);

/* The key of each position, which strangers do not know; the same on servers
 * that share a secret. */
void um_fuzzy_secrets(const um_lists *l, uint64_t out[UM_NEAR_SHINGLES]);

/* Returns true for a mail that is neither written nor a hit: it is welcome, or
 * was forgotten. */
bool um_fuzzy_is_never(const um_lists *l, unsigned list, const umbel_digest *d,
                       const uint8_t *name);

typedef struct um_fuzzy_change {
    const uint8_t *name;
    bool gone;
    uint8_t flag;
    int32_t amount;
    uint32_t stamp;          /* when it was written, elsewhere; 0: now */
    const uint64_t *shingle; /* as um_near_shingle gives them; NULL: none */
} um_fuzzy_change;

/*
 * Writes or deletes a mail. *ticket is what the store has to commit before it
 * is answered; 0: nothing has changed. E_FULL: the list is full; E_IO: the
 * store has failed.
 */
umbel_status um_fuzzy_write(um_lists *l, unsigned list, um_fuzzy_view *v,
                            const um_fuzzy_change *c, uint64_t *ticket);

#endif
