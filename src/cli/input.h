/*
 * input.h - files and pipes as pieces of whole lines.
 */
#ifndef UM_CLI_INPUT_H
#define UM_CLI_INPUT_H

#include "cli/command.h"

enum { UM_MAX_KEY_LEN = 1 << 20 };

/*
 * Whole lines of one file, and the keys in them (cli/split.h). Zeroed at first;
 * its memory is used again by the next piece.
 */
typedef struct um_piece {
    const char *file; /* as messages name it */
    bool first;       /* of its file */
    uint8_t *text;
    size_t len, cap;

    umbel_slice *keys, *lines; /* slices of text or decoded */
    double *weights;
    uint64_t *amounts;
    size_t n, room;
    uint8_t *decoded; /* keys that were written in hexadecimal */
    size_t decoded_len;
    uint64_t nlines; /* looked at; the last of them is bad where there is a */
    const char *bad; /* reason why, or NULL */

    umbel_status status; /* why it holds less than it should */
    umbel_error err;
} um_piece;

void um_piece_fini(um_piece *p);

typedef struct um_input um_input;

/*
 * The named files one after the other ("-" is standard input). Their lines end
 * with end. waking: um_input_stop will be called from another thread.
 */
umbel_status um_input_open(const um_args *args, const char *const *paths,
                           size_t npaths, char end, bool waking, um_input **out,
                           umbel_error *err);
void um_input_close(um_input *in);

/*
 * The text of the next piece, as soon as there is a whole line; false at the
 * end of the last file. What fails stands in the piece, and is the end.
 */
bool um_input_next(um_input *in, um_piece *p);

/* Whoever waits for input need not any more. From any thread. */
void um_input_stop(um_input *in);

/* The next file alone, for those who read by themselves. */
umbel_status um_input_next_file(um_input *in, bool *more, umbel_error *err);
/* Up to cap bytes of it; 0 at its end, which closes it. */
umbel_status um_input_read(um_input *in, void *to, size_t cap, size_t *got,
                           umbel_error *err);

#endif
