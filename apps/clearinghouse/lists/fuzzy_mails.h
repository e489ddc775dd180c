/*
 * fuzzy_mails.h - mails of rspamd's fuzzy storage: the combined records of this
 * server and its peers.
 *
 * Each server writes to its own filters (kinds/near/near.h), one per epoch. A
 * look-up reads all of them. Once revoke_quorum servers have deleted a mail,
 * all records without a later stamp are hidden, on every server. Of the
 * remaining records, flags that fewer than quorum servers have do not count.
 * The flag of the mail is that of its latest record. Its value is the sum of
 * the records with this flag that are later than any with another flag, at most
 * origin_cap per server. A peer's record whose stamp is more than an hour ahead
 * of our clock is ignored until then.
 */
#ifndef UM_CLEARINGHOUSE_FUZZY_MAILS_H
#define UM_CLEARINGHOUSE_FUZZY_MAILS_H

#include "clearinghouse/lists/lists.h"
#include "kinds/near/near.h"

enum { UM_FUZZY_SOURCES = 512 }; /* filters that are read, at most */

/* The filters that count now: valid until the store or the sync engine
 * changes. */
typedef struct um_fuzzy_view {
    const um_lists *lists;
    size_t n, own; /* own: of this server, which come first */
    struct um_fuzzy_source {
        const umbel_filter *filter;
        const uint8_t *origin; /* NULL for this server */
    } source[UM_FUZZY_SOURCES];
} um_fuzzy_view;

void um_fuzzy_look(um_fuzzy_view *v, const um_lists *l, unsigned list);

typedef struct um_fuzzy_mail {
    bool there;   /* clients get it as a hit */
    bool written; /* some server has it, whatever the quorum */
    uint8_t flag;
    int32_t value;
    uint32_t stamp;   /* of the latest record */
    uint32_t deleted; /* stamp of the deletion that applies; 0 if none */
    uint32_t other;   /* latest stamp with another flag; 0 if none */
    uint32_t latest;  /* latest stamp of any record; 0 if none */
} um_fuzzy_mail;

/* Looks up a digest; name is NULL if it is unknown (um_near_find). */
void um_fuzzy_ask(const um_fuzzy_view *v, const umbel_digest *d,
                  const uint8_t *name, um_fuzzy_mail *out);

/* Returns the digest of a mail's name, as lists hash its text. */
umbel_digest um_fuzzy_digest(const um_lists *l, const uint8_t *name);

/* Writes the secret hash key of each shingle position. Servers that share a
 * secret have the same keys. */
void um_fuzzy_secrets(const um_lists *l, uint64_t out[UM_NEAR_SHINGLES]);

/* Returns true for a mail that is ignored because it is welcome or was
 * forgotten: it is neither written nor a hit. */
bool um_fuzzy_is_never(const um_lists *l, unsigned list, const umbel_digest *d,
                       const uint8_t *name);

typedef struct um_fuzzy_change {
    const uint8_t *name;
    bool gone;
    uint8_t flag;
    int32_t amount;
    uint32_t stamp;          /* when another server wrote it; 0 means now */
    const uint64_t *shingle; /* from um_near_shingle; NULL if it has none */
} um_fuzzy_change;

/*
 * Writes or deletes a mail. Answer the client when *ticket is committed; it is
 * 0 if nothing has changed. Returns E_FULL if the list is full, E_IO if the
 * store has failed.
 */
umbel_status um_fuzzy_write(um_lists *l, unsigned list, um_fuzzy_view *v,
                            const um_fuzzy_change *c, uint64_t *ticket);

#endif
