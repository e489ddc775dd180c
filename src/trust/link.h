/*
 * link.h - an encrypted and authenticated channel between two servers that know
 * each other's key, over any byte stream. It has no socket: the caller moves
 * the bytes.
 *
 * Each side sends a hello: its Ed25519 key, which identifies it, and an
 * ephemeral key for this link. The ephemeral keys (crypto_kx) and both hellos
 * determine the keys of one secretstream in each direction. The first message
 * in each direction is the sender's signature of both hellos: it proves the
 * sender's identity, and that nobody in between has changed a byte. Old links
 * cannot be replayed, nor read with keys that are stolen later.
 *
 * docs/PROTOCOL.md describes the bytes.
 */
#ifndef UM_EXCHANGE_LINK_H
#define UM_EXCHANGE_LINK_H

#include <umbel/publish.h>

enum {
    UM_LINK_FRAME = 16384,         /* bytes of a message in one frame */
    UM_LINK_MESSAGE_MAX = 64 << 20 /* limit on the length of a message */
};

typedef struct um_link um_link;

typedef struct um_link_config {
    const uint8_t *sign_key; /* UMBEL_SIGN_KEY_LEN bytes; not copied */
    bool caller;             /* true for the side that connected */
    /* Returns true if the owner of that key may link with us. */
    bool (*is_known)(void *ctx, const uint8_t key[UMBEL_TRUST_KEY_LEN]);
    /* Called for each message, in order; a failure ends the link. The bytes are
     * valid during the call. An empty message is a keepalive. */
    umbel_status (*take)(void *ctx, umbel_slice message, umbel_error *err);
    /* Returns true if no message can be accepted now. May be NULL (never
     * busy). */
    bool (*is_busy)(void *ctx);
    void *ctx;
    size_t message_max; /* bytes of a message; 0: UM_LINK_MESSAGE_MAX */
} um_link_config;

umbel_status um_link_open(const um_link_config *c, um_link **out,
                          umbel_error *err);
/* Frees the link; NULL is accepted. */
void um_link_close(um_link *l);

/*
 * Consumes all bytes, which the peer sent. While is_busy, messages stay
 * buffered until the next call, which may pass no bytes. Fails with E_FORMAT if
 * they are not a hello of this protocol; E_REFUSED for an unknown key, our own
 * key, or a peer that cannot prove its key; E_CHECKSUM if bytes were changed;
 * E_LIMIT if a message is too long. After a failure the link accepts and sends
 * nothing more.
 */
umbel_status um_link_receive(um_link *l, umbel_slice bytes, umbel_error *err);

/* Returns true if received bytes are waiting because of is_busy. */
bool um_link_holds(const um_link *l);

/* Appends a message to the output; E_REFUSED until the link is ready. */
umbel_status um_link_send(um_link *l, umbel_slice message, umbel_error *err);

/* Returns the bytes to send now, valid until the next call for this link. */
umbel_slice um_link_output(const um_link *l);
/* Records that the first n of them were sent. */
void um_link_sent(um_link *l, size_t n);

/* Returns true if both sides have proved their identity. */
bool um_link_is_ready(const um_link *l);
/* Returns the peer's key, proved once the link is ready; NULL until a hello
 * with a known key was received. */
const uint8_t *um_link_peer(const um_link *l);

#endif
