/* case_study.c - the set B of rbf-case-study. */
#include "support/test.h"

#include "papers/frame/paper.h"
#include "papers/rbf/case-study/ways.h"

#include <stdlib.h>

/* Returns how many traces of the probing cycle stop before their penultimate
 * node. */
static size_t count_short(const world *w, const bool *match)
{
    size_t n = 0;

    for (size_t t = 0; t < TRACES; t++) {
        uint32_t i = w->probe.start[t], end = w->probe.start[t + 1] - 1;
        while (i < end && !match[w->probe.hop[i]])
            i++;
        n += i < end;
    }
    return n;
}

/* The text: "varying from 0.6842 (beta = 0) to 0 (beta = 1)", although even the
 * list stops short. What the learning cycle knows leaves more than the list
 * has. */
static void no_trace_stops_short_once_all_of_B_is_removed(void **state)
{
    way how = {.hashes = 1, .method = "ratio", .beta = 1};
    um_rng rng = um_round_stream(1, "the world of rbf-case-study", 0);
    world *w = calloc(1, sizeof *w);
    notebook n;

    (void)state;
    assert_true(w && world_make(w, &world_shapes[PLAIN_WORLD], &rng));
    bool *match = calloc(w->addresses, sizeof *match);
    assert_true(count_short(w, w->stop) > TRACES / 20);
    assert_ok(notebook_init(&n, w, 1, &test_refusal));
    for (how.never = 0; how.never < NEGATIVES; how.never++) {
        assert_ok(write_down(&n, &how, 60000, match, &test_refusal));
        assert_true((count_short(w, match) == 0) == (how.never == OF_PROBING));
    }
    notebook_fini(&n);
    free(match);
    world_fini(w);
    free(w);
}

TEST_GROUP(case_study)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_trace_stops_short_once_all_of_B_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
