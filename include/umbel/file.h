/*
 * file.h - filters as bytes: encode, decode, load, map, save.
 *
 * The decoder takes bytes from anyone and returns a filter that every call
 * accepts, or a status; there is no second validation step. docs/FORMAT.md has
 * the bytes.
 */
#ifndef UMBEL_FILE_H
#define UMBEL_FILE_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means the default everywhere; start with UMBEL_SOURCE_INIT. */
typedef struct umbel_source {
    size_t size; /* sizeof(umbel_source) */
    /*
     * Most memory the filter may take. 0 means: as much as the bytes given, and
     * 256 MiB where their number is not known beforehand (a pipe) or tells
     * nothing (a coded filter). It is asked before anything is allocated. A
     * coded file that is read takes its own bytes beside that, meanwhile: no
     * more than the filter, and a line.
     */
    uint64_t memory_limit;
    bool verify; /* hold the payload against its checksum: a damaged one is safe
                    to use without, but answers wrongly */
    const uint8_t *secret;    /* as umbel_unlock, at once */
    const umbel_alloc *alloc; /* NULL means the C library's */
} umbel_source;

#ifdef __cplusplus
#define UMBEL_SOURCE_INIT                                                      \
    {                                                                          \
        sizeof(umbel_source), 0, false, 0, 0                                   \
    }
#else
#define UMBEL_SOURCE_INIT                                                      \
    {                                                                          \
        .size = sizeof(umbel_source)                                           \
    }
#endif

/*
 * Whether a filter is written coded: in nearly as few bytes as its cells can be
 * told, at some time for coding. It keeps the form that it was read in; new
 * ones are raw. Filters made from it (copies, folds) have its form.
 */
UMBEL_API void umbel_set_coded(umbel_filter *f, bool coded);
UMBEL_API bool umbel_coded(const umbel_filter *f);

/* Bytes that umbel_encode writes; of a coded filter, by coding it. */
UMBEL_API size_t umbel_encoded_len(const umbel_filter *f);

/* Write the file's bytes to out, of cap bytes; *len tells how many. */
UMBEL_API umbel_status umbel_encode(const umbel_filter *f, void *out,
                                    size_t cap, size_t *len, umbel_error *err);

/* A filter of its own memory from bytes of any origin. source may be NULL. */
UMBEL_API umbel_status umbel_decode(const void *bytes, size_t len,
                                    const umbel_source *source,
                                    umbel_filter **out, umbel_error *err);

/* The same from a file, read by copy; path may name a pipe. */
UMBEL_API umbel_status umbel_load(const char *path, const umbel_source *source,
                                  umbel_filter **out, umbel_error *err);

/* The same from an open descriptor, from where it stands to its end. */
UMBEL_API umbel_status umbel_read(int fd, const umbel_source *source,
                                  umbel_filter **out, umbel_error *err);

/*
 * Use the file in place: opening takes no time (unless it verifies), processes
 * share the pages, the filter is read-only. Who truncates a mapped file raises
 * SIGBUS in its readers: load what you do not control. A coded file is decoded
 * instead, into memory of the filter's own, which may be written to.
 */
UMBEL_API umbel_status umbel_map(const char *path, const umbel_source *source,
                                 umbel_filter **out, umbel_error *err);

/*
 * Write the file so that path holds, at every moment, the old bytes or the new:
 * unnamed temporary file, fsync, rename, fsync of the directory. Who is killed
 * at the rename may leave .umbel-*.tmp, which the next save there removes. The
 * mode of an existing file is kept, and its owner where we may. What is no
 * regular file (a pipe, a device) is written straight.
 */
UMBEL_API umbel_status umbel_save(const umbel_filter *f, const char *path,
                                  umbel_error *err);

/* Write the file's bytes to an open descriptor, from where it stands on. */
UMBEL_API umbel_status umbel_write(const umbel_filter *f, int fd,
                                   umbel_error *err);

/*
 * Bytes of the user's own that travel with the filter, in its file and in what
 * is made from it: where it comes from, say. They are the filter's; of a mapped
 * one they may change.
 */
UMBEL_API umbel_slice umbel_data(const umbel_filter *f);
/* Replace them; len 0 takes them away. data must not be the filter's own. */
UMBEL_API umbel_status umbel_set_data(umbel_filter *f, const void *data,
                                      size_t len, umbel_error *err);

/* XXH3-64 of the payload: equal for equal cells (and data), whatever the head
 * says. */
UMBEL_API uint64_t umbel_payload_checksum(const umbel_filter *f);

#ifdef __cplusplus
}
#endif
#endif
