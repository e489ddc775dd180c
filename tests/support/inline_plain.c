/*
 * inline_plain.c - an inlined query without special instructions.
 */
#include "support/inline_query.h"

bool test_inline_plain(const umbel_view *v, const void *key, size_t len)
{
    return umbel_view_query(v, key, len);
}
