/*
 * reader.h - a publisher, its server and a reader, all in memory.
 */
#ifndef UM_TEST_READER_H
#define UM_TEST_READER_H

#include "support/exchange.h"

typedef struct fixture {
    test_publisher pub;
    test_store place;
    test_server server;
    umbel_store place_ops;
    umbel_fetcher fetcher;
    umbel_admission wants;
    umbel_pull_params params;
    umbel_puller *puller;
    umbel_pulled pulled;
} fixture;

/* Opens the reader anew, after a change of its parameters. */
void open_puller(fixture *s);
fixture *fixture_open(void);
void fixture_close(fixture *s);

/* A test that gets a fixture of its own as its state. */
#define on_a_fixture(test)                                                     \
    cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)
int fixture_set_up(void **state);
int fixture_tear_down(void **state);

umbel_status pull(fixture *s);
/* The manifest in the publish directory. */
extern const char manifest[];
test_file *manifest_of(fixture *s);

/* The reader's file is what was published last, and nothing lies beside it. */
void assert_current(fixture *s);
/* The same, after a round that takes this route. */
void assert_pulls(fixture *s, umbel_pull_route route);
/* A round fails so, and the file stays as it was. */
void assert_refuses(fixture *s, umbel_status status, const char *word);

#endif
