/*
 * golden.h - how the golden files are made; see tests/golden.
 */
#ifndef UM_TEST_GOLDEN_H
#define UM_TEST_GOLDEN_H

#include "support/test.h"

enum { GOLDEN_KEYS = 100 };

/* tests/golden/KIND-ADDRESSING-HASH-v1.umb, in memory to be freed. */
char *golden_path(const test_combo *c);

/* The filter of which that file is the encoding: keys 0 .. GOLDEN_KEYS-1. */
umbel_filter *golden_build(const test_combo *c);

/*
 * Further files, of what no combination tells by itself: groups, functions in
 * pairs, heavy keys, layers, a list of keys that must not match, a map. False
 * when i is past the end.
 */
bool golden_row_at(size_t i, char **path, umbel_filter **f);

#endif
