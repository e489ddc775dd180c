/*
 * sync.h - servers that exchange filters, in memory.
 */
#ifndef UM_TEST_SYNC_H
#define UM_TEST_SYNC_H

#include "support/test.h"
#include "sync/internal.h"

#include <umbel/experimental/sync.h>

/* A server of a test. Zero means the default. */
typedef struct test_sync_server {
    umbel_sync *machine;
    umbel_filter *own; /* of list 0, the current epoch */
    umbel_filter *shape;
    uint64_t seed, incarnation;
    umbel_sync_list list;
    umbel_sync_params params;
    uint64_t events[UMBEL_SYNC_EXPIRED + 1];
    umbel_sync_reason last_reason;
    char last_text[256];
    uint8_t last_origin[UMBEL_ORIGIN_LEN];
} test_sync_server;

/*
 * Opens a server whose key is derived from seed. list.shape may be NULL: then
 * it is a counting filter of 8-bit cells for 1000 keys.
 */
void test_sync_open(test_sync_server *s, uint64_t seed);
void test_sync_close(test_sync_server *s);
/* Adds key i to its own filter this many times. */
void test_sync_add(test_sync_server *s, uint64_t i, uint64_t times);
void test_sync_publish(test_sync_server *s);
uint64_t test_sync_count(const test_sync_server *s, uint64_t i);
uint64_t test_sync_word(const test_sync_server *s);
/* Returns the key of a server that was opened with that seed. */
const uint8_t *test_sync_secret(uint64_t seed);

/* Signatures that are a keyed hash, a hundred times as fast as Ed25519, for
 * groups that replace um_sync_sign and um_sync_is_signed. */
void test_sync_hash_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature);
bool test_sync_hash_signed(const uint8_t *origin, const void *text, size_t len,
                           const uint8_t *signature);

/* Two connected servers, and the traffic between them. */
typedef struct test_sync_link {
    test_sync_server *end[2];
    int peer[2]; /* peer number of the other, at each end */
    uint64_t bytes[2], messages[2], largest; /* sent by end i */
} test_sync_link;

void test_sync_connect(test_sync_link *l, test_sync_server *a,
                       test_sync_server *b);
/* Delivers messages until neither has any left. */
void test_sync_run(test_sync_link *l, uint64_t now);

#endif
