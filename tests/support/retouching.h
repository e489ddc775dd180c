/*
 * retouching.h - filters to be retouched, and bills held against them.
 *
 * Bills are recomputed from the filters before and after, by queries.
 */
#ifndef UM_TEST_RETOUCHING_H
#define UM_TEST_RETOUCHING_H

#include "support/test.h"

/* A filter, its members, and keys from outside. */
typedef struct test_scene {
    umbel_filter *before, *f;
    umbel_digest *digests;
    umbel_key_list members, never;
    bool *lost;
} test_scene;

umbel_params test_classic(uint64_t bits, uint32_t hashes, uint64_t seed);

/* Keys from on: members, then those that must not match. */
void test_scene_make(test_scene *s, const umbel_params *p, size_t members,
                     size_t never, uint64_t from);
/* The filter as it was before. */
void test_scene_again(test_scene *s);
void test_scene_free(test_scene *s);

umbel_retouch_result test_retouch(test_scene *s, const umbel_retouch_params *p);
/* The bill from nothing but the filters. */
void test_check_bill(const test_scene *s, const umbel_retouch_result *b);
/* How many of k match, and which. */
size_t test_hits_of(const umbel_filter *f, const umbel_key_list *k, bool *hit);

#endif
