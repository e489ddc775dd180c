/*
 * fast.c - every fast path compared with the kind's own functions.
 *
 * Every row that this machine can run is forced, whether or not it would be
 * chosen. Rows for AVX-512 are also run on emulated instructions
 * (tests/emulate), on every machine.
 */
#define _DEFAULT_SOURCE /* anonymous mappings */
#include "support/test.h"

#include "base/batch.h"
#include "base/rng.h"
#include "emulate/vectors.h"
#include "filter/handle.h"

#include <umbel/counting.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST = 700 };

/* One word and two, full and not. */
static const uint32_t some_hashes[] = {1, 3, 6, 8, 9, 11, 16};

#define EACH_HASHES(hashes)                                                    \
    for (uint32_t hashes, j_ = 0;                                              \
         j_ < TEST_COUNT(some_hashes) && (hashes = some_hashes[j_], true);     \
         j_++)

extern const um_fast um_emulated_blocked256_avx512;
extern const um_fast um_emulated_blocked512_avx512;
extern const um_fast um_emulated_generalized_avx512;

static const um_fast *const emulated[] = {&um_emulated_blocked256_avx512,
                                          &um_emulated_blocked512_avx512,
                                          &um_emulated_generalized_avx512};

/* Settings with which the rows of a kind are tested. */
typedef struct variant {
    const char *kind;
    size_t n;
    umbel_setting set[2];
} variant;

static const variant variants[] = {
    {"bloom", 0, {{NULL, 0}, {NULL, 0}}},
    {"counting", 2, {{"cell_bits", 4}, {"update", 0}}},
    {"counting", 2, {{"cell_bits", 4}, {"update", 1}}},
    {"counting", 2, {{"cell_bits", 8}, {"update", 0}}},
    {"counting", 2, {{"cell_bits", 8}, {"update", 1}}},
    {"generalized", 0, {{NULL, 0}, {NULL, 0}}}, /* derived from the hashes */
};

static const um_fast *emulated_at(size_t i)
{
    return E_AS_ON_X86 && i < TEST_COUNT(emulated) ? emulated[i] : NULL;
}

/* Returns the rows of the table, then emulated ones; NULL past the end. */
static const um_fast *row_at(size_t i)
{
    size_t own = 0;

    while (um_fast_row(own))
        own++;
    if (i < own)
        return um_fast_row(i);
    return emulated_at(i - own);
}

/* A row with some settings. */
typedef struct subject {
    const um_fast *row;
    const variant *as;
} subject;

/* Returns the i-th pair that fits; false past the end. */
static bool subject_at(size_t i, subject *out)
{
    for (size_t r = 0; row_at(r); r++)
        for (size_t v = 0; v < TEST_COUNT(variants); v++)
            if (strcmp(row_at(r)->kind, variants[v].kind) == 0 && i-- == 0) {
                *out = (subject){row_at(r), &variants[v]};
                return true;
            }
    return false;
}

#define EACH_SUBJECT(s)                                                        \
    subject s;                                                                 \
    for (size_t i = 0; subject_at(i, &s); i++)

static umbel_filter *open_one(subject s, uint32_t hashes, uint64_t cells,
                              uint64_t seed)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting halves[] = {{"reset", hashes / 2},
                              {"set", hashes - hashes / 2}};
    umbel_filter *f = NULL;

    p.addressing = s.row->addressing;
    p.cells = cells;
    p.hashes = hashes;
    p.seed = seed;
    p.settings = s.as->set;
    p.nsettings = s.as->n;
    if (um_kind_find(s.row->kind)->hashes) { /* settings imply the number */
        p.settings = halves;
        p.nsettings = TEST_COUNT(halves);
    }
    assert_ok(umbel_create(s.row->kind, &p, &f, &test_refusal));
    return f;
}

/* Two filters of the same shape; the second uses the kind's own functions. */
typedef struct pair {
    umbel_filter *fast, *plain;
} pair;

static pair open_pair(subject s, uint32_t hashes, uint64_t cells, uint64_t seed)
{
    pair p = {open_one(s, hashes, cells, seed),
              open_one(s, hashes, cells, seed)};

    bool takes = um_fast_takes(s.row, um_shape_of(p.fast));
    bool can = takes && s.row->usable(&p.fast->layout);
    /* Our settings fit; those derived from the hashes need not. */
    assert_true(takes || um_kind_find(s.row->kind)->hashes);
    um_filter_use(p.fast, can ? s.row : NULL);
    um_filter_use(p.plain, NULL);
    return p;
}

static void close_pair(pair p)
{
    umbel_close(p.fast);
    umbel_close(p.plain);
}

static void same_queries(pair p, const uint64_t *keys, size_t n)
{
    bool a[MOST] = {false}, b[MOST] = {false};

    assert_ok(umbel_query_fixed(p.fast, keys, 8, n, a, &test_refusal));
    assert_ok(umbel_query_fixed(p.plain, keys, 8, n, b, &test_refusal));
    assert_memory_equal(a, b, sizeof a);
}

static void same_adds(pair p, const uint64_t *keys, size_t n)
{
    bool a[MOST] = {false}, b[MOST] = {false};

    assert_ok(umbel_add_fixed(p.fast, keys, 8, n, a, &test_refusal));
    assert_ok(umbel_add_fixed(p.plain, keys, 8, n, b, &test_refusal));
    assert_memory_equal(a, b, sizeof a);
}

static void same_digest_queries(pair p, const umbel_digest *d, size_t n)
{
    bool a[MOST] = {false}, b[MOST] = {false};

    assert_ok(umbel_query_digests(p.fast, d, n, a, &test_refusal));
    assert_ok(umbel_query_digests(p.plain, d, n, b, &test_refusal));
    assert_memory_equal(a, b, sizeof a);
}

static void same_digest_adds(pair p, const umbel_digest *d, size_t n)
{
    bool a[MOST] = {false}, b[MOST] = {false};

    assert_ok(umbel_add_digests(p.fast, d, n, a, &test_refusal));
    assert_ok(umbel_add_digests(p.plain, d, n, b, &test_refusal));
    assert_memory_equal(a, b, sizeof a);
}

static void same_counts(pair p, const umbel_digest *d, size_t n)
{
    uint64_t a[MOST] = {0}, b[MOST] = {0};

    if (!p.fast->kind->counting)
        return;
    assert_ok(umbel_count_digests(p.fast, d, n, a, &test_refusal));
    assert_ok(umbel_count_digests(p.plain, d, n, b, &test_refusal));
    assert_memory_equal(a, b, sizeof a);
}

static void same_single_query(pair p, uint64_t key)
{
    bool a, b;

    assert_ok(umbel_query(p.fast, &key, 8, &a, &test_refusal));
    assert_ok(umbel_query(p.plain, &key, 8, &b, &test_refusal));
    assert_int_equal(a, b);
}

/* Compares single keys of every length, some of which are hashed inline. */
static void same_strings(pair p, const void *text)
{
    bool a = false, b = false;

    for (size_t len = 0; len <= 40; len++) {
        assert_ok(umbel_query(p.fast, text, len, &a, &test_refusal));
        assert_ok(umbel_query(p.plain, text, len, &b, &test_refusal));
        assert_int_equal(a, b);
        assert_ok(umbel_add(p.fast, text, len, &a, &test_refusal));
        assert_ok(umbel_add(p.plain, text, len, &b, &test_refusal));
        assert_int_equal(a, b);
        assert_ok(umbel_query(p.fast, text, len, &a, &test_refusal));
        assert_true(a);
    }
}

/* Uses the same keys in both filters: answers and cells must be equal. */
static void check_keys(pair p, const uint64_t *keys, size_t n)
{
    umbel_digest d[MOST];

    same_queries(p, keys, n);
    same_adds(p, keys, n / 2);
    assert_ok(umbel_digest_fixed(p.plain, keys, 8, n, d, &test_refusal));
    same_digest_queries(p, d, n);
    same_digest_adds(p, d, n);
    same_queries(p, keys, n);
    same_counts(p, d, n);
    test_assert_same_file(p.fast, p.plain);
    for (size_t i = 0; i < n; i++) {
        same_single_query(p, keys[i]);
        same_single_query(p, ~keys[i]);
    }
    same_strings(p, keys);
}

static void fill(um_rng *rng, uint64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = um_random(rng);
}

/* Fills random digests whose hi is independent of lo, unlike those of keys. */
static void fill_digests(um_rng *rng, umbel_digest *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (umbel_digest){um_random(rng), um_random(rng)};
}

/* Returns a random size, from the smallest that the addressing allows. */
static uint64_t some_cells(const um_fast *row, uint32_t hashes, um_rng *rng)
{
    uint64_t unit = um_granule(um_addressing_find(row->addressing), hashes);
    return (unit < 64 ? 64 : unit) * (1 + um_random_below(rng, 40));
}

static void check_shape(subject s, uint32_t hashes, um_rng *rng)
{
    uint64_t keys[MOST];
    pair p =
        open_pair(s, hashes, some_cells(s.row, hashes, rng), um_random(rng));

    fill(rng, keys, MOST);
    check_keys(p, keys, 5 + (size_t)um_random_below(rng, MOST - 4));
    check_keys(p, keys, 1);
    check_keys(p, keys, 64);
    close_pair(p);
}

static void fast_paths_give_the_same_answers_and_cells(void **state)
{
    um_rng rng = {1};

    (void)state;
    EACH_SUBJECT(s)
    for (uint32_t hashes = 1; hashes <= 20; hashes++)
        for (int round = 0; round < 20; round++)
            check_shape(s, hashes, &rng);
}

/*
 * Tries several batches with every tail length; half of the keys are new each
 * time.
 */
static void check_lengths(subject s, uint32_t hashes, um_rng *rng)
{
    enum { LONGEST = 3 * 8 * UM_VECTOR_STEP + 9 };
    uint64_t keys[LONGEST];
    umbel_digest d[LONGEST];
    pair p = open_pair(s, hashes, 512 * 97, um_random(rng));

    for (size_t n = 0; n <= LONGEST; n++) {
        fill(rng, keys, n);
        same_adds(p, keys, n / 2);
        same_queries(p, keys, n);
        same_adds(p, keys, n);
        fill_digests(rng, d, n);
        same_digest_adds(p, d, n / 2);
        same_digest_queries(p, d, n);
        same_digest_adds(p, d, n);
        same_counts(p, d, n);
    }
    test_assert_same_file(p.fast, p.plain);
    close_pair(p);
}

static void batches_may_end_anywhere(void **state)
{
    um_rng rng = {4};

    (void)state;
    EACH_SUBJECT(s)
    EACH_HASHES(hashes)
    check_lengths(s, hashes, &rng);
}

/* The head records the number of new keys, so equal files mean equal counts. */
static void nobody_need_ask_what_is_fresh(void **state)
{
    uint64_t keys[MOST];
    umbel_digest d[MOST];
    um_rng rng = {5};

    (void)state;
    fill(&rng, keys, MOST);
    fill_digests(&rng, d, MOST);
    EACH_SUBJECT(s)
    EACH_HASHES(hashes)
    {
        pair p = open_pair(s, hashes, 512 * 20, 6);
        assert_ok(umbel_add_fixed(p.fast, keys, 8, MOST, NULL, &test_refusal));
        assert_ok(umbel_add_digests(p.fast, d, MOST / 2, NULL, &test_refusal));
        assert_ok(umbel_add_fixed(p.plain, keys, 8, MOST, NULL, &test_refusal));
        assert_ok(umbel_add_digests(p.plain, d, MOST / 2, NULL, &test_refusal));
        test_assert_same_file(p.fast, p.plain);
        close_pair(p);
    }
}

/* Beyond the second-level cache the loops prefetch: 8 MiB each. */
static void large_filters_too(void **state)
{
    enum { N = 5000, BITS = 1 << 26 };
    um_rng rng = {2};
    uint64_t *keys = malloc(N * sizeof *keys);
    umbel_digest d[MOST];

    (void)state;
    fill(&rng, keys, N);
    EACH_SUBJECT(s)
    EACH_HASHES(hashes)
    {
        uint64_t cell_bits = s.as->n ? s.as->set[0].value : 1;
        pair p = open_pair(s, hashes, BITS / cell_bits, 3);
        for (size_t done = 0; done < N; done += MOST) {
            size_t n = N - done < MOST ? N - done : MOST;
            same_queries(p, keys + done, n);
            same_adds(p, keys + done, n / 2);
            same_queries(p, keys + done, n);
            same_adds(p, keys + done, n);
            fill_digests(&rng, d, n);
            same_digest_adds(p, d, n / 2);
            same_digest_queries(p, d, n);
            same_digest_adds(p, d, n);
            same_counts(p, d, n);
        }
        test_assert_same_file(p.fast, p.plain);
        close_pair(p);
    }
    free(keys);
}

/*
 * Repeats few keys in one batch: no addition may be lost, and full cells stay
 * full.
 */
static void check_repeats(subject s, uint32_t hashes, um_rng *rng)
{
    enum { FEW = 9 };
    uint64_t keys[MOST];
    umbel_digest d[MOST];
    pair p = open_pair(s, hashes, 512, um_random(rng));

    for (int round = 0; round < 4; round++) {
        fill(rng, keys, FEW);
        for (size_t i = FEW; i < MOST; i++)
            keys[i] = keys[i % 2 ? 0 : um_random_below(rng, FEW)];
        assert_ok(umbel_digest_fixed(p.plain, keys, 8, MOST, d, &test_refusal));
        same_adds(p, keys, MOST);
        same_digest_adds(p, d, MOST);
        same_queries(p, keys, MOST);
        same_counts(p, d, MOST);
        test_assert_same_file(p.fast, p.plain);
    }
    close_pair(p);
}

static void repeated_keys_are_added_one_after_another(void **state)
{
    um_rng rng = {8};

    (void)state;
    EACH_SUBJECT(s)
    EACH_HASHES(hashes)
    check_repeats(s, hashes, &rng);
}

/* Uses cells that adding would not produce; many are full. */
static void cells_of_any_content_will_do(void **state)
{
    um_rng rng = {9};
    uint64_t keys[MOST];
    umbel_digest d[MOST];

    (void)state;
    EACH_SUBJECT(s)
    EACH_HASHES(hashes)
    {
        pair p = open_pair(s, hashes, 1 << 14, um_random(&rng));
        for (size_t j = 0; j < p.fast->payload_len; j++)
            p.fast->payload[j] =
                (uint8_t)(um_random(&rng) | -(um_random(&rng) & 1));
        memcpy(p.plain->payload, p.fast->payload, p.fast->payload_len);
        fill(&rng, keys, MOST);
        fill_digests(&rng, d, MOST);
        same_counts(p, d, MOST);
        same_adds(p, keys, MOST);
        same_digest_adds(p, d, MOST);
        same_queries(p, keys, MOST);
        same_counts(p, d, MOST);
        test_assert_same_file(p.fast, p.plain);
        close_pair(p);
    }
}

/* Checks that filters get their row automatically. */
static void rows_are_taken_where_they_fit(void **state)
{
    (void)state;
    EACH_SUBJECT(s)
    for (uint32_t hashes = 2; hashes <= 8; hashes += 3) {
        umbel_filter *f = open_one(s, hashes, 512 * 8, 0);
        if (s.row->usable(&f->layout) && um_fast_takes(s.row, um_shape_of(f)))
            assert_non_null(f->fast);
        umbel_close(f);
    }
}

static void settings_that_no_row_knows_have_none(void **state)
{
    static const variant odd[] = {
        {"counting", 1, {{"cell_bits", 5}, {NULL, 0}}},
        {"counting", 2, {{"cell_bits", 16}, {"update", 1}}},
        {"bloom", 1, {{"groups", 2}, {NULL, 0}}}};
    EACH_SUBJECT(s)
    for (size_t v = 0; v < TEST_COUNT(odd); v++) {
        if (strcmp(s.row->kind, odd[v].kind) != 0)
            continue;
        umbel_filter *f = open_one((subject){s.row, &odd[v]}, 4, 512 * 8, 0);
        assert_false(um_fast_takes(s.row, um_shape_of(f)));
        assert_null(f->fast);
        umbel_close(f);
    }
    (void)state;
}

static void emulated_rows_take_up_to_16_hashes_and_32_bits_of_blocks(void **s)
{
    um_layout l = {.blocks = UINT32_MAX};

    (void)s;
    for (size_t i = 0; emulated_at(i); i++) {
        for (l.hashes = 1; l.hashes <= 16; l.hashes++)
            assert_true(emulated[i]->usable(&l));
        assert_false(emulated[i]->usable(&l));
    }
    l.hashes = 8;
    l.blocks++;
    for (size_t i = 0; emulated_at(i); i++)
        assert_false(emulated[i]->usable(&l));
}

/*
 * Uses the largest filter a row supports, of which only a few pages are
 * allocated.
 */
static void check_most_blocks(subject s, const um_addressing *a)
{
    enum { N = 100, MAX_SELF = 4096 };
    const um_kind *kind = um_kind_find(s.row->kind);
    um_shape shape = {.kind = kind,
                      .addressing = a,
                      .cells = um_granule(a, 8) * UINT32_MAX,
                      .hashes = 8};
    um_rng rng = {7};
    umbel_digest d[N];
    bool hit[N], fresh[N];
    _Alignas(64) uint8_t self[MAX_SELF] = {0};
    um_section section[UM_MAX_SECTIONS];
    um_layout l;

    for (size_t i = 0; i < um_count_settings(kind); i++)
        shape.setting[i] =
            i < s.as->n ? s.as->set[i].value : kind->settings[i].standard;
    if (kind->hashes) /* the first two settings: 4 + 4 */
        shape.setting[0] = shape.setting[1] = 4;
    um_layout_init(&l, a, shape.cells, 8, 0);
    if (!s.row->usable(&l))
        return;
    assert_int_equal(kind->sections(&shape, section), 1);
    assert_true(kind->self_len <= MAX_SELF);
    size_t len = (size_t)um_section_space(section);
    void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        skip();
    kind->attach(self, &shape, &l, &memory);
    fill_digests(&rng, d, N);
    d[0].lo = UINT64_MAX; /* the last block */
    d[1].lo = 0;
    assert_int_equal(s.row->add(self, d, N, fresh), N);
    kind->query(self, d, N, hit);
    for (size_t i = 0; i < N; i++)
        assert_true(hit[i] && fresh[i]);
    munmap(memory, len);
}

static void the_largest_filters_too(void **state)
{
    (void)state;
    EACH_SUBJECT(s)
    {
        const um_addressing *a = um_addressing_find(s.row->addressing);
        if (um_granule(a, 8) > 1) /* has blocks */
            check_most_blocks(s, a);
    }
}

TEST_GROUP(fast)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_paths_give_the_same_answers_and_cells),
        cmocka_unit_test(batches_may_end_anywhere),
        cmocka_unit_test(nobody_need_ask_what_is_fresh),
        cmocka_unit_test(large_filters_too),
        cmocka_unit_test(repeated_keys_are_added_one_after_another),
        cmocka_unit_test(cells_of_any_content_will_do),
        cmocka_unit_test(rows_are_taken_where_they_fit),
        cmocka_unit_test(settings_that_no_row_knows_have_none),
        cmocka_unit_test(
            emulated_rows_take_up_to_16_hashes_and_32_bits_of_blocks),
        cmocka_unit_test(the_largest_filters_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
