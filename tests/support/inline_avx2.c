/* inline_avx2.c - an inlined query with AVX2, where available. */
#include "support/inline_query.h"

bool test_inline_avx2(const umbel_view *v, const void *key, size_t len)
{
    return umbel_view_query(v, key, len);
}
