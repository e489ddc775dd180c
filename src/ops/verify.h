/*
 * verify.h - what a filter claims about its own false negatives.
 */
#ifndef UM_OPS_VERIFY_H
#define UM_OPS_VERIFY_H

#include <umbel/filter.h>

/* Returns true if this many false negatives are allowed: any number for kinds
 * that forget, otherwise at most the number recorded in the file. */
bool um_allows_denied(const umbel_filter *f, uint64_t denied);

#endif
