/*
 * internal.h - the input, decompressed, in pieces of whole lines, and the keys
 * in them.
 */
#ifndef UM_KEYLIST_INTERNAL_H
#define UM_KEYLIST_INTERNAL_H

#include "keylist/file_input.h"
#include "keylist/list_format.h"
#include "keylist/ranges.h"
#include "query/query.h"

/*
 * The input as pieces of whole lines.
 */

/* A line without a valid key. */
typedef struct um_bad_line {
    uint64_t number;  /* in its piece, from 1 */
    const char *what; /* the reason; NULL: key does not have its form */
    umbel_slice line, key;
} um_bad_line;

/*
 * A piece: whole lines of one file, then the keys in them (keylist/split.c).
 * Zero-initialise; the next piece reuses its memory.
 */
typedef struct um_piece {
    const char *file;                /* name for messages */
    char range[UM_RANGE_DIGITS + 1]; /* of a range file, or "" */
    bool first;                      /* the first piece of its file */
    bool header;                     /* begins with the header line of CSV */
    uint64_t field;                  /* of CSV, if its column has a name */
    uint8_t *text;
    size_t len, cap;

    umbel_slice *keys, *lines; /* slices of text or decoded */
    umbel_slice *texts;        /* keys as they are written */
    double *weights;
    uint64_t *amounts;
    size_t n, keys_cap;
    uint8_t *decoded; /* keys that were converted to their form */
    size_t decoded_len, decoded_cap;
    uint64_t nlines;      /* read so far */
    uint64_t nfields[2];  /* of --field 1: lines without a delimiter, and with
                             one */
    um_left_out left_out; /* lines that are not keys in their format */
    const char *bad;      /* what is wrong with the last line, or NULL */
    umbel_error why;      /* buffer for bad */
    um_bad_line *skipped; /* earlier bad lines, if the format skips them */
    size_t nskipped, skipped_cap;

    umbel_status status; /* why the piece is incomplete */
    umbel_error err;
} um_piece;

void um_piece_fini(um_piece *p);

/* Cuts a stream into pieces. The caller sets only stream and format. */
typedef struct um_piece_reader {
    um_input *stream;
    const um_key_format *format;
    bool first, ended;
    bool quoted;    /* the incomplete record ends inside quotation marks */
    uint64_t field; /* of the column that format names */
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

/*
 * Decompression: gzip, zstd and bzip2, as the bytes arrive (keylist/unpack.c).
 */

/* Bytes that a file may always expand to; beyond them, at most UM_UNPACK_TIMES
 * times its length. Lists of keys shrink to a tenth or less, forged files to a
 * millionth. */
enum { UM_UNPACK_FREE = 16 << 20, UM_UNPACK_TIMES = 500 };

typedef struct um_unpacker um_unpacker;

/* Bytes of input, or space for output. */
typedef struct um_span {
    uint8_t *at;
    size_t len;
} um_span;

/* Creates a decompressor for a file that begins with these bytes. *out is NULL
 * if the file is not compressed. */
umbel_status um_unpack_open(const void *bytes, size_t len, um_unpacker **out,
                            umbel_error *err);
void um_unpack_close(um_unpacker *u);

/* Decompresses *in to at most cap bytes, and cuts off what it has consumed.
 * Returns the number of bytes; 0 if it needs more input, or something is
 * wrong. */
size_t um_unpack_some(um_unpacker *u, um_span *in, uint8_t *to, size_t cap);

/* Returns true if there may be more output without more input. */
bool um_unpack_has_more(const um_unpacker *u);

/* Returns what is wrong with the bytes consumed so far, or NULL. */
const char *um_unpack_wrong(const um_unpacker *u);
/* Returns what is wrong if the file ends here, or NULL. */
const char *um_unpack_cut(const um_unpacker *u);
/* Returns the name of the format. */
const char *um_unpack_format(const um_unpacker *u);

#endif
