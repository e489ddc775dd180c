/* test_golden.c - golden files must decode for ever. */
#include "support/golden.h"

#include <umbel/describe.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Loads a file, with the secret of support/filters.c if it is keyed. */
static umbel_filter *load(const char *path, bool keyed)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *f = NULL;

    source.verify = true;
    source.secret = keyed ? test_secret : NULL;
    assert_ok(umbel_load(path, &source, &f, &test_refusal));
    return f;
}

static void every_combination_has_its_file(void **state)
{
    test_combo c;
    size_t missing = 0;

    (void)state;
    for (size_t i = 0; test_combo_at(i, &c); i++) {
        char *path = golden_path(&c);
        if (access(path, R_OK) != 0) {
            print_error("%s is missing\n", path);
            missing++;
        }
        free(path);
    }
    if (missing)
        fail_msg("%zu golden files are missing: build the target golden_make, "
                 "run it, and commit the files it wrote",
                 missing);
}

static void known_members_match(void **state)
{
    test_combo c;

    (void)state;
    for (size_t i = 0; test_combo_at(i, &c); i++) {
        char *path = golden_path(&c);
        umbel_filter *f = load(path, c.keyed);
        if (!umbel_has_false_negatives(f))
            assert_int_equal(test_hits(f, 0, GOLDEN_KEYS), GOLDEN_KEYS);
        assert_true(test_hits(f, GOLDEN_KEYS, 1000) < 100);
        umbel_close(f);
        free(path);
    }
}

/* Checks that f encodes to the bytes of the file. Frees path and f. */
static void compare(char *path, umbel_filter *f)
{
    size_t len, want_len;
    uint8_t *bytes = test_encode(f, &len);
    uint8_t *want = test_read_file(path, &want_len);

    assert_int_equal(len, want_len);
    assert_memory_equal(bytes, want, len);
    umbel_close(f);
    free(bytes);
    free(want);
    free(path);
}

static void building_the_same_today_gives_the_same_bytes(void **state)
{
    test_combo c;
    umbel_filter *f;
    char *path;

    (void)state;
    for (size_t i = 0; test_combo_at(i, &c); i++)
        compare(golden_path(&c), golden_build(&c));
    for (size_t i = 0; golden_row_at(i, &path, &f); i++)
        compare(path, f);
}

static umbel_filter *load_named(const char *name)
{
    char *path = test_path(UM_GOLDEN_DIR, name);
    umbel_filter *f = load(path, false);

    free(path);
    return f;
}

/* Checks that exactly the keys that begin with 7 match, from GOLDEN_KEYS on. */
static void assert_parts(const umbel_filter *f)
{
    for (uint64_t i = GOLDEN_KEYS; i < 5000; i++) {
        char key[TEST_KEY_LEN];
        bool hit;
        test_key(i, key);
        assert_ok(umbel_query(f, key, sizeof key, &hit, &test_refusal));
        assert_int_equal(hit, key[0] == '7');
    }
}

/* Loads a ribbon file of the generation "v2" or "uniform-v2". */
static umbel_filter *load_ribbon(const char *name, const char *generation)
{
    char file[64];

    snprintf(file, sizeof file, "ribbon-%s-%s.umb", name, generation);
    return load_named(file);
}

static void assert_static_answers(const char *generation)
{
    umbel_filter *layers = load_ribbon("layers", generation);
    umbel_filter *wide = load_ribbon("wide", generation);
    umbel_filter *exact = load_ribbon("exact", generation);
    umbel_filter *parts = load_ribbon("parts", generation);
    umbel_filter *map = load_ribbon("map", generation);

    assert_int_equal(test_hits(layers, 0, 3000), 3000);
    assert_in_range(test_hits(layers, 3000, 10000), 1700, 2300);
    assert_int_equal(test_hits(wide, 0, 3000), 3000);
    assert_near((double)test_hits(wide, 3000, 10000),
                10000 * umbel_predict(wide), 200);
    assert_int_equal(test_hits(exact, 0, GOLDEN_KEYS), GOLDEN_KEYS);
    assert_int_equal(test_hits(exact, GOLDEN_KEYS, 1000), 0);
    assert_int_equal(test_hits(parts, 0, GOLDEN_KEYS), GOLDEN_KEYS);
    assert_parts(parts);
    assert_int_equal(test_hits(map, 0, GOLDEN_KEYS), GOLDEN_KEYS);
    for (uint64_t i = 0; i < GOLDEN_KEYS; i++) {
        char key[TEST_KEY_LEN];
        umbel_slice slice = {key, sizeof key};
        uint64_t value;
        test_key(i, key);
        assert_ok(umbel_values_many(map, &slice, 1, &value, &test_refusal));
        assert_int_equal(value, i % 50);
    }
    umbel_close(layers);
    umbel_close(wide);
    umbel_close(exact);
    umbel_close(parts);
    umbel_close(map);
}

/* In generation uniform-v2 tails had uniform starts and used more slots. */
static void static_filters_answer_as_ever(void **state)
{
    (void)state;
    assert_static_answers("uniform-v2");
    assert_static_answers("v2");
}

static void members_of_groups_match(void **state)
{
    umbel_filter *f = load_named("bloom-classic-xxh3-64-groups3-v2.umb");

    (void)state;
    assert_int_equal(test_hits(f, 0, GOLDEN_KEYS), GOLDEN_KEYS);
    assert_true(test_hits(f, GOLDEN_KEYS, 1000) < 100);
    umbel_close(f);
}

static bool is_golden(const char *name)
{
    size_t len = strlen(name);
    return len > 4 && strcmp(name + len - 4, ".umb") == 0;
}

/* Loads all golden files, including those that are no longer written. */
static void every_file_here_still_answers(void **state)
{
    DIR *d = opendir(UM_GOLDEN_DIR);
    size_t n = 0;

    (void)state;
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (!is_golden(e->d_name))
            continue;
        char *path = test_path(UM_GOLDEN_DIR, e->d_name);
        umbel_filter *f = load(path, strstr(e->d_name, "-sip-")), *again = NULL;
        size_t len;
        uint8_t *bytes = test_encode(f, &len);
        if (!umbel_has_false_negatives(f))
            assert_int_equal(test_hits(f, 0, GOLDEN_KEYS), GOLDEN_KEYS);
        assert_ok(umbel_decode(bytes, len, NULL, &again, &test_refusal));
        test_assert_same_file(f, again);
        umbel_close(again);
        umbel_close(f);
        free(bytes);
        free(path);
        n++;
    }
    closedir(d);
    assert_true(n > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_has_its_file),
        cmocka_unit_test(known_members_match),
        cmocka_unit_test(members_of_groups_match),
        cmocka_unit_test(building_the_same_today_gives_the_same_bytes),
        cmocka_unit_test(static_filters_answer_as_ever),
        cmocka_unit_test(every_file_here_still_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
