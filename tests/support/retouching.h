/*
 * retouching.h - filters to retouch, and checks of the results.
 *
 * Results are recomputed by querying the filters before and after.
 */
#ifndef UM_TEST_RETOUCHING_H
#define UM_TEST_RETOUCHING_H

#include "support/test.h"

/* A filter, its members, and negatives. */
typedef struct test_fixture {
    umbel_filter *before, *f;
    umbel_digest *digests;
    umbel_key_list members, never;
    bool *lost;
} test_fixture;

umbel_params test_classic(uint64_t bits, uint32_t hashes, uint64_t seed);

/* Uses the keys from `from` on: first the members, then the negatives. */
void test_fixture_init(test_fixture *s, const umbel_params *p, size_t members,
                       size_t never, uint64_t from);
/* Restores the filter to its state before retouching. */
void test_fixture_again(test_fixture *s);
void test_fixture_fini(test_fixture *s);

umbel_retouch_result test_retouch(test_fixture *s,
                                  const umbel_retouch_params *p);
/* Checks the result against the filters before and after. */
void test_check_bill(const test_fixture *s, const umbel_retouch_result *b);
/* Returns the number of keys of k that match, and in hit which ones. */
size_t test_hits_of(const umbel_filter *f, const umbel_key_list *k, bool *hit);

#endif
