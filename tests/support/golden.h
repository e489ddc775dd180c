/* golden.h - builds the filters of the golden files; see tests/golden. */
#ifndef UM_TEST_GOLDEN_H
#define UM_TEST_GOLDEN_H

#include "support/test.h"

enum { GOLDEN_KEYS = 100 };

/* Returns tests/golden/KIND-ADDRESSING-HASH-v1.umb. Free it. */
char *golden_path(const test_combo *c);

/* Returns the filter whose encoding is that file: keys 0 .. GOLDEN_KEYS-1. */
umbel_filter *golden_build(const test_combo *c);

/*
 * Returns the i-th further file, for features that no combination covers:
 * groups, functions in pairs, heavy keys, layers, negatives, a map. Returns
 * false when i is past the end.
 */
bool golden_row_at(size_t i, char **path, umbel_filter **f);

#endif
