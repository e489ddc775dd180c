/* near.c - kind near: mails, near copies of them, and cells that only grow. */
#include "support/test.h"

#include "base/rng.h"
#include "filter/handle.h"
#include "filter/kind.h"
#include "kinds/near/internal.h"
#include "kinds/near/near.h"

#include <umbel/counting.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAILS = 20000 };

static umbel_filter *create_filter(uint64_t mails)
{
    static const uint8_t secret[UMBEL_SECRET_LEN] = {7};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;

    p.capacity = mails;
    p.hash = "sip";
    p.secret = secret;
    assert_ok(umbel_create(UM_NEAR_KIND, &p, &f, &test_refusal));
    return f;
}

/* Returns mail number i, always the same. */
static um_near_write mail(uint64_t i)
{
    um_near_write w = {
        .flag = 11, .amount = 10, .stamp = 1000, .has_shingles = true};
    um_rng r;

    r = (um_rng){i};
    w.digest.lo = um_random(&r);
    w.digest.hi = um_random(&r);
    for (size_t k = 0; k < sizeof w.name; k++)
        w.name[k] = (uint8_t)um_random(&r);
    for (size_t k = 0; k < UM_NEAR_SHINGLES; k++)
        w.shingle[k] = um_near_shingle(um_random(&r), k);
    return w;
}

static void append(umbel_filter *f, const um_near_write *w)
{
    assert_ok(um_near_append(f, w, &test_refusal));
}

static umbel_filter *filled(uint64_t n)
{
    umbel_filter *f = create_filter(n);

    for (uint64_t i = 0; i < n; i++) {
        um_near_write w = mail(i);
        append(f, &w);
    }
    return f;
}

/* Creates a copy of mail i with some of its shingles and others of its own. */
static void create_copy(uint64_t i, unsigned shared, uint64_t out[])
{
    um_near_write from = mail(i), own = mail(i + 1000000000);

    for (unsigned k = 0; k < UM_NEAR_SHINGLES; k++) /* at any positions */
        out[(k + i) % UM_NEAR_SHINGLES] =
            k < shared ? from.shingle[(k + i) % UM_NEAR_SHINGLES]
                       : own.shingle[(k + i) % UM_NEAR_SHINGLES];
}

static void every_mail_is_found_by_its_digest_in_a_full_filter(void **state)
{
    (void)state;
    umbel_filter *f = filled(MAILS);
    um_near_record r;

    for (uint64_t i = 0; i < MAILS; i++) {
        um_near_write w = mail(i), other = mail(i + MAILS);
        assert_true(um_near_find(f, &w.digest, w.name, &r));
        assert_memory_equal(r.name, w.name, UM_NEAR_NAME);
        assert_int_equal(r.value, 10);
        assert_int_equal(r.flag, 11);
        assert_int_equal(r.stamp, 1000);
        assert_false(r.gone);
        assert_false(um_near_find(f, &other.digest, other.name, &r));
        assert_false(um_near_find(f, &w.digest, other.name, &r));
    }
    umbel_close(f);
}

/* Probability that two different shingles have the same mark. */
#define BY_CHANCE (1 / 65536.0)

/* Returns five standard deviations above the mean. */
static double max_of(double mean)
{
    return mean + 5 * sqrt(mean) + 1;
}

/* Another shingle may have the same mark by chance, and then counts as well. */
static void copies_with_more_than_half_of_the_shingles_are_found(void **state)
{
    (void)state;
    umbel_filter *f = filled(MAILS);
    um_near_record r;
    double expected = 0, others = 0;

    for (uint64_t i = 0; i < MAILS; i++) {
        uint64_t shingle[UM_NEAR_SHINGLES];
        unsigned shared = 12 + (unsigned)(i % 21);
        um_near_write w = mail(i);
        create_copy(i, shared, shingle);
        unsigned got = um_near_search(f, shingle, &r);
        unsigned want = shared > 16 ? shared : 0;
        expected += (32 - shared) * BY_CHANCE;
        if (got != want)
            others++;
        if (got)
            assert_memory_equal(r.name, w.name, UM_NEAR_NAME);
        assert_true(got >= want && got <= shared + 2);
    }
    assert_true(others <= max_of(expected));
    umbel_close(f);
}

/*
 * Of 20,000 other mails none is taken for a copy. Of mails whose shingles are
 * all stored, 16 from each of two mails, 1 in 2,048 is, because a 17th has the
 * same mark by chance.
 */
static void shingles_of_different_mails_do_not_add_up(void **state)
{
    (void)state;
    umbel_filter *f = filled(MAILS);
    um_near_record r;
    double hits = 0;

    for (uint64_t i = 0; i < MAILS; i++) {
        um_near_write one = mail(i), two = mail((i + 1) % MAILS),
                      none = mail(i + MAILS);
        assert_int_equal(um_near_search(f, none.shingle, &r), 0);
        for (unsigned k = 0; k < UM_NEAR_SHINGLES / 2; k++)
            one.shingle[2 * k] = two.shingle[2 * k];
        unsigned got = um_near_search(f, one.shingle, &r);
        assert_true(got == 0 || got == 17);
        hits += got != 0;
    }
    assert_true(hits <= max_of(MAILS * 32 * BY_CHANCE));
    umbel_close(f);
}

/* rspamd's own storage counts it only for the latest mail. */
static void a_shingle_counts_for_every_mail_that_has_it(void **state)
{
    (void)state;
    umbel_filter *f = create_filter(2000);
    um_near_write old = mail(5), late = mail(1000000);
    um_near_record r;

    for (uint64_t i = 0; i < 1000; i++) {
        um_near_write w = mail(i);
        append(f, &w);
    }
    memcpy(late.shingle, old.shingle, 20 * sizeof *late.shingle);
    append(f, &late);
    assert_int_equal(um_near_search(f, old.shingle, &r), 32);
    assert_memory_equal(r.name, old.name, UM_NEAR_NAME);
    assert_int_equal(um_near_search(f, late.shingle, &r), 32);
    assert_memory_equal(r.name, late.name, UM_NEAR_NAME);
    umbel_close(f);
}

/* Returns mail i with 14 shingles of a common footer. */
static um_near_write mail_with_footer(uint64_t i)
{
    um_near_write w = mail(i), footer = mail(2000000);

    for (unsigned k = 0; k < 28; k += 2)
        w.shingle[k] = footer.shingle[k];
    return w;
}

/*
 * Without special treatment the index would have as many entries for one
 * shingle as there are mails.
 */
static void mails_with_a_common_footer_are_distinguished(void **state)
{
    (void)state;
    umbel_filter *f = create_filter(MAILS);
    um_near_record r;

    for (uint64_t i = 0; i < MAILS; i++) {
        um_near_write w = mail_with_footer(i);
        append(f, &w);
    }
    for (uint64_t i = 0; i < MAILS; i++) {
        um_near_write w = mail_with_footer(i), other = mail(i + MAILS);
        w.shingle[i % 32] = other.shingle[i % 32]; /* a copy with a change */
        assert_true(um_near_search(f, w.shingle, &r) >= 31);
        assert_memory_equal(r.name, w.name, UM_NEAR_NAME);
    }
    umbel_close(f);
}

/*
 * Searches for a mail that agrees with another at 17 positions, of which `own`
 * are in no third mail. Returns the number found.
 */
static unsigned search_with_own(unsigned own)
{
    umbel_filter *f = create_filter(10);
    um_near_write one = mail(1), other = mail(2), asked = mail(3);
    um_near_record r;

    for (unsigned k = own; k < UM_NEAR_HIT; k++)
        other.shingle[k] = one.shingle[k];
    append(f, &one);
    append(f, &other);
    memcpy(asked.shingle, one.shingle, UM_NEAR_HIT * sizeof *asked.shingle);
    unsigned got = um_near_search(f, asked.shingle, &r);
    umbel_close(f);
    return got;
}

static void a_copy_has_positions_of_its_own(void **state)
{
    (void)state;
    for (unsigned own = 1; own < UM_NEAR_HIT; own++)
        assert_int_equal(search_with_own(own),
                         own < UM_NEAR_OWN ? 0 : UM_NEAR_HIT);
}

static void tags_are_found_as_the_plain_way_finds_them(void **state)
{
    (void)state;
    um_rng r = {9};

    for (int i = 0; i < 100000; i++) {
        uint8_t line[UM_LINE];
        for (size_t k = 0; k < sizeof line; k++)
            line[k] = (uint8_t)um_random_below(&r, 4);
        uint64_t tags = um_random_below(&r, 4) * UINT64_C(0x0101010101010101);
        uint32_t want = 0;
        for (unsigned k = 0; k < 24; k++)
            want |= (uint32_t)(line[k] == (uint8_t)tags) << k;
        assert_int_equal(um_near_tags(line, tags), want);
        assert_int_equal(um_near_tags_plain(line, tags), want);
    }
}

static int32_t value_of(const umbel_filter *f, const um_near_write *w)
{
    um_near_record r;

    assert_true(um_near_find(f, &w->digest, w->name, &r));
    return r.gone ? 0 : r.value;
}

static void values_are_added_and_may_be_negative(void **state)
{
    (void)state;
    umbel_filter *f = create_filter(100);
    um_near_write w = mail(1);

    append(f, &w);
    append(f, &w);
    assert_int_equal(value_of(f, &w), 20);
    assert_int_equal(umbel_added(f), 1);
    w.amount = -50;
    append(f, &w);
    assert_int_equal(value_of(f, &w), -30);
    w.amount = INT32_MAX;
    append(f, &w);
    append(f, &w);
    assert_int_equal(value_of(f, &w), INT32_MAX);
    w.amount = INT32_MIN;
    for (int i = 0; i < 4; i++)
        append(f, &w);
    assert_int_equal(value_of(f, &w), INT32_MIN + 1);
    umbel_close(f);
}

static void another_flag_begins_again(void **state)
{
    (void)state;
    umbel_filter *f = create_filter(100);
    um_near_write w = mail(1);
    um_near_record r;

    append(f, &w);
    w.flag = 12;
    w.amount = 3;
    append(f, &w);
    assert_int_equal(value_of(f, &w), 3);
    assert_int_equal(um_near_search(f, w.shingle, &r), 32);
    assert_int_equal(r.flag, 12);
    w.renewed = true; /* its old value does not count */
    append(f, &w);
    assert_int_equal(value_of(f, &w), 3);
    umbel_close(f);
}

static void a_deletion_is_the_latest_record(void **state)
{
    (void)state;
    umbel_filter *f = create_filter(100);
    um_near_write w = mail(1), gone = w;
    um_near_record r;

    append(f, &w);
    gone.gone = true;
    gone.has_shingles = false;
    append(f, &gone);
    assert_true(um_near_find(f, &w.digest, w.name, &r));
    assert_true(r.gone);
    uint64_t count;
    assert_ok(umbel_count_digests(f, &w.digest, 1, &count, &test_refusal));
    assert_int_equal(count, 0);
    w.amount = 4;
    append(f, &w);
    assert_int_equal(value_of(f, &w), 4);
    assert_ok(umbel_count_digests(f, &w.digest, 1, &count, &test_refusal));
    assert_int_equal(count, 4);
    umbel_close(f);
}

static void a_full_filter_refuses_mails_and_changes_nothing(void **state)
{
    (void)state;
    umbel_filter *f = filled(300);
    um_near_write w = mail(1), more = mail(1000);
    uint8_t *before = malloc(f->payload_len);

    assert_non_null(before);
    memcpy(before, f->payload, f->payload_len);
    assert_true(um_near_needs_record(f, &more));
    assert_int_equal(um_near_append(f, &more, NULL), UMBEL_E_FULL);
    assert_memory_equal(f->payload, before, f->payload_len);
    assert_false(um_near_needs_record(f, &w));
    append(f, &w); /* added to the old value */
    assert_int_equal(value_of(f, &w), 20);
    free(before);
    umbel_close(f);
}

/* --- cells ----------------------------------------------------------------
 */

static void assert_grown(const umbel_filter *f, const uint8_t *before)
{
    um_section section[UM_MAX_SECTIONS];
    um_entry_form form[UM_MAX_SECTIONS];
    size_t n = f->kind->sections(um_shape_of(f), section), at = 0;

    f->kind->paged->forms(um_shape_of(f), form);
    for (size_t i = 0; i < n; i++) {
        for (uint64_t k = 0; k < form[i].n; k++) {
            um_entry_value old = um_entry_get(&form[i], before + at, k);
            um_entry_value now = um_entry_get(&form[i], f->payload + at, k);
            assert_true(now.count >= old.count);
            assert_true(!old.count || now.print == old.print);
        }
        at += (size_t)um_section_space(&section[i]);
    }
}

/* Peers replicate pages of it, so cells may only grow. */
static void whatever_is_written_cells_only_grow(void **state)
{
    (void)state;
    enum { ROOM = 400 };
    umbel_filter *f = create_filter(ROOM);
    uint8_t *before = malloc(f->payload_len);
    um_rng r;

    assert_non_null(before);
    r = (um_rng){1};
    for (unsigned i = 0; i < 3000; i++) {
        um_near_write w = mail(um_random(&r) % 60);
        w.flag = (uint8_t)(um_random(&r) % 3);
        w.amount = (int32_t)(um_random(&r) % 9) - 3;
        w.gone = um_random(&r) % 5 == 0;
        w.stamp += i;
        w.renewed = um_random(&r) % 7 == 0;
        if (um_random(&r) % 2) /* a near copy */
            memcpy(w.shingle, mail(0).shingle, 25 * sizeof *w.shingle);
        memcpy(before, f->payload, f->payload_len);
        if (um_near_append(f, &w, NULL) == UMBEL_OK)
            assert_grown(f, before);
        else
            assert_memory_equal(f->payload, before, f->payload_len);
    }
    free(before);
    umbel_close(f);
}

static void a_mail_takes_less_than_200_bytes(void **state)
{
    (void)state;
    static const struct {
        uint64_t mails;
        double most;
    } cases[] = {{20000, 180}, {65536, 185}, {1000000, 200}};

    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        umbel_filter *f = create_filter(cases[i].mails);
        assert_true((double)f->payload_len / (double)cases[i].mails <=
                    cases[i].most);
        umbel_close(f);
    }
}

/* An untrusted filter may have any cells. */
static void any_content_is_safe(void **state)
{
    (void)state;
    um_rng r;

    r = (um_rng){3};
    for (unsigned round = 0; round < 20; round++) {
        umbel_filter *f = create_filter(257);
        um_near_record record;
        for (size_t i = 0; i < f->payload_len; i++)
            f->payload[i] = (uint8_t)(round % 2 ? 0xff : um_random(&r));
        for (uint64_t i = 0; i < 50; i++) {
            um_near_write w = mail(i);
            um_near_find(f, &w.digest, w.name, &record);
            um_near_search(f, w.shingle, &record);
            um_near_append(f, &w, NULL);
        }
        uint64_t n = 0;
        for (uint64_t at = 0; um_near_next(f, &at, &record);)
            n++;
        assert_true(n <= 257);
        umbel_close(f);
    }
}

static void people_cannot_choose_it(void **state)
{
    (void)state;
    const char *name, *summary;

    for (size_t i = 0; umbel_kind_at(i, &name, &summary); i++)
        assert_string_not_equal(name, UM_NEAR_KIND);
}

static void keys_cannot_be_added_with_an_amount(void **state)
{
    (void)state;
    umbel_filter *f = create_filter(10);
    umbel_slice key = {"key", 3};
    umbel_digest d = {1, 2};
    uint64_t amount = 1;

    assert_int_equal(umbel_add_amounts(f, &key, &amount, 1, NULL, NULL),
                     UMBEL_E_UNSUPPORTED);
    assert_int_equal(umbel_add_digest_amounts(f, &d, &amount, 1, NULL, NULL),
                     UMBEL_E_UNSUPPORTED);
    assert_int_equal(umbel_added(f), 0);
    umbel_close(f);
}

TEST_GROUP(near)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mail_is_found_by_its_digest_in_a_full_filter),
        cmocka_unit_test(copies_with_more_than_half_of_the_shingles_are_found),
        cmocka_unit_test(shingles_of_different_mails_do_not_add_up),
        cmocka_unit_test(a_shingle_counts_for_every_mail_that_has_it),
        cmocka_unit_test(mails_with_a_common_footer_are_distinguished),
        cmocka_unit_test(a_copy_has_positions_of_its_own),
        cmocka_unit_test(tags_are_found_as_the_plain_way_finds_them),
        cmocka_unit_test(values_are_added_and_may_be_negative),
        cmocka_unit_test(another_flag_begins_again),
        cmocka_unit_test(a_deletion_is_the_latest_record),
        cmocka_unit_test(a_full_filter_refuses_mails_and_changes_nothing),
        cmocka_unit_test(whatever_is_written_cells_only_grow),
        cmocka_unit_test(a_mail_takes_less_than_200_bytes),
        cmocka_unit_test(any_content_is_safe),
        cmocka_unit_test(people_cannot_choose_it),
        cmocka_unit_test(keys_cannot_be_added_with_an_amount),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
