/*
 * contract.h - holds promises against every row of the tables.
 *
 * A promise is a test; it runs for each kind on each addressing with each hash
 * that fits, unless the kind's row lacks a slot the promise needs. New rows are
 * covered by being rows: nothing here knows their names. Each setting of a kind
 * makes it a subject once more, at the end of the setting's range.
 */
#ifndef UM_TESTS_CONTRACT_H
#define UM_TESTS_CONTRACT_H

#include "support/test.h"

#include <umbel/describe.h>

enum { KEYS = 1000 }; /* that a subject has room for */

/* What a promise is about, and so what a row must have for it. */
enum {
    ADD = 1 << 0,
    QUERY = 1 << 1,
    MERGE = 1 << 2,
    FOLD = 1 << 3,
    REMEMBERS = 1 << 4, /* the kind never denies a member */
    KEYED = 1 << 5,
    SEEDED = 1 << 6,
    INTERSECTS = 1 << 7,
    FILL = 1 << 8 /* it gets keys, one by one or at once */
};

/* One filter to hold the promises against: rows, and a shape for KEYS keys. */
typedef struct subject {
    test_combo combo;
    umbel_params params;
    umbel_setting setting; /* without a name: all are standard */
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

/* An empty filter of its shape; one of the n keys from there on. */
umbel_filter *subject_open(const subject *s);
umbel_filter *subject_filled(const subject *s, uint64_t from, size_t n);

/* The field of that name and type; fails when there is none. */
const umbel_field *test_field(const umbel_info *info, const char *name,
                              umbel_field_type type);

/* Runs each promise with each subject that it concerns; main's result. */
int test_retain_promises(const char *group, const test_promise *promises,
                         size_t n);

#endif
