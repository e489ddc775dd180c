/* link.c - encrypted links between two servers, connected in memory. */
#include "support/test.h"

#include "trust/link.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONG = 3 * UM_LINK_FRAME + 7,
    HELLO = 80,
    HANDSHAKE = 80 + 24 + 2 + 64 + 17
};

typedef struct side {
    uint8_t sign_key[UMBEL_SIGN_KEY_LEN], key[UMBEL_TRUST_KEY_LEN];
    const uint8_t *knows;
    um_link *link;
    size_t messages, refuse_at;
    bool busy;
    uint8_t *last;
    size_t last_len;
} side;

typedef struct pair {
    side a, b; /* a is the caller */
} pair;

static bool is_known(void *ctx, const uint8_t key[UMBEL_TRUST_KEY_LEN])
{
    const side *s = ctx;

    return memcmp(s->knows, key, UMBEL_TRUST_KEY_LEN) == 0;
}

static bool is_busy(void *ctx)
{
    return ((const side *)ctx)->busy;
}

static umbel_status consume(void *ctx, umbel_slice message, umbel_error *err)
{
    side *s = ctx;

    (void)err;
    if (++s->messages == s->refuse_at)
        return UMBEL_E_MISMATCH;
    free(s->last);
    s->last = malloc(message.len + 1);
    assert_non_null(s->last);
    if (message.len)
        memcpy(s->last, message.data, message.len);
    s->last_len = message.len;
    return UMBEL_OK;
}

static void open_side(side *s, const side *other, bool caller)
{
    s->knows = other->key;
    um_link_config c = {.sign_key = s->sign_key,
                        .caller = caller,
                        .is_known = is_known,
                        .take = consume,
                        .is_busy = is_busy,
                        .ctx = s,
                        .message_max = LONG};
    assert_ok(um_link_open(&c, &s->link, &test_refusal));
}

static void open_pair(pair *p)
{
    *p = (pair){0};
    assert_ok(umbel_sign_keygen(p->a.sign_key, p->a.key, &test_refusal));
    assert_ok(umbel_sign_keygen(p->b.sign_key, p->b.key, &test_refusal));
    open_side(&p->a, &p->b, true);
    open_side(&p->b, &p->a, false);
}

static void close_pair(pair *p)
{
    um_link_close(p->a.link);
    um_link_close(p->b.link);
    free(p->a.last);
    free(p->b.last);
}

/* Moves one side's output to the other, in pieces. */
static umbel_status carry(side *from, side *to, size_t piece)
{
    umbel_status status = UMBEL_OK;

    for (;;) {
        umbel_slice out = um_link_output(from->link);
        if (status != UMBEL_OK || out.len == 0)
            return status;
        out.len = out.len < piece ? out.len : piece;
        status = um_link_receive(to->link, out, &test_refusal);
        um_link_sent(from->link, out.len);
    }
}

static void shake_hands(pair *p, size_t piece)
{
    for (int i = 0; i < 2; i++) {
        assert_ok(carry(&p->a, &p->b, piece));
        assert_ok(carry(&p->b, &p->a, piece));
    }
    assert_true(um_link_is_ready(p->a.link) && um_link_is_ready(p->b.link));
    assert_memory_equal(um_link_peer(p->a.link), p->b.key, sizeof p->b.key);
    assert_memory_equal(um_link_peer(p->b.link), p->a.key, sizeof p->a.key);
}

static void messages_of_every_length_arrive(void **state)
{
    static const size_t lengths[] = {
        0, 1, UM_LINK_FRAME - 1, UM_LINK_FRAME, UM_LINK_FRAME + 1, LONG};
    static const size_t pieces[] = {1, 1000, 1 << 20};
    uint8_t *text = malloc(LONG);
    pair p;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < LONG; i++)
        text[i] = (uint8_t)(i * 7 >> 3);
    for (size_t k = 0; k < TEST_COUNT(pieces); k++) {
        open_pair(&p);
        shake_hands(&p, pieces[k]);
        for (size_t i = 0; i < TEST_COUNT(lengths); i++) {
            umbel_slice m = {text, lengths[i]};
            assert_ok(um_link_send(p.a.link, m, &test_refusal));
            assert_ok(um_link_send(p.b.link, m, &test_refusal));
            assert_ok(carry(&p.a, &p.b, pieces[k]));
            assert_ok(carry(&p.b, &p.a, pieces[k]));
            assert_int_equal(p.b.messages, i + 1);
            assert_int_equal(p.b.last_len, lengths[i]);
            assert_memory_equal(p.b.last, text, lengths[i]);
            assert_int_equal(p.a.last_len, lengths[i]);
        }
        close_pair(&p);
    }
    free(text);
}

static void messages_wait_while_their_owner_is_busy(void **state)
{
    pair p;

    (void)state;
    open_pair(&p);
    p.b.busy = true; /* no effect before it is ready */
    shake_hands(&p, 1000);
    for (int i = 0; i < 3; i++)
        assert_ok(
            um_link_send(p.a.link, (umbel_slice){"mail", 4}, &test_refusal));
    assert_ok(carry(&p.a, &p.b, 5));
    assert_int_equal(p.b.messages, 0);
    assert_true(um_link_holds(p.b.link));
    p.b.busy = false;
    assert_ok(um_link_receive(p.b.link, (umbel_slice){NULL, 0}, &test_refusal));
    assert_int_equal(p.b.messages, 3);
    assert_false(um_link_holds(p.b.link));
    close_pair(&p);
}

static void a_message_longer_than_agreed_is_neither_sent_nor_taken(void **state)
{
    uint8_t *text = calloc(1, LONG + 1);
    pair p;

    (void)state;
    assert_non_null(text);
    open_pair(&p);
    um_link_close(p.a.link);
    um_link_config c = {.sign_key = p.a.sign_key, /* sends more than LONG */
                        .caller = true,
                        .is_known = is_known,
                        .take = consume,
                        .is_busy = is_busy,
                        .ctx = &p.a};
    assert_ok(um_link_open(&c, &p.a.link, &test_refusal));
    shake_hands(&p, 4096);
    assert_refused(
        um_link_send(p.b.link, (umbel_slice){text, LONG + 1}, &test_refusal),
        UMBEL_E_LIMIT, "at most");
    assert_ok(
        um_link_send(p.a.link, (umbel_slice){text, LONG + 1}, &test_refusal));
    assert_refused(carry(&p.a, &p.b, 4096), UMBEL_E_LIMIT, "longer than");
    assert_int_equal(p.b.messages, 0);
    close_pair(&p);
    free(text);
}

static void strangers_and_copies_of_ourselves_are_refused(void **state)
{
    pair p, q;

    (void)state;
    open_pair(&p);
    open_pair(&q);
    assert_refused(carry(&q.a, &p.b, 100), UMBEL_E_REFUSED, "not known");
    assert_null(um_link_peer(p.b.link));
    assert_refused(
        um_link_receive(p.b.link, (umbel_slice){"x", 1}, &test_refusal),
        UMBEL_E_REFUSED, "failed before");
    close_pair(&p);
    open_pair(&p);
    memcpy(p.a.sign_key, p.b.sign_key, sizeof p.a.sign_key);
    um_link_close(p.a.link);
    open_side(&p.a, &p.b, true);
    assert_refused(carry(&p.a, &p.b, 100), UMBEL_E_REFUSED, "our own key");
    close_pair(&p);
    close_pair(&q);
}

/* The thief knows a's public key, but has another secret. */
static void a_name_without_its_secret_is_refused(void **state)
{
    pair p, thief;

    (void)state;
    open_pair(&p);
    open_pair(&thief);
    memcpy(thief.a.sign_key + 32, p.a.key, 32); /* where libsodium stores it */
    thief.a.knows = p.b.key;
    um_link_close(thief.a.link);
    open_side(&thief.a, &p.b, true);
    assert_ok(carry(&thief.a, &p.b, 100));
    assert_ok(carry(&p.b, &thief.a, 100));
    assert_refused(carry(&thief.a, &p.b, 100), UMBEL_E_REFUSED, "does not own");
    assert_false(um_link_is_ready(p.b.link));
    close_pair(&p);
    close_pair(&thief);
}

static void nothing_is_sent_before_both_are_proved(void **state)
{
    pair p;

    (void)state;
    open_pair(&p);
    assert_refused(um_link_send(p.a.link, (umbel_slice){"x", 1}, &test_refusal),
                   UMBEL_E_REFUSED, "not ready");
    assert_refused(um_link_receive(p.a.link,
                                   (umbel_slice){"HTTP/1.1 400 Bad Request"
                                                 "....................."
                                                 "....................."
                                                 ".....................",
                                                 HELLO},
                                   &test_refusal),
                   UMBEL_E_FORMAT, "not a peer");
    close_pair(&p);
}

/* Changes one byte that a sends. Returns true if the message still arrives. */
static bool arrives_changed(size_t at)
{
    pair p;
    uint8_t sent[HANDSHAKE + 100];
    size_t len = 0;

    open_pair(&p);
    for (int round = 0; round < 3; round++) {
        umbel_slice out = um_link_output(p.a.link);

        assert_true(len + out.len <= sizeof sent);
        memcpy(sent + len, out.data, out.len);
        if (at >= len && at < len + out.len)
            sent[at] ^= 1;
        umbel_slice changed = {sent + len, out.len};
        len += out.len;
        um_link_sent(p.a.link, out.len);
        if (um_link_receive(p.b.link, changed, &test_refusal) != UMBEL_OK)
            break;
        if (carry(&p.b, &p.a, 1000) != UMBEL_OK)
            break;
        if (round == 1)
            assert_ok(um_link_send(p.a.link, (umbel_slice){"hello", 5},
                                   &test_refusal));
    }
    bool arrived = p.b.messages > 0;
    close_pair(&p);
    return arrived;
}

static void no_byte_can_be_changed_on_the_way(void **state)
{
    (void)state;
    for (size_t at = 0; at < HANDSHAKE + 2 + 5 + 17; at++)
        assert_false(arrives_changed(at));
    assert_true(arrives_changed(SIZE_MAX)); /* arrives if unchanged */
}

static void what_was_sent_once_is_worth_nothing_later(void **state)
{
    uint8_t record[HANDSHAKE + 100];
    size_t len = 0;
    pair p;

    (void)state;
    open_pair(&p);
    for (int i = 0; i < 2; i++) {
        umbel_slice out = um_link_output(p.a.link);
        memcpy(record + len, out.data, out.len);
        len += out.len;
        assert_ok(carry(&p.a, &p.b, 1000));
        assert_ok(carry(&p.b, &p.a, 1000));
    }
    um_link_close(p.b.link);
    open_side(&p.b, &p.a, false);
    umbel_slice again = {record, len};
    assert_refused(um_link_receive(p.b.link, again, &test_refusal),
                   UMBEL_E_CHECKSUM, "changed");
    close_pair(&p);
}

static void a_refusal_of_the_owner_ends_the_link(void **state)
{
    pair p;

    (void)state;
    open_pair(&p);
    shake_hands(&p, 1000);
    p.b.refuse_at = 2;
    for (int i = 0; i < 3; i++)
        assert_ok(um_link_send(p.a.link, (umbel_slice){"m", 1}, &test_refusal));
    assert_int_equal(carry(&p.a, &p.b, 1000), UMBEL_E_MISMATCH);
    assert_int_equal(p.b.messages, 2);
    close_pair(&p);
}

TEST_GROUP(link)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_every_length_arrive),
        cmocka_unit_test(messages_wait_while_their_owner_is_busy),
        cmocka_unit_test(
            a_message_longer_than_agreed_is_neither_sent_nor_taken),
        cmocka_unit_test(strangers_and_copies_of_ourselves_are_refused),
        cmocka_unit_test(a_name_without_its_secret_is_refused),
        cmocka_unit_test(nothing_is_sent_before_both_are_proved),
        cmocka_unit_test(no_byte_can_be_changed_on_the_way),
        cmocka_unit_test(what_was_sent_once_is_worth_nothing_later),
        cmocka_unit_test(a_refusal_of_the_owner_ends_the_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
