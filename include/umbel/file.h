/*
 * file.h - filters as bytes, beyond umbel_save and umbel_load: mapped files,
 * streams, parts, user data.
 *
 * Bytes may come from anyone: decoding returns a filter that is safe to use
 * with every call, or a status. docs/FORMAT.md describes the bytes.
 */
#ifndef UMBEL_FILE_H
#define UMBEL_FILE_H

#include <umbel/umbel.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Chooses the form in which f is written: coded (compressed, close to the
 * entropy of its cells, slower to save and load) or raw. New filters are raw;
 * filters that were read, copied or folded keep their form.
 */
UMBEL_API void umbel_set_coded(umbel_filter *f, bool coded);
/* Returns true if f is written coded. */
UMBEL_API bool umbel_coded(const umbel_filter *f);

/* Returns the length of f as a raw file, which is umbel_encoded_len unless f is
 * coded. */
UMBEL_API uint64_t umbel_raw_len(const umbel_filter *f);

/*
 * Writes len bytes of the raw file, starting at offset, to out, without another
 * copy of the filter. The parts are consistent as long as the filter does not
 * change between the calls: take them from a snapshot (umbel_snapshot) while
 * threads add keys. A part that begins in the head (at most the first 4096
 * bytes) costs a pass over all cells for their checksum. E_RANGE when the part
 * does not end within umbel_raw_len.
 */
UMBEL_API umbel_status umbel_encode_part(const umbel_filter *f, uint64_t offset,
                                         void *out, size_t len,
                                         umbel_error *err);

/*
 * A decoder is fed the bytes of a file in pieces of any size, and creates the
 * filter that umbel_decode would. It takes the memory of the filter (of a coded
 * one, also that of the coded bytes) and a few kilobytes. It fails as early as
 * possible: it detects a bad head, a length other than total and too large a
 * filter before it allocates memory for them, a bad checksum or padding at the
 * end.
 */
typedef struct umbel_decoder umbel_decoder;

/* A length that means all bytes up to the end of the stream. */
#define UMBEL_TO_END UINT64_MAX

/*
 * Opens a decoder for total bytes, or UMBEL_TO_END. The memory limit for
 * streams applies. source may be NULL; its secret must stay valid until
 * umbel_decoder_finish. Release *out with umbel_decoder_close.
 */
UMBEL_API umbel_status umbel_decoder_open(const umbel_source *source,
                                          uint64_t total, umbel_decoder **out,
                                          umbel_error *err);
/* Consumes the next len bytes. After a failure every call returns that
 * failure. */
UMBEL_API umbel_status umbel_decoder_feed(umbel_decoder *d, const void *bytes,
                                          size_t len, umbel_error *err);
/* Returns the filter in *out, once, after all bytes were fed. */
UMBEL_API umbel_status umbel_decoder_finish(umbel_decoder *d,
                                            umbel_filter **out,
                                            umbel_error *err);
/* Frees the decoder, and the filter unless it was returned. NULL is accepted.
 */
UMBEL_API void umbel_decoder_close(umbel_decoder *d);

/*
 * Reads a filter from a descriptor, starting at its current position. If len is
 * a number, exactly that many bytes are read, so that other data may follow on
 * a socket; E_FORMAT when the filter has another length. With UMBEL_TO_END, the
 * call waits for the end of the stream and nothing may follow the filter. After
 * a failure the position in the stream is undefined.
 */
UMBEL_API umbel_status umbel_read(int fd, uint64_t len,
                                  const umbel_source *source,
                                  umbel_filter **out, umbel_error *err);

/*
 * Maps a file and uses it in place: opening takes no time (unless source asks
 * to verify), processes share the pages, and the filter is read-only. If
 * somebody truncates a mapped file, its readers get SIGBUS: load files that you
 * do not control. A coded file is decoded into memory instead, and the filter
 * can be changed.
 */
UMBEL_API umbel_status umbel_map(const char *path, const umbel_source *source,
                                 umbel_filter **out, umbel_error *err);

/* Writes the filter's bytes to a descriptor, at its current position. */
UMBEL_API umbel_status umbel_write(const umbel_filter *f, int fd,
                                   umbel_error *err);

/*
 * Returns the user data stored with the filter, for example its source. It is
 * part of the file, and is passed on to filters made from this one. It belongs
 * to the filter; in a mapped file it may change.
 */
UMBEL_API umbel_slice umbel_data(const umbel_filter *f);
/* Replaces the user data; len 0 removes it. data must not be umbel_data. */
UMBEL_API umbel_status umbel_set_data(umbel_filter *f, const void *data,
                                      size_t len, umbel_error *err);

/* Returns the XXH3-64 of the payload: equal for equal cells and user data. */
UMBEL_API uint64_t umbel_payload_checksum(const umbel_filter *f);

#ifdef __cplusplus
}
#endif
#endif
