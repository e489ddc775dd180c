/* seeds_sync.c - messages from a peer to the machine of sync.c. */
#include "seeds.h"

#include "sync/internal.h"

#include <umbel/counting.h>

#include <stdlib.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker makes these names */
void __wrap_um_sync_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature);
bool __wrap_um_sync_is_signed(const uint8_t *origin, const void *text,
                              size_t len, const uint8_t *signature);

void __wrap_um_sync_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature)
{
    (void)key, (void)text, (void)len;
    memset(signature, 0, UM_SIGNATURE_LEN);
}

bool __wrap_um_sync_is_signed(const uint8_t *origin, const void *text,
                              size_t len, const uint8_t *signature)
{
    (void)origin, (void)text, (void)len, (void)signature;
    return true;
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* Opens the machine of sync.c, or a peer with a key. */
static umbel_sync *open_machine(uint8_t number, uint64_t session)
{
    umbel_sync_list list = um_fuzz_sync_list();
    umbel_sync_params p = UMBEL_SYNC_INIT;
    uint8_t key[UMBEL_ORIGIN_SECRET_LEN] = {0};
    umbel_error err;
    umbel_sync *s;

    key[32] = number;
    p.lists = &list;
    p.nlists = 1;
    p.sign_key = number ? key : NULL;
    p.incarnation = 1;
    p.session = session;
    p.limits.message_bytes = 8192;
    if (umbel_sync_open(&p, &s, &err))
        um_seed_fail("a machine", &err);
    umbel_sync_tick(s, UM_FUZZ_NOW);
    return s;
}

static void report(umbel_filter *own, umbel_sync *s, uint64_t key)
{
    umbel_digest d = {key * UINT64_C(0x9E3779B97F4A7C15), key << 32};
    uint64_t times = 2;

    if (umbel_add_digest_amounts(own, &d, &times, 1, NULL, NULL) ||
        umbel_sync_publish(s, 0, 1, own, NULL))
        exit(EXIT_FAILURE);
}

static void append(umbel_sync *s, uint8_t type, umbel_slice body)
{
    if (umbel_sync_log_append(s, type, body, NULL, NULL))
        exit(EXIT_FAILURE);
}

/* Connects both; appends the peer's messages to out in the layout of sync.c. */
static void talk(umbel_sync *s, int s_peer, umbel_sync *peer, int peer_s,
                 uint64_t now, um_buffer *out)
{
    umbel_slice m;

    for (bool quiet = false; !quiet;) {
        quiet = true;
        while (umbel_sync_next(peer, peer_s, now, &m)) {
            const uint8_t *at = m.data;
            uint8_t head[3] = {at[0], at[1], at[2]};
            quiet = false;
            um_buffer_append(out, head, sizeof head);
            um_buffer_append(out, at + 5, m.len - 5 - 8);
            umbel_sync_receive(s, s_peer, m.data, m.len, now, NULL);
        }
        while (umbel_sync_next(s, s_peer, now, &m)) {
            quiet = false;
            umbel_sync_receive(peer, peer_s, m.data, m.len, now, NULL);
        }
    }
}

static void join(umbel_sync *s, umbel_sync *peer, um_buffer *out)
{
    int a, b;

    if (umbel_sync_connect(s, &a, NULL) || umbel_sync_connect(peer, &b, NULL))
        exit(EXIT_FAILURE);
    talk(s, a, peer, b, UM_FUZZ_NOW, out);
}

typedef enum seed { VERSION, GROWTH, LOG, DROP, BACK, CONTRADICTION } seed;

/* Shows the peer two different versions 1 of the same origin. */
static void contradict(umbel_sync *peer)
{
    umbel_sync *twin = open_machine(2, 8), *third = open_machine(2, 9);
    umbel_filter *one, *other;
    um_buffer out = {.len = 0};

    if (umbel_copy(um_fuzz_sync_list().shape, &one, NULL) ||
        umbel_copy(one, &other, NULL))
        exit(EXIT_FAILURE);
    report(one, twin, 1);
    report(other, third, 2);
    join(peer, twin, &out);
    join(peer, third, &out);
    um_buffer_fini(&out);
    umbel_close(one);
    umbel_close(other);
    umbel_sync_close(twin);
    umbel_sync_close(third);
}

static void write_seed(const char *name, seed which)
{
    umbel_sync *s = open_machine(0, UM_FUZZ_SESSION),
               *peer = open_machine(1, 6);
    umbel_filter *own;
    uint8_t back[16] = {1, 0, 0, 0, 0, 0, 0, 0, 1};
    um_buffer out = {.len = 0};
    int a, b;

    if (umbel_copy(um_fuzz_sync_list().shape, &own, NULL) ||
        umbel_sync_connect(s, &a, NULL) || umbel_sync_connect(peer, &b, NULL))
        exit(EXIT_FAILURE);
    if (which == CONTRADICTION)
        contradict(peer);
    report(own, peer, 1);
    if (which == LOG || which == BACK)
        append(peer, UMBEL_SYNC_LOG_FIRST, (umbel_slice){"spam", 4});
    if (which == BACK)
        append(peer, UMBEL_SYNC_LOG_RETRACT, (umbel_slice){back, 16});
    if (which == DROP)
        append(peer, UMBEL_SYNC_LOG_DROP, (umbel_slice){peer->origin, 32});
    talk(s, a, peer, b, UM_FUZZ_NOW, &out);
    for (uint64_t key = 2; which == GROWTH && key < 6; key++) {
        report(own, peer, key);
        talk(s, a, peer, b, UM_FUZZ_NOW + key, &out);
    }
    um_seed_write("sync", name, out.data, out.len);
    um_buffer_fini(&out);
    umbel_close(own);
    umbel_sync_close(s);
    umbel_sync_close(peer);
}

/*
 * Writes a statement that contradicts the version that the machine has of
 * origin 1.
 */
static void write_statement(void)
{
    umbel_sync *s = open_machine(0, UM_FUZZ_SESSION),
               *peer = open_machine(1, 6);
    umbel_filter *own;
    um_buffer out = {.len = 0}, m = {.len = 0};

    if (umbel_copy(um_fuzz_sync_list().shape, &own, NULL))
        exit(EXIT_FAILURE);
    report(own, peer, 1);
    join(s, peer, &out);
    um_message_begin(&m, UM_MSG_STATEMENT);
    um_write_id(&m, peer, &peer->replica[0]->id);
    peer->replica[0]->now.root[0] ^= 1;
    um_write_statement(&m, &peer->replica[0]->now);
    um_message_end(&m);
    um_buffer_append(&out, m.data, 3);
    um_buffer_append(&out, m.data + 5, m.len - 5 - 8);
    um_seed_write("sync", "statement", out.data, out.len);
    um_buffer_fini(&out);
    um_buffer_fini(&m);
    umbel_close(own);
    umbel_sync_close(s);
    umbel_sync_close(peer);
}

void um_seed_syncs(void)
{
    static const struct {
        const char *name;
        seed which;
    } rows[] = {{"version", VERSION}, {"growth", GROWTH},
                {"log", LOG},         {"drop", DROP},
                {"taken-back", BACK}, {"contradiction", CONTRADICTION}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        write_seed(rows[i].name, rows[i].which);
    write_statement();
}
