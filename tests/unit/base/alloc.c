/*
 * alloc.c - memory: the caller's allocator, and failing allocations.
 *
 * A scenario makes every call that allocates. It is repeated with the nth
 * allocation failing, for every n, until none fails.
 */
#include "support/test.h"

#include "base/alloc.h"
#include "filter/handle.h"

#include <umbel/file.h>
#include <umbel/plan.h>
#include <umbel/verify.h>

#include <stdlib.h>
#include <string.h>

enum { HANDLE_MAX = 256, LINE = 64 }; /* bytes besides the payload */

/* Everything the scenario creates; NULL if not created. */
typedef struct made {
    umbel_filter *opened, *copy, *folded, *decoded, *loaded, *mapped;
    umbel_filter *unsized, *fit, *fed, *snapshot;
    umbel_decoder *decoder;
    umbel_verifier *verifier;
    uint8_t *bytes;
} made;

static void release(made *m)
{
    umbel_verify_close(m->verifier);
    umbel_decoder_close(m->decoder);
    umbel_filter *const filters[] = {
        m->opened, m->copy,    m->folded, m->decoded, m->loaded,
        m->mapped, m->unsized, m->fit,    m->fed,     m->snapshot};
    for (size_t i = 0; i < TEST_COUNT(filters); i++)
        umbel_close(filters[i]);
    free(m->bytes);
    *m = (made){0};
}

static umbel_status build(made *m, const umbel_alloc *a)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.cells = 512 * 12;
    p.hashes = 5;
    p.alloc = a;
    umbel_status status = umbel_create(NULL, &p, &m->opened, &test_refusal);
    if (status != UMBEL_OK)
        return status;
    test_add(m->opened, 0, 100); /* allocates nothing */
    status = umbel_copy(m->opened, &m->copy, &test_refusal);
    if (status == UMBEL_OK)
        status = umbel_fold(m->opened, 3, &m->folded, &test_refusal);
    if (status == UMBEL_OK)
        status = umbel_merge(m->opened, m->copy, UMBEL_OR, &test_refusal);
    return status;
}

static umbel_status travel(made *m, const umbel_alloc *a, const char *path)
{
    umbel_source s = UMBEL_SOURCE_INIT;
    size_t len;

    s.alloc = a;
    m->bytes = test_encode(m->opened, &len);
    umbel_status status =
        umbel_decode(m->bytes, len, &s, &m->decoded, &test_refusal);
    if (status == UMBEL_OK)
        status = umbel_save(m->opened, path, &test_refusal);
    if (status == UMBEL_OK)
        status = umbel_load(path, &s, &m->loaded, &test_refusal);
    if (status == UMBEL_OK)
        status = umbel_map(path, &s, &m->mapped, &test_refusal);
    return status;
}

static umbel_status feed(made *m, const umbel_alloc *a)
{
    umbel_source s = UMBEL_SOURCE_INIT;
    size_t len = umbel_encoded_len(m->opened);

    s.alloc = a;
    umbel_status status =
        umbel_decoder_open(&s, len, &m->decoder, &test_refusal);
    if (status == UMBEL_OK)
        status = umbel_decoder_feed(m->decoder, m->bytes, len, &test_refusal);
    if (status == UMBEL_OK)
        status = umbel_decoder_finish(m->decoder, &m->fed, &test_refusal);
    return status;
}

static umbel_status share(made *m)
{
    umbel_status status = umbel_share(m->copy, &test_refusal);

    if (status == UMBEL_OK)
        status = umbel_snapshot(m->copy, &m->snapshot, &test_refusal);
    return status;
}

/* Adds enough members for the verifier's table to grow twice. */
static umbel_status verify(made *m)
{
    enum { MEMBERS = 2000 };
    char *keys = test_keys(0, MEMBERS);
    umbel_slice *slices = test_slices(keys, MEMBERS);
    umbel_status status =
        umbel_verify_open(m->opened, &m->verifier, &test_refusal);

    if (status == UMBEL_OK)
        status =
            umbel_verify_members(m->verifier, slices, MEMBERS, &test_refusal);
    if (status == UMBEL_OK)
        status = umbel_verify_outside(m->verifier, slices, MEMBERS, NULL,
                                      &test_refusal);
    free(slices);
    free(keys);
    return status;
}

static umbel_status fit(made *m, const umbel_alloc *a)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.alloc = a;
    umbel_status status =
        umbel_create_unsized(NULL, &p, 8192, &m->unsized, &test_refusal);
    if (status != UMBEL_OK)
        return status;
    test_add(m->unsized, 0, 100);
    return umbel_fit(m->unsized, &m->fit, &test_refusal);
}

static umbel_status run(made *m, const umbel_alloc *a, const char *path)
{
    umbel_status status = build(m, a);

    if (status == UMBEL_OK)
        status = travel(m, a, path);
    if (status == UMBEL_OK)
        status = feed(m, a);
    if (status == UMBEL_OK)
        status = share(m);
    if (status == UMBEL_OK)
        status = verify(m);
    if (status == UMBEL_OK)
        status = fit(m, a);
    return status;
}

static bool all_made(const made *m)
{
    return m->opened && m->copy && m->folded && m->decoded && m->loaded &&
           m->mapped && m->unsized && m->fit && m->verifier && m->fed &&
           m->snapshot;
}

/* Fails the nth allocation and expects a clean error from any call. */
static bool survives(size_t n, const char *path)
{
    test_memory c = {.fail_at = n};
    umbel_alloc a = test_alloc(&c);
    made m = {0};
    umbel_status status = run(&m, &a, path);
    bool reached = c.calls >= n;

    assert_int_equal(all_made(&m), !reached);
    if (reached)
        assert_refused(status, UMBEL_E_NOMEM, "no memory");
    else
        assert_ok(status);
    release(&m);
    assert_int_equal(c.live_bytes, 0);
    assert_int_equal(c.live_blocks, 0);
    return reached;
}

static void every_allocation_may_fail(void **state)
{
    char *dir = test_dir_make(), *path = test_path(dir, "a.umb");
    size_t n = 1;

    (void)state;
    while (survives(n, path))
        n++;
    /* Each of eight filters allocates a handle, seven of them a payload. */
    assert_true(n > 15);
    free(path);
    test_dir_remove(dir);
}

/* A failed call must not change its output. */
static void outputs_are_untouched_without_memory(void **state)
{
    test_memory c = {.fail_at = 1};
    umbel_alloc a = test_alloc(&c);
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *const mark = (umbel_filter *)(void *)&c, *f = mark;

    (void)state;
    p.capacity = 10;
    p.alloc = &a;
    assert_int_equal(umbel_create(NULL, &p, &f, NULL), UMBEL_E_NOMEM);
    assert_ptr_equal(f, mark);
    c = (test_memory){.fail_at = 2};
    assert_int_equal(umbel_create(NULL, &p, &f, NULL), UMBEL_E_NOMEM);
    assert_ptr_equal(f, mark);
    assert_int_equal(c.live_bytes, 0);
}

/* A verifier that failed to store members still works. */
static void a_verifier_outlives_a_failed_growth(void **state)
{
    test_memory c = {0};
    umbel_alloc a = test_alloc(&c);
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_verifier *v = NULL;
    umbel_slice key = {"1", 1};
    umbel_verdict x;

    (void)state;
    p.capacity = 10;
    p.alloc = &a;
    umbel_filter *f = test_open(&p);
    assert_ok(umbel_verify_open(f, &v, &test_refusal));
    c.fail_at = c.calls + 1;
    assert_int_equal(umbel_verify_members(v, &key, 1, NULL), UMBEL_E_NOMEM);
    assert_ok(umbel_verify_members(v, &key, 1, &test_refusal));
    assert_ok(umbel_verify_outside(v, &key, 1, NULL, &test_refusal));
    umbel_verify_result(v, &x);
    assert_int_equal(x.dropped, 1);
    umbel_verify_close(v);
    umbel_close(f);
    assert_int_equal(c.live_bytes, 0);
}

static void memory_is_zeroed_whoever_gave_it(void **state)
{
    test_memory c = {0};
    const umbel_alloc mine = test_alloc(&c);
    const umbel_alloc standard = um_alloc_or_default(NULL);
    const umbel_alloc *const allocs[] = {&mine, &standard};
    /* The largest is allocated by mmap. */
    static const size_t lengths[] = {1, 64, 1000, (1 << 20) + 1};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(allocs); i++)
        for (size_t j = 0; j < TEST_COUNT(lengths); j++) {
            uint8_t *p = um_get(allocs[i], lengths[j]);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % 64, 0);
            assert_int_equal(p[0], 0);
            assert_memory_equal(p, p + 1, lengths[j] - 1);
            um_put(allocs[i], p, lengths[j]);
        }
    um_put(&mine, NULL, 10);
    assert_int_equal(c.live_bytes, 0);
}

static void impossible_amounts_are_out_of_memory(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    test_memory c = {.fail_at = 1};
    umbel_alloc a = test_alloc(&c);

    (void)state;
    p.cells = UINT64_C(1) << 48;
    p.hashes = 1;
    p.alloc = &a; /* 32 TiB, which the kernel might even promise */
    assert_refused(umbel_create(NULL, &p, &f, &test_refusal), UMBEL_E_NOMEM,
                   "35184372088832");
    assert_null(f);
    assert_int_equal(c.live_bytes, 0);
}

/* Callers may have a filter for each of their users. */
static void a_small_filter_takes_little_more_than_its_cells(void **state)
{
    test_memory c = {.fail_at = 0};
    umbel_alloc a = test_alloc(&c);
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    (void)state;
    p.capacity = 100;
    p.fpr = 0.01;
    p.alloc = &a;
    assert_ok(umbel_create(NULL, &p, &f, &test_refusal));
    assert_int_equal(c.live_blocks, 1);
    assert_in_range(c.live_bytes, 1, HANDLE_MAX + LINE + f->payload_len);
    umbel_close(f);
}

TEST_GROUP(alloc)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_filter_takes_little_more_than_its_cells),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(outputs_are_untouched_without_memory),
        cmocka_unit_test(a_verifier_outlives_a_failed_growth),
        cmocka_unit_test(memory_is_zeroed_whoever_gave_it),
        cmocka_unit_test(impossible_amounts_are_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
