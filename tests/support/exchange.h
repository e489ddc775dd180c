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

/* Named bytes in memory. Release with test_store_fini. */
typedef struct test_store {
    test_file file[TEST_STORE_FILES];
    size_t n;
    bool locked;
    size_t borrowed; /* bytes given by get and not released yet */
    char last_put[80];
    size_t puts;
    size_t calls, fail_at; /* the call that fails; 0: none does */
    bool dead;             /* ... and so do all after it */
    const char *failed;    /* the call that failed first: "get" ... */
} test_store;

/* The store's calls, for umbel_publish and umbel_pull_open. */
umbel_store test_store_ops(test_store *s);
void test_store_fini(test_store *s);

/* The file of that name, or NULL. */
test_file *test_store_find(test_store *s, const char *name);
/* Returns the first file whose name ends like this; fails without one. */
test_file *test_store_ending(test_store *s, const char *ending);
/* How many names end so. */
size_t test_store_count(const test_store *s, const char *ending);
void test_store_write(test_store *s, const char *name, const void *bytes,
                      size_t len);
void test_store_remove(test_store *s, const char *name);
void test_store_copy(test_store *to, const test_store *from);

/* A web server of a publish directory. Zero: it behaves. */
typedef struct test_server {
    test_store *site;
    size_t requests;
    uint64_t sent;    /* bytes of all answers */
    size_t chunk;     /* bytes at a time; 0: 100 */
    const char *only; /* the names that it misbehaves for end so */
    uint64_t cut;     /* ends after that many bytes of an answer */
    bool from_start;  /* ignores `from` */
    bool bad_range;   /* refuses `from` */
    bool longer;      /* sends a byte too many */
    bool flips;       /* changes the last byte */
    bool tags;        /* gives tags, and answers "unchanged" */
    const char *tag;  /* ... this one, whatever the file is */
    uint64_t shift;   /* calls take with places moved by that */
    bool unchanged;   /* answers so, whatever was asked */
    size_t fresh;     /* requests that caches had to pass on */
    /* Called before each request, when given. */
    void (*before)(struct test_server *s, const char *name);
    void *ctx;
} test_server;

umbel_fetcher test_server_fetcher(test_server *s);

/* Keys of two publishers, which test_create_keys makes: the setup of a group.
 */
extern uint8_t test_sign_key[UMBEL_SIGN_KEY_LEN],
    test_trust_key[UMBEL_TRUST_KEY_LEN];
extern uint8_t test_other_sign[UMBEL_SIGN_KEY_LEN],
    test_other_key[UMBEL_TRUST_KEY_LEN];
int test_create_keys(void **state);

enum { TEST_NOW = 1000000 };

/* A publisher of "words": a filter with 1,000 keys and room for 2,000. */
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
