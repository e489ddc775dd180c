/*
 * reader.h - a publisher, its server and a reader, all in memory.
 */
#ifndef UM_TEST_READER_H
#define UM_TEST_READER_H

#include "support/exchange.h"

typedef struct scene {
    test_publisher pub;
    test_store place;
    test_server server;
    umbel_store place_ops;
    umbel_fetcher fetcher;
    umbel_admission wants;
    umbel_pull_params params;
    umbel_puller *puller;
    umbel_pulled pulled;
} scene;

/* Opens the reader anew, after a change of its parameters. */
void open_puller(scene *s);
scene *scene_open(void);
void scene_close(scene *s);

/* A test that gets a scene of its own as its state. */
#define on_a_scene(test)                                                       \
    cmocka_unit_test_setup_teardown(test, scene_set_up, scene_tear_down)
int scene_set_up(void **state);
int scene_tear_down(void **state);

umbel_status pull(scene *s);
/* The manifest on the shelf. */
extern const char manifest[];
test_file *manifest_of(scene *s);

/* The reader's file is what was published last, and nothing lies beside it. */
void assert_current(scene *s);
/* The same, after a round that takes this route. */
void assert_pulls(scene *s, umbel_pull_route route);
/* A round fails so, and the file stays as it was. */
void assert_refuses(scene *s, umbel_status status, const char *word);

#endif
