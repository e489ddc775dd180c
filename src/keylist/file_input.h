/*
 * file_input.h - the bytes of files and pipes, one file after the other.
 */
#ifndef UM_KEYLIST_FILE_INPUT_H
#define UM_KEYLIST_FILE_INPUT_H

#include "keylist/source.h"

enum { UM_READ_LEN = 1 << 16 }; /* bytes of a read */

typedef struct um_input um_input;

/* Creates an input; opens no file yet. waking: another thread may call
 * um_input_stop. */
umbel_status um_input_open(const um_key_source *s, bool waking, um_input **out,
                           umbel_error *err);
void um_input_close(um_input *s);

/* Opens the next file; *more is false after the last one. */
umbel_status um_input_next_file(um_input *s, bool *more, umbel_error *err);
/* Returns true if a file is open. */
bool um_input_has_file(const um_input *s);
/* Returns the name of the last file, as messages print it. */
const char *um_input_name(const um_input *s);
/* Returns the five digits of the range file that was opened last; "" if it is
 * another file. */
const char *um_input_range(const um_input *s);
/* Formats which range files are missing, doubled or left out, after all were
 * read. Returns false if none is. */
bool um_input_report(const um_input *s, char *out, size_t cap);

/*
 * Reads up to cap decompressed bytes of the file. *got is 0 at its end, which
 * closes it, and after um_input_stop.
 */
umbel_status um_input_read(um_input *s, void *to, size_t cap, size_t *got,
                           umbel_error *err);

/* Returns true while a read waits for input. May be called by any thread. */
bool um_input_waits(const um_input *s);

/* Ends all reading, including a read that waits for input. May be called by any
 * thread. */
void um_input_stop(um_input *s);

#endif
