/* choose.c - members added so that known negatives do not match. */
#include "support/test.h"

#include "base/cpu.h"
#include "base/error.h"
#include "base/rng.h"
#include "filter/handle.h"
#include "negatives/choose/choose.h"
#include "negatives/choose/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS = 10000, NEVER = 20000, HASHES = 5 };

/* Members, and negatives with Zipf weights. */
typedef struct instance {
    umbel_filter *f;
    umbel_digest *members, *never;
    double *weights;
} instance;

static umbel_filter *open_grouped(const char *addressing, uint64_t cells,
                                  uint64_t groups, uint64_t seed)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_setting setting = {"groups", groups};

    p.addressing = addressing;
    p.cells = cells;
    p.hashes = HASHES;
    p.capacity = MEMBERS;
    p.seed = seed;
    p.settings = &setting;
    p.nsettings = 1;
    return test_open(&p);
}

static umbel_digest *digests(const umbel_filter *f, uint64_t from, size_t n)
{
    umbel_digest *d = malloc((n + 1) * sizeof *d);
    char *keys = test_keys(from, n);

    assert_non_null(d);
    assert_ok(umbel_digest_fixed(f, keys, TEST_KEY_LEN, n, d, &test_refusal));
    free(keys);
    return d;
}

static instance create(const char *addressing, uint64_t cells, uint64_t groups,
                       uint64_t seed)
{
    instance x = {.f = open_grouped(addressing, cells, groups, seed)};

    x.members = digests(x.f, 0, MEMBERS);
    x.never = digests(x.f, MEMBERS, NEVER);
    x.weights = malloc(NEVER * sizeof *x.weights);
    assert_non_null(x.weights);
    for (size_t i = 0; i < NEVER; i++)
        x.weights[i] = fmin(10000, 90000 / (double)(i + 1));
    return x;
}

static void drop(instance *x)
{
    umbel_close(x->f);
    free(x->members);
    free(x->never);
    free(x->weights);
}

static umbel_choose_result choose(const instance *x)
{
    umbel_choose_result bill;

    assert_ok(umbel_choose(x->f, TEST_LIST(x->members, NULL, MEMBERS),
                           TEST_LIST(x->never, x->weights, NEVER), NULL, &bill,
                           &test_refusal));
    return bill;
}

/*
 * Returns the number of new members in one group; members that already match
 * are not new.
 */
static uint64_t count_new(const instance *x)
{
    umbel_filter *plain = open_grouped(x->f->layout.row->name,
                                       umbel_cells(x->f), 1, x->f->layout.seed);

    assert_ok(
        umbel_add_digests(plain, x->members, MEMBERS, NULL, &test_refusal));
    uint64_t n = umbel_added(plain);
    umbel_close(plain);
    return n;
}

/* Recomputes the result by single queries. */
static void check_bill(const instance *x, const umbel_choose_result *bill)
{
    double left = 0, all = 0;
    uint64_t matched = 0;
    bool hit;

    for (size_t i = 0; i < MEMBERS; i++) {
        assert_ok(umbel_query_digests(x->f, &x->members[i], 1, &hit, NULL));
        assert_true(hit);
    }
    for (size_t i = 0; i < NEVER; i++) {
        assert_ok(umbel_query_digests(x->f, &x->never[i], 1, &hit, NULL));
        matched += hit;
        left += hit ? x->weights[i] : 0;
        all += x->weights[i];
    }
    assert_int_equal(bill->members, MEMBERS);
    assert_int_equal(bill->lost, 0);
    assert_int_equal(bill->never, NEVER);
    assert_int_equal(bill->matched, matched);
    assert_near(bill->share_left, left / all, 1e-12);
    assert_near(bill->weight, all, 1e-9 * all);
    assert_true(bill->error == umbel_predict(x->f));
    assert_int_equal(umbel_added(x->f), count_new(x));
}

/* Tests ten, six and four bits per member, in four instances each. */
static void two_groups_keep_what_was_promised(void **state)
{
    static const struct {
        uint64_t cells;
        double share, error;
    } bars[] = {{100000, 1e-5, 0.0097}, {60000, 1e-3, 1}, {40000, 0.02, 1}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bars); i++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            instance x = create("classic", bars[i].cells, 2, seed);
            umbel_choose_result bill = choose(&x);
            check_bill(&x, &bill);
            print_message("m %6u seed %u: %4u of %4u match, share %.2g of "
                          "%.2g, error %.5f of %.5f\n",
                          (unsigned)bars[i].cells, (unsigned)seed,
                          (unsigned)bill.matched, (unsigned)bill.matched_before,
                          bill.share_left, bill.weight_before / bill.weight,
                          bill.error, bill.error_before);
            assert_true(bill.share_left <= bars[i].share);
            assert_true(bill.error <= bars[i].error);
            drop(&x);
        }
}

/* Checks the predicted background rate with 300,000 keys of neither list. */
static void other_keys_err_as_predicted(void **state)
{
    enum { OTHERS = 300000 };
    instance x = create("classic", 100000, 2, 9);
    double p = choose(&x).error;
    double hits = (double)test_hits(x.f, 1 << 20, OTHERS);

    (void)state;
    assert_near(hits / OTHERS, p, 5 * sqrt(p * (1 - p) / OTHERS));
    drop(&x);
}

static void every_addressing_can_choose(void **state)
{
    static const char *const names[] = {"partitioned", "blocked512",
                                        "blocked256"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        instance x = create(names[i], 100000, 3, 5);
        umbel_choose_result bill = choose(&x);
        check_bill(&x, &bill);
        assert_true(bill.share_left <= 1e-5);
        assert_true(bill.matched_before > 100);
        drop(&x);
    }
}

/* Checks that "before" equals a filter without the setting, key by key. */
static void before_is_one_group(void **state)
{
    instance x = create("classic", 60000, 2, 2);
    umbel_filter *plain = open_grouped("classic", 60000, 1, 2);
    umbel_choose_result bill = choose(&x), same;

    (void)state;
    assert_ok(umbel_add_digests(plain, x.members, MEMBERS, NULL, NULL));
    assert_true(bill.error_before == umbel_predict(plain));
    assert_int_equal(test_hits(plain, MEMBERS, NEVER), bill.matched_before);
    assert_ok(umbel_clear(plain, NULL));
    assert_ok(umbel_choose(plain, TEST_LIST(x.members, NULL, MEMBERS),
                           TEST_LIST(x.never, x.weights, NEVER), NULL, &same,
                           &test_refusal));
    assert_int_equal(same.matched, same.matched_before);
    assert_true(same.error == same.error_before);
    umbel_close(plain);
    drop(&x);
}

static void the_same_input_gives_the_same_cells(void **state)
{
    instance x = create("classic", 60000, 2, 3),
             y = create("classic", 60000, 2, 3);

    (void)state;
    choose(&x);
    choose(&y);
    test_assert_same_file(x.f, y.f);
    drop(&x);
    drop(&y);
}

/* Existing cells stay, and count as used. */
static void a_filter_may_hold_keys_already(void **state)
{
    umbel_filter *f = open_grouped("classic", 60000, 2, 4);
    umbel_digest *d = digests(f, 0, 3000);
    umbel_choose_result bill;

    (void)state;
    assert_ok(umbel_add_digests(f, d, 1000, NULL, &test_refusal));
    assert_ok(umbel_choose(f, TEST_LIST(d + 500, NULL, 1500),
                           TEST_LIST(d + 2000, NULL, 1000), NULL, &bill,
                           &test_refusal));
    assert_int_equal(test_hits(f, 0, 2000), 2000);
    assert_int_equal(bill.matched, 0);
    assert_near((double)umbel_added(f), 2000, 2);
    free(d);
    umbel_close(f);
}

static void empty_lists_give_a_bill_of_zeros(void **state)
{
    umbel_filter *f = open_grouped("classic", 60000, 2, 4);
    umbel_digest *d = digests(f, 0, 100);
    umbel_choose_result bill;

    (void)state;
    assert_ok(umbel_choose(f, TEST_LIST(NULL, NULL, 0),
                           TEST_LIST(NULL, NULL, 0), NULL, &bill, NULL));
    assert_int_equal(bill.matched + bill.members + bill.never, 0);
    assert_true(bill.share_left == 0 && bill.error == 0);
    assert_ok(umbel_choose(f, TEST_LIST(d, NULL, 100), TEST_LIST(NULL, NULL, 0),
                           NULL, &bill, NULL));
    assert_int_equal(test_hits(f, 0, 100), 100);
    assert_ok(umbel_choose(f, TEST_LIST(NULL, NULL, 0), TEST_LIST(d, NULL, 100),
                           NULL, &bill, NULL));
    assert_int_equal(bill.matched, 100); /* they are members: no choice */
    assert_int_equal(test_hits(f, 0, 100), 100);
    free(d);
    umbel_close(f);
}

static void unwanted_members_are_refused_or_left_alone(void **state)
{
    umbel_filter *f = open_grouped("classic", 60000, 2, 4);
    umbel_digest *d = digests(f, 0, 2000);
    umbel_choose_params allow = UMBEL_CHOOSE_INIT;
    umbel_choose_result bill;

    (void)state;
    assert_refused(umbel_choose(f, TEST_LIST(d, NULL, 1000),
                                TEST_LIST(d + 990, NULL, 1010), NULL, &bill,
                                &test_refusal),
                   UMBEL_E_KEY, "10 of the unwanted keys are members");
    assert_int_equal(test_hits(f, 0, 2000), 0);
    allow.allow_members = true;
    assert_ok(umbel_choose(f, TEST_LIST(d, NULL, 1000),
                           TEST_LIST(d + 990, NULL, 1010), &allow, &bill,
                           &test_refusal));
    assert_int_equal(bill.never_members, 10);
    assert_int_equal(bill.never, 1000);
    assert_int_equal(bill.matched, 0);
    assert_int_equal(test_hits(f, 0, 1000), 1000);
    free(d);
    umbel_close(f);
}

/* --- keeping choices --- */

static umbel_choose_result choose_like(umbel_filter *f,
                                       const umbel_filter *like,
                                       const umbel_digest *members,
                                       const umbel_digest *never, size_t nnever)
{
    umbel_choose_params p = UMBEL_CHOOSE_INIT;
    umbel_choose_result bill;

    p.like = like;
    assert_ok(umbel_choose(f, TEST_LIST(members, NULL, MEMBERS),
                           TEST_LIST(never, NULL, nnever), &p, &bill,
                           &test_refusal));
    assert_int_equal(bill.lost, 0);
    return bill;
}

static uint64_t changed_cells(const umbel_filter *a, const umbel_filter *b)
{
    uint64_t n = 0;

    assert_int_equal(a->payload_len, b->payload_len);
    for (size_t i = 0; i < a->payload_len; i++)
        n += (uint64_t)__builtin_popcount(a->payload[i] ^ b->payload[i]);
    return n;
}

/* Replaces one member in a hundred, and as many negatives. */
static void choices_stay_where_they_were(void **state)
{
    enum { CHANGED = MEMBERS / 100, KEYS = MEMBERS + CHANGED };
    static const char *const names[] = {"classic", "blocked512"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        umbel_filter *old = open_grouped(names[i], 153600, 2, 7);
        umbel_filter *f = open_grouped(names[i], 153600, 2, 7);
        umbel_filter *one = open_grouped(names[i], 153600, 1, 7);
        umbel_filter *other = open_grouped(names[i], 153600, 1, 7);
        umbel_digest *d = digests(f, 0, 2 * KEYS);
        choose_like(old, NULL, d, d + KEYS, MEMBERS);
        umbel_choose_result bill =
            choose_like(f, old, d + CHANGED, d + KEYS + CHANGED, MEMBERS);
        assert_int_equal(bill.matched, 0);
        assert_in_range(bill.kept, MEMBERS - CHANGED, MEMBERS);
        assert_true(bill.moved < CHANGED);
        assert_ok(umbel_add_digests(one, d, MEMBERS, NULL, NULL));
        assert_ok(umbel_add_digests(other, d + CHANGED, MEMBERS, NULL, NULL));
        print_message("%s: %u cells change, %u with one group; %u moved\n",
                      names[i], (unsigned)changed_cells(old, f),
                      (unsigned)changed_cells(one, other),
                      (unsigned)bill.moved);
        assert_true(2 * changed_cells(old, f) <= 3 * changed_cells(one, other));
        free(d);
        umbel_close(old);
        umbel_close(f);
        umbel_close(one);
        umbel_close(other);
    }
}

static void the_same_lists_give_the_older_filter(void **state)
{
    instance x = create("blocked512", 100352, 2, 8);
    umbel_filter *again = open_grouped("blocked512", 100352, 2, 8);
    umbel_choose_params p = UMBEL_CHOOSE_INIT;
    umbel_choose_result bill;

    (void)state;
    choose(&x);
    p.like = x.f;
    assert_ok(umbel_choose(again, TEST_LIST(x.members, NULL, MEMBERS),
                           TEST_LIST(x.never, x.weights, NEVER), &p, &bill,
                           &test_refusal));
    test_assert_same_file(x.f, again);
    assert_int_equal(bill.moved, 0);
    assert_int_equal(bill.kept, MEMBERS);
    umbel_close(again);
    drop(&x);
}

/*
 * The filter equals the one without negatives, except for members that cover
 * matching keys.
 */
static void nobody_moves_who_need_not(void **state)
{
    umbel_filter *f = open_grouped("classic", 100000, 2, 3);
    umbel_filter *none = open_grouped("classic", 100000, 2, 3);
    umbel_digest *d = digests(f, 0, MEMBERS + NEVER);
    umbel_digest *apart = malloc(NEVER * sizeof *apart);
    umbel_choose_result bill = choose_like(none, NULL, d, NULL, 0);
    size_t n = 0;
    bool hit;

    (void)state;
    assert_int_equal(bill.moved, 0);
    for (size_t i = MEMBERS; i < MEMBERS + NEVER; i++) {
        assert_ok(umbel_query_digests(none, &d[i], 1, &hit, NULL));
        if (!hit)
            apart[n++] = d[i];
    }
    size_t matching = NEVER - n;
    assert_in_range(matching, 100, 300); /* 1 % of 20,000 */
    bill = choose_like(f, NULL, d, apart, n);
    assert_int_equal(bill.moved, 0);
    test_assert_same_file(f, none);
    assert_ok(umbel_clear(f, NULL));
    bill = choose_like(f, NULL, d, d + MEMBERS, NEVER);
    assert_int_equal(bill.matched, 0);
    assert_in_range(bill.moved, matching / 2, 2 * matching);
    free(apart);
    free(d);
    umbel_close(f);
    umbel_close(none);
}

/* Both of two equal members must move, or the negative would match forever. */
static void members_that_stand_twice_move_together(void **state)
{
    instance x = create("classic", 100000, 2, 6);
    umbel_choose_result bill;

    (void)state;
    memcpy(x.members + MEMBERS / 2, x.members, MEMBERS / 2 * sizeof *x.members);
    bill = choose_like(x.f, NULL, x.members, x.never, NEVER);
    assert_int_equal(bill.matched, 0);
    drop(&x);
    x = create("classic", 60000, 2, 6);
    memcpy(x.members + MEMBERS / 2, x.members, MEMBERS / 2 * sizeof *x.members);
    bill = choose_like(x.f, NULL, x.members, x.never, NEVER);
    assert_int_equal(bill.matched, 0);
    drop(&x);
}

static void an_older_filter_of_another_shape_is_refused(void **state)
{
    umbel_filter *f = open_grouped("classic", 60000, 2, 4);
    umbel_filter *other = open_grouped("classic", 60000, 3, 4);
    umbel_choose_params p = UMBEL_CHOOSE_INIT;
    umbel_choose_result bill;

    (void)state;
    p.like = other;
    assert_refused(umbel_choose(f, TEST_LIST(NULL, NULL, 0),
                                TEST_LIST(NULL, NULL, 0), &p, &bill,
                                &test_refusal),
                   UMBEL_E_MISMATCH, "groups: 3 and 2");
    umbel_close(other);
    umbel_close(f);
}

/* Places members twice on counted cells. Returns the cells they use. */
static uint8_t *place_all(const umbel_filter *f, um_place_fn *place,
                          const umbel_digest *d, size_t n, uint8_t *group)
{
    size_t len = (size_t)(f->layout.cells / 64 + 1) * 8;
    uint8_t *bits = calloc(len, 1);
    um_placing p;
    um_pool pool;

    assert_non_null(bits);
    um_pool_init(&pool, &f->alloc);
    assert_true(um_placing_init(&p, &pool, &f->layout, 3, true, bits));
    p.place = place ? place : p.place;
    um_place_members(&p, d, n, group, false, NULL);
    um_place_members(&p, d, n, group, true, bits);
    um_pool_fini(&pool);
    return bits;
}

/* Asserts that exactly the cells of the chosen groups are set. */
static void assert_placed(const umbel_filter *f, const umbel_digest *d,
                          size_t n, const uint8_t *group, const uint8_t *bits)
{
    uint64_t pos[UM_MAX_HASHES];
    uint8_t *made = calloc((size_t)f->layout.cells / 8 + 1, 1);

    assert_non_null(made);
    for (size_t i = 0; i < n; i++) {
        umbel_digest chosen = um_group_digest(d[i], group[i] & 0xf);
        f->layout.row->positions(&f->layout, &chosen, 1, pos);
        for (uint32_t j = 0; j < f->layout.hashes; j++)
            um_set_bit(made, pos[j]);
    }
    assert_memory_equal(made, bits, (size_t)(f->layout.cells + 7) / 8);
    free(made);
}

static void members_stand_where_they_were_placed(void **state)
{
    static const char *const names[] = {"classic", "partitioned", "blocked512",
                                        "blocked256", "blocked128"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        umbel_filter *f = open_grouped(names[i], 100352, 3, 11);
        umbel_digest *d = digests(f, 0, MEMBERS);
        uint8_t *group = calloc(MEMBERS, 1);
        assert_non_null(group);
        uint8_t *bits = place_all(f, NULL, d, MEMBERS, group);
        assert_placed(f, d, MEMBERS, group, bits);
        free(bits);
        free(group);
        free(d);
        umbel_close(f);
    }
}

#ifdef __x86_64__
/* Compares the choices with and without vectors, for 1 to 20 hashes. */
static void vectors_choose_as_the_definition_does(void **state)
{
    (void)state;
    if (!um_has_avx2())
        skip();
    for (uint32_t hashes = 1; hashes <= 20; hashes++) {
        umbel_filter *f = open_grouped("blocked512", 100352, 3, 12);
        umbel_digest *d = digests(f, 0, MEMBERS);
        uint8_t *one = calloc(2, MEMBERS), *other = one + MEMBERS;
        um_layout_init(&f->layout, f->layout.row, 100352, hashes, 12);
        assert_non_null(one);
        uint8_t *a = place_all(f, um_place_blocks, d, MEMBERS, one);
        uint8_t *b = place_all(f, um_place_blocks_avx2, d, MEMBERS, other);
        assert_memory_equal(one, other, MEMBERS);
        assert_memory_equal(a, b, 100352 / 8);
        assert_placed(f, d, MEMBERS, one, a);
        free(a);
        free(b);
        free(one);
        free(d);
        umbel_close(f);
    }
}
#endif

/*
 * Passes the members in pieces; two threads and repeated reading must change
 * nothing.
 */
static umbel_status in_pieces(const void *ctx, size_t from, size_t to,
                              um_digests_fn *take, void *take_ctx,
                              umbel_error *err)
{
    const umbel_digest *d = ctx;

    assert_true(from == 0 && to == MEMBERS);
    for (size_t i = 0; i < MEMBERS; i += 100)
        UM_TRY(take(take_ctx, d + i, 100, err));
    return UMBEL_OK;
}

static void the_way_members_come_changes_nothing(void **state)
{
    instance x = create("blocked512", 100352, 2, 13);
    const umbel_key_list *never = TEST_LIST(x.never, x.weights, NEVER);
    const um_digest_source sources[] = {
        um_source_of_list(TEST_LIST(x.members, NULL, MEMBERS)),
        {x.members, MEMBERS, false, in_pieces}};

    (void)state;
    umbel_choose_result want = choose(&x);
    for (size_t i = 0; i < TEST_COUNT(sources); i++)
        for (unsigned threads = 1; threads <= 2; threads++) {
            umbel_filter *f = open_grouped("blocked512", 100352, 2, 13);
            umbel_choose_result bill;
            assert_ok(um_choose(f, &sources[i], never, NULL, threads, NULL,
                                &bill, &test_refusal));
            test_assert_same_file(x.f, f);
            assert_int_equal(bill.lost, 0);
            assert_int_equal(bill.matched, want.matched);
            umbel_close(f);
        }
    drop(&x);
}

static void wrong_input_is_refused(void **state)
{
    umbel_filter *f = open_grouped("classic", 60000, 2, 4), *aging = NULL;
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_choose_params unset = {0};
    umbel_digest *d = digests(f, 0, 3);
    umbel_choose_result bill;
    static const double bad[] = {-1, NAN, INFINITY};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        double weights[2] = {1, bad[i]};
        assert_refused(umbel_choose(f, TEST_LIST(d, NULL, 1),
                                    TEST_LIST(d + 1, weights, 2), NULL, &bill,
                                    &test_refusal),
                       UMBEL_E_RANGE, "of key 1");
    }
    assert_refused(umbel_choose(f, TEST_LIST(d, NULL, 1),
                                TEST_LIST(d + 1, NULL, 2), &unset, &bill,
                                &test_refusal),
                   UMBEL_E_RANGE, "UMBEL_CHOOSE_INIT");
    p.capacity = 10;
    assert_ok(umbel_create("aging", &p, &aging, &test_refusal));
    assert_refused(umbel_choose(aging, TEST_LIST(d, NULL, 1),
                                TEST_LIST(d + 1, NULL, 2), NULL, &bill,
                                &test_refusal),
                   UMBEL_E_UNSUPPORTED, "aging cannot choose");
    assert_int_equal(umbel_added(f), 0);
    free(d);
    umbel_close(aging);
    umbel_close(f);
}

static void any_allocation_may_fail(void **state)
{
    umbel_filter *names = open_grouped("classic", 60000, 2, 4);
    umbel_digest *d = digests(names, 0, 300);
    umbel_status status = UMBEL_E_NOMEM;

    (void)state;
    for (size_t n = 3; status == UMBEL_E_NOMEM; n++) { /* 2 open the filter */
        test_memory m = {.fail_at = n};
        umbel_alloc alloc = test_alloc(&m);
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_setting groups = {"groups", 2};
        umbel_choose_result bill;
        p.addressing = "classic";
        p.settings = &groups;
        p.nsettings = 1;
        p.cells = 5000;
        p.alloc = &alloc;
        umbel_filter *f = test_open(&p);
        status = umbel_choose(f, TEST_LIST(d, NULL, 100),
                              TEST_LIST(d + 100, NULL, 200), NULL, &bill,
                              &test_refusal);
        if (status != UMBEL_OK)
            assert_int_equal(umbel_added(f), 0);
        umbel_close(f);
        assert_int_equal(m.live_bytes, 0);
        assert_true(n < 40);
    }
    assert_int_equal(status, UMBEL_OK);
    free(d);
    umbel_close(names);
}

TEST_GROUP(choose)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_groups_keep_what_was_promised),
        cmocka_unit_test(other_keys_err_as_predicted),
        cmocka_unit_test(every_addressing_can_choose),
        cmocka_unit_test(before_is_one_group),
        cmocka_unit_test(the_same_input_gives_the_same_cells),
        cmocka_unit_test(a_filter_may_hold_keys_already),
        cmocka_unit_test(empty_lists_give_a_bill_of_zeros),
        cmocka_unit_test(unwanted_members_are_refused_or_left_alone),
        cmocka_unit_test(choices_stay_where_they_were),
        cmocka_unit_test(the_same_lists_give_the_older_filter),
        cmocka_unit_test(nobody_moves_who_need_not),
        cmocka_unit_test(members_that_stand_twice_move_together),
        cmocka_unit_test(an_older_filter_of_another_shape_is_refused),
        cmocka_unit_test(members_stand_where_they_were_placed),
#ifdef __x86_64__
        cmocka_unit_test(vectors_choose_as_the_definition_does),
#endif
        cmocka_unit_test(the_way_members_come_changes_nothing),
        cmocka_unit_test(wrong_input_is_refused),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
