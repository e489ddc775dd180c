/*
 * sniff.h - recognizes files by how they begin, for hints in refusals.
 */
#ifndef UM_KEYS_SNIFF_H
#define UM_KEYS_SNIFF_H

#include <umbel/base.h>

/*
 * Each returns why the open file is not one, and what to do with it; NULL if it
 * may be one. The file offset stays. Of a pipe nothing is known.
 */
const char *um_why_not_keys(int fd);
const char *um_why_not_filter(int fd);

/* Replaces *err, by which path was refused as a filter, by a better reason
 * where one is known. */
void um_explain_not_filter(const char *path, umbel_error *err);

#endif
