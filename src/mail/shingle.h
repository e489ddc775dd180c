/*
 * shingle.h - eight keys by which near copies of a text are recognised.
 */
#ifndef UM_MAIL_SHINGLE_H
#define UM_MAIL_SHINGLE_H

#include "mail/facts.h"

/*
 * Computes the super-shingles of a text, in parts; returns the number of its
 * words. Two texts share a super-shingle with probability s^4, where s is the
 * share of their three-word windows that both have. Below three words there is
 * none, and out is all zeroes.
 */
size_t um_shingle(const umbel_slice *parts, size_t n,
                  uint64_t out[UM_SHINGLES]);

#endif
