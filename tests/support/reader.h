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

/* Reopens the reader after a change of its parameters. */
void open_puller(fixture *s);
fixture *fixture_open(void);
void fixture_close(fixture *s);

/* Declares a test that gets its own fixture as its state. */
#define on_a_fixture(test)                                                     \
    cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)
int fixture_set_up(void **state);
int fixture_tear_down(void **state);

umbel_status pull(fixture *s);
/*
 * Name of the manifest; manifest_of returns its file in the publish directory.
 */
extern const char manifest[];
test_file *manifest_of(fixture *s);

/*
 * Asserts that the reader's file is the last published one, and that no other
 * files but its state remain.
 */
void assert_current(fixture *s);
/* Pulls; asserts the route, and the same as assert_current. */
void assert_pulls(fixture *s, umbel_pull_route route);
/* Pulls; asserts that it fails so and that the file is unchanged. */
void assert_refuses(fixture *s, umbel_status status, const char *word);

#endif
