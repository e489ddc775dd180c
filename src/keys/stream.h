/*
 * stream.h - the bytes of files and pipes, one file after the other.
 */
#ifndef UM_KEYS_STREAM_H
#define UM_KEYS_STREAM_H

#include "keys/source.h"

enum { UM_READ_LEN = 1 << 16 }; /* bytes of a read */

typedef struct um_stream um_stream;

/* Opens no file yet. waking: um_stream_stop will be called by another thread.
 */
umbel_status um_stream_open(const um_key_source *s, bool waking,
                            um_stream **out, umbel_error *err);
void um_stream_close(um_stream *s);

/* Opens the next file; *more is false after the last one. */
umbel_status um_stream_next_file(um_stream *s, bool *more, umbel_error *err);
/* Returns true if a file is open. */
bool um_stream_has_file(const um_stream *s);
/* Returns the name of the last file, as messages print it. */
const char *um_stream_name(const um_stream *s);

/*
 * Reads up to cap bytes of the file, decompressed. *got is 0 at its end, which
 * closes it, and after um_stream_stop.
 */
umbel_status um_stream_read(um_stream *s, void *to, size_t cap, size_t *got,
                            umbel_error *err);

/* Returns true while a read waits for input. From any thread. */
bool um_stream_waits(const um_stream *s);

/* Ends all reading, also a read that waits for input. From any thread. */
void um_stream_stop(um_stream *s);

#endif
