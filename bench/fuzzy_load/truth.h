/*
 * truth.h - the results of an exhaustive search.
 */
#ifndef UM_BENCH_FUZZY_TRUTH_H
#define UM_BENCH_FUZZY_TRUTH_H

#include "bench/fuzzy_load/mails.h"

/*
 * Prints a line for each of n mails of a set, from first on: the largest number
 * of positions at which one of the n stored mails agrees, and the largest
 * number that one of them owns if a shingle belongs only to the latest mail, as
 * in rspamd's storage. Returns false without memory.
 */
bool um_print_truth(const um_mail_texts *t, um_mail_set set, uint64_t first,
                    uint64_t n);

#endif
