/*
 * near.c - crafted pages of mails (kind near) with arbitrary content, but
 * signed. They are refused, or accepted and safe to read; replicas of other
 * origins are unchanged.
 */
#include "kinds/near/near.h"
#include "base/rng.h"
#include "support/sync.h"

#include <stdlib.h>
#include <string.h>

enum { MAILS = 300, HONEST = 100, ROUNDS = 60, CHANGES = 2000 };

static umbel_filter *create_shape(void)
{
    static const uint8_t secret[UMBEL_SECRET_LEN] = {7};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;

    p.capacity = MAILS;
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
    um_rng r = {i};

    w.digest.lo = um_random(&r);
    w.digest.hi = um_random(&r);
    for (size_t k = 0; k < sizeof w.name; k++)
        w.name[k] = (uint8_t)um_random(&r);
    for (size_t k = 0; k < UM_NEAR_SHINGLES; k++)
        w.shingle[k] = um_near_shingle(um_random(&r), k);
    return w;
}

static void write_mails(umbel_filter *f)
{
    for (uint64_t i = 0; i < HONEST; i++) {
        um_near_write w = mail(i);
        assert_ok(um_near_append(f, &w, &test_refusal));
    }
}

/*
 * Changes a byte if its page is then still one that could have grown from
 * zeros.
 */
static void change_byte(const um_pages *pages, umbel_filter *f,
                        const uint8_t *zeros, um_rng *r)
{
    uint64_t number = um_random_below(r, pages->n);
    um_page p = um_page_of(pages, number);
    uint8_t *at = f->payload + p.offset + um_random_below(r, p.len), was = *at;
    um_growth_page page = um_page_pair(pages, number, zeros, f->payload);

    *at = (uint8_t)um_random(r);
    if (!um_growth_check(&page))
        *at = was;
}

/*
 * Crafts arbitrary bytes; all ones; mails with many bytes changed; a few bytes
 * alone. Pages of the last two pass as pages that grew.
 */
static void craft_pages(const umbel_sync *s, umbel_filter *f, unsigned round,
                        um_rng *r)
{
    uint8_t *zeros = calloc(1, f->payload_len);

    assert_non_null(zeros);
    if (round % 4 == 3)
        memset(f->payload, 0, f->payload_len);
    for (size_t i = 0; i < f->payload_len && round % 4 < 2; i++)
        f->payload[i] = (uint8_t)(round % 4 ? 0xFF : um_random(r));
    for (int i = 0; i < CHANGES && round % 4 >= 2; i++)
        change_byte(&s->list[0].pages, f, zeros, r);
    f->added = 1 + um_random_below(r, MAILS);
    free(zeros);
}

/* Signs its own replica's pages without the checks of an honest machine. */
static void sign_copy(umbel_sync *s, const umbel_filter *f)
{
    um_replica *c = s->replica[0];
    const um_pages *pages = &s->list[0].pages;
    um_statement next = {.version = c->now.version + 1, .keys = f->added};
    um_buffer none = {.len = 0};

    for (uint64_t i = 0; i < pages->n; i++) {
        um_page p = um_page_of(pages, i);
        memcpy(c->filter->payload + p.offset, f->payload + p.offset, p.len);
        um_tree_hash_page(f->payload + p.offset, p.len,
                          um_tree_leaf(&c->tree, i));
        um_tree_touch(&c->tree, i);
        c->changed[i] = next.version;
    }
    um_tree_end(&c->tree);
    memcpy(next.root, um_tree_root(&c->tree), UM_HASH_LEN);
    um_statement_sign(s, c, &next);
    um_replica_forget_past(c);
    um_replica_end_step(s, c, &none, &next);
    um_replica_forget_past(c); /* all pages are sent whole */
}

static void open_server(test_sync_server *s, umbel_filter *shape, uint64_t seed)
{
    *s = (test_sync_server){.seed = 0};
    s->list.shape = shape;
    s->list.page_bytes = 512;
    s->list.max_error = 1;
    s->params.limits.slice_pages = (uint32_t)seed % 2;
    test_sync_open(s, seed);
}

/* Reads a replica in all ways. Returns how many of the honest mails it has. */
static uint64_t read_copy(const umbel_filter *f)
{
    um_near_record record;
    uint64_t found = 0, n = 0;
    uint8_t name[UM_NEAR_NAME];

    for (uint64_t i = 0; i < 2 * HONEST; i++) {
        um_near_write w = mail(i);
        um_near_fetch(f, &w.digest, w.shingle);
        found += um_near_find(f, &w.digest, w.name, &record);
        um_near_find(f, &w.digest, NULL, &record);
        um_near_search(f, w.shingle, &record);
        um_near_needs_record(f, &w);
    }
    for (uint64_t at = 0; um_near_next(f, &at, &record); n++)
        memcpy(name, record.name, sizeof name);
    assert_true(n <= MAILS);
    return found;
}

static bool read_copies(const test_sync_server *s, const uint8_t *honest)
{
    umbel_sync_replica c;
    bool took = false;

    for (size_t at = 0; umbel_sync_next_replica(s->machine, &at, &c);) {
        if (!c.version)
            continue;
        uint64_t found = read_copy(c.filter);
        if (memcmp(c.origin, honest, UMBEL_ORIGIN_LEN) == 0)
            assert_int_equal(found, HONEST);
        else
            took = true;
    }
    return took;
}

static void crafted_pages_of_mails_are_safe_to_read(void **state)
{
    umbel_filter *shape = create_shape();
    um_rng r = {18};
    size_t taken = 0, refused = 0;

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        test_sync_server honest, liar, b;
        test_sync_link link[2];
        open_server(&honest, shape, 1);
        open_server(&liar, shape, 2);
        open_server(&b, shape, 3);
        write_mails(honest.own);
        test_sync_publish(&honest);
        write_mails(liar.own);
        test_sync_publish(&liar);
        craft_pages(liar.machine, liar.own, round, &r);
        sign_copy(liar.machine, liar.own);
        test_sync_connect(&link[0], &honest, &b);
        test_sync_connect(&link[1], &liar, &b);
        test_sync_run(&link[0], 10);
        test_sync_run(&link[1], 10);
        if (read_copies(&b, umbel_sync_origin(honest.machine)))
            taken++;
        else
            refused += b.events[UMBEL_SYNC_REFUSED] > 0;
        craft_pages(liar.machine, liar.own, round + 1,
                    &r); /* a second version with other bytes */
        sign_copy(liar.machine, liar.own);
        test_sync_run(&link[1], 100);
        read_copies(&b, umbel_sync_origin(honest.machine));
        test_sync_close(&honest);
        test_sync_close(&liar);
        test_sync_close(&b);
    }
    print_message("%zu taken, %zu refused\n", taken, refused);
    assert_int_equal(taken + refused, ROUNDS);
    assert_true(taken > ROUNDS / 4 && refused > ROUNDS / 4);
    umbel_close(shape);
}

TEST_GROUP(near)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crafted_pages_of_mails_are_safe_to_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
