/*
 * link.c - two ends of an encrypted link, with an attacker between them who may
 * change, repeat, drop and invent bytes.
 *
 * The input is a program of two-byte steps. Whatever it does, each side
 * receives a prefix of the messages that the other sent, in order. Without
 * interference nothing fails.
 */
#include "fuzz.h"

#include "trust/link.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 2000, MAX_MESSAGE = 40000, MAX_SAID = 4096 };

typedef struct side {
    uint8_t sign_key[UMBEL_SIGN_KEY_LEN], key[UMBEL_TRUST_KEY_LEN];
    struct side *other;
    um_link *link;
    uint16_t said[MAX_SAID]; /* lengths of the messages it sent */
    size_t nsaid, nreceived;
    bool failed;
} side;

static side a, b;
static bool tampered;

/* --- random numbers that are the same in every run ------------------------ */

static uint64_t counter;

static const char *random_name(void)
{
    return "fuzz";
}

static void random_fill(void *const out, const size_t len)
{
    uint8_t *at = out;

    for (size_t i = 0; i < len; i++)
        at[i] = (uint8_t)((++counter * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

static uint32_t random_word(void)
{
    uint32_t x;

    random_fill(&x, sizeof x);
    return x;
}

static struct randombytes_implementation fixed = {.implementation_name =
                                                      random_name,
                                                  .random = random_word,
                                                  .buf = random_fill};

/* --- the two sides -------------------------------------------------------- */

static bool is_known(void *ctx, const uint8_t key[UMBEL_TRUST_KEY_LEN])
{
    const side *s = ctx;

    return memcmp(key, s->other->key, UMBEL_TRUST_KEY_LEN) == 0;
}

/* Checks a received message: every byte of it is its number. */
static umbel_status consume(void *ctx, umbel_slice message, umbel_error *err)
{
    side *s = ctx;
    const uint8_t *at = message.data;

    (void)err;
    UM_WANT(s->nreceived < s->other->nsaid);
    UM_WANT(message.len == s->other->said[s->nreceived]);
    for (size_t i = 0; i < message.len; i++)
        UM_WANT(at[i] == (uint8_t)s->nreceived);
    s->nreceived++;
    return UMBEL_OK;
}

static void open_side(side *s, side *other, bool caller)
{
    um_link_config c = {.sign_key = s->sign_key,
                        .caller = caller,
                        .is_known = is_known,
                        .take = consume,
                        .ctx = s,
                        .message_max = MAX_MESSAGE};

    s->other = other;
    s->nsaid = s->nreceived = 0;
    s->failed = false;
    UM_WANT(um_link_open(&c, &s->link, NULL) == UMBEL_OK);
}

static void say(side *s, size_t len)
{
    uint8_t text[MAX_MESSAGE];

    len = len * len < MAX_MESSAGE ? len * len : MAX_MESSAGE;
    memset(text, (int)s->nsaid, len);
    if (s->nsaid == MAX_SAID || !um_link_is_ready(s->link))
        return;
    s->said[s->nsaid++] = (uint16_t)len;
    UM_WANT(um_link_send(s->link, (umbel_slice){text, len}, NULL) == UMBEL_OK);
}

static void receive(side *s, const uint8_t *bytes, size_t len)
{
    umbel_error err;
    umbel_status status =
        um_link_receive(s->link, (umbel_slice){bytes, len}, &err);

    UM_WANT(status == UMBEL_OK || tampered);
    if (status == UMBEL_OK)
        return;
    um_fuzz_check_error(status, &err);
    s->failed = true;
    UM_WANT(um_link_output(s->link).len == 0);
}

/* Moves up to n bytes to the other side; how selects what happens to them. */
static void carry(side *s, size_t n, unsigned how)
{
    umbel_slice out = um_link_output(s->link);
    uint8_t bytes[256];

    n = out.len < n ? out.len : n;
    if (n == 0)
        return;
    memcpy(bytes, out.data, n);
    um_link_sent(s->link, n);
    tampered = tampered || how != 0;
    if (how == 1)
        bytes[n / 2] ^= 1;
    if (how != 2)
        receive(s->other, bytes, n);
    if (how == 3)
        receive(s->other, bytes, n);
}

static void carry_all(side *s)
{
    for (umbel_slice out; (out = um_link_output(s->link)).len > 0;) {
        uint8_t *copy = malloc(out.len);

        UM_WANT(copy);
        memcpy(copy, out.data, out.len);
        um_link_sent(s->link, out.len);
        receive(s->other, copy, out.len);
        free(copy);
    }
}

static void step(uint8_t what, uint8_t n)
{
    side *s = what & 1 ? &a : &b;

    switch (what >> 1 & 7) {
    case 0:
        say(s, n);
        break;
    case 1:
        carry_all(s);
        break;
    case 2:
        tampered = true;
        receive(s, &n, 1);
        break;
    default:
        carry(s, n, what >> 1 & 3);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len > MAX_BYTES)
        return 0;
    if (!a.other) {
        UM_WANT(randombytes_set_implementation(&fixed) == 0);
        UM_WANT(umbel_sign_keygen(a.sign_key, a.key, NULL) == UMBEL_OK);
        UM_WANT(umbel_sign_keygen(b.sign_key, b.key, NULL) == UMBEL_OK);
    }
    counter = 0;
    tampered = false;
    open_side(&a, &b, true);
    open_side(&b, &a, false);
    for (size_t i = 0; i + 1 < len; i += 2)
        step(data[i], data[i + 1]);
    for (int i = 0; i < 3 && !tampered; i++) {
        carry_all(&a);
        carry_all(&b);
    }
    UM_WANT(tampered || (a.nreceived == b.nsaid && b.nreceived == a.nsaid));
    um_link_close(a.link);
    um_link_close(b.link);
    return 0;
}
