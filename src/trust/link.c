/*
 * link.c - the handshake, and frames of a secretstream.
 *
 *     hello   magic 16, key 32, key of this link 32
 *     head    of the secretstream, 24; then frames
 *     frame   u16 length of what follows, a piece of a message encrypted; its
 *             tag says whether the message ends with it
 */
#include "trust/link.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAGIC_LEN = 16,
    HELLO_LEN = MAGIC_LEN + UMBEL_TRUST_KEY_LEN + crypto_kx_PUBLICKEYBYTES,
    HEAD_LEN = crypto_secretstream_xchacha20poly1305_HEADERBYTES,
    EXTRA = crypto_secretstream_xchacha20poly1305_ABYTES,
    MORE = crypto_secretstream_xchacha20poly1305_TAG_MESSAGE,
    LAST = crypto_secretstream_xchacha20poly1305_TAG_PUSH,
    SIZE_LEN = 2,
    FRAME_MAX = UM_LINK_FRAME + EXTRA,
    PROOF_LEN = crypto_sign_BYTES
};

static const char magic[MAGIC_LEN] = "umbel link 1\n";

/* The next thing that the peer sends. */
typedef enum stage { HELLO, HEAD, PROOF, MESSAGES, FAILED } stage;

/* A growing buffer; the first `at` bytes were consumed. */
typedef struct buffer {
    uint8_t *data;
    size_t at, len, capacity;
} buffer;

struct um_link {
    um_link_config config;
    stage stage;
    bool has_hello;              /* the peer's hello was received */
    uint8_t hello[2][HELLO_LEN]; /* the caller's, the other side's */
    uint8_t secret[crypto_kx_SECRETKEYBYTES]; /* of this link, until the session
                                                 keys exist */
    crypto_secretstream_xchacha20poly1305_state to, from;
    uint8_t from_key[crypto_secretstream_xchacha20poly1305_KEYBYTES];
    buffer in, message, out;
};

/* --- the buffer ----------------------------------------------------------- */

/* Returns space for len more bytes, or NULL. */
static uint8_t *buffer_extend(buffer *b, size_t len, umbel_error *err)
{
    if (b->at) {
        memmove(b->data, b->data + b->at, b->len - b->at);
        b->len -= b->at;
        b->at = 0;
    }
    /* One byte more, so that it works for len 0. */
    if (!um_array_reserve(&b->data, &b->capacity, b->len + len + 1, 1)) {
        um_set_error(err, UMBEL_E_NOMEM, "no memory for %zu bytes", len);
        return NULL;
    }
    b->len += len;
    return b->data + b->len - len;
}

static umbel_status buffer_add(buffer *b, const void *data, size_t len,
                               umbel_error *err)
{
    uint8_t *at = buffer_extend(b, len, err);

    if (!at)
        return UMBEL_E_NOMEM;
    if (len)
        memcpy(at, data, len);
    return UMBEL_OK;
}

/* --- the handshake -------------------------------------------------------- */

static uint8_t *own_hello(um_link *l)
{
    return l->hello[l->config.caller ? 0 : 1];
}

static uint8_t *their_hello(um_link *l)
{
    return l->hello[l->config.caller ? 1 : 0];
}

static umbel_status say_hello(um_link *l, umbel_error *err)
{
    uint8_t *at = own_hello(l);

    memcpy(at, magic, MAGIC_LEN);
    crypto_sign_ed25519_sk_to_pk(at + MAGIC_LEN, l->config.sign_key);
    crypto_kx_keypair(at + MAGIC_LEN + UMBEL_TRUST_KEY_LEN, l->secret);
    return buffer_add(&l->out, at, HELLO_LEN, err);
}

/* Writes the text that a side signs: which side it is, and both hellos. */
static void signed_text(const um_link *l, bool caller,
                        uint8_t out[1 + 2 * HELLO_LEN])
{
    out[0] = caller ? 'c' : 'a';
    memcpy(out + 1, l->hello, sizeof l->hello);
}

/* Derives a key that depends on both hellos: a side that saw different ones
 * gets another key. */
static void bind_key(const um_link *l, uint8_t key[crypto_kx_SESSIONKEYBYTES])
{
    uint8_t bound[crypto_kx_SESSIONKEYBYTES];

    crypto_generichash(bound, sizeof bound, l->hello[0], sizeof l->hello, key,
                       crypto_kx_SESSIONKEYBYTES);
    memcpy(key, bound, sizeof bound);
    sodium_memzero(bound, sizeof bound);
}

/* Writes a frame to out, which has space for it, and returns its end. */
static uint8_t *write_frame(um_link *l, uint8_t *out, const uint8_t *piece,
                            size_t len, unsigned char tag)
{
    size_t size = len + EXTRA;

    out[0] = (uint8_t)size;
    out[1] = (uint8_t)(size >> 8);
    crypto_secretstream_xchacha20poly1305_push(&l->to, out + SIZE_LEN, NULL,
                                               piece, len, NULL, 0, tag);
    return out + SIZE_LEN + size;
}

/* Appends a message to the output, as a whole or not at all. */
static umbel_status write_message(um_link *l, const uint8_t *at, size_t len,
                                  umbel_error *err)
{
    size_t frames = len ? (len + UM_LINK_FRAME - 1) / UM_LINK_FRAME : 1;
    uint8_t *out =
        buffer_extend(&l->out, len + frames * (SIZE_LEN + EXTRA), err);

    if (!out)
        return UMBEL_E_NOMEM;
    for (; len > UM_LINK_FRAME; at += UM_LINK_FRAME, len -= UM_LINK_FRAME)
        out = write_frame(l, out, at, UM_LINK_FRAME, MORE);
    write_frame(l, out, at, len, LAST);
    return UMBEL_OK;
}

static umbel_status prove_ourselves(um_link *l, umbel_error *err)
{
    uint8_t text[1 + 2 * HELLO_LEN], proof[PROOF_LEN];

    signed_text(l, l->config.caller, text);
    crypto_sign_detached(proof, NULL, text, sizeof text, l->config.sign_key);
    return write_message(l, proof, sizeof proof, err);
}

static umbel_status create_keys(um_link *l, umbel_error *err)
{
    const uint8_t *ours = own_hello(l) + HELLO_LEN - crypto_kx_PUBLICKEYBYTES;
    const uint8_t *theirs =
        their_hello(l) + HELLO_LEN - crypto_kx_PUBLICKEYBYTES;
    uint8_t to[crypto_kx_SESSIONKEYBYTES];
    int bad = (l->config.caller ? crypto_kx_client_session_keys
                                : crypto_kx_server_session_keys)(
        l->from_key, to, ours, l->secret, theirs);

    sodium_memzero(l->secret, sizeof l->secret);
    if (bad)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the key of the link is not one that can be used");
    bind_key(l, l->from_key);
    bind_key(l, to);
    uint8_t *head = buffer_extend(&l->out, HEAD_LEN, err);
    if (head)
        crypto_secretstream_xchacha20poly1305_init_push(&l->to, head, to);
    sodium_memzero(to, sizeof to);
    return head ? UMBEL_OK : UMBEL_E_NOMEM;
}

static umbel_status apply_hello(um_link *l, const uint8_t *at, umbel_error *err)
{
    const uint8_t *key = at + MAGIC_LEN;

    if (memcmp(at, magic, MAGIC_LEN) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "not a peer of umbel, or one of another version");
    if (memcmp(key, own_hello(l) + MAGIC_LEN, UMBEL_TRUST_KEY_LEN) == 0)
        return um_fail(err, UMBEL_E_REFUSED,
                       "the peer has our own key: it is this server, or a copy "
                       "of it; give each server a key of its own");
    if (!l->config.is_known(l->config.ctx, key))
        return um_fail(err, UMBEL_E_REFUSED, "the peer's key is not known");
    memcpy(their_hello(l), at, HELLO_LEN);
    l->has_hello = true;
    UM_TRY(create_keys(l, err));
    UM_TRY(prove_ourselves(l, err));
    l->stage = HEAD;
    return UMBEL_OK;
}

static umbel_status apply_head(um_link *l, const uint8_t *at, umbel_error *err)
{
    int bad = crypto_secretstream_xchacha20poly1305_init_pull(&l->from, at,
                                                              l->from_key);

    sodium_memzero(l->from_key, sizeof l->from_key);
    if (bad)
        return um_fail(err, UMBEL_E_CHECKSUM, "the link's head is damaged");
    l->stage = PROOF;
    return UMBEL_OK;
}

static umbel_status apply_proof(um_link *l, umbel_slice proof, umbel_error *err)
{
    uint8_t text[1 + 2 * HELLO_LEN];

    signed_text(l, !l->config.caller, text);
    if (proof.len != PROOF_LEN ||
        crypto_sign_verify_detached(proof.data, text, sizeof text,
                                    their_hello(l) + MAGIC_LEN) != 0)
        return um_fail(err, UMBEL_E_REFUSED,
                       "the peer does not own the key that it names");
    l->stage = MESSAGES;
    return UMBEL_OK;
}

/* --- messages ------------------------------------------------------------- */

static size_t message_max(const um_link *l)
{
    return l->config.message_max ? l->config.message_max : UM_LINK_MESSAGE_MAX;
}

/* Handles a complete message; the first one is the proof. */
static umbel_status apply_whole(um_link *l, umbel_error *err)
{
    umbel_slice whole = {l->message.data, l->message.len};

    l->message.len = 0;
    if (l->stage == PROOF)
        return apply_proof(l, whole, err);
    return l->config.take(l->config.ctx, whole, err);
}

static umbel_status apply_frame(um_link *l, const uint8_t *at, size_t size,
                                umbel_error *err)
{
    size_t len = size - EXTRA;
    size_t max = l->stage == PROOF ? PROOF_LEN : message_max(l);
    unsigned char tag;

    if (len > max - l->message.len)
        return um_fail(err, UMBEL_E_LIMIT, "a message is longer than %zu bytes",
                       max);
    uint8_t *piece = buffer_extend(&l->message, len, err);
    if (!piece)
        return UMBEL_E_NOMEM;
    if (crypto_secretstream_xchacha20poly1305_pull(&l->from, piece, NULL, &tag,
                                                   at, size, NULL, 0) != 0 ||
        (tag != MORE && tag != LAST))
        return um_fail(err, UMBEL_E_CHECKSUM,
                       "a message was changed on the way");
    return tag == LAST ? apply_whole(l, err) : UMBEL_OK;
}

/* Computes the length of the next part of the peer's stream: of a frame whose
 * length is known, otherwise of that length. */
static umbel_status part_len(const um_link *l, const uint8_t *at, size_t have,
                             size_t *out, umbel_error *err)
{
    *out = l->stage == HELLO  ? HELLO_LEN
           : l->stage == HEAD ? HEAD_LEN
                              : SIZE_LEN;
    if (l->stage < PROOF || have < SIZE_LEN)
        return UMBEL_OK;
    size_t size = (size_t)at[0] | (size_t)at[1] << 8;
    if (size < EXTRA || size > FRAME_MAX)
        return um_fail(err, UMBEL_E_FORMAT, "a frame of %zu bytes: %d to %d",
                       size, EXTRA, FRAME_MAX);
    *out = SIZE_LEN + size;
    return UMBEL_OK;
}

static umbel_status apply_part(um_link *l, const uint8_t *at, size_t len,
                               umbel_error *err)
{
    if (l->stage == HELLO)
        return apply_hello(l, at, err);
    if (l->stage == HEAD)
        return apply_head(l, at, err);
    return apply_frame(l, at + SIZE_LEN, len - SIZE_LEN, err);
}

static bool is_busy(const um_link *l)
{
    return l->stage == MESSAGES && l->config.is_busy &&
           l->config.is_busy(l->config.ctx);
}

bool um_link_holds(const um_link *l)
{
    return l->in.at < l->in.len && is_busy(l);
}

static umbel_status apply_parts(um_link *l, umbel_error *err)
{
    for (;;) {
        if (is_busy(l))
            return UMBEL_OK;
        const uint8_t *at = l->in.data + l->in.at;
        size_t have = l->in.len - l->in.at, need;

        UM_TRY(part_len(l, at, have, &need, err));
        if (have < need)
            return UMBEL_OK;
        UM_TRY(apply_part(l, at, need, err));
        l->in.at += need;
    }
}

umbel_status um_link_receive(um_link *l, umbel_slice bytes, umbel_error *err)
{
    if (l->stage == FAILED)
        return um_fail(err, UMBEL_E_REFUSED, "the link has failed before");
    umbel_status status = UMBEL_OK;
    if (bytes.len)
        status = buffer_add(&l->in, bytes.data, bytes.len, err);
    if (status == UMBEL_OK)
        status = apply_parts(l, err);
    if (status != UMBEL_OK) {
        l->stage = FAILED;
        l->in.len = l->in.at = l->out.len = l->out.at = 0;
    }
    return status;
}

umbel_status um_link_send(um_link *l, umbel_slice message, umbel_error *err)
{
    if (l->stage != MESSAGES)
        return um_fail(err, UMBEL_E_REFUSED, "the link is not ready");
    if (message.len > message_max(l))
        return um_fail(err, UMBEL_E_LIMIT,
                       "a message of %zu bytes; at most %zu", message.len,
                       message_max(l));
    return write_message(l, message.data, message.len, err);
}

/* --- life ----------------------------------------------------------------- */

umbel_slice um_link_output(const um_link *l)
{
    return (umbel_slice){l->out.data + l->out.at, l->out.len - l->out.at};
}

void um_link_sent(um_link *l, size_t n)
{
    l->out.at += n;
}

bool um_link_is_ready(const um_link *l)
{
    return l->stage == MESSAGES;
}

const uint8_t *um_link_peer(const um_link *l)
{
    return l->has_hello ? l->hello[l->config.caller ? 1 : 0] + MAGIC_LEN : NULL;
}

umbel_status um_link_open(const um_link_config *c, um_link **out,
                          umbel_error *err)
{
    if (sodium_init() < 0)
        return um_fail(err, UMBEL_E_IO, "the system has no random numbers");
    um_link *l = calloc(1, sizeof *l);
    if (!l)
        return um_no_memory(err, sizeof *l);
    l->config = *c;
    umbel_status status = say_hello(l, err);
    if (status != UMBEL_OK) {
        um_link_close(l);
        l = NULL;
    }
    *out = l;
    return status;
}

void um_link_close(um_link *l)
{
    if (!l)
        return;
    free(l->in.data);
    free(l->message.data);
    free(l->out.data);
    sodium_memzero(l, sizeof *l);
    free(l);
}
