/*
 * exchange.h - stores in memory, and a server that misbehaves on request.
 */
#ifndef UM_TEST_EXCHANGE_H
#define UM_TEST_EXCHANGE_H

#include "support/test.h"

#include <umbel/experimental/exchange.h>

enum { TEST_STORE_FILES = 160 };

typedef struct test_file {
    char name[80];
    uint8_t *bytes;
    size_t len;
} test_file;

/* Named files in memory. Release with test_store_fini. */
typedef struct test_store {
    test_file file[TEST_STORE_FILES];
    size_t n;
    bool locked;
    size_t borrowed; /* bytes returned by get and not yet released */
    char last_put[80];
    size_t puts;
    size_t calls, fail_at; /* number of the failing call; 0: none */
    bool dead;             /* all later calls fail, too */
    const char *failed;    /* name of the first failed call: "get" ... */
} test_store;

/* Returns the store's calls, for umbel_publish and umbel_pull_open. */
umbel_store test_store_ops(test_store *s);
void test_store_fini(test_store *s);

/* Returns the file of that name, or NULL. */
test_file *test_store_find(test_store *s, const char *name);
/*
 * Returns the first file whose name ends with ending; fails if there is none.
 */
test_file *test_store_ending(test_store *s, const char *ending);
/* Returns the number of names with that ending. */
size_t test_store_count(const test_store *s, const char *ending);
void test_store_write(test_store *s, const char *name, const void *bytes,
                      size_t len);
void test_store_remove(test_store *s, const char *name);
void test_store_copy(test_store *to, const test_store *from);

/*
 * A web server of a publish directory. If all fields are zero it behaves well.
 */
typedef struct test_server {
    test_store *site;
    size_t requests;
    uint64_t sent;    /* bytes of all answers */
    size_t chunk;     /* bytes at a time; 0: 100 */
    const char *only; /* misbehaves only for names with this ending */
    uint64_t cut;     /* breaks off after this many bytes of an answer */
    bool from_start;  /* ignores `from` */
    bool bad_range;   /* rejects `from` */
    bool longer;      /* sends one byte too many */
    bool flips;       /* changes the last byte */
    bool tags;        /* sends tags, and answers "unchanged" */
    const char *tag;  /* sends this tag, whatever the file is */
    uint64_t shift;   /* calls take with offsets shifted by this */
    bool unchanged;   /* always answers "unchanged" */
    size_t fresh;     /* requests that bypass caches */
    /* Called before each request, unless NULL. */
    void (*before)(struct test_server *s, const char *name);
    void *ctx;
} test_server;

umbel_fetcher test_server_fetcher(test_server *s);

/* Keys of two publishers; test_create_keys, a group setup, creates them. */
extern uint8_t test_sign_key[UMBEL_SIGN_KEY_LEN],
    test_trust_key[UMBEL_TRUST_KEY_LEN];
extern uint8_t test_other_sign[UMBEL_SIGN_KEY_LEN],
    test_other_key[UMBEL_TRUST_KEY_LEN];
int test_create_keys(void **state);

enum { TEST_NOW = 1000000 };

/* A publisher of "words": a filter with 1,000 keys and capacity for 2,000. */
typedef struct test_publisher {
    test_store site;
    umbel_store ops;
    umbel_filter *filter;
    umbel_publication what;
    umbel_published done;
} test_publisher;

void test_publisher_open(test_publisher *p);
void test_publisher_close(test_publisher *p);
umbel_status test_publish(test_publisher *p);
/* Adds keys to the filter, and publishes it. */
void test_publish_more(test_publisher *p, uint64_t from, size_t n);

#endif
