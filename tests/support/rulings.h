/* rulings.h - filters to admit or refuse, and checks of the rulings. */
#ifndef UM_TEST_RULINGS_H
#define UM_TEST_RULINGS_H

#include "support/test.h"

#include <umbel/admit.h>

enum { TEST_RULED_KEYS = 2000 };

extern const umbel_admission test_no_demand;

/*
 * Returns a filter with `keys` keys, sized for capacity unless base sets cells.
 */
umbel_filter *test_made(const char *kind, const umbel_params *base,
                        size_t capacity, size_t keys);
/* Returns a bloom filter filled with TEST_RULED_KEYS keys. */
umbel_filter *test_plain(const char *addressing);

umbel_ruling test_ruled(const umbel_filter *f, const umbel_admission *wants);
bool test_refused_for(const umbel_ruling *r, umbel_refusal code);

void test_expect_admitted(const umbel_filter *f, const umbel_admission *wants);
/*
 * Asserts that f is refused for this reason only, with a text that contains
 * word.
 */
void test_expect_refused(const umbel_filter *f, const umbel_admission *wants,
                         umbel_refusal code, const char *word);

#endif
