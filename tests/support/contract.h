/*
 * contract.h - checks promises for every row of the tables.
 *
 * A promise is a test; it runs for each kind on each addressing with each hash
 * that fits, unless the kind's row lacks a slot that the promise needs. New
 * rows are covered automatically: nothing here knows their names. Each setting
 * of a kind adds another subject, with the setting at its maximum.
 */
#ifndef UM_TESTS_CONTRACT_H
#define UM_TESTS_CONTRACT_H

#include "support/test.h"

#include <umbel/describe.h>

enum { KEYS = 1000 }; /* capacity of a subject */

/* Abilities that a row must have for a promise to apply. */
enum {
    ADD = 1 << 0,
    QUERY = 1 << 1,
    MERGE = 1 << 2,
    FOLD = 1 << 3,
    REMEMBERS = 1 << 4, /* the kind has no false negatives */
    KEYED = 1 << 5,
    SEEDED = 1 << 6,
    INTERSECTS = 1 << 7,
    FILL = 1 << 8 /* keys are added, or it is built from them */
};

/* One filter to check the promises for: rows, and a shape for KEYS keys. */
typedef struct subject {
    test_combo combo;
    umbel_params params;
    umbel_setting setting; /* without a name: all are at their defaults */
    unsigned abilities;
} subject;

typedef struct test_promise {
    const char *name;
    CMUnitTestFunction run; /* its state is a subject */
    unsigned needs;
} test_promise;

#define TEST_PROMISE(test, needs)                                              \
    {                                                                          \
#test, test, needs                                                     \
    }

/*
 * Returns an empty filter of its shape; subject_filled returns one with the n
 * keys from `from` on.
 */
umbel_filter *subject_open(const subject *s);
umbel_filter *subject_filled(const subject *s, uint64_t from, size_t n);

/* Returns the field of that name and type; fails if there is none. */
const umbel_field *test_field(const umbel_info *info, const char *name,
                              umbel_field_type type);

/*
 * Runs each promise with each subject that it applies to. Returns main's exit
 * status.
 */
int test_run_promises(const char *group, const test_promise *promises,
                      size_t n);

#endif
