/*
 * reconcile.c - two machines of umbel reconcile, and somebody between them.
 *
 * The first bytes choose lists and what travels. Each further group of four
 * bytes says what happens to a message: which one, which byte of it, and what
 * that becomes; or the message is cut, repeated, lost, or replaced by the bytes
 * that follow in the input. Whatever happens, a machine that is done has
 * received exactly what it lacks, or what it received was refused. The same
 * bytes are the bodies of messages of a join.
 */
#include "fuzz.h"

#include "reconcile/internal.h"

#include <umbel/experimental/reconcile.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 96, KEY_LEN = 4, MESSAGES = 64 };

typedef struct side {
    char text[KEYS][KEY_LEN];
    umbel_slice keys[KEYS];
    size_t n;
    umbel_reconcile *machine;
} side;

static void add_key(side *s, unsigned number)
{
    snprintf(s->text[s->n], KEY_LEN, "%03u", number % 1000);
    s->keys[s->n] = (umbel_slice){s->text[s->n], KEY_LEN - 1};
    s->n++;
}

static void open_side(side *s, bool first, unsigned want)
{
    static const uint8_t nonce[2][16] = {"one", "two"};
    umbel_reconcile_params p = UMBEL_RECONCILE_INIT;

    p.keys = s->keys;
    p.n = s->n;
    p.first = first;
    p.want = want;
    p.max_memory = 1 << 20;
    p.nonce = nonce[first];
    if (umbel_reconcile_open(&p, &s->machine, NULL))
        abort();
}

static bool has_key(const side *s, umbel_slice key)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->keys[i].len == key.len &&
            memcmp(s->keys[i].data, key.data, key.len) == 0)
            return true;
    return false;
}

/* What was received is what the other side has and this one lacks. */
static void check_received(const side *s, const side *other)
{
    umbel_reconcile_result x;
    umbel_slice key;
    size_t n = 0;

    while (umbel_reconcile_received(s->machine, n, &key)) {
        UM_WANT(!has_key(s, key) && has_key(other, key));
        n++;
    }
    umbel_reconcile_report(s->machine, &x);
    UM_WANT(n == 0 || n == x.ours_missing);
}

/* Passes a message on, as the input says. */
static umbel_status pass(umbel_reconcile *to, umbel_slice m, int number,
                         const uint8_t *data, size_t len)
{
    static uint8_t bytes[1 << 16];
    size_t n = m.len < sizeof bytes ? m.len : sizeof bytes;
    umbel_error err;

    memcpy(bytes, m.data, n);
    for (; len >= 4; data += 4, len -= 4) {
        if (data[0] % MESSAGES != number)
            continue;
        size_t at = n ? data[1] % n : 0;
        switch (data[2] % 6) {
        case 0:
            n = at;
            break;
        case 1:
            return UMBEL_OK;
        case 2:
            umbel_reconcile_receive(to, bytes, n, &err);
            break;
        case 3:
            n = len - 4 < sizeof bytes ? len - 4 : sizeof bytes;
            memcpy(bytes, data + 4, n);
            break;
        default:
            if (n)
                bytes[at] = data[3];
        }
    }
    return umbel_reconcile_receive(to, bytes, n, &err);
}

static void live_through(const uint8_t *data, size_t len)
{
    static side s[2];
    int number = 0;
    umbel_slice m;
    bool moved = true;

    s[0].n = s[1].n = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        unsigned share = i * 16 / KEYS;
        add_key(&s[0], i); /* keys may be listed twice */
        if (share < (data[0] & 15U) + 1)
            add_key(&s[1], i);
        else if (data[0] & 16)
            add_key(&s[1], 500 + i);
        if (s[1].n == KEYS || (data[0] & 32 && i > 40))
            break;
    }
    open_side(&s[0], true, data[1] & 3);
    open_side(&s[1], false, data[1] >> 2 & 3);
    while (moved && number < MESSAGES) {
        moved = false;
        for (int i = 0; i < 2; i++)
            while (number < MESSAGES &&
                   umbel_reconcile_next(s[i].machine, &m)) {
                moved = true;
                if (pass(s[!i].machine, m, number++, data + 2, len - 2))
                    break;
                if (umbel_reconcile_state(s[!i].machine) ==
                    UMBEL_RECONCILE_READY)
                    umbel_reconcile_commit(s[!i].machine, NULL);
            }
    }
    for (int i = 0; i < 2; i++)
        check_received(&s[i], &s[!i]);
    for (int i = 0; i < 2; i++)
        umbel_reconcile_close(s[i].machine);
}

/* Arbitrary bodies of each message of a join. */
static void join(umbel_slice body)
{
    static const uint8_t secret[UMBEL_SECRET_LEN] = "join";
    static const umbel_slice keys[] = {{"alpha", 5}, {"beta", 4}, {"", 0}};
    um_join_holder h = {.asked = 0};
    um_join_seeker s = {.rows = 0};
    um_join_hello hello;
    um_join_totals totals;
    umbel_digest d[3] = {{1, 2}, {3, 4}, {1, 2}};
    um_buffer out = {.len = 0};
    um_frame f;
    size_t at = 0;
    bool in[3];

    if (!um_join_hello_read(body, &hello, NULL)) {
        um_join_hello_write(&out, &hello);
        UM_WANT(!um_frame_read((umbel_slice){out.data, out.len}, 1 << 20, &f,
                               NULL) &&
                f.body.len == body.len);
    }
    um_join_done_read(body, &totals, NULL);
    if (um_join_holder_init(&h, keys, 3, secret, NULL))
        abort();
    um_join_holder_keys(&h, body, NULL);
    um_join_holder_reply(&h, &out);
    if (!um_join_seeker_filter(&s, body, secret, 1 << 20, NULL))
        um_join_seeker_add(&s, keys, d, 3, false, NULL);
    um_join_seeker_keys(&s, &at, &out);
    if (!um_join_seeker_reply(&s, body, NULL))
        um_join_seeker_look_up(&s, d, 3, in, NULL);
    um_join_holder_fini(&h);
    um_join_seeker_fini(&s);
    um_buffer_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len >= 2)
        live_through(data, len);
    join((umbel_slice){data, len});
    return 0;
}
