/*
 * retouching.h - filters to be retouched, and bills held against them.
 *
 * Bills are recomputed from the filters before and after, by queries.
 */
#ifndef UM_TEST_RETOUCHING_H
#define UM_TEST_RETOUCHING_H

#include "support/test.h"

/* A filter, its members, and keys from outside. */
typedef struct test_fixture {
    umbel_filter *before, *f;
    umbel_digest *digests;
    umbel_key_list members, never;
    bool *lost;
} test_fixture;

umbel_params test_classic(uint64_t bits, uint32_t hashes, uint64_t seed);

/* Keys from on: members, then those that must not match. */
void test_fixture_init(test_fixture *s, const umbel_params *p, size_t members,
                       size_t never, uint64_t from);
/* The filter as it was before. */
void test_fixture_again(test_fixture *s);
void test_fixture_fini(test_fixture *s);

umbel_retouch_result test_retouch(test_fixture *s,
                                  const umbel_retouch_params *p);
/* The bill from nothing but the filters. */
void test_check_bill(const test_fixture *s, const umbel_retouch_result *b);
/* How many of k match, and which. */
size_t test_hits_of(const umbel_filter *f, const umbel_key_list *k, bool *hit);

#endif
