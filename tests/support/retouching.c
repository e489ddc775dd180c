/* retouching.c - fixtures, and results recomputed from the filters alone. */
#include "support/retouching.h"

#include "filter/handle.h"

#include <math.h>
#include <stdlib.h>

void test_fixture_init(test_fixture *s, const umbel_params *p, size_t members,
                       size_t never, uint64_t from)
{
    char *keys = test_keys(from, members + never);

    s->before = test_open(p);
    s->digests = malloc((members + never + 1) * sizeof *s->digests);
    s->lost = malloc(members + 1);
    assert_non_null(s->digests);
    assert_non_null(s->lost);
    assert_ok(umbel_digest_fixed(s->before, keys, TEST_KEY_LEN, members + never,
                                 s->digests, &test_refusal));
    assert_ok(
        umbel_add_digests(s->before, s->digests, members, NULL, &test_refusal));
    assert_ok(umbel_copy(s->before, &s->f, &test_refusal));
    s->members = (umbel_key_list)UMBEL_KEY_LIST(s->digests, members);
    s->never = (umbel_key_list)UMBEL_KEY_LIST(s->digests + members, never);
    free(keys);
}

void test_fixture_again(test_fixture *s)
{
    umbel_close(s->f);
    assert_ok(umbel_copy(s->before, &s->f, &test_refusal));
}

void test_fixture_fini(test_fixture *s)
{
    umbel_close(s->before);
    umbel_close(s->f);
    free(s->digests);
    free(s->lost);
}

umbel_retouch_result test_retouch(test_fixture *s,
                                  const umbel_retouch_params *p)
{
    umbel_retouch_result bill = {0};

    assert_ok(umbel_retouch(s->f, &s->members, &s->never, p, &bill, s->lost,
                            &test_refusal));
    return bill;
}

size_t test_hits_of(const umbel_filter *f, const umbel_key_list *k, bool *hit)
{
    size_t n = 0;

    assert_ok(umbel_query_digests(f, k->digests, k->n, hit, &test_refusal));
    for (size_t i = 0; i < k->n; i++)
        n += hit[i];
    return n;
}

/* Returns the number of cleared bits; asserts that none was set. */
static uint64_t cleared(const test_fixture *s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->f->payload_len; i++) {
        uint8_t was = s->before->payload[i], is = s->f->payload[i];
        assert_int_equal(is & ~was, 0);
        n += (uint64_t)__builtin_popcount(was ^ is);
    }
    return n;
}

/* Checks the result against the filters before and after. */
void test_check_bill(const test_fixture *s, const umbel_retouch_result *b)
{
    size_t n = s->members.n + s->never.n;
    bool *was = malloc(n + 1), *is = malloc(n + 1);

    assert_non_null(was);
    assert_non_null(is);
    size_t members = test_hits_of(s->before, &s->members, was);
    size_t kept = test_hits_of(s->f, &s->members, is);
    for (size_t i = 0; i < s->members.n; i++)
        assert_int_equal(s->lost[i], was[i] && !is[i]);
    assert_int_equal(b->members, members);
    assert_int_equal(b->lost, members - kept);
    size_t matched = test_hits_of(s->before, &s->never, was);
    size_t left = test_hits_of(s->f, &s->never, is);
    assert_int_equal(b->never, s->never.n);
    assert_int_equal(b->matched + b->outside, matched);
    assert_int_equal(b->removed + b->outside_removed, matched - left);
    assert_int_equal(b->removed + b->left, b->matched);
    assert_int_equal(b->bits_cleared, cleared(s));
    assert_int_equal(umbel_known_false_negatives(s->f), b->lost);
    assert_int_equal(umbel_has_false_negatives(s->f), b->lost > 0);
    if (b->lost)
        assert_near(b->chi,
                    (double)(matched - left) / (double)matched /
                        ((double)b->lost / (double)members),
                    1e-9);
    else
        assert_true(isnan(b->chi));
    free(was);
    free(is);
}

umbel_params test_classic(uint64_t bits, uint32_t hashes, uint64_t seed)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = "classic";
    p.cells = bits;
    p.hashes = hashes;
    p.seed = seed;
    return p;
}
