/*
 * internal.h - the input in pieces of whole lines, and the keys in them.
 */
#ifndef UM_KEYLIST_INTERNAL_H
#define UM_KEYLIST_INTERNAL_H

#include "keylist/file_input.h"

/*
 * The lines of the input in pieces, and the keys in them.
 */

/* A line that has no key. */
typedef struct um_bad_line {
    uint64_t number;  /* in its piece, from 1 */
    const char *what; /* is wrong with it; NULL: key is not hexadecimal */
    umbel_slice line, key;
} um_bad_line;

/*
 * Whole lines of one file, then the keys in them (keylist/split.c). Zeroed at
 * first; the next piece reuses its memory.
 */
typedef struct um_piece {
    const char *file; /* as messages name it */
    bool first;       /* of its file */
    uint8_t *text;
    size_t len, cap;

    umbel_slice *keys, *lines; /* in text or decoded */
    double *weights;
    uint64_t *amounts;
    size_t n, keys_cap;
    uint8_t *decoded; /* keys that were written in hexadecimal */
    size_t decoded_len;
    uint64_t nlines;      /* read so far */
    const char *bad;      /* what is wrong with the last of them, or NULL */
    char why[UM_WHY_LEN]; /* memory for it */
    um_bad_line *skipped; /* bad lines before that, if the format skips them */
    size_t nskipped, skipped_cap;

    umbel_status status; /* why the piece is not complete */
    umbel_error err;
} um_piece;

void um_piece_fini(um_piece *p);

/* Cuts a stream into pieces. Only stream and end are set by the caller. */
typedef struct um_piece_reader {
    um_input *stream;
    char end; /* of a line */
    bool first, ended;
    uint8_t rest[UM_READ_LEN]; /* of the last read: the beginning of a line */
    size_t rest_len;
} um_piece_reader;

/*
 * Reads the text of the next piece, as soon as there is a whole line. Returns
 * false at the end of the last file. A failure is stored in the piece, which is
 * then the last one.
 */
bool um_piece_read(um_piece_reader *r, um_piece *p);

/*
 * The keys in the lines of a piece.
 */

/*
 * Finds the keys of a piece, up to its first bad line. Uses nothing but the
 * piece, so threads may split pieces at the same time.
 */
void um_split_piece(const um_key_format *f, um_piece *p);

/* Returns true if every line that is not empty is a key, unchanged. A piece
 * then has only keys, and no lines. */
bool um_lines_are_keys(const um_key_format *f);

/* Returns true if lines of that file end in a weight. */
bool um_file_has_weights(const um_key_format *f, const char *file);

/* Returns the length of the UTF-8 byte order mark at text: 3 or 0. */
size_t um_mark_len(const uint8_t *text, size_t len);

#endif
