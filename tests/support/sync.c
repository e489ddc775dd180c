/*
 * sync.c - servers that exchange filters, in memory.
 */
#include "support/sync.h"

#include "base/hash.h"
#include "base/rng.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <umbel/counting.h>

static void note_event(void *ctx, const umbel_sync_event *e)
{
    test_sync_server *s = ctx;

    s->events[e->kind]++;
    if (e->kind != UMBEL_SYNC_REFUSED && e->kind != UMBEL_SYNC_CONTRADICTED &&
        e->kind != UMBEL_SYNC_DROPPED)
        return;
    s->last_reason = e->reason;
    snprintf(s->last_text, sizeof s->last_text, "%s", e->text ? e->text : "");
    if (e->origin)
        memcpy(s->last_origin, e->origin, UMBEL_ORIGIN_LEN);
}

/* Returns a key, cached: creating one takes as long as the rest of a server. */
const uint8_t *test_sync_secret(uint64_t seed)
{
    static struct {
        uint64_t seed;
        uint8_t secret[UMBEL_ORIGIN_SECRET_LEN];
    } kept[16];
    size_t i = seed % TEST_COUNT(kept);
    uint8_t bytes[crypto_sign_SEEDBYTES] = {0}, public[UMBEL_ORIGIN_LEN];

    if (kept[i].seed != seed) {
        kept[i].seed = seed;
        um_store64(bytes, seed);
        crypto_sign_seed_keypair(public, kept[i].secret, bytes);
    }
    return kept[i].secret;
}

/* Eight words, each of a hash of origin and text. */
static void hash_sign_as(const uint8_t *origin, const void *text, size_t len,
                         uint8_t *signature)
{
    uint8_t bytes[512];
    um_rng words;

    assert_true(len <= sizeof bytes - UMBEL_ORIGIN_LEN);
    memcpy(bytes, origin, UMBEL_ORIGIN_LEN);
    memcpy(bytes + UMBEL_ORIGIN_LEN, text, len);
    words = (um_rng){um_checksum(bytes, UMBEL_ORIGIN_LEN + len)};
    for (int i = 0; i < UM_SIGNATURE_LEN; i += 8)
        um_store64(signature + i, um_random(&words));
}

void test_sync_hash_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature)
{
    hash_sign_as(key + 32, text, len, signature);
}

bool test_sync_hash_signed(const uint8_t *origin, const void *text, size_t len,
                           const uint8_t *signature)
{
    uint8_t again[UM_SIGNATURE_LEN];

    hash_sign_as(origin, text, len, again);
    return memcmp(again, signature, sizeof again) == 0;
}

void test_sync_open(test_sync_server *s, uint64_t seed)
{
    umbel_setting settings[] = {{"cell_bits", 8}, {"update", 1}};
    umbel_params p = UMBEL_PARAMS_INIT;

    p.capacity = 1000;
    p.fpr = 0.001;
    p.settings = settings;
    p.nsettings = 2;
    s->seed = seed;
    if (s->list.shape)
        assert_ok(umbel_copy(s->list.shape, &s->shape, &test_refusal));
    else
        assert_ok(umbel_create("counting", &p, &s->shape, &test_refusal));
    assert_ok(umbel_copy(s->shape, &s->own, &test_refusal));
    s->list.shape = s->shape;
    if (!s->list.name)
        s->list.name = "test";
    s->params.size = sizeof s->params;
    s->params.lists = &s->list;
    s->params.nlists = 1;
    s->params.sign_key = test_sync_secret(seed);
    if (!s->incarnation)
        s->incarnation = 1;
    s->params.incarnation = s->incarnation;
    if (!s->params.session)
        s->params.session = seed;
    s->params.event = note_event;
    s->params.ctx = s;
    assert_ok(umbel_sync_open(&s->params, &s->machine, &test_refusal));
}

void test_sync_close(test_sync_server *s)
{
    umbel_sync_close(s->machine);
    umbel_close(s->own);
    umbel_close(s->shape);
    *s = (test_sync_server){.machine = NULL};
}

void test_sync_add(test_sync_server *s, uint64_t i, uint64_t times)
{
    if (umbel_is_counting(umbel_kind(s->own)))
        test_add_times(s->own, i, times);
    else
        test_add(s->own, i, 1);
}

void test_sync_publish(test_sync_server *s)
{
    assert_ok(umbel_sync_publish(s->machine, 0, umbel_sync_epoch(s->machine, 0),
                                 s->own, &test_refusal));
}

uint64_t test_sync_count(const test_sync_server *s, uint64_t i)
{
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};
    umbel_digest d;
    uint64_t count;

    test_key(i, key);
    assert_ok(umbel_digest_many(s->shape, &slice, 1, &d, &test_refusal));
    assert_ok(
        umbel_sync_count(s->machine, 0, &d, 1, &count, NULL, &test_refusal));
    return count;
}

uint64_t test_sync_word(const test_sync_server *s)
{
    return umbel_sync_agreement(s->machine, 0);
}

void test_sync_connect(test_sync_link *l, test_sync_server *a,
                       test_sync_server *b)
{
    *l = (test_sync_link){.end = {a, b}};
    for (int i = 0; i < 2; i++)
        assert_ok(
            umbel_sync_connect(l->end[i]->machine, &l->peer[i], &test_refusal));
}

void test_sync_run(test_sync_link *l, uint64_t now)
{
    umbel_slice m;

    int left = 2000; /* a broken machine may never stop sending */

    for (bool quiet = false; !quiet && left > 0;) {
        quiet = true;
        for (int i = 0; i < 2; i++) {
            quiet &= !umbel_sync_busy(l->end[i]->machine);
            while (umbel_sync_work(l->end[i]->machine))
                ;
            while (left-- > 0 &&
                   umbel_sync_next(l->end[i]->machine, l->peer[i], now, &m)) {
                quiet = false;
                l->bytes[i] += m.len;
                l->messages[i]++;
                l->largest = m.len > l->largest ? m.len : l->largest;
                umbel_sync_receive(l->end[!i]->machine, l->peer[!i], m.data,
                                   m.len, now, NULL);
            }
            quiet &= !umbel_sync_busy(l->end[i]->machine);
        }
    }
}
