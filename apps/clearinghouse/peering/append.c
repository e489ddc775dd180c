/*
 * peers_append.c - our own log, which survives restarts.
 *
 * Each entry is a note of the store, "log/INCARNATION/SEQ": its type and body.
 * Signatures follow from them, so a start appends the same entries again. Peers
 * hear of an entry when its note is committed.
 */
#include "clearinghouse/peering/inside.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_LEN = 64, BODY_LEN = 4096 };

static umbel_slice entry_name(const um_peers *p, uint64_t seq,
                              char out[NAME_LEN])
{
    int len = snprintf(out, NAME_LEN, "log/%" PRIu64 "/%" PRIu64,
                       umbel_sync_incarnation(p->machine), seq);

    return (umbel_slice){out, (size_t)len};
}

umbel_status um_peers_load_log(um_peers *p, umbel_error *err)
{
    char room[NAME_LEN];
    umbel_slice value;

    for (uint64_t seq = 1;
         um_store_get(p->store, entry_name(p, seq, room), &value) && value.len;
         seq++) {
        const uint8_t *bytes = value.data;
        umbel_slice body = {bytes + 1, value.len - 1};
        umbel_status status =
            umbel_sync_log_append(p->machine, bytes[0], body, &p->logged, err);
        if (status == UMBEL_E_LIMIT)
            um_set_error(err, status,
                         "the data directory has more than %" PRIu64
                         " accounts, forgotten digests and dropped origins for "
                         "peers: raise log_entries in peers { } again",
                         p->logged);
        UM_TRY(status);
    }
    return UMBEL_OK;
}

umbel_status um_peers_append(um_peers *p, uint8_t type, umbel_slice body,
                             uint64_t *ticket, umbel_error *err)
{
    uint8_t value[1 + BODY_LEN];
    char room[NAME_LEN];
    um_store *s = p->store;

    if (p->renewed || body.len > BODY_LEN)
        return um_fail(err, UMBEL_E_LIMIT,
                       "the server's log takes no entry now: try again");
    value[0] = type;
    memcpy(value + 1, body.data, body.len);
    umbel_slice name = entry_name(p, p->logged + 1, room);
    UM_TRY(um_store_set(s, name, (umbel_slice){value, 1 + body.len},
                        p->clock->now, ticket, err));
    umbel_status status =
        umbel_sync_log_append(p->machine, type, body, &p->logged, err);
    if (status)
        um_store_set(s, name, (umbel_slice){NULL, 0}, p->clock->now, ticket,
                     NULL);
    if (status == UMBEL_E_LIMIT)
        um_set_error(err, status,
                     "peers are told no more than %" PRIu64
                     " accounts, forgotten digests and dropped origins: raise "
                     "log_entries in peers { } at all servers",
                     p->logged);
    p->publishing.ticket = *ticket;
    um_peers_want_all(p);
    return status;
}
