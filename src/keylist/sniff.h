/*
 * sniff.h - recognises files by their first bytes, for hints in error messages.
 */
#ifndef UM_KEYS_SNIFF_H
#define UM_KEYS_SNIFF_H

#include "keylist/internal.h"

#include <umbel/base.h>

/* Returns why a file that begins with these bytes is not a list of keys, and
 * what to do with it; NULL if it may be one. */
const char *um_why_not_keys(const void *bytes, size_t len);
/* Returns true if more bytes are needed to determine the type. */
bool um_may_begin_type(const void *bytes, size_t len);
/* Returns the reason why an open file is not a filter. Keeps its offset. Does
 * not work for pipes. */
const char *um_why_not_filter(int fd);

/* Returns what is suspicious about the first piece of a list of keys, and what
 * to do; NULL if nothing is. */
const char *um_what_is_odd(const um_key_source *s, const um_piece *p);

/* Returns the option that reads a list of which a line was refused as a domain
 * name, with what it is; NULL if it does not look like another list. */
const char *um_what_list(const um_key_format *f, const um_piece *p);

/* Replaces *err, the reason why path was refused as a filter, by a better one
 * if it is known. */
void um_explain_not_filter(const char *path, umbel_error *err);

/* Returns true if a file of that name exists; sets *filter if it is a
 * filter. */
bool um_is_file(const char *path, bool *filter);

#endif
