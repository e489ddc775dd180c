/*
 * pyzor_front.h - the running Pyzor front, for its own files.
 *
 *     front_pyzor.c     the row: settings, opening, reload
 *     pyzor_batch.c     a batch of datagrams: judge all, hash all, query all
 *     pyzor_count.c     reports: what is counted, and what is not
 *     pending.c         answers that wait for the store
 */
#ifndef UM_CLEARINGHOUSE_PYZOR_FRONT_H
#define UM_CLEARINGHOUSE_PYZOR_FRONT_H

#include "clearinghouse/protocols/datagram.h"
#include "clearinghouse/protocols/pyzor/once.h"
#include "clearinghouse/protocols/pyzor/protocol.h"
#include "clearinghouse/protocols/pyzor/reply.h"
#include "clearinghouse/protocols/pyzor/rules.h"
#include "clearinghouse/server/server.h"

/* A request on its way through a batch. */
typedef struct um_pyzor_job {
    const um_datagram *datagram;
    um_pyzor_request request;
    um_pyzor_judged judged;
    um_pyzor_outcome outcome;
} um_pyzor_job;

typedef struct um_pyzor_service {
    um_protocol_datagram net; /* first */
    um_server *house;
    um_protocol_stats *stats;
    unsigned list; /* the first of its lists in the store */
    um_pyzor_accounts accounts;
    um_pyzor_once *once; /* NULL: every report counts */
    uint64_t last_ticket;
    um_pyzor_job job[UM_DATAGRAM_BATCH];
} um_pyzor_service;

/* Takes a batch: um_datagrams_config.take, with a um_protocol_socket. */
void um_pyzor_take(void *ctx, const um_datagram *d, size_t n);

/* Returns true for a digest that is neither counted nor a hit: of an empty
 * text, or welcome. */
bool um_pyzor_is_never(const um_pyzor_service *f, umbel_slice digest);

/*
 * Counts what a report or whitelisting names. *ticket is what the store has to
 * commit before it is answered; 0: nothing was counted, answer at once.
 */
um_pyzor_outcome um_pyzor_count(um_pyzor_service *f, const um_pyzor_job *job,
                                uint64_t *ticket);

/* Answers reports that the store has committed, or cannot. */
void um_pyzor_answer_pending(void *state);

/* Sends a reply, and counts it. claim is for the log of refusals. */
void um_pyzor_send(um_pyzor_service *f, um_datagrams *to,
                   const um_address *client, unsigned op,
                   um_pyzor_outcome outcome, const um_server_claim *claim,
                   um_pyzor_reply *r);

#endif
