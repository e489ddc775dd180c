/*
 * split.h - the keys in the lines of a piece.
 */
#ifndef UM_KEYS_SPLIT_H
#define UM_KEYS_SPLIT_H

#include "keylist/piece.h"

/*
 * Finds the keys of a piece, up to its first bad line. Uses nothing but the
 * piece, so threads may split pieces at the same time.
 */
void um_split_piece(const um_key_format *f, um_piece *p);

/* Returns true if every line that is not empty is a key, as it stands there. A
 * piece then has its keys only, and no lines. */
bool um_lines_are_keys(const um_key_format *f);

/* Returns true if lines of that file end in a weight. */
bool um_file_has_weights(const um_key_format *f, const char *file);

/* Returns the length of the UTF-8 byte order mark at text: 3 or 0. */
size_t um_mark_len(const uint8_t *text, size_t len);

#endif
