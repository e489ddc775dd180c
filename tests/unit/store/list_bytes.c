/* list_bytes.c - encoding and decoding lists; running out of memory. */
#include "support/bytes.h"
#include "support/epochs.h"

#include "base/bits.h"
#include "store/internal.h"

#include <umbel/file.h>
#include <umbel/plan.h>

#include <stdlib.h>
#include <string.h>

static bytes encoded(const um_list *l)
{
    bytes b = {.cap = 1 << 20};

    b.at = malloc(b.cap);
    um_sink sink = {&b, write_bytes};
    assert_ok(um_list_encode(l, &sink, &test_refusal));
    return b;
}

static umbel_status decode_from(const um_list_config *c, const uint8_t *secret,
                                const bytes *b, bool checked, um_list **out)
{
    bytes from = {.at = b->at, .len = b->len};
    um_feed feed = {&from, read_bytes, b->len, checked};
    return um_list_decode(c, secret, &feed, out, &test_refusal);
}

static umbel_status decode(const um_list_config *c, const uint8_t *secret,
                           const bytes *b, um_list **out)
{
    return decode_from(c, secret, b, false, out);
}

/*
 * Returns a list with keys 0 .. 99 in the first epoch and 50 .. 149 in the
 * second.
 */
static um_list *two_epochs(const um_list_config *c)
{
    um_list *l = open_list(c);

    for (uint64_t i = 0; i < 100; i++)
        add_key(l, i, 2);
    advance(l, T0 + DAY);
    for (uint64_t i = 50; i < 150; i++)
        add_key(l, i, 3);
    return l;
}

static void decoding_gives_the_same_list(void **state)
{
    (void)state;
    um_list *l = two_epochs(&usual), *again = NULL;
    bytes b = encoded(l);

    assert_ok(decode(&usual, test_secret, &b, &again));
    um_list_stats s = stats_of(l), t = stats_of(again);
    assert_int_equal(s.digests, t.digests);
    assert_int_equal(s.n, t.n);
    assert_int_equal(s.bytes, t.bytes);
    assert_memory_equal(s.epoch, t.epoch, s.n * sizeof *s.epoch);
    for (uint64_t i = 0; i < 200; i++)
        assert_int_equal(count_key(again, i), count_key(l, i));
    bytes twice = encoded(again);
    assert_int_equal(b.len, twice.len);
    assert_memory_equal(b.at, twice.at, b.len);
    advance(again, T0 + 2 * DAY);
    add_key(again, 60, 1);
    assert_int_equal(count_key(again, 60), 6);
    free(b.at);
    free(twice.at);
    um_list_close(l);
    um_list_close(again);
}

/* The paper's structure: five bits, refined, verdicts from 20 on. */
static const um_list_config paper = {.name = "body",
                                     .kind = "counting",
                                     .addressing = "classic",
                                     .capacity = 2000,
                                     .error = 0.02,
                                     .epochs = 1,
                                     .cell_bits = 5,
                                     .refined = true,
                                     .threshold = 20};

/* Returns the count of key i: i % 7 + 1, and 40 for every 50th. */
static uint64_t times_of(uint64_t i)
{
    return i % 50 == 0 ? 40 : i % 7 + 1;
}

static void a_threshold_predicts_wrong_verdicts(void **state)
{
    enum { N = 2000 };
    uint64_t counts[N];
    um_list *l = open_list(&paper), *again = NULL;
    umbel_setting settings[] = {{"cell_bits", 5}, {"update", 1}};
    umbel_params p = {.size = sizeof p,
                      .addressing = "classic",
                      .capacity = paper.capacity + UM_LIST_BATCH,
                      .fpr = paper.error,
                      .settings = settings,
                      .nsettings = 2,
                      .exact_size = true};
    umbel_count_plan plan;

    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        counts[i] = times_of(i);
        add_key(l, i, 1);
        add_key(l, i, (uint32_t)counts[i] - 1);
    }
    assert_int_equal(
        umbel_plan_counts("counting", &p, 20, counts, N, &plan, NULL),
        UMBEL_OK);
    um_list_stats s = stats_of(l);
    assert_int_equal(s.count_limit, 31);
    assert_int_equal(s.threshold, 20);
    /*
     * A few of the 2,000 keys match others, which explains a difference of 2 %.
     */
    assert_true(s.f_compound > 0.8 * plan.f_compound &&
                s.f_compound < 1.25 * plan.f_compound);
    assert_true(s.f_paper > 0 && s.f_paper <= plan.f_paper);
    bytes b = encoded(l);
    assert_int_equal(decode(&paper, test_secret, &b, &again), UMBEL_OK);
    um_list_stats t = stats_of(again);
    assert_true(t.f_compound >= s.f_compound && t.f_compound <= s.f_compound);
    um_list_close(l);
    um_list_close(again);
    free(b.at);
}

static void another_configuration_holds_from_the_next_epoch_on(void **state)
{
    (void)state;
    um_list *l = two_epochs(&usual), *again = NULL;
    bytes b = encoded(l);
    um_list_config c = usual;

    c.kind = "tally";
    c.cell_bits = 0;
    c.capacity = 5000;
    assert_ok(decode(&c, test_secret, &b, &again));
    assert_int_equal(stats_of(again).epoch[0].capacity, 1000);
    assert_int_equal(count_key(again, 60), 5);
    advance(again, T0 + 2 * DAY);
    assert_int_equal(stats_of(again).epoch[0].capacity, 5000);
    add_key(again, 60, 1);
    assert_int_equal(count_key(again, 60), 6);
    um_list_close(again);

    c = usual;
    c.epochs = 1;
    assert_ok(decode(&c, test_secret, &b, &again));
    assert_int_equal(count_key(again, 60), 3);
    um_list_close(again);
    free(b.at);
    um_list_close(l);
}

/* The length of the filter stands before it: here after the version, the number
 * of filters, early ends, two times, a threshold of 0, bits and reporters. */
static void another_layout_is_another_version_and_not_cut_short(void **state)
{
    enum { LEN_AT = 8 + 16 + 16 + 4 + 16 };
    um_list_config c = usual;
    c.threshold = 0;
    um_list *l = open_list(&c), *again = NULL;
    bytes b = encoded(l);

    (void)state;
    b.at[LEN_AT] ^= 64;
    assert_refused(decode_from(&c, test_secret, &b, false, &again),
                   UMBEL_E_FORMAT, "bytes");
    assert_refused(decode_from(&c, test_secret, &b, true, &again),
                   UMBEL_E_VERSION, "another version of this program");
    assert_null(again);
    free(b.at);
    um_list_close(l);
}

static void epochs_of_two_shapes_are_not_added_up(void **state)
{
    (void)state;
    um_list *l = two_epochs(&usual), *again = NULL;
    bytes b = encoded(l);
    um_list_config c = usual;
    umbel_digest d = digest_of(l, 60);
    uint64_t bound;

    c.capacity = 5000;
    c.epochs = 4;
    assert_ok(decode(&c, test_secret, &b, &again));
    advance(again, T0 + 2 * DAY);
    while (um_list_build_totals(again, 1 << 20, 1 << 10))
        continue;
    assert_false(um_list_upper_bound(again, &d, 1, &bound)); /* two are alike */
    assert_in_range(bound, 5, 10);
    add_key(again, 60, 7);
    advance(again, T0 + 3 * DAY);
    assert_false(um_list_build_totals(again, 1 << 20, 1 << 10));
    assert_true(um_list_upper_bound(again, &d, 1, &bound));
    assert_int_equal(bound, 12);
    um_list_close(again);
    free(b.at);
    um_list_close(l);
}

static void another_secret_is_refused(void **state)
{
    (void)state;
    um_list *l = two_epochs(&usual), *again = NULL;
    bytes b = encoded(l);

    assert_refused_as(decode(&usual, test_other_secret, &b, &again),
                      UMBEL_E_SECRET, UMBEL_D_SECRET_WRONG, "secret");
    assert_null(again);
    free(b.at);
    um_list_close(l);
}

static void a_list_cut_short_is_refused(void **state)
{
    (void)state;
    um_list_config c = usual;
    c.capacity = 20;
    c.error = 0.1;
    um_list *l = open_list(&c), *again = NULL;
    bytes b = encoded(l), cut = b;

    for (cut.len = 0; cut.len < b.len; cut.len++)
        assert_int_not_equal(decode(&c, test_secret, &cut, &again), UMBEL_OK);
    assert_null(again);
    free(b.at);
    um_list_close(l);
}

/* No byte can change unnoticed, except early ends, the epochs' times, and who
 * reported what. */
static void a_changed_byte_is_refused_or_harmless(void **state)
{
    (void)state;
    um_list_config c = usual;
    c.capacity = 20;
    c.error = 0.1;
    um_list *l = open_list(&c), *again;
    bytes b = encoded(l);

    for (size_t i = 0; i < b.len; i++) {
        bool harmless =
            (i >= 8 && i < 32) || i == 48 || i == 49 || (i >= 52 && i < 60);
        b.at[i] ^= 0x41;
        umbel_status status = decode(&c, test_secret, &b, &again);
        b.at[i] ^= 0x41;
        assert_int_equal(status == UMBEL_OK, harmless);
        if (status == UMBEL_OK)
            um_list_close(again);
    }
    free(b.at);
    um_list_close(l);
}

/* Version 2 says neither who reported, nor what ended early. */
static void a_list_of_version_2_is_read(void **state)
{
    (void)state;
    enum { EARLY = 8, BITS = 8 + 16 + 16 + 4, HERE = 5 };
    um_list *l = open_list(&usual), *again = NULL;
    bytes b;

    add_key(l, 1, 3);
    b = encoded(l);
    memmove(b.at + BITS, b.at + BITS + 16, b.len - BITS - 16);
    memmove(b.at + EARLY, b.at + EARLY + 16, b.len - EARLY - 32);
    b.at[0] = 2;
    b.len -= 32;
    assert_ok(decode(&usual, test_secret, &b, &again));
    assert_int_equal(count_key(again, 1), 3);
    /* Nobody is known to have reported it, so nobody may drop it. */
    assert_true(um_list_is_sole(again, HERE, false));
    assert_false(um_list_is_sole(again, HERE, true));
    free(b.at);
    um_list_close(l);
    um_list_close(again);
}

static void filters_and_reporters_are_the_same_after_decoding(void **state)
{
    (void)state;
    um_list *l = two_epochs(&usual), *again = NULL;
    umbel_digest d = digest_of(l, 1000);
    uint32_t one = 1;
    uint16_t here = 5;

    assert_ok(um_list_extend(l, T0 + DAY, &test_refusal));
    assert_ok(um_list_add_reports(l, &d, &one, &here, 1, &test_refusal));
    advance(l, T0 + DAY); /* early */
    assert_ok(um_list_extend(l, T0 + DAY, &test_refusal));
    assert_ok(um_list_add_reports(l, &d, &one, &here, 1, &test_refusal));
    bytes b = encoded(l);
    assert_ok(decode(&usual, test_secret, &b, &again));
    bytes twice = encoded(again);
    assert_int_equal(b.len, twice.len);
    assert_memory_equal(b.at, twice.at, b.len);
    um_list_stats s = stats_of(again);
    assert_int_equal(s.n, 5);
    assert_int_equal(s.extra, 2);
    assert_int_equal(s.anonymous, 1);
    assert_int_equal(s.ended_early, 1);
    assert_false(s.sole);
    free(b.at);
    free(twice.at);
    um_list_close(l);
    um_list_close(again);
}

/* An early end drops the first filter of the oldest epoch, and its further
 * ones still answer. */
static void filters_without_their_first_one_stay_after_decoding(void **state)
{
    (void)state;
    um_list *l = open_list(&usual), *again = NULL;

    advance(l, T0);
    assert_ok(um_list_extend(l, T0, &test_refusal));
    for (unsigned i = 0; i < usual.epochs; i++)
        advance(l, T0); /* early */
    um_list_stats before = stats_of(l);
    assert_int_equal(before.extra, 1);
    bytes b = encoded(l);
    assert_ok(decode(&usual, test_secret, &b, &again));
    assert_int_equal(stats_of(again).n, before.n);
    assert_int_equal(stats_of(again).extra, 1);
    free(b.at);
    um_list_close(l);
    um_list_close(again);
}

static void another_version_is_refused_by_name(void **state)
{
    (void)state;
    um_list *l = open_list(&usual), *again = NULL;
    bytes b = encoded(l);

    b.at[0] = 9;
    assert_refused(decode(&usual, test_secret, &b, &again), UMBEL_E_VERSION,
                   "version 9");
    b.at[0] = 2;
    b.at[4] = UM_LIST_MAX_FILTERS + 1;
    assert_refused(decode(&usual, test_secret, &b, &again), UMBEL_E_FORMAT,
                   "129 filters");
    b.at[4] = 0;
    assert_refused(decode(&usual, test_secret, &b, &again), UMBEL_E_FORMAT,
                   "0 filters");
    free(b.at);
    um_list_close(l);
}

/* Puts a filter that is no epoch in place of one. */
static void filters_that_are_no_epoch_are_refused(void **state)
{
    (void)state;
    umbel_setting bits = {"cell_bits", 8};
    umbel_params plain = {.size = sizeof plain, .capacity = 1000};
    umbel_params sip = {.size = sizeof sip,
                        .capacity = 1000,
                        .hash = "sip",
                        .secret = test_secret};
    umbel_params few = sip;
    few.capacity = UM_LIST_BATCH;
    const struct {
        const char *kind;
        const umbel_params *p;
        bool coded;
        const char *word;
    } bad[] = {{"counting", &plain, false, "hash xxh3-64"},
               {"bloom", &sip, false, "cannot be an epoch"},
               {"counting", &few, false, "cannot be an epoch"},
               {"counting", &sip, true, "cannot be an epoch"}};

    plain.settings = &bits;
    plain.nsettings = 1;
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        umbel_filter *f;
        um_list *l = NULL;
        size_t len;

        assert_ok(umbel_create(bad[i].kind, bad[i].p, &f, &test_refusal));
        umbel_set_coded(f, bad[i].coded);
        uint8_t *file = test_encode(f, &len);
        bytes b = {.at = calloc(1, len + 36), .len = len + 36};
        b.at[0] = 2;
        b.at[4] = 1;
        um_store64(b.at + 28, len); /* after a threshold of 0 */
        memcpy(b.at + 36, file, len);
        assert_refused(decode(&usual, test_secret, &b, &l), UMBEL_E_FORMAT,
                       bad[i].word);
        free(file);
        free(b.at);
        umbel_close(f);
    }
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    um_list *l = two_epochs(&usual);
    bytes whole = encoded(l);

    for (size_t cap = 0; cap < whole.len; cap += whole.len / 7 + 1) {
        bytes b = {.at = malloc(whole.len), .cap = cap};
        um_sink sink = {&b, write_bytes};
        assert_refused(um_list_encode(l, &sink, &test_refusal), UMBEL_E_IO,
                       "full");
        free(b.at);
    }
    free(whole.at);
    um_list_close(l);
}
/* --- memory --- */

static void missing_memory_changes_nothing(void **state)
{
    (void)state;
    test_memory m = {0};
    umbel_alloc alloc = test_alloc(&m);
    um_list_config c = usual;
    um_list *l = NULL;

    c.alloc = &alloc;
    for (m.fail_at = 1; !l; m.fail_at++, m.calls = 0) {
        if (um_list_open(&c, test_secret, T0, &l, &test_refusal) == UMBEL_OK)
            break;
        assert_int_equal(test_refusal.status, UMBEL_E_NOMEM);
        assert_int_equal(m.live_blocks, 0);
    }
    assert_true(m.fail_at > 2);
    m.fail_at = 0;
    add_key(l, 1, 4);
    bool advanced = false;
    for (m.fail_at = 1, m.calls = 0; !advanced; m.fail_at++, m.calls = 0) {
        advanced = um_list_advance(l, T0 + 1, &test_refusal) == UMBEL_OK;
        assert_int_equal(stats_of(l).n, advanced ? 2 : 1);
        assert_int_equal(count_key(l, 1), 4);
    }
    assert_true(m.fail_at > 2);
    m.fail_at = 0;
    bytes b = encoded(l);
    um_list_close(l);
    assert_int_equal(m.live_blocks, 0);

    um_list *again = NULL;
    for (m.fail_at = 1, m.calls = 0; !again; m.fail_at++, m.calls = 0) {
        if (decode(&c, test_secret, &b, &again) == UMBEL_OK)
            break;
        assert_int_equal(test_refusal.status, UMBEL_E_NOMEM);
        assert_int_equal(m.live_blocks, 0);
    }
    m.fail_at = 0;
    assert_int_equal(count_key(again, 1), 4);
    um_list_close(again);
    assert_int_equal(m.live_blocks, 0);
    free(b.at);
}
TEST_GROUP(list_bytes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_gives_the_same_list),
        cmocka_unit_test(a_threshold_predicts_wrong_verdicts),
        cmocka_unit_test(another_configuration_holds_from_the_next_epoch_on),
        cmocka_unit_test(another_layout_is_another_version_and_not_cut_short),
        cmocka_unit_test(epochs_of_two_shapes_are_not_added_up),
        cmocka_unit_test(another_secret_is_refused),
        cmocka_unit_test(a_list_cut_short_is_refused),
        cmocka_unit_test(a_changed_byte_is_refused_or_harmless),
        cmocka_unit_test(a_list_of_version_2_is_read),
        cmocka_unit_test(filters_and_reporters_are_the_same_after_decoding),
        cmocka_unit_test(filters_without_their_first_one_stay_after_decoding),
        cmocka_unit_test(another_version_is_refused_by_name),
        cmocka_unit_test(filters_that_are_no_epoch_are_refused),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(missing_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
