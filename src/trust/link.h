/*
 * link.h - an encrypted and authenticated channel between two servers that know
 * each other's key, over any byte stream. Bytes in, bytes out; no socket.
 *
 * Each side sends a hello: its Ed25519 key, which is its name, and a key for
 * this link alone. From the latter two (crypto_kx) and both hellos come the
 * keys of one secretstream in each direction. The first message of each is the
 * sender's signature of both hellos: it proves the name, and that nobody
 * between the two has changed a byte. Old links cannot be replayed, nor read
 * with keys that are stolen later.
 *
 * docs/PROTOCOL.md has the bytes.
 */
#ifndef UM_EXCHANGE_LINK_H
#define UM_EXCHANGE_LINK_H

#include <umbel/publish.h>

enum {
    UM_LINK_FRAME = 16384,         /* bytes of a message in one frame */
    UM_LINK_MESSAGE_MAX = 64 << 20 /* no message is longer */
};

typedef struct um_link um_link;

typedef struct um_link_config {
    const uint8_t *sign_key; /* UMBEL_SIGN_KEY_LEN bytes; must stay */
    bool caller;             /* the one side that called the other */
    /* Returns true if that key's owner may link with us. */
    bool (*is_known)(void *ctx, const uint8_t key[UMBEL_TRUST_KEY_LEN]);
    /* Called for each message, in order; a failure ends the link. The bytes are
     * gone afterwards. An empty message is a sign of life. */
    umbel_status (*take)(void *ctx, umbel_slice message, umbel_error *err);
    /* Returns true if no message can be taken now; NULL: one always can. */
    bool (*is_busy)(void *ctx);
    void *ctx;
    size_t message_max; /* bytes of a message; 0: UM_LINK_MESSAGE_MAX */
} um_link_config;

umbel_status um_link_open(const um_link_config *c, um_link **out,
                          umbel_error *err);
/* NULL is fine. */
void um_link_close(um_link *l);

/*
 * Takes bytes of the other side, all of them. While is_busy, messages in them
 * stay until the next call, which may bring no bytes. Refused: E_FORMAT, no
 * hello of ours; E_REFUSED, an unknown key, our own, or somebody who does not
 * own the key; E_CHECKSUM, changed on the way; E_LIMIT, a message too long.
 * After a failure the link takes and gives nothing more.
 */
umbel_status um_link_receive(um_link *l, umbel_slice bytes, umbel_error *err);

/* Returns true if bytes came that were not looked at, since is_busy. */
bool um_link_holds(const um_link *l);

/* Appends a message to the output; E_REFUSED until the link is ready. */
umbel_status um_link_send(um_link *l, umbel_slice message, umbel_error *err);

/* The bytes to send now; they stay until the next call with this link. */
umbel_slice um_link_output(const um_link *l);
/* n of them were sent. */
void um_link_sent(um_link *l, size_t n);

/* Both sides are proved. */
bool um_link_is_ready(const um_link *l);
/* The other side's key, proved once the link is ready; NULL until a hello of a
 * known one came. */
const uint8_t *um_link_peer(const um_link *l);

#endif
