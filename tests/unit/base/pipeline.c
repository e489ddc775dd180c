/*
 * pipeline.c - order, bounds and ends of a stream of pieces.
 *
 * Most useful with ThreadSanitizer: only what several threads access
 * concurrently is atomic here.
 */
#include "support/test.h"

#include "base/rng.h"
#include "base/threads.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PIECES = 40 };

typedef struct piece {
    uint64_t number, square;
    int owners; /* functions that use it now: never two */
} piece;

typedef struct stream {
    uint64_t length;    /* number of pieces */
    uint64_t stop_at;   /* drain stops at this piece */
    uint64_t filled;    /* so far; only fill uses it */
    uint64_t drained;   /* so far; only drain uses it */
    uint64_t after_end; /* fills after the end, which are errors */
    unsigned filling, draining, working, max_working;
    bool wrong, ended;
} stream;

/* Keeps a step busy for a time that differs from piece to piece. */
static uint64_t slow_square(uint64_t x)
{
    um_rng rng = {x};
    uint64_t rounds = um_random_below(&rng, 3000), sum = 0;

    for (uint64_t i = 0; i < rounds; i++)
        sum += um_random(&rng) & 1;
    return x * x + (sum > rounds);
}

static void enter(stream *s, unsigned *inside, piece *p)
{
    if (__atomic_add_fetch(inside, 1, __ATOMIC_RELAXED) != 1 || p->owners)
        __atomic_store_n(&s->wrong, true, __ATOMIC_RELAXED);
    p->owners = 1;
}

static void leave(unsigned *inside, piece *p)
{
    p->owners = 0;
    __atomic_sub_fetch(inside, 1, __ATOMIC_RELAXED);
}

static bool fill(void *ctx, void *arg)
{
    stream *s = ctx;
    piece *p = arg;

    s->after_end += s->ended;
    enter(s, &s->filling, p);
    s->ended = s->filled == s->length;
    if (!s->ended)
        p->number = s->filled++;
    leave(&s->filling, p);
    return !s->ended;
}

static void work(void *ctx, void *arg)
{
    stream *s = ctx;
    piece *p = arg;
    unsigned n = __atomic_add_fetch(&s->working, 1, __ATOMIC_RELAXED);
    unsigned most = __atomic_load_n(&s->max_working, __ATOMIC_RELAXED);

    while (n > most &&
           !__atomic_compare_exchange_n(&s->max_working, &most, n, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    p->square = slow_square(p->number);
    __atomic_sub_fetch(&s->working, 1, __ATOMIC_RELAXED);
}

static bool drain(void *ctx, void *arg)
{
    stream *s = ctx;
    piece *p = arg;

    enter(s, &s->draining, p);
    if (p->number != s->drained || p->square != p->number * p->number)
        __atomic_store_n(&s->wrong, true, __ATOMIC_RELAXED);
    s->drained++;
    leave(&s->draining, p);
    return p->number != s->stop_at;
}

static stream run(unsigned threads, size_t npieces, uint64_t length,
                  uint64_t stop_at)
{
    piece memory[MAX_PIECES] = {{0}};
    void *pieces[MAX_PIECES];
    stream s = {.length = length, .stop_at = stop_at};
    um_pipeline crew = {.threads = threads,
                        .pieces = pieces,
                        .npieces = npieces,
                        .ctx = &s,
                        .fill = fill,
                        .work = work,
                        .drain = drain};

    for (size_t i = 0; i < MAX_PIECES; i++)
        pieces[i] = &memory[i];
    um_pipeline_run(&crew);
    assert_false(s.wrong);
    assert_int_equal(s.after_end, 0);
    assert_int_equal(s.filling + s.draining + s.working, 0);
    assert_true(s.max_working <= (threads ? threads : 1));
    return s;
}

static const unsigned crews[] = {0, 1, 2, 3, 7, 20};
static const size_t rings[] = {1, 2, 3, 14, 40};

static void pieces_are_drained_in_the_order_of_filling(void **state)
{
    static const uint64_t lengths[] = {0, 1, 2, 39, 500};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(crews); i++)
        for (size_t j = 0; j < TEST_COUNT(rings); j++)
            for (size_t k = 0; k < TEST_COUNT(lengths); k++) {
                stream s = run(crews[i], rings[j], lengths[k], UINT64_MAX);
                assert_int_equal(s.filled, lengths[k]);
                assert_int_equal(s.drained, lengths[k]);
            }
}

/* Pieces filled in advance are dropped, at most as many as the ring holds. */
static void a_drain_stops_the_stream_at_its_piece(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(crews); i++)
        for (size_t j = 0; j < TEST_COUNT(rings); j++)
            for (uint64_t stop = 0; stop < 60; stop += 19) {
                stream s = run(crews[i], rings[j], 1000, stop);
                assert_int_equal(s.drained, stop + 1);
                assert_true(s.filled > stop);
                assert_true(s.filled <= stop + 1 + rings[j]);
            }
}

/*
 * A single thread fills, works on and drains each piece before the next, as
 * interactive use needs.
 */
static void one_thread_goes_piece_by_piece(void **state)
{
    (void)state;
    stream s = run(1, 40, 1000, 10);
    assert_int_equal(s.filled, 11);
    assert_int_equal(s.max_working, 1);
}

static void too_many_threads_are_as_many_as_may_be(void **state)
{
    (void)state;
    assert_int_equal(run(UM_MAX_THREADS + 50, 40, 100, UINT64_MAX).drained,
                     100);
}

static void there_is_a_core_at_least(void **state)
{
    (void)state;
    assert_in_range(um_cores(), 1, UM_MAX_THREADS);
}

TEST_GROUP(pipeline)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_drained_in_the_order_of_filling),
        cmocka_unit_test(a_drain_stops_the_stream_at_its_piece),
        cmocka_unit_test(one_thread_goes_piece_by_piece),
        cmocka_unit_test(too_many_threads_are_as_many_as_may_be),
        cmocka_unit_test(there_is_a_core_at_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
