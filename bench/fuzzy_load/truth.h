/*
 * truth.h - what a search that forgets nothing finds.
 */
#ifndef UM_BENCH_FUZZY_TRUTH_H
#define UM_BENCH_FUZZY_TRUTH_H

#include "bench/fuzzy_load/mails.h"

/*
 * Prints a line for each of n mails of a set, from one on: the most positions
 * at which one of the n stored mails agrees, and the most that one of them owns
 * if a shingle belongs to the latest mail alone, as in rspamd's storage. False:
 * no memory.
 */
bool um_print_truth(const um_mail_texts *t, um_mail_set set, uint64_t first,
                    uint64_t n);

#endif
