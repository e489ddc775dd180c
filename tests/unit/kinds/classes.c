/*
 * classes.c - addressings whose cells depend on each other: the model and the
 * cells predict the measured error.
 */
#include "support/test.h"

#include "base/rng.h"
#include "filter/handle.h"
#include "kinds/bloom/bloom.h"

#include <math.h>
#include <string.h>

enum { FILTERS = 8, ASKED = 20000, ROUNDS = FILTERS * ASKED };

typedef struct shape {
    uint64_t cells;
    uint32_t hashes;
    size_t keys;
} shape;

static umbel_digest draw(um_rng *rng)
{
    uint64_t lo = um_random(rng);
    return (umbel_digest){lo, um_remix(lo)};
}

static size_t hits_of(const umbel_filter *f, um_rng *rng)
{
    size_t hits = 0;

    for (size_t i = 0; i < ASKED; i++) {
        umbel_digest d = draw(rng);
        bool hit;
        f->kind->query(f->self, &d, 1, &hit);
        hits += hit;
    }
    return hits;
}

static void agree_on(const char *kind, const shape *s)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    um_rng rng = {s->cells + s->hashes};
    double hits = 0, by_cells = 0;
    umbel_filter *f = NULL;

    p.addressing = "dcso";
    p.cells = s->cells;
    p.hashes = s->hashes;
    assert_ok(umbel_create(kind, &p, &f, &test_refusal));
    for (int i = 0; i < FILTERS; i++) {
        assert_ok(umbel_clear(f, &test_refusal));
        for (size_t j = 0; j < s->keys; j++) {
            umbel_digest d = draw(&rng);
            assert_ok(umbel_add_digests(f, &d, 1, NULL, &test_refusal));
        }
        by_cells += umbel_predict(f) / FILTERS;
        hits += (double)hits_of(f, &rng);
    }
    double model = umbel_fpr_at(f, (double)s->keys), got = hits / ROUNDS;
    double sigma = sqrt(model * (1 - model) / ROUNDS);
    assert_near(got, by_cells, 5 * sigma);
    /* The filters' fill varies by half a per cent and more. */
    assert_near(by_cells, model, 0.1 * model);
    umbel_close(f);
}

static void cells_and_model_say_what_random_keys_meet(void **state)
{
    static const shape shapes[] = {
        {1 << 16, 10, 2800},  {1 << 14, 40, 250},   {3 << 14, 10, 3000},
        {5 << 13, 7, 4000},   {33 << 10, 6, 4000},  {201 << 8, 5, 7000},
        {1023 << 6, 8, 6000}, {30011 * 2, 5, 8000}, {30011, 5, 4000},
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(shapes); i++)
        agree_on("bloom", &shapes[i]);
    agree_on("counting", &shapes[0]);
}

/* Uses seven of eight classes, and all or part of the cells of each. */
static void a_sample_of_large_filters_says_the_same(void **state)
{
    static const struct {
        uint64_t cells, used, of; /* `used` of `of` cells of a class */
    } large[] = {{UINT64_C(1) << 24, 1, 1}, {UINT64_C(301) << 14, 225, 301}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(large); i++) {
        umbel_params p = UMBEL_PARAMS_INIT;
        umbel_filter *f = NULL;
        p.addressing = "dcso";
        p.cells = large[i].cells;
        p.hashes = 4;
        assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
        for (uint64_t c = 0; c < p.cells; c++)
            if (c % 8 && c / um_classes(&f->layout, NULL) < large[i].used)
                um_set_bit(f->payload, c);
        double share = (double)large[i].used / (double)large[i].of;
        double chance =
            um_classes_sampled(&f->layout, um_bits_used_in, f->payload, 1);
        assert_near(chance, 7.0 / 8 * pow(share, 4), 0.003);
        umbel_close(f);
    }
}

static uint64_t clear_seen(const void *cells, uint64_t from, uint64_t n)
{
    const umbel_filter *f = cells;

    (void)n;
    f->payload[from / 8] &= (uint8_t) ~(1u << from % 8);
    return 0;
}

/*
 * Clears from a full filter the cells that one sample visits; another sample
 * must still find it full.
 */
static void a_sample_cannot_be_foreseen(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    (void)state;
    p.addressing = "dcso";
    p.cells = UINT64_C(1) << 24;
    p.hashes = 4;
    assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
    memset(f->payload, 0xFF, (size_t)(p.cells / 8));
    um_classes_sampled(&f->layout, clear_seen, f, 0);
    assert_near(um_classes_sampled(&f->layout, um_bits_used_in, f->payload, 0),
                0, 0);
    assert_true(umbel_predict(f) > 0.2);
    umbel_close(f);
}

TEST_GROUP(classes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_and_model_say_what_random_keys_meet),
        cmocka_unit_test(a_sample_of_large_filters_says_the_same),
        cmocka_unit_test(a_sample_cannot_be_foreseen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
