/*
 * internal.h - the input in pieces of whole lines, and the keys in them.
 */
#ifndef UM_KEYLIST_INTERNAL_H
#define UM_KEYLIST_INTERNAL_H

#include "base/hex.h"
#include "keylist/file_input.h"

/*
 * The input as pieces of whole lines.
 */

/* A line without a valid key. */
typedef struct um_bad_line {
    uint64_t number;  /* in its piece, from 1 */
    const char *what; /* the reason; NULL: key is not hexadecimal */
    umbel_slice line, key;
} um_bad_line;

/*
 * A piece: whole lines of one file, then the keys in them (keylist/split.c).
 * Zero-initialise; the next piece reuses its memory.
 */
typedef struct um_piece {
    const char *file; /* name for messages */
    bool first;       /* the first piece of its file */
    uint8_t *text;
    size_t len, cap;

    umbel_slice *keys, *lines; /* slices of text or decoded */
    double *weights;
    uint64_t *amounts;
    size_t n, keys_cap;
    uint8_t *decoded; /* keys that were written in hexadecimal */
    size_t decoded_len;
    uint64_t nlines;      /* read so far */
    const char *bad;      /* what is wrong with the last line, or NULL */
    char why[UM_WHY_LEN]; /* buffer for bad */
    um_bad_line *skipped; /* earlier bad lines, if the format skips them */
    size_t nskipped, skipped_cap;

    umbel_status status; /* why the piece is incomplete */
    umbel_error err;
} um_piece;

void um_piece_fini(um_piece *p);

/* Cuts a stream into pieces. The caller sets only stream and end. */
typedef struct um_piece_reader {
    um_input *stream;
    char end; /* of a line */
    bool first, ended;
    uint8_t rest[UM_READ_LEN]; /* incomplete line at the end of the last read */
    size_t rest_len;
} um_piece_reader;

/*
 * Reads the text of the next piece, as soon as there is a whole line. Returns
 * false at the end of the last file. A failure is stored in the piece, which is
 * then the last one.
 */
bool um_piece_read(um_piece_reader *r, um_piece *p);

/*
 * The keys of a piece.
 */

/*
 * Finds the keys of a piece, up to its first bad line. Accesses only the piece,
 * so threads may split pieces concurrently.
 */
void um_split_piece(const um_key_format *f, um_piece *p);

/* Returns true if every non-empty line is a key, unchanged. Then a piece has
 * only keys, and no lines. */
bool um_lines_are_keys(const um_key_format *f);

/* Returns true if the lines of that file end with a weight. */
bool um_file_has_weights(const um_key_format *f, const char *file);

/* Returns the length of the UTF-8 byte order mark at text: 3 or 0. */
size_t um_mark_len(const uint8_t *text, size_t len);

#endif
