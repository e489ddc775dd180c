/*
 * inline_query.h - umbel_view_query as users compile it.
 */
#ifndef UM_TEST_INLINE_QUERY_H
#define UM_TEST_INLINE_QUERY_H

#include <umbel/inline.h>

typedef bool test_inline_query(const umbel_view *v, const void *key,
                               size_t len);

test_inline_query test_inline_plain; /* for any processor */
test_inline_query test_inline_avx2;  /* with AVX2, on x86 */

#endif
