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

/* The same keys in a filter whose keys may choose between three groups. */
char *golden_grouped_path(void);
umbel_filter *golden_grouped(void);

/* And in a generalized filter of k + k functions, half full before. */
char *golden_paired_path(uint32_t k);
umbel_filter *golden_paired(uint32_t k);
/* A tally of the same keys, many of them heavy: more than its table takes. */
char *golden_heavy_path(void);
umbel_filter *golden_heavy(void);
/*
 * Further files, of static filters: layers and finer columns, a list of keys
 * that must not match, a map. False when i is past the end.
 */
bool golden_static_at(size_t i, char **path, umbel_filter **f);
/* Coded files: one for each way that cells go; NULL when i is past the end. */
char *golden_coded_path(size_t i);
umbel_filter *golden_coded(size_t i);

#endif
