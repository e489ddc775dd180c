/*
 * fuzzy_front.h - the running front of rspamd's fuzzy storage, for its own
 * files.
 *
 *     front_fuzzy.c     the row: settings, opening, reload
 *     fuzzy_request.c   datagrams
 *     fuzzy_batch.c     a batch of them: look-ups, answers
 *     fuzzy_write.c     what is written and deleted
 *     fuzzy_mails.c     what servers say of a mail, together
 */
#ifndef UM_CLEARINGHOUSE_FUZZY_FRONT_H
#define UM_CLEARINGHOUSE_FUZZY_FRONT_H

#include "clearinghouse/lists/fuzzy_mails.h"
#include "clearinghouse/protocols/datagram.h"

typedef struct um_fuzzy_settings {
    um_texts listen, writers;
} um_fuzzy_settings;

/* A network that may write. */
typedef struct um_fuzzy_writer {
    um_network network;
    unsigned bits;
} um_fuzzy_writer;

/* A request on its way through a batch. */
typedef struct um_fuzzy_job {
    const um_datagram *datagram;
    um_fuzzy_request request;
    um_fuzzy_outcome outcome;
    umbel_digest digest;
} um_fuzzy_job;

typedef struct um_fuzzy_service {
    um_protocol_datagram net; /* first */
    um_server *house;
    um_protocol_stats *stats;
    unsigned list;
    uint64_t secret[UM_NEAR_SHINGLES]; /* of um_near_shingle */
    um_fuzzy_writer *writer;
    size_t nwriters;
    um_fuzzy_view view;
    um_fuzzy_job job[UM_DATAGRAM_BATCH];
} um_fuzzy_service;

extern const um_verdict um_fuzzy_verdicts[UM_FUZZY_OUTCOMES + 1];

/* The key of each position, which strangers do not know; the same on servers
 * that share a secret. */
void um_fuzzy_secrets(const um_server *h, uint64_t out[UM_NEAR_SHINGLES]);

/* Takes a batch: um_datagrams_config.take, with a um_protocol_socket. */
void um_fuzzy_take(void *ctx, const um_datagram *d, size_t n);
/* Answers what the store has committed, or cannot. */
void um_fuzzy_answer_pending(void *state);

/* Returns true for a mail that is neither written nor a hit: it is welcome, or
 * was forgotten. */
bool um_fuzzy_is_never(const um_server *h, unsigned list, const umbel_digest *d,
                       const uint8_t *name);

/*
 * Writes or deletes a mail. *ticket is what the store has to commit before it
 * is answered; 0: nothing has changed.
 */
typedef struct um_fuzzy_change {
    const uint8_t *name;
    bool gone;
    uint8_t flag;
    int32_t amount;
    uint32_t stamp;          /* when it was written, elsewhere; 0: now */
    const uint64_t *shingle; /* as um_near_shingle gives them; NULL: none */
} um_fuzzy_change;

um_fuzzy_outcome um_fuzzy_write(um_server *h, unsigned list, um_fuzzy_view *v,
                                const um_fuzzy_change *c, uint64_t *ticket);

#endif
