/* coded.c - coded files decode to the same filter, within a limit. */
#include "support/test.h"

#include "filter/handle.h"

#include <umbel/file.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEYS = 5000 };

/* Kinds and fills that use each coding method. */
static const struct {
    const char *kind;
    uint64_t cells;
} shapes[] = {{"bloom", 40000},     {"bloom", 100000},     {"bloom", 2200000},
              {"counting", 100000}, {"counting", 2200000}, {"aging", 100000}};

static umbel_filter *sample(size_t i)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = "classic";
    p.cells = shapes[i].cells;
    p.hashes = 5;
    p.capacity = KEYS;
    assert_ok(umbel_create(shapes[i].kind, &p, &f, &test_refusal));
    test_add(f, 0, KEYS);
    return f;
}

static umbel_filter *decode(const uint8_t *bytes, size_t len)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *f = NULL;

    source.verify = true;
    assert_ok(umbel_decode(bytes, len, &source, &f, &test_refusal));
    return f;
}

static void what_is_coded_decodes_to_the_same_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(shapes); i++) {
        umbel_filter *f = sample(i);
        size_t raw_len, len, again;
        uint8_t *raw = test_encode(f, &raw_len);
        umbel_set_coded(f, true);
        uint8_t *bytes = test_encode(f, &len);
        umbel_filter *back = decode(bytes, len);
        assert_true(umbel_coded(back));
        test_assert_same_payload(f, back);
        uint8_t *same = test_encode(back, &again);
        assert_int_equal(again, len);
        assert_memory_equal(same, bytes, len);
        umbel_set_coded(back, false);
        free(same);
        same = test_encode(back, &again);
        assert_int_equal(again, raw_len);
        assert_memory_equal(same, raw, raw_len);
        umbel_close(f);
        umbel_close(back);
        free(raw);
        free(bytes);
        free(same);
    }
}

static void a_coded_file_is_loaded_read_and_mapped(void **state)
{
    char *dir = test_dir_make(), *path = test_path(dir, "f.umb");
    umbel_filter *f = sample(1), *loaded = NULL, *mapped = NULL;
    umbel_source source = UMBEL_SOURCE_INIT;

    (void)state;
    umbel_set_coded(f, true);
    source.verify = true;
    assert_ok(umbel_save(f, path, &test_refusal));
    assert_ok(umbel_load(path, &source, &loaded, &test_refusal));
    assert_ok(umbel_map(path, &source, &mapped, &test_refusal));
    test_assert_same_file(f, loaded);
    test_assert_same_file(f, mapped);
    /* The mapped filter is now independent of the file. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(test_hits(mapped, 0, KEYS), KEYS);
    assert_ok(umbel_add(mapped, "new", 3, NULL, &test_refusal));
    umbel_close(f);
    umbel_close(loaded);
    umbel_close(mapped);
    free(path);
    test_dir_remove(dir);
}

static void copies_and_folds_keep_the_form(void **state)
{
    umbel_filter *f = sample(1), *copy = NULL, *half = NULL;

    (void)state;
    umbel_set_coded(f, true);
    assert_ok(umbel_copy(f, &copy, &test_refusal));
    assert_ok(umbel_fold(f, 2, &half, &test_refusal));
    assert_true(umbel_coded(copy) && umbel_coded(half));
    umbel_close(f);
    umbel_close(copy);
    umbel_close(half);
}

/* An allocator that records the maximum memory in use. */
typedef struct meter {
    size_t live, most;
} meter;

static void *meter_get(void *ctx, size_t align, size_t len)
{
    meter *m = ctx;
    void *p = NULL;

    m->live += len;
    m->most = m->live > m->most ? m->live : m->most;
    return posix_memalign(&p, align, len) ? NULL : p;
}

static void meter_put(void *ctx, void *memory, size_t len)
{
    meter *m = ctx;

    m->live -= len;
    free(memory);
}

static void the_limit_is_asked_before_memory_is(void **state)
{
    umbel_filter *f = sample(2), *back = NULL;
    umbel_source source = UMBEL_SOURCE_INIT;
    meter m = {0, 0};
    umbel_alloc alloc = {.ctx = &m, .get = meter_get, .put = meter_put};
    size_t len;

    (void)state;
    umbel_set_coded(f, true);
    uint8_t *bytes = test_encode(f, &len);
    source.alloc = &alloc;
    source.memory_limit = f->payload_len - 1;
    assert_refused(umbel_decode(bytes, len, &source, &back, &test_refusal),
                   UMBEL_E_LIMIT, "decoded");
    assert_int_equal(m.most, 0);
    source.memory_limit = f->payload_len;
    assert_ok(umbel_decode(bytes, len, &source, &back, &test_refusal));
    assert_true(m.most <= f->payload_len + 8192);
    umbel_close(back);
    assert_int_equal(m.live, 0);
    free(bytes);
    umbel_close(f);
}

/* Checks that 2^40 cells in 300 bytes are refused by the default limit. */
static void a_small_file_cannot_ask_for_much(void **state)
{
    umbel_filter *f = sample(2), *back = NULL;
    size_t len;

    (void)state;
    umbel_set_coded(f, true);
    um_shape s = *um_shape_of(f);
    s.cells = UINT64_C(1) << 40;
    uint8_t *bytes = test_forge(f, &s, &len);
    assert_refused(umbel_decode(bytes, len, NULL, &back, &test_refusal),
                   UMBEL_E_LIMIT, "the limit is");
    free(bytes);
    umbel_close(f);
}

/*
 * Checks that 6 MiB of cells in less than 1 KiB are decoded only if the memory
 * limit allows it.
 */
static void what_a_small_file_costs_follows_from_its_bytes(void **state)
{
    const umbel_setting wide = {"cell_bits", 32};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_source source = UMBEL_SOURCE_INIT;
    meter m = {0, 0};
    umbel_alloc alloc = {.ctx = &m, .get = meter_get, .put = meter_put};
    umbel_filter *f = NULL, *back = NULL;
    size_t len;

    (void)state;
    p.cells = UINT64_C(3) << 19;
    p.hashes = 64;
    p.settings = &wide;
    p.nsettings = 1;
    assert_ok(umbel_create("counting", &p, &f, &test_refusal));
    for (size_t i = 0; i < f->payload_len; i += 4)
        f->payload[i] = 1;
    umbel_set_coded(f, true);
    uint8_t *bytes = test_encode(f, &len);
    assert_true(len < 1024);
    source.alloc = &alloc;
    assert_refused(umbel_decode(bytes, len, &source, &back, &test_refusal),
                   UMBEL_E_LIMIT, "decoded");
    assert_int_equal(m.most, 0);
    source.memory_limit = f->payload_len;
    assert_ok(umbel_decode(bytes, len, &source, &back, &test_refusal));
    assert_true(m.most <= f->payload_len + 8192);
    umbel_close(back);
    free(bytes);
    umbel_close(f);
}

static void damage_is_refused_or_changes_the_cells(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(shapes); i++) {
        umbel_filter *f = sample(i);
        umbel_source source = UMBEL_SOURCE_INIT;
        size_t len;
        umbel_set_coded(f, true);
        uint8_t *bytes = test_encode(f, &len);
        source.verify = true;
        for (size_t at = test_head_len(bytes); at < len; at += len / 40) {
            umbel_filter *back = NULL;
            bytes[at] ^= 0x10;
            umbel_status status =
                umbel_decode(bytes, len, &source, &back, &test_refusal);
            assert_true(status == UMBEL_E_FORMAT || status == UMBEL_E_CHECKSUM);
            bytes[at] ^= 0x10;
        }
        free(bytes);
        umbel_close(f);
    }
}

static void no_memory_is_reported_and_nothing_leaks(void **state)
{
    umbel_filter *f = sample(1);
    uint8_t small[100];
    size_t len = 7;

    (void)state;
    umbel_set_coded(f, true);
    assert_refused(umbel_encode(f, small, sizeof small, &len, &test_refusal),
                   UMBEL_E_RANGE, "room for 100");
    assert_int_equal(len, 7);
    umbel_close(f);
}

static uint64_t field(const umbel_info *info, const char *name)
{
    for (size_t i = 0; i < info->n; i++)
        if (strcmp(info->field[i].name, name) == 0)
            return info->field[i].value.count;
    fail_msg("no field %s", name);
    return 0;
}

static void it_tells_what_it_takes(void **state)
{
    umbel_filter *f = sample(2);
    umbel_info info;
    size_t len;

    (void)state;
    umbel_set_coded(f, true);
    uint8_t *bytes = test_encode(f, &len);
    size_t stored = len - test_head_len(bytes);
    free(bytes);
    umbel_describe(f, &info);
    assert_int_equal(field(&info, "coded"), 1);
    assert_int_equal(field(&info, "payload_bytes"), f->payload_len);
    assert_int_equal(field(&info, "stored_bytes"), stored);
    assert_int_equal(field(&info, "bytes"), len);
    assert_in_range(field(&info, "shannon_bytes"), stored * 97 / 100, stored);
    umbel_close(f);
}

TEST_GROUP(coded)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_coded_decodes_to_the_same_filter),
        cmocka_unit_test(a_coded_file_is_loaded_read_and_mapped),
        cmocka_unit_test(copies_and_folds_keep_the_form),
        cmocka_unit_test(the_limit_is_asked_before_memory_is),
        cmocka_unit_test(what_a_small_file_costs_follows_from_its_bytes),
        cmocka_unit_test(a_small_file_cannot_ask_for_much),
        cmocka_unit_test(damage_is_refused_or_changes_the_cells),
        cmocka_unit_test(no_memory_is_reported_and_nothing_leaks),
        cmocka_unit_test(it_tells_what_it_takes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
