/*
 * index.c - an index answers as its filters do, through updates, kills and
 * damage.
 */
#include "base/rng.h"
#include "index/internal.h"
#include "support/test.h"

#include <umbel/describe.h>
#include <umbel/estimate.h>
#include <umbel/experimental/index.h>
#include <umbel/file.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FILTERS = 64, LISTS = 8 };

/* What an index should contain. */
typedef struct model {
    char *top, *dir;
    umbel_index_entry entry[MAX_FILTERS];
    char name[MAX_FILTERS][16];
    size_t n;
} model;

static void begin(model *m)
{
    *m = (model){.top = test_dir_make()};
    m->dir = test_path(m->top, "index");
}

static void end(model *m)
{
    for (size_t i = 0; i < m->n; i++)
        umbel_close((umbel_filter *)(uintptr_t)m->entry[i].filter);
    if (access(m->dir, F_OK) == 0)
        test_dir_remove(m->dir);
    else
        free(m->dir);
    test_dir_remove(m->top);
}

static void put(model *m, umbel_filter *f)
{
    snprintf(m->name[m->n], sizeof m->name[m->n], "list %zu", m->n);
    m->entry[m->n] = (umbel_index_entry){m->name[m->n], f};
    m->n++;
}

static umbel_status add_all(const model *m, umbel_index_changes *out)
{
    return umbel_index_update(m->dir, 0, m->entry, m->n, NULL, 0, out,
                              &test_refusal);
}

/* Returns the model's filter with that name; NULL for an empty slot. */
static const umbel_filter *filter_of(const model *m, const char *name)
{
    for (size_t i = 0; name && i < m->n; i++)
        if (strcmp(m->entry[i].name, name) == 0)
            return m->entry[i].filter;
    return NULL;
}

/* Asks the index and each filter n keys. Fails if a filter is missing. */
static void compare_keys(const model *m, const uint8_t *secret, uint64_t n)
{
    const umbel_filter *filter[8 * MAX_FILTERS];
    uint8_t hits[UMBEL_INDEX_HITS(8 * MAX_FILTERS)];
    char key[TEST_KEY_LEN];
    umbel_index *x;
    umbel_index_slot slot;
    size_t found = 0;

    assert_ok(umbel_index_open(m->dir, secret, &x, &test_refusal));
    size_t slots = umbel_index_slots(x);
    assert_in_range(slots, m->n, TEST_COUNT(filter));
    for (size_t i = 0; i < slots; i++) {
        assert_ok(umbel_index_slot_at(x, i, &slot, &test_refusal));
        filter[i] = filter_of(m, slot.name);
        found += filter[i] != NULL;
    }
    assert_int_equal(found, m->n);
    for (uint64_t i = 0; i < n; i++) {
        test_key(i * 37, key);
        assert_ok(
            umbel_index_ask(x, key, sizeof key, hits, NULL, &test_refusal));
        for (size_t s = 0; s < slots; s++)
            assert_int_equal(hits[s / 8] >> s % 8 & 1,
                             filter[s] && test_has(filter[s], i * 37));
    }
    umbel_index_close(x);
}

/* Kinds with the bits of a Bloom filter, on any addressing, with any hash:
 * lists of 100 to 2,900 keys. Others are refused. */
static void every_bloom_filter_can_be_indexed(void **state)
{
    test_combo combo;
    size_t indexed = 0;

    (void)state;
    for (size_t i = 0; test_combo_at(i, &combo); i++) {
        umbel_params p = test_combo_params(&combo);
        umbel_filter *f;
        model m;
        begin(&m);
        for (size_t k = 0; k < LISTS; k++) {
            p.capacity = 100 + 400 * k;
            if (umbel_create(combo.kind, &p, &f, &test_refusal))
                break; /* a static kind */
            test_add(f, 3000 * k, p.capacity);
            put(&m, f);
        }
        umbel_status status = m.n ? add_all(&m, NULL) : UMBEL_E_UNSUPPORTED;
        if (status) {
            assert_int_equal(status, UMBEL_E_UNSUPPORTED);
            assert_string_not_equal(combo.kind, "bloom");
        } else {
            compare_keys(&m, combo.keyed ? test_secret : NULL, 150);
        }
        indexed += !status;
        end(&m);
    }
    assert_true(indexed >= 20);
}

static umbel_filter *open_list(size_t number, uint64_t keys, uint64_t seed)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;

    p.cells = keys * 16; /* with a capacity, most time goes into the size */
    p.hashes = 10;
    p.seed = seed;
    f = test_open(&p);
    test_add(f, 3000 * number, keys);
    return f;
}

static void a_keyed_index_needs_its_secret(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    uint8_t hits[UMBEL_INDEX_HITS(8)];
    umbel_index *x;
    model m;

    (void)state;
    begin(&m);
    p.capacity = 100;
    p.hash = "sip";
    p.secret = test_secret;
    put(&m, test_open(&p));
    assert_ok(add_all(&m, NULL));
    assert_ok(umbel_index_open(m.dir, NULL, &x, &test_refusal));
    assert_refused(umbel_index_ask(x, "a", 1, hits, NULL, &test_refusal),
                   UMBEL_E_SECRET, "secret");
    umbel_index_close(x);
    assert_refused(
        umbel_index_open(m.dir, test_other_secret, &x, &test_refusal),
        UMBEL_E_SECRET, "");
    end(&m);
}

/* Every group of hash functions is asked. */
static void filters_with_groups_can_be_indexed(void **state)
{
    umbel_setting groups = {"groups", 3};
    umbel_params p = UMBEL_PARAMS_INIT;
    model m;

    (void)state;
    begin(&m);
    p.settings = &groups;
    p.nsettings = 1;
    for (size_t k = 0; k < LISTS; k++) {
        p.capacity = 300 + 100 * k;
        put(&m, test_open(&p));
        test_add((umbel_filter *)(uintptr_t)m.entry[k].filter, 3000 * k,
                 p.capacity);
    }
    assert_ok(add_all(&m, NULL));
    compare_keys(&m, NULL, 1000);
    end(&m);
}

/* Domains match by their parents, addresses by prefixes, and a text that a
 * filter cannot contain does not match it. */
static void keys_are_asked_in_the_form_of_each_filter(void **state)
{
    static const struct {
        umbel_key_form form;
        const char *added, *asked;
    } rows[] = {{UMBEL_KEYS_DOMAIN, "example.org", "a.b.Example.org."},
                {UMBEL_KEYS_NETWORK, "10.0.0.0/8", "10.1.2.3"},
                {UMBEL_KEYS_NETWORK, "2001:db8::/32", "2001:db8::1"},
                {UMBEL_KEYS_HEX, "c0ffee", "C0FFEE"},
                {UMBEL_KEYS_SHA1, "hello", "hello"},
                {UMBEL_KEYS_FOLDED_TEXT, "alpha", "ALPHA"}};
    umbel_params p = UMBEL_PARAMS_INIT;
    char space[UMBEL_FORM_SPACE(64)];
    uint8_t hits[UMBEL_INDEX_HITS(64)];
    umbel_slice key;
    umbel_index *x;
    model m;

    (void)state;
    begin(&m);
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        p.capacity = 100;
        p.key_form = rows[i].form;
        umbel_filter *f = test_open(&p);
        assert_ok(umbel_form_key(f, rows[i].added, strlen(rows[i].added), space,
                                 &key, &test_refusal));
        assert_ok(umbel_add(f, key.data, key.len, NULL, &test_refusal));
        put(&m, f);
    }
    assert_ok(add_all(&m, NULL));
    assert_ok(umbel_index_open(m.dir, NULL, &x, &test_refusal));
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        size_t slots = umbel_index_slots(x), found = 0;
        umbel_index_slot slot;
        assert_ok(umbel_index_ask(x, rows[i].asked, strlen(rows[i].asked), hits,
                                  NULL, &test_refusal));
        for (size_t s = 0; s < slots; s++) {
            assert_ok(umbel_index_slot_at(x, s, &slot, &test_refusal));
            if (slot.name && strcmp(slot.name, m.name[i]) == 0)
                found += hits[s / 8] >> s % 8 & 1;
        }
        assert_int_equal(found, 1);
    }
    umbel_index_close(x);

    /* Without the text forms, "c0f" is a key of nothing. */
    const char *others[] = {m.name[0], m.name[1], m.name[2], m.name[4],
                            m.name[5]};
    assert_ok(
        umbel_index_update(m.dir, 0, NULL, 0, others, 5, NULL, &test_refusal));
    assert_ok(umbel_index_open(m.dir, NULL, &x, &test_refusal));
    assert_refused(umbel_index_ask(x, "c0f", 3, hits, NULL, &test_refusal),
                   UMBEL_E_KEY, "odd number");
    umbel_index_close(x);
    end(&m);
}

/* Columns of one file fill several tiles. */
static void large_filters_can_be_indexed(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    model m;

    (void)state;
    begin(&m);
    for (size_t k = 0; k < 5; k++) {
        p.cells = (17000 + 4000 * k) * 512;
        p.capacity = 400000;
        put(&m, test_open(&p));
        test_add((umbel_filter *)(uintptr_t)m.entry[k].filter, 30000 * k,
                 50000);
    }
    assert_ok(add_all(&m, NULL));
    compare_keys(&m, NULL, 1500);
    m.n--; /* and after a merge */
    assert_ok(umbel_index_update(m.dir, 0, NULL, 0,
                                 (const char *[]){m.name[m.n]}, 1, NULL,
                                 &test_refusal));
    compare_keys(&m, NULL, 1000);
    umbel_filter *more = test_open(&p);
    umbel_close((umbel_filter *)(uintptr_t)m.entry[m.n].filter);
    put(&m, more);
    assert_ok(add_all(&m, NULL));
    compare_keys(&m, NULL, 1500);
    end(&m);
}

/* More filters than a file holds. */
static void thousands_of_filters_can_be_indexed(void **state)
{
    enum { N = UM_SLICES_MAX + 100 };
    umbel_index_entry *entry = calloc(N, sizeof *entry);
    char(*name)[16] = calloc(N, sizeof *name);
    umbel_index_changes done;
    umbel_index *x;
    model m;

    (void)state;
    begin(&m);
    for (size_t i = 0; i < N; i++) {
        snprintf(name[i], sizeof name[i], "%zu", i);
        entry[i] = (umbel_index_entry){name[i], open_list(0, 1 + i % 50, 0)};
    }
    assert_ok(
        umbel_index_update(m.dir, 0, entry, N, NULL, 0, &done, &test_refusal));
    assert_int_equal(done.filters, N);
    assert_ok(umbel_index_open(m.dir, NULL, &x, &test_refusal));
    uint8_t *hits = malloc(UMBEL_INDEX_HITS(umbel_index_slots(x)));
    char key[TEST_KEY_LEN];
    size_t found = 0, wanted = 0;
    test_key(49, key);
    assert_ok(umbel_index_ask(x, key, sizeof key, hits, NULL, &test_refusal));
    for (size_t s = 0; s < umbel_index_slots(x); s++)
        found += hits[s / 8] >> s % 8 & 1;
    for (size_t i = 0; i < N; i++) {
        wanted += test_has(entry[i].filter, 49);
        umbel_close((umbel_filter *)(uintptr_t)entry[i].filter);
    }
    assert_int_equal(found, wanted);
    umbel_index_close(x);
    free(hits);
    free(entry);
    free(name);
    end(&m);
}

/* Replaces filter i by another one. */
static void change(model *m, size_t i, size_t number, uint64_t keys)
{
    umbel_close((umbel_filter *)(uintptr_t)m->entry[i].filter);
    m->entry[i].filter = open_list(number, keys, keys % 2);
}

/* Adds, replaces and removes at random; few files are left, and an update that
 * changes nothing writes nothing. */
static void updates_keep_answers_right_and_files_few(void **state)
{
    um_rng rng = {5};
    umbel_index_changes done;
    model m;

    (void)state;
    begin(&m);
    for (size_t step = 0; step < 100; step++) {
        uint64_t keys = 50 + um_random_below(&rng, 1500);
        size_t i = (size_t)um_random_below(&rng, m.n + 1);
        if (um_random_below(&rng, 4) == 0 && m.n) {
            i %= m.n;
            const char *name = m.name[i];
            assert_ok(umbel_index_update(m.dir, 0, NULL, 0, &name, 1, &done,
                                         &test_refusal));
            assert_int_equal(done.removed, 1);
            umbel_close((umbel_filter *)(uintptr_t)m.entry[i].filter);
            m.n--;
            m.entry[i] = m.entry[m.n];
            memcpy(m.name[i], m.name[m.n], sizeof m.name[i]);
            m.entry[i].name = m.name[i];
            continue;
        }
        bool added = i == m.n;
        if (added && m.n == MAX_FILTERS)
            continue;
        if (added) {
            put(&m, open_list(step, keys, keys % 2));
            snprintf(m.name[i], sizeof m.name[i], "step %zu", step);
        } else {
            change(&m, i, step, keys);
        }
        assert_ok(umbel_index_update(m.dir, 0, &m.entry[i], 1, NULL, 0, &done,
                                     &test_refusal));
        assert_int_equal(done.added, added);
        assert_int_equal(done.replaced, !added);
        assert_int_equal(done.filters, m.n);
        if (step % 10 == 0)
            compare_keys(&m, NULL, 60);
    }
    compare_keys(&m, NULL, 300);
    /* Two seeds, four classes of sizes, and at most three files of each. */
    assert_in_range(test_dir_count(m.dir), 2, 1 + 2 * 4 * 3);

    size_t files = test_dir_count(m.dir);
    assert_ok(add_all(&m, &done));
    assert_int_equal(done.unchanged, m.n);
    assert_int_equal(done.added + done.replaced, 0);
    assert_int_equal(test_dir_count(m.dir), files);
    end(&m);
}

/* An update that is killed at any time changes nothing, or everything; the next
 * one removes what it left behind. */
static void an_update_that_is_killed_leaves_a_whole_index(void **state)
{
    umbel_index_changes done;
    size_t changed = 0;
    um_rng rng = {11};
    model m;

    (void)state;
    begin(&m);
    for (size_t i = 0; i < 20; i++)
        put(&m, open_list(i, 2000 + 100 * i, 0));
    assert_ok(add_all(&m, NULL));
    for (int round = 0; round < 25; round++) {
        model old = m;
        for (size_t i = 0; i < m.n; i++)
            m.entry[i].filter = open_list((size_t)round + i, 2500 + 10 * i, 0);
        pid_t child = fork();
        if (child == 0) {
            umbel_status status = add_all(&m, NULL);
            _exit(status != UMBEL_OK);
        }
        nanosleep(
            &(struct timespec){.tv_nsec = (long)um_random_below(&rng, 8000000)},
            NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);

        umbel_index *x;
        umbel_index_slot slot;
        assert_ok(umbel_index_open(m.dir, NULL, &x, &test_refusal));
        size_t at = 0;
        do
            assert_ok(umbel_index_slot_at(x, at++, &slot, &test_refusal));
        while (!slot.name);
        bool is_new =
            slot.checksum == umbel_payload_checksum(filter_of(&m, slot.name));
        umbel_index_close(x);
        compare_keys(is_new ? &m : &old, NULL, 40);
        changed += is_new;
        assert_ok(add_all(&m, &done));
        compare_keys(&m, NULL, 40);
        assert_in_range(test_dir_count(m.dir), 2, 5);
        for (size_t i = 0; i < m.n; i++)
            umbel_close((umbel_filter *)(uintptr_t)old.entry[i].filter);
    }
    assert_true(changed <= 25); /* how many depends on the machine */
    end(&m);
}

/* Flips a byte of each page of a file, at random, and asks. */
static void damage_is_noticed_before_it_gives_an_answer(void **state)
{
    uint8_t hits[UMBEL_INDEX_HITS(64)], right[sizeof hits];
    size_t noticed = 0, pages = 0, len;
    um_rng rng = {3};
    char key[TEST_KEY_LEN];
    umbel_index *x;
    model m;

    (void)state;
    begin(&m);
    for (size_t i = 0; i < 20; i++)
        put(&m, open_list(i, 3000 + 20 * i, 0));
    assert_ok(add_all(&m, NULL));
    test_key(3005, key);
    assert_ok(umbel_index_open(m.dir, NULL, &x, &test_refusal));
    assert_ok(umbel_index_ask(x, key, sizeof key, right, NULL, &test_refusal));
    size_t slots = umbel_index_slots(x);
    umbel_index_close(x);
    char *path = test_path(m.dir, "1.slices");
    uint8_t *bytes = test_read_file(path, &len);
    for (size_t page = 0; page < len / UM_SLICES_PAGE; page++, pages++) {
        uint8_t *at = bytes + page * UM_SLICES_PAGE +
                      um_random_below(&rng, UM_SLICES_PAGE);
        *at ^= 0x10;
        test_write_file(path, bytes, len);
        *at ^= 0x10;
        umbel_status status = umbel_index_open(m.dir, NULL, &x, &test_refusal);
        if (!status) {
            umbel_index_slot slot;
            status =
                umbel_index_ask(x, key, sizeof key, hits, NULL, &test_refusal);
            if (!status)
                assert_memory_equal(hits, right, (slots + 7) / 8);
            for (size_t s = 0; !status && s < slots; s++)
                status = umbel_index_slot_at(x, s, &slot, &test_refusal);
            umbel_index_close(x);
        }
        assert_true(!status || status == UMBEL_E_CHECKSUM ||
                    status == UMBEL_E_FORMAT || status == UMBEL_E_VERSION);
        noticed += status != UMBEL_OK;
    }
    /* The head, sizes, entries, names, and the rows that were read. */
    assert_in_range(noticed, 8, pages);

    test_write_file(path, bytes, len - 1);
    assert_refused(umbel_index_open(m.dir, NULL, &x, &test_refusal),
                   UMBEL_E_CHECKSUM, "length");
    bytes[8] = 9;
    test_write_file(path, bytes, len);
    assert_refused(umbel_index_open(m.dir, NULL, &x, &test_refusal),
                   UMBEL_E_VERSION, "version 9");
    free(bytes);
    free(path);
    end(&m);
}

static void a_damaged_list_of_files_is_refused(void **state)
{
    uint8_t *bytes;
    umbel_index *x;
    size_t len;
    model m;

    (void)state;
    begin(&m);
    assert_refused(umbel_index_open(m.dir, NULL, &x, &test_refusal),
                   UMBEL_E_UNKNOWN, "is not an index");
    put(&m, open_list(0, 100, 0));
    assert_ok(add_all(&m, NULL));
    char *path = test_path(m.dir, "index");
    bytes = test_read_file(path, &len);
    for (size_t i = 0; i < len; i++) {
        bytes[i] ^= 1;
        test_write_file(path, bytes, len);
        assert_true(umbel_index_open(m.dir, NULL, &x, &test_refusal));
        bytes[i] ^= 1;
    }
    for (size_t i = 0; i < len; i++) {
        test_write_file(path, bytes, i);
        assert_true(umbel_index_open(m.dir, NULL, &x, &test_refusal));
    }
    bytes[8] = 2;
    test_write_file(path, bytes, len);
    assert_refused(umbel_index_open(m.dir, NULL, &x, &test_refusal),
                   UMBEL_E_VERSION, "version 2");
    assert_refused(add_all(&m, NULL), UMBEL_E_VERSION, "version 2");
    free(bytes);
    free(path);
    end(&m);
}

static void wrong_updates_are_refused_and_change_nothing(void **state)
{
    const char *missing = "missing", *name = "list 0";
    char *longer = calloc(UM_SLICES_NAME_MAX + 2, 1);
    umbel_index_entry twice[2], unnamed;
    model m;

    (void)state;
    begin(&m);
    put(&m, open_list(0, 100, 0));
    assert_ok(add_all(&m, NULL));
    twice[0] = twice[1] = m.entry[0];
    assert_refused(
        umbel_index_update(m.dir, 0, twice, 2, NULL, 0, NULL, &test_refusal),
        UMBEL_E_RANGE, "given twice");
    assert_refused(
        umbel_index_update(m.dir, 0, NULL, 0, &missing, 1, NULL, &test_refusal),
        UMBEL_E_UNKNOWN, "missing: no filter");
    assert_refused(
        umbel_index_update(m.dir, 1, m.entry, 1, NULL, 0, NULL, &test_refusal),
        UMBEL_E_MISMATCH, "label 0");
    memset(longer, 'a', UM_SLICES_NAME_MAX + 1);
    unnamed = (umbel_index_entry){longer, m.entry[0].filter};
    assert_refused(
        umbel_index_update(m.dir, 0, &unnamed, 1, NULL, 0, NULL, &test_refusal),
        UMBEL_E_RANGE, "4096");
    free(longer);
    compare_keys(&m, NULL, 20);

    /* An index may become empty. */
    umbel_index *x;
    uint8_t hits[UMBEL_INDEX_HITS(0)];
    assert_ok(
        umbel_index_update(m.dir, 0, NULL, 0, &name, 1, NULL, &test_refusal));
    assert_ok(umbel_index_open(m.dir, NULL, &x, &test_refusal));
    assert_int_equal(umbel_index_slots(x), 0);
    assert_ok(umbel_index_ask(x, "a", 1, hits, NULL, &test_refusal));
    umbel_index_close(x);
    end(&m);
}

TEST_GROUP(index)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bloom_filter_can_be_indexed),
        cmocka_unit_test(a_keyed_index_needs_its_secret),
        cmocka_unit_test(filters_with_groups_can_be_indexed),
        cmocka_unit_test(keys_are_asked_in_the_form_of_each_filter),
        cmocka_unit_test(large_filters_can_be_indexed),
        cmocka_unit_test(thousands_of_filters_can_be_indexed),
        cmocka_unit_test(updates_keep_answers_right_and_files_few),
        cmocka_unit_test(an_update_that_is_killed_leaves_a_whole_index),
        cmocka_unit_test(damage_is_noticed_before_it_gives_an_answer),
        cmocka_unit_test(a_damaged_list_of_files_is_refused),
        cmocka_unit_test(wrong_updates_are_refused_and_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
