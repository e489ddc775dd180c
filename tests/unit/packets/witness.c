/*
 * witness.c - digests of packets: the open slice, closed slices, and the
 * directory of a router.
 */
#include "packets/witness/witness.h"
#include "base/rng.h"
#include "base/text.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t second = 1000000000;

static uint64_t digest_of(uint64_t i)
{
    return um_mix(i + 1);
}

static pk_set *set_of(uint64_t capacity, double fpr, uint64_t n)
{
    pk_set *s;
    umbel_error err;

    assert_int_equal(pk_set_open(capacity, fpr, &s, &err), UMBEL_OK);
    for (uint64_t i = 0; i < n; i++)
        assert_true(pk_set_add(s, digest_of(i)));
    return s;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The parts together are the sorted fingerprints, each once. */
static void check_listed(const pk_set *s, uint64_t n)
{
    uint64_t *want = malloc(n * sizeof *want);
    uint64_t *got = malloc(pk_set_part_max(s) * sizeof *got);
    size_t unique = 0, at = 0;

    for (uint64_t i = 0; i < n; i++)
        want[i] = pk_fingerprint(digest_of(i), pk_set_universe(s), 0);
    qsort(want, n, sizeof *want, compare_numbers);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || want[i] != want[unique - 1])
            want[unique++] = want[i];
    assert_int_equal(pk_set_count(s), unique);
    for (uint32_t part = 0; part < pk_set_parts(s); part++) {
        size_t some = pk_set_read(s, part, got);
        assert_true(at + some <= unique);
        assert_memory_equal(got, want + at, some * sizeof *got);
        at += some;
    }
    assert_int_equal(at, unique);
    free(want);
    free(got);
}

static void a_set_lists_every_fingerprint_once(void **state)
{
    static const struct {
        uint64_t capacity;
        double fpr;
        uint64_t n;
    } rows[] = {{1000, 0.001, 0},     {1000, 0.001, 1},   {1000, 0.1, 1000},
                {10000, 1e-6, 9000},  {30000, 0.01, 500}, {50000, 0.001, 49000},
                {4097, 0.0005, 4000}, {1000, 1e-6, 1000}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pk_set *s = set_of(rows[i].capacity, rows[i].fpr, rows[i].n);
        check_listed(s, rows[i].n);
        pk_set_close(s);
    }
}

static void a_full_set_refuses_new_digests_and_keeps_the_others(void **state)
{
    pk_set *s = set_of(1000, 0.001, 1000);

    (void)state;
    assert_true(pk_set_count(s) <= 1000);
    while (pk_set_count(s) < 1000)
        pk_set_add(s, digest_of(5000 + pk_set_count(s)));
    assert_false(pk_set_add(s, digest_of(2000)));
    assert_true(pk_set_add(s, digest_of(999))); /* is in it */
    pk_set_clear(s, 7);
    assert_int_equal(pk_set_count(s), 0);
    assert_true(pk_set_add(s, digest_of(2000)));
    pk_set_close(s);
}

static void settings_out_of_range_are_refused(void **state)
{
    static const struct {
        uint64_t capacity;
        double fpr;
    } rows[] = {{999, 0.001},
                {UINT64_C(1) << 40, 0.001},
                {1000, 0.2},
                {1000, 1e-9},
                {1000, NAN}};
    pk_set *s;
    umbel_error err;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(pk_set_open(rows[i].capacity, rows[i].fpr, &s, &err),
                         UMBEL_E_RANGE);
}

/* A slice has no false negative; its false positives are as it states, within
 * five sigma; both forms are as small as promised. */
static void a_closed_slice_answers_as_it_states(void **state)
{
    enum { N = 100000 };
    pk_set *s = set_of(N, 0.001, N - 100);
    pk_slice_facts facts = {.router = "r7", .from = 1, .to = 2, .packets = N};
    uint64_t *digests = malloc(N * sizeof *digests);
    bool *hit = malloc(N);
    pk_slice slice;
    umbel_error err;
    double wrong = 0;

    (void)state;
    assert_int_equal(pk_slice_build(s, &facts, 0.001, &slice, &err), UMBEL_OK);
    assert_true((double)pk_set_used(s) / (N - 100) < 2.45);
    assert_true((double)umbel_encoded_len(slice.filter) / (N - 100) < 1.3);
    assert_true(slice.error <= 0.001);
    for (uint64_t i = 0; i < N; i++)
        digests[i] = digest_of(i);
    assert_int_equal(pk_slice_query(&slice, digests, N - 100, hit, &err),
                     UMBEL_OK);
    for (size_t i = 0; i < N - 100; i++)
        assert_true(hit[i]);
    for (uint64_t i = 0; i < N; i++)
        digests[i] = digest_of(N + i);
    assert_int_equal(pk_slice_query(&slice, digests, N, hit, &err), UMBEL_OK);
    for (size_t i = 0; i < N; i++)
        wrong += hit[i];
    assert_true(fabs(wrong - N * slice.error) < 5 * sqrt(N * slice.error));
    pk_slice_fini(&slice);
    pk_set_close(s);
    free(digests);
    free(hit);
}

/* --- facts ---------------------------------------------------------------- */

static umbel_status attach_text(const char *text)
{
    umbel_params params = UMBEL_PARAMS_INIT;
    umbel_filter *f;
    umbel_error err;
    pk_slice slice;

    params.capacity = 10;
    assert_int_equal(umbel_create("bloom", &params, &f, &err), UMBEL_OK);
    assert_int_equal(umbel_set_data(f, text, strlen(text), &err), UMBEL_OK);
    umbel_status status = pk_slice_attach(f, &slice, &err);
    umbel_close(f);
    return status;
}

#define FACTS                                                                  \
    "umbel-packets slice 1\nrouter r7\nfrom 1\nto 2\npackets 3\nuniverse 4\n"

static void only_whole_facts_are_accepted(void **state)
{
    static const char *const bad[] = {
        "",
        "umbel-packets slice 2\n",
        FACTS,
        FACTS "seed 5",
        FACTS "seed 5\nmore\n",
        FACTS "seed -5\n",
        FACTS "seed 18446744073709551616\n",
        "umbel-packets slice 1\nrouter \nfrom 1\nto 2\npackets 3\nuniverse "
        "4\nseed 5\n",
        "umbel-packets slice 1\nrouter a b\nfrom 1\nto 2\npackets 3\nuniverse "
        "4\nseed 5\n",
        "umbel-packets slice 1\nrouter r7\nfrom 3\nto 2\npackets 3\nuniverse "
        "4\nseed 5\n",
        "umbel-packets slice 1\nrouter r7\nfrom 1\nto 2\npackets 3\nuniverse "
        "0\nseed 5\n"};

    (void)state;
    assert_int_equal(attach_text(FACTS "seed 5\n"), UMBEL_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(attach_text(bad[i]), UMBEL_E_FORMAT);
}

/* --- directories ---------------------------------------------------------- */

typedef struct place {
    char dir[64];
    pk_witness_config config;
    pk_witness *w;
} place;

static void begin(place *p, uint64_t capacity)
{
    umbel_error err;

    strcpy(p->dir, "witness-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    p->config = (pk_witness_config){.dir = p->dir,
                                    .router = "r7",
                                    .slice = 60 * second,
                                    .keep = 3600 * second,
                                    .capacity = capacity,
                                    .fpr = 0.001,
                                    .seeded = true};
    assert_int_equal(pk_witness_open(&p->config, &p->w, &err), UMBEL_OK);
}

static void add(place *p, uint64_t i, uint64_t seconds)
{
    umbel_error err;

    assert_int_equal(pk_witness_add(p->w, digest_of(i), seconds * second, &err),
                     UMBEL_OK);
}

/* Ends the witness; returns the slices. */
static pk_slice_names end(place *p)
{
    pk_slice_names names = {0};
    umbel_error err;

    assert_int_equal(pk_witness_cut(p->w, &err), UMBEL_OK);
    pk_witness_close(p->w);
    assert_int_equal(pk_slices_list(p->dir, &names, &err), UMBEL_OK);
    return names;
}

static void clean(place *p, pk_slice_names *names)
{
    char path[128];

    for (size_t i = 0; i < names->n; i++) {
        snprintf(path, sizeof path, "%s/%s", p->dir, names->name[i]);
        unlink(path);
    }
    pk_slice_names_fini(names);
    rmdir(p->dir);
}

static pk_slice open_slice(const place *p, const char *name)
{
    char path[128];
    pk_slice slice;
    umbel_error err;

    snprintf(path, sizeof path, "%s/%s", p->dir, name);
    assert_int_equal(pk_slice_open(path, true, &slice, &err), UMBEL_OK);
    return slice;
}

static bool has(const pk_slice *s, uint64_t i)
{
    uint64_t digest = digest_of(i);
    umbel_error err;
    bool hit;

    assert_int_equal(pk_slice_query(s, &digest, 1, &hit, &err), UMBEL_OK);
    return hit;
}

static void packets_are_in_the_slice_of_their_time(void **state)
{
    place p;

    (void)state;
    begin(&p, 1000);
    add(&p, 1, 600);
    add(&p, 2, 659);
    add(&p, 3, 660);
    add(&p, 4, 900);
    pk_slice_names names = end(&p);
    assert_int_equal(names.n, 3);
    assert_string_equal(names.name[0], "0000000600-000.slice");
    assert_string_equal(names.name[2], "0000000900-000.slice");
    pk_slice s = open_slice(&p, names.name[0]);
    assert_int_equal(s.facts.from, 600 * second);
    assert_int_equal(s.facts.to, 659 * second);
    assert_true(has(&s, 1) && has(&s, 2) && !has(&s, 3));
    pk_slice_fini(&s);
    clean(&p, &names);
}

static void a_full_slice_begins_another_and_loses_nothing(void **state)
{
    place p;

    (void)state;
    begin(&p, 1000);
    for (uint64_t i = 0; i < 3500; i++)
        add(&p, i, 600);
    assert_int_equal(pk_witness_count(p.w).overflows, 3);
    pk_slice_names names = end(&p);
    assert_int_equal(names.n, 4);
    size_t seen = 0;
    for (size_t k = 0; k < names.n; k++) {
        pk_slice s = open_slice(&p, names.name[k]);
        for (uint64_t i = k * 990; i < 3500 && i < (k + 1) * 1010; i++)
            seen += has(&s, i);
        pk_slice_fini(&s);
    }
    assert_true(seen >= 3500);
    clean(&p, &names);
}

static void a_clock_that_goes_back_extends_the_slice_or_ends_it(void **state)
{
    place p;

    (void)state;
    begin(&p, 1000);
    add(&p, 1, 600);
    add(&p, 2, 590); /* reordered: same slice, which then begins at 590 */
    add(&p, 3, 100); /* set back: another one */
    pk_slice_names names = end(&p);
    assert_int_equal(names.n, 2);
    assert_string_equal(names.name[0], "0000000060-000.slice");
    pk_slice s = open_slice(&p, names.name[1]);
    assert_int_equal(s.facts.from, 590 * second);
    pk_slice_fini(&s);
    clean(&p, &names);
}

static void old_slices_are_removed_and_other_files_are_not(void **state)
{
    place p;
    char path[128];

    (void)state;
    begin(&p, 1000);
    snprintf(path, sizeof path, "%s/notes", p.dir);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fclose(out);
    for (uint64_t i = 0; i < 12; i++)
        add(&p, i, 600 * i);
    pk_slice_names names = end(&p);
    assert_int_equal(names.n, 7); /* of the last hour, and of its begin */
    assert_string_equal(names.name[6], "0000006600-000.slice");
    assert_int_equal(unlink(path), 0);
    clean(&p, &names);
}

static void a_directory_has_one_writer(void **state)
{
    place p;
    pk_witness *second_writer;
    umbel_error err;

    (void)state;
    begin(&p, 1000);
    assert_int_equal(pk_witness_open(&p.config, &second_writer, &err),
                     UMBEL_E_IO);
    assert_non_null(strstr(err.text, "another"));
    pk_slice_names names = end(&p);
    assert_int_equal(names.n, 0);
    clean(&p, &names);
}

TEST_GROUP(witness)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_lists_every_fingerprint_once),
        cmocka_unit_test(a_full_set_refuses_new_digests_and_keeps_the_others),
        cmocka_unit_test(settings_out_of_range_are_refused),
        cmocka_unit_test(a_closed_slice_answers_as_it_states),
        cmocka_unit_test(only_whole_facts_are_accepted),
        cmocka_unit_test(packets_are_in_the_slice_of_their_time),
        cmocka_unit_test(a_full_slice_begins_another_and_loses_nothing),
        cmocka_unit_test(a_clock_that_goes_back_extends_the_slice_or_ends_it),
        cmocka_unit_test(old_slices_are_removed_and_other_files_are_not),
        cmocka_unit_test(a_directory_has_one_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
