/*
 * ribbon.c - kind ribbon: no false negatives, and hardly a bit more than
 * needed.
 */
#include "support/test.h"

#include "base/cpu.h"
#include "base/rng.h"
#include "filter/envelope.h"
#include "filter/handle.h"
#include "filter/kind.h"
#include "filter/sizing.h"
#include "kinds/ribbon/ribbon.h"

#include <umbel/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MILLION = 1000000, PIECE = 50000 };

/* Returns the digests of keys from .. from+n-1, 8 bytes each. */
static umbel_digest *digests(const umbel_filter *like, uint64_t from, size_t n)
{
    umbel_digest *d = malloc((n + 1) * sizeof *d);

    assert_non_null(d);
    for (size_t i = 0; i < n; i++) {
        uint64_t key = from + i;
        assert_ok(umbel_digest_fixed(like, &key, 8, 1, &d[i], &test_refusal));
    }
    return d;
}

static umbel_params at_error(double fpr)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.fpr = fpr;
    return p;
}

static umbel_params wide_at(double fpr)
{
    static const umbel_setting wide = {"wide", 1};
    umbel_params p = at_error(fpr);

    p.settings = &wide;
    p.nsettings = 1;
    return p;
}

static umbel_filter *build(const umbel_params *p, const umbel_digest *d,
                           const uint64_t *values, size_t n, unsigned threads)
{
    umbel_key_list m = UMBEL_KEY_LIST(d, n);
    umbel_build_params how = UMBEL_BUILD_INIT;
    umbel_filter *f = NULL;

    m.values = values;
    how.threads = threads;
    assert_ok(umbel_build("ribbon", p, &m, &how, &f, &test_refusal));
    return f;
}

static umbel_filter *build_numbers(const umbel_params *p, uint64_t from,
                                   size_t n)
{
    umbel_filter *empty = build(p, NULL, NULL, 0, 1);
    umbel_digest *d = digests(empty, from, n);
    umbel_filter *f = build(p, d, NULL, n, 2);

    umbel_close(empty);
    free(d);
    return f;
}

static size_t hits(const umbel_filter *f, uint64_t from, size_t n)
{
    static uint64_t keys[PIECE];
    static bool hit[PIECE];
    size_t sum = 0;

    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < PIECE ? n - i : PIECE;
        for (size_t j = 0; j < some; j++)
            keys[j] = from + i + j;
        assert_ok(umbel_query_fixed(f, keys, 8, some, hit, &test_refusal));
        for (size_t j = 0; j < some; j++)
            sum += hit[j];
    }
    return sum;
}

static void assert_binomial(size_t got, double n, double p)
{
    assert_near((double)got, n * p, 5 * sqrt(n * p * (1 - p)));
}

/* Returns the size of the file relative to the minimum. */
static double overhead(const umbel_filter *f, double n, double fpr)
{
    return 8 * (double)umbel_encoded_len(f) / (n * -log2(fpr));
}

static void a_million_keys_take_hardly_more_than_they_must(void **state)
{
    static const struct {
        double fpr, most;
    } bars[] = {{0x1p-7, 1.0035}, {0x1p-10, 1.0028}, {0x1p-14, 1.0022},
                {1e-2, 1.02},     {1e-3, 1.02},      {1e-4, 1.02}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bars); i++) {
        umbel_params p = at_error(bars[i].fpr);
        umbel_filter *f = build_numbers(&p, 0, MILLION);
        assert_int_equal(umbel_added(f), MILLION);
        assert_int_equal(hits(f, 0, MILLION), MILLION);
        assert_binomial(hits(f, MILLION, MILLION), MILLION, bars[i].fpr);
        assert_true(overhead(f, MILLION, bars[i].fpr) <= bars[i].most);
        umbel_close(f);
    }
}

/*
 * Checks that a salt is found for as many slots as keys, or for one or two
 * more.
 */
static void few_keys_take_a_slot_each(void **state)
{
    static const size_t sizes[] = {2, 63, 64, 65, 100, 300, 1000, 1500};
    enum { SETS = 20, TAIL = 4 /* the number of a setting */ };
    umbel_params p = at_error(0x1p-8);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++)
        for (uint64_t set = 0; set < SETS; set++) {
            size_t n = sizes[i];
            umbel_filter *f = build_numbers(&p, set << 32, n);
            assert_in_range(um_shape_of(f)->setting[TAIL], n, n + 2);
            assert_int_equal(hits(f, set << 32, n), n);
            umbel_close(f);
        }
}

static void any_number_of_keys_has_any_error(void **state)
{
    static const size_t sizes[] = {1,  2,   7,    63,   64,   65,
                                   66, 200, 1500, 1501, 5000, 40000};
    static const double errors[] = {0.9, 0.5, 0.3, 0.01, 0x1p-8, 0.0007};
    enum { OUTSIDE = 200000 };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++)
        for (size_t j = 0; j < TEST_COUNT(errors); j++) {
            umbel_params p = at_error(errors[j]);
            umbel_filter *f = build_numbers(&p, 7 * i, sizes[i]);
            double says = umbel_predict(f);
            assert_int_equal(hits(f, 7 * i, sizes[i]), sizes[i]);
            assert_true(says <= errors[j] * 1.02);
            assert_binomial(hits(f, MILLION, OUTSIDE), OUTSIDE, says);
            umbel_close(f);
        }
}

static void many_keys_err_as_was_asked(void **state)
{
    umbel_params p = at_error(0.2);
    umbel_filter *f = build_numbers(&p, 0, 300000);

    (void)state;
    assert_near(umbel_predict(f), 0.2, 0.0004);
    assert_near(umbel_fpr_at(f, 300000), 0.2, 1e-5);
    umbel_close(f);
}

/* Uses more than one shard, so that threads share the work. */
static void threads_order_and_repetition_change_no_bit(void **state)
{
    enum { KEYS = 1200000, MORE = 1000 };
    umbel_params p = at_error(0.05);
    umbel_filter *one = build(&p, NULL, NULL, 0, 1);
    umbel_digest *d = digests(one, 0, KEYS + MORE);
    um_rng rng = {11};

    (void)state;
    umbel_close(one);
    one = build(&p, d, NULL, KEYS, 1);
    for (size_t i = KEYS - 1; i > 0; i--) {
        size_t j = um_scale(um_random(&rng), i + 1);
        umbel_digest other = d[i];
        d[i] = d[j];
        d[j] = other;
    }
    memcpy(d + KEYS, d + 17, MORE * sizeof *d);
    for (unsigned threads = 1; threads <= 7; threads += 3) {
        umbel_filter *f = build(&p, d, NULL, KEYS + MORE, threads);
        test_assert_same_file(one, f);
        umbel_close(f);
    }
    umbel_close(one);
    free(d);
}

/* A shard ends before the key at its border, which is the first of the next. */
static void keys_between_two_shards_are_found(void **state)
{
    enum { KEYS = 600000, BETWEEN = 5, AT_BUCKETS = 2 };
    const uint64_t border = (uint64_t)1 << UM_RIBBON_SHARD_BITS;
    umbel_params p = at_error(0x1p-10);
    umbel_filter *f = build(&p, NULL, NULL, 0, 1);
    umbel_digest *d = digests(f, 0, KEYS);
    bool hit[BETWEEN];

    (void)state;
    umbel_close(f);
    f = build(&p, d, NULL, KEYS, 2);
    uint64_t starts = um_settings_of(f)[AT_BUCKETS] * UM_RIBBON_BUCKET;
    umbel_close(f);
    assert_true(starts > border);
    for (uint64_t i = 0; i < BETWEEN; i++)
        d[i].lo = (uint64_t)(((um_u128)border << 64) / starts) + 1 + i;
    assert_int_equal(um_scale(d[0].lo, starts), border);
    assert_int_equal(um_scale(d[0].lo - 2, starts), border - 1);
    f = build(&p, d, NULL, KEYS, 2);
    assert_int_equal(um_settings_of(f)[AT_BUCKETS] * UM_RIBBON_BUCKET, starts);
    assert_ok(umbel_query_digests(f, d, BETWEEN, hit, &test_refusal));
    for (size_t i = 0; i < BETWEEN; i++)
        assert_true(hit[i]);
    umbel_close(f);
    free(d);
}

/* All keys are equal: they are sorted quickly, and count as one. */
static void a_key_repeated_for_ever_is_one_key(void **state)
{
    enum { TIMES = 300000 };
    umbel_params p = at_error(0.01);
    umbel_digest *d = malloc(TIMES * sizeof *d);

    (void)state;
    assert_non_null(d);
    for (size_t i = 0; i < TIMES; i++)
        d[i] = (umbel_digest){5, 6};
    umbel_filter *f = build(&p, d, NULL, TIMES, 2);
    assert_int_equal(umbel_added(f), 1);
    umbel_close(f);
    free(d);
}

/*
 * Digests with equal beginnings go to one bucket, and are bumped until they
 * fit.
 */
static void keys_that_crowd_one_bucket_find_a_place(void **state)
{
    enum { CROWD = 20000 };
    umbel_params p = at_error(0.01);
    umbel_digest *d = malloc(CROWD * sizeof *d);
    bool *hit = malloc(CROWD);
    um_rng rng = {3};

    (void)state;
    assert_non_null(d);
    assert_non_null(hit);
    for (size_t i = 0; i < CROWD; i++)
        d[i] = (umbel_digest){i, um_random(&rng)};
    umbel_filter *f = build(&p, d, NULL, CROWD, 1);
    assert_ok(umbel_query_digests(f, d, CROWD, hit, &test_refusal));
    for (size_t i = 0; i < CROWD; i++)
        assert_true(hit[i]);
    umbel_close(f);
    free(d);
    free(hit);
}

static void a_size_in_bits_is_kept_and_used(void **state)
{
    static const size_t sizes[] = {100, 3000, 200000};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        p.cells = sizes[i] * 9;
        umbel_filter *f = build_numbers(&p, 0, sizes[i]);
        assert_true(umbel_cells(f) <= p.cells);
        assert_true((double)umbel_cells(f) >=
                    (i ? 0.98 : 0.85) * (double)p.cells);
        assert_int_equal(hits(f, 0, sizes[i]), sizes[i]);
        assert_true(umbel_target_fpr(f) >= umbel_fpr_at(f, 1) &&
                    umbel_target_fpr(f) <= umbel_fpr_at(f, 1) * 1.0025);
        umbel_close(f);
    }
}

/* The first estimate is too large here, and so are some later ones. */
static void a_size_that_takes_several_tries_is_kept(void **state)
{
    enum { KEYS = 1595, BITS = 1658, CALLS = 25 }; /* a try makes 13 */
    test_memory m = {0};
    umbel_alloc alloc = test_alloc(&m);
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    (void)state;
    p.cells = BITS;
    f = build_numbers(&p, 0, KEYS);
    umbel_digest *d = digests(f, 0, KEYS);
    umbel_key_list list = UMBEL_KEY_LIST(d, KEYS);
    umbel_close(f);
    p.alloc = &alloc;
    assert_ok(umbel_build("ribbon", &p, &list, NULL, &f, &test_refusal));
    assert_true(umbel_cells(f) <= BITS);
    assert_int_equal(hits(f, 0, KEYS), KEYS);
    assert_true(m.calls > CALLS);
    umbel_close(f);
    f = NULL;
    for (size_t last = m.calls, n = last / 2; n < last; n += 7) {
        m = (test_memory){.fail_at = n};
        umbel_status status =
            umbel_build("ribbon", &p, &list, NULL, &f, &test_refusal);
        assert_refused(status, UMBEL_E_NOMEM, "no memory");
        assert_null(f);
        assert_int_equal(m.live_blocks, 0);
    }
    free(d);
}

static void without_keys_no_column_fills_any_bits(void **state)
{
    um_ribbon_form form = {9, 9};

    (void)state;
    um_ribbon_form_within(100000, 0, &form);
    assert_int_equal(form.columns, 0);
    assert_int_equal(form.finer, 0);
}

/* Checks the estimate: columns, two bits per bucket, and a small rest. */
static void a_guess_is_near_the_size(void **state)
{
    enum { KEYS = 200000 };

    (void)state;
    for (uint32_t columns = 1; columns <= 10; columns += 9) {
        umbel_params p = at_error(ldexp(1, -(int)columns));
        umbel_filter *f = build_numbers(&p, 0, KEYS);
        um_ribbon_form form = {columns, 0};
        double cells = (double)umbel_cells(f);
        assert_near(um_ribbon_guess(KEYS, &form), cells, 0.001 * cells);
        umbel_close(f);
    }
}

static void a_plan_tells_what_it_will_take(void **state)
{
    umbel_params p = at_error(0.001);
    umbel_size_plan plan;

    (void)state;
    p.capacity = MILLION / 5;
    assert_ok(umbel_plan_size("ribbon", &p, 0, &plan, &test_refusal));
    p.capacity = 0;
    umbel_filter *f = build_numbers(&p, 0, MILLION / 5);
    assert_near((double)umbel_encoded_len(f) / (double)plan.bytes, 1, 0.005);
    assert_int_equal(plan.hashes, umbel_hashes(f));
    umbel_close(f);
}

static void a_plan_at_a_power_of_two_takes_no_column_more(void **state)
{
    static const uint64_t keys[] = {1000, MILLION / 50};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(keys); i++) {
        umbel_params p = at_error(0.25);
        umbel_size_plan plan;
        p.capacity = keys[i];
        assert_ok(umbel_plan_size("ribbon", &p, 0, &plan, &test_refusal));
        p.capacity = 0;
        umbel_filter *f = build_numbers(&p, 0, keys[i]);
        assert_near((double)plan.bytes, (double)umbel_encoded_len(f), 64);
        assert_int_equal(plan.hashes, umbel_hashes(f));
        umbel_close(f);
    }
}

/* --- maps -------------------------------------------------------------------
 */

static umbel_params map_of(umbel_setting *bits, uint64_t n, double fpr)
{
    umbel_params p = at_error(fpr);

    *bits = (umbel_setting){"value_bits", n};
    p.settings = bits;
    p.nsettings = 1;
    return p;
}

static void assert_values(const umbel_filter *f, const uint64_t *want, size_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        umbel_slice key = {&i, 8};
        uint64_t got;
        assert_ok(umbel_values_many(f, &key, 1, &got, &test_refusal));
        assert_int_equal(got, want[i]);
    }
}

static void a_map_gives_every_member_its_value(void **state)
{
    enum { KEYS = 30000 };
    uint64_t *values = malloc(KEYS * sizeof *values);
    um_rng rng = {5};
    umbel_setting bits;

    (void)state;
    assert_non_null(values);
    for (uint64_t w = 1; w <= 32; w += w < 4 ? 1 : 7) {
        umbel_params p = map_of(&bits, w, w == 18 ? 0.01 : 0);
        umbel_filter *empty = build(&p, NULL, NULL, 0, 1);
        umbel_digest *d = digests(empty, 0, KEYS);
        for (size_t i = 0; i < KEYS; i++)
            values[i] = um_random(&rng) >> (64 - w);
        umbel_filter *f = build(&p, d, values, KEYS, 1);
        assert_int_equal(umbel_value_bits(f), w);
        assert_values(f, values, KEYS);
        assert_int_equal(hits(f, 0, KEYS), KEYS);
        assert_binomial(hits(f, MILLION, KEYS), KEYS, w == 18 ? 0.01 : 1);
        umbel_close(empty);
        umbel_close(f);
        free(d);
    }
    free(values);
}

static void a_million_bytes_take_hardly_more(void **state)
{
    umbel_setting bits;
    umbel_params p = map_of(&bits, 8, 0);
    umbel_filter *empty = build(&p, NULL, NULL, 0, 1);
    umbel_digest *d = digests(empty, 0, MILLION);
    uint64_t *values = malloc(MILLION * sizeof *values);

    (void)state;
    assert_non_null(values);
    for (size_t i = 0; i < MILLION; i++)
        values[i] = i * i & 0xFF;
    umbel_filter *f = build(&p, d, values, MILLION, 2);
    assert_true((double)umbel_encoded_len(f) <= 1.02 * MILLION);
    assert_values(f, values, MILLION / 10);
    umbel_close(empty);
    umbel_close(f);
    free(d);
    free(values);
}

static void a_key_of_two_values_is_named(void **state)
{
    umbel_setting bits;
    umbel_params p = map_of(&bits, 4, 0);
    umbel_digest d[] = {{1, 2}, {3, 4}, {1, 2}, {5, 6}, {3, 4}}, clash = {0, 0};
    uint64_t values[] = {7, 8, 7, 9, 10};
    umbel_key_list m = UMBEL_KEY_LIST(d, 5);
    umbel_build_params how = UMBEL_BUILD_INIT;
    umbel_filter *f = NULL;

    (void)state;
    m.values = values;
    how.clash = &clash;
    assert_refused(umbel_build("ribbon", &p, &m, &how, &f, &test_refusal),
                   UMBEL_E_KEY, "two different values");
    assert_int_equal(clash.lo, 3);
    values[4] = 8;
    assert_ok(umbel_build("ribbon", &p, &m, &how, &f, &test_refusal));
    assert_int_equal(umbel_added(f), 3);
    umbel_close(f);
    values[4] = 16;
    assert_refused(umbel_build("ribbon", &p, &m, &how, &f, &test_refusal),
                   UMBEL_E_RANGE, "value 5 is 16");
}

static void what_does_not_fit_together_is_refused(void **state)
{
    umbel_setting bits;
    umbel_params p = map_of(&bits, 4, 0), set = at_error(0.01);
    umbel_digest d = {1, 2};
    umbel_key_list m = UMBEL_KEY_LIST(&d, 1);
    umbel_build_params how = UMBEL_BUILD_INIT;
    uint64_t value = 3;
    umbel_filter *f = NULL;

    (void)state;
    assert_refused(umbel_build("ribbon", &p, &m, &how, &f, &test_refusal),
                   UMBEL_E_RANGE, "a value for every key");
    m.values = &value;
    assert_refused(umbel_build("ribbon", &set, &m, &how, &f, &test_refusal),
                   UMBEL_E_RANGE, "value_bits");
    p.cells = 1000;
    assert_refused(umbel_build("ribbon", &p, &m, &how, &f, &test_refusal),
                   UMBEL_E_RANGE, "leave the size out");
    m.values = NULL;
    set.addressing = "classic";
    assert_refused(umbel_build("ribbon", &set, &m, &how, &f, &test_refusal),
                   UMBEL_E_RANGE, "no addressing to choose");
    set = at_error(1e-12);
    assert_refused(umbel_build("ribbon", &set, &m, &how, &f, &test_refusal),
                   UMBEL_E_RANGE, "2^-32");
    set = at_error(0.1);
    set.hashes = 3;
    assert_refused(umbel_build("ribbon", &set, &m, &how, &f, &test_refusal),
                   UMBEL_E_RANGE, "hashes");
    bits = (umbel_setting){"tail", 4};
    set = at_error(0.1);
    set.settings = &bits;
    set.nsettings = 1;
    assert_refused(umbel_build("ribbon", &set, &m, &how, &f, &test_refusal),
                   UMBEL_E_RANGE, "follows from its keys");
    m.size = 0;
    assert_refused(umbel_build("ribbon", NULL, &m, &how, &f, &test_refusal),
                   UMBEL_E_RANGE, "UMBEL_KEY_LIST");
    assert_null(f);
}

static void what_a_static_filter_cannot_is_said_with_the_reason(void **state)
{
    umbel_params p = at_error(0.01);
    umbel_filter *f = build_numbers(&p, 0, 100), *out = NULL;
    uint64_t value;
    umbel_slice key = {"1", 1};

    (void)state;
    assert_refused(umbel_add(f, "1", 1, NULL, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "static");
    assert_refused(umbel_merge(f, f, UMBEL_OR, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "static");
    assert_refused(umbel_fold(f, 2, &out, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "static");
    assert_refused(umbel_clear(f, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "static");
    assert_refused(umbel_share(f, &test_refusal), UMBEL_E_UNSUPPORTED,
                   "static");
    assert_refused(umbel_values_many(f, &key, 1, &value, &test_refusal),
                   UMBEL_E_UNSUPPORTED, "no values");
    assert_true(umbel_is_static("ribbon"));
    assert_false(umbel_is_static("bloom"));
    assert_false(umbel_is_static(NULL));
    assert_false(umbel_is_static("no such kind"));
    umbel_close(f);
}

/* --- untrusted bytes --------------------------------------------------------
 */

static umbel_status decode(const uint8_t *bytes, size_t len, umbel_filter **out)
{
    return umbel_decode(bytes, len, NULL, out, &test_refusal);
}

/* Tries any payload, wherever its last word ends. */
static void any_payload_is_safe_to_ask(void **state)
{
    static const size_t sizes[] = {1, 40, 64, 65, 700, 1501, 3000, 70000};
    static const double errors[] = {0.9, 0.5, 0.01, 1e-9};
    um_rng rng = {21};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++)
        for (size_t j = 0; j < TEST_COUNT(errors); j++) {
            umbel_params p =
                (i + j) % 2 ? at_error(errors[j]) : wide_at(errors[j]);
            umbel_filter *f = build_numbers(&p, 0, sizes[i]), *evil = NULL;
            size_t len, bits = (size_t)umbel_cells(f);
            uint8_t *bytes = test_encode(f, &len);
            size_t head = len - f->payload_len;
            for (size_t k = 0; k < bits / 8; k++)
                bytes[head + k] = (uint8_t)um_random(&rng);
            assert_ok(decode(bytes, len, &evil));
            hits(evil, 0, 10000);
            assert_true(umbel_predict(evil) >= 0 && umbel_predict(evil) <= 1);
            umbel_close(evil);
            umbel_close(f);
            free(bytes);
        }
}

/* Slightly changes every number of the head that sizes depend on. */
static void a_head_whose_numbers_disagree_is_refused(void **state)
{
    enum { NUMBERS = 6 };
    umbel_params p = at_error(0.01);
    umbel_filter *f = build_numbers(&p, 0, 60000), *same = NULL;
    size_t len, refused = 0;

    (void)state;
    for (size_t i = 0; i < NUMBERS; i++)
        for (int bit = 0; bit < 64; bit += 3) {
            um_shape s = *um_shape_of(f);
            uint64_t hashes = s.hashes;
            uint64_t *number[NUMBERS] = {&s.cells,      &hashes,
                                         &s.setting[0], &s.setting[2],
                                         &s.setting[3], &s.setting[4]};
            *number[i] ^= UINT64_C(1) << bit;
            s.hashes = (uint32_t)hashes;
            uint8_t *bytes = test_forge(f, &s, &len);
            umbel_filter *evil = NULL;
            umbel_status status = decode(bytes, len, &evil);
            if (status == UMBEL_OK) { /* only numbers that no size depends on */
                hits(evil, 0, 1000);
                umbel_close(evil);
            }
            refused += status != UMBEL_OK;
            free(bytes);
        }
    assert_true(refused >= 110);
    uint8_t *bytes = test_forge(f, um_shape_of(f), &len);
    assert_ok(decode(bytes, len, &same));
    test_assert_same_file(f, same);
    umbel_close(same);
    umbel_close(f);
    free(bytes);
}

/* A shape whose settings have these numbers, which may be impossible. */
typedef struct numbers {
    um_ribbon_form form;
    uint32_t value_bits;
    um_ribbon_sizes members, never;
} numbers;

static const numbers possible[] = {
    {{7, 0}, 0, {{0, 0}, 100, 3, {0}, false}, {{0, 0}, 0, 0, {0}, false}},
    {{7, 0}, 7, {{3, 0}, 0, 0, {0}, false}, {{0, 0}, 0, 0, {0}, false}},
    {{0, 9}, 0, {{3, 1}, 100, 15, {0}, false}, {{0, 0}, 0, 0, {0}, false}},
    {{32, 0}, 0, {{3, 1}, 100, 0, {0}, false}, {{1, 0}, 100, 15, {0}, false}},
    {{0, 0}, 0, {{0, 0}, 0, 0, {0}, false}, {{0, 0}, 100, 1, {0}, false}},
    {{63, 9}, 32, {{1, 0}, 0, 0, {0}, false}, {{0, 0}, 0, 0, {0}, false}},
    {{64, 0}, 32, {{1, 0}, 0, 0, {0}, false}, {{0, 0}, 0, 0, {0}, false}},
    {{7, UM_RIBBON_FINE - 1},
     0,
     {{3, 1}, 0, 0, {0}, false},
     {{0, 0}, 0, 0, {0}, false}},
};

static const numbers impossible[] = {
    {{0, 0},
     0,
     {{0, 1}, 0, 0, {0}, false},
     {{0, 0}, 100, 1, {0}, false}}, /* members without a column */
    {{7, UM_RIBBON_FINE},
     0,
     {{1, 0}, 0, 0, {0}, false},
     {{0, 0}, 0, 0, {0}, false}}, /* a fraction of 1 */
    {{0, 0},
     0,
     {{1, 0}, 0, 0, {0}, false},
     {{0, 0}, 100, 1, {0}, false}}, /* members without any column */
    {{7, 0},
     0,
     {{1, 0}, 0, 1, {0}, false},
     {{0, 0}, 0, 0, {0}, false}}, /* a salt without a tail */
    {{7, 0},
     0,
     {{1, 0}, 0, 0, {0}, false},
     {{1, 0}, 0, 1, {0}, false}}, /* the same for negatives */
    {{7, 0},
     8,
     {{1, 0}, 0, 0, {0}, false},
     {{0, 0}, 0, 0, {0}, false}}, /* more value bits than bits */
    {{33, 0},
     0,
     {{1, 0}, 0, 0, {0}, false},
     {{0, 0}, 0, 0, {0}, false}}, /* too long a fingerprint */
    {{65, 0},
     33,
     {{1, 0}, 0, 0, {0}, false},
     {{0, 0}, 0, 0, {0}, false}}, /* too many columns */
    {{64, 9},
     32,
     {{1, 0}, 0, 0, {0}, false},
     {{0, 0}, 0, 0, {0}, false}}, /* too many with a finer one */
    {{7, 0},
     4,
     {{1, 0}, 0, 0, {0}, false},
     {{0, 0}, 100, 0, {0}, false}}, /* a map with exceptions */
    {{7, 0},
     0,
     {{1, 0}, 100, UM_RIBBON_SALTS, {0}, false},
     {{0, 0}, 0, 0, {0}, false}}, /* salt out of range */
};

static umbel_status check_numbers(const um_shape *like, const numbers *x)
{
    um_shape s = *like;

    um_ribbon_shape(&s, &x->form, x->value_bits, &x->members, &x->never);
    return um_check_shape(&s, &test_refusal);
}

static void numbers_that_cannot_be_are_refused(void **state)
{
    umbel_params p = at_error(0.01);
    umbel_filter *f = build_numbers(&p, 0, 100);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(possible); i++)
        assert_ok(check_numbers(um_shape_of(f), &possible[i]));
    for (size_t i = 0; i < TEST_COUNT(impossible); i++)
        assert_int_equal(check_numbers(um_shape_of(f), &impossible[i]),
                         UMBEL_E_RANGE);
    umbel_close(f);
}

/* --- wide layers ------------------------------------------------------------
 */

static void wide_layers_take_a_thousandth_more_than_they_must(void **state)
{
    umbel_params p = wide_at(0x1p-8);
    umbel_filter *f = build_numbers(&p, 0, MILLION);

    (void)state;
    assert_int_equal(hits(f, 0, MILLION), MILLION);
    assert_binomial(hits(f, MILLION, MILLION), MILLION, 0x1p-8);
    assert_true(overhead(f, MILLION, 0x1p-8) <= 1.002);
    umbel_close(f);
}

static void wide_layers_hold_any_number_of_keys(void **state)
{
    static const size_t sizes[] = {0, 1, 1500, 1501, 1600, 2500, 40000, 700000};
    static const double errors[] = {0.9, 0.3, 0.01, 0.0007};
    enum { OUTSIDE = 200000 };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++)
        for (size_t j = 0; j < TEST_COUNT(errors); j++) {
            umbel_params p = wide_at(errors[j]);
            umbel_filter *f = build_numbers(&p, 7 * i, sizes[i]), *back = NULL;
            size_t len;
            uint8_t *bytes = test_encode(f, &len);
            assert_ok(umbel_decode(bytes, len, NULL, &back, &test_refusal));
            assert_int_equal(hits(back, 7 * i, sizes[i]), sizes[i]);
            assert_binomial(hits(back, MILLION, OUTSIDE), OUTSIDE,
                            sizes[i] ? umbel_predict(f) : 0);
            umbel_close(back);
            umbel_close(f);
            free(bytes);
        }
}

/* --- the fast path ----------------------------------------------------------
 */

/*
 * Compares members and others, in batches of any length, by digests and by
 * keys.
 */
static void assert_same_answers(const umbel_filter *f, size_t members)
{
    enum { KEYS = 6000 };
    size_t first = members > KEYS / 2 ? members - KEYS / 2 : 0;
    umbel_digest *d = digests(f, first, KEYS);
    static uint64_t keys[KEYS];
    static bool plain[KEYS], fast[KEYS];

    for (size_t i = 0; i < KEYS; i++)
        keys[i] = first + i;
    for (size_t from = 0, n = 1; from + n <= KEYS; from += n, n = n % 97 + 1) {
        f->kind->query(f->self, d + from, n, plain);
        memset(fast, 1, n);
        f->fast->query(f->self, d + from, n, fast);
        assert_memory_equal(plain, fast, n);
        memset(fast, 1, n);
        f->fast->query_keys8(f->self, f->hasher.seed, keys + from, n, fast);
        assert_memory_equal(plain, fast, n);
    }
    free(d);
}

static void the_fast_path_answers_like_the_plain_one(void **state)
{
    static const size_t sizes[] = {1501, 3000, 40000, 700000};
    static const double errors[] = {0x1p-4, 0.03, 0x1p-8, 0.001, 1e-9};
    size_t seen = 0;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++)
        for (size_t j = 0; j < TEST_COUNT(errors); j++) {
            umbel_params p = at_error(errors[j]);
            umbel_setting bits = {"value_bits", 5};
            p.settings = &bits;
            for (p.nsettings = 0; p.nsettings < 2; p.nsettings++) {
                umbel_filter *empty = build(&p, NULL, NULL, 0, 1);
                umbel_digest *d = digests(empty, 0, sizes[i]);
                uint64_t *values = calloc(sizes[i], sizeof *values);
                umbel_filter *f =
                    build(&p, d, p.nsettings ? values : NULL, sizes[i], 2);
                seen += f->fast != NULL;
                if (f->fast)
                    assert_same_answers(f, sizes[i]);
                umbel_close(f);
                umbel_close(empty);
                free(values);
                free(d);
            }
        }
    assert_true(seen || um_cpu_found() == UM_CPU_PLAIN ||
                um_cpu_allowed() == UM_CPU_PLAIN);
}

/* With more keys than the caches hold, slots are prefetched. */
static void the_fast_path_answers_alike_where_slots_are_far(void **state)
{
    enum { KEYS = 4700000 };
    umbel_params p = at_error(0.01);
    umbel_filter *empty = build(&p, NULL, NULL, 0, 1);
    umbel_digest *d = digests(empty, 0, KEYS);
    umbel_filter *f = build(&p, d, NULL, KEYS, 2);

    (void)state;
    free(d);
    if (f->fast)
        assert_same_answers(f, KEYS);
    else
        assert_true(um_cpu_found() == UM_CPU_PLAIN ||
                    um_cpu_allowed() == UM_CPU_PLAIN);
    umbel_close(f);
    umbel_close(empty);
}

/* --- memory -----------------------------------------------------------------
 */

static void every_allocation_may_fail(void **state)
{
    enum { KEYS = 20000 }; /* a layer and a tail, in three sizes */
    umbel_params p = at_error(0.01);
    umbel_filter *empty = build(&p, NULL, NULL, 0, 1), *f = NULL;
    umbel_digest *d = digests(empty, 0, KEYS);
    umbel_key_list m = UMBEL_KEY_LIST(d, KEYS);
    umbel_status status;
    size_t n = 0;

    (void)state;
    do {
        test_memory c = {.fail_at = ++n};
        umbel_alloc a = test_alloc(&c);
        p.alloc = &a;
        status = umbel_build("ribbon", &p, &m, NULL, &f, &test_refusal);
        if (status != UMBEL_OK) {
            assert_refused(status, UMBEL_E_NOMEM, "no memory");
            assert_null(f);
        } else {
            umbel_close(f);
        }
        assert_int_equal(c.live_blocks, 0);
    } while (status != UMBEL_OK);
    assert_true(n > 12);
    umbel_close(empty);
    free(d);
}

TEST_GROUP(ribbon)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_keys_take_hardly_more_than_they_must),
        cmocka_unit_test(few_keys_take_a_slot_each),
        cmocka_unit_test(any_number_of_keys_has_any_error),
        cmocka_unit_test(many_keys_err_as_was_asked),
        cmocka_unit_test(threads_order_and_repetition_change_no_bit),
        cmocka_unit_test(keys_between_two_shards_are_found),
        cmocka_unit_test(a_key_repeated_for_ever_is_one_key),
        cmocka_unit_test(keys_that_crowd_one_bucket_find_a_place),
        cmocka_unit_test(a_size_in_bits_is_kept_and_used),
        cmocka_unit_test(a_size_that_takes_several_tries_is_kept),
        cmocka_unit_test(without_keys_no_column_fills_any_bits),
        cmocka_unit_test(a_guess_is_near_the_size),
        cmocka_unit_test(a_plan_tells_what_it_will_take),
        cmocka_unit_test(a_plan_at_a_power_of_two_takes_no_column_more),
        cmocka_unit_test(a_map_gives_every_member_its_value),
        cmocka_unit_test(a_million_bytes_take_hardly_more),
        cmocka_unit_test(a_key_of_two_values_is_named),
        cmocka_unit_test(what_does_not_fit_together_is_refused),
        cmocka_unit_test(what_a_static_filter_cannot_is_said_with_the_reason),
        cmocka_unit_test(any_payload_is_safe_to_ask),
        cmocka_unit_test(a_head_whose_numbers_disagree_is_refused),
        cmocka_unit_test(numbers_that_cannot_be_are_refused),
        cmocka_unit_test(wide_layers_take_a_thousandth_more_than_they_must),
        cmocka_unit_test(wide_layers_hold_any_number_of_keys),
        cmocka_unit_test(the_fast_path_answers_like_the_plain_one),
        cmocka_unit_test(the_fast_path_answers_alike_where_slots_are_far),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
