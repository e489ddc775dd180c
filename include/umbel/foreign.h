/*
 * foreign.h - read and write Bloom filter files of other programs.
 *
 * Each format has its own addressing, so that a filter and the foreign file
 * have the same cells. An imported file is an ordinary filter: it can be
 * queried, verified, retouched, and exported again for its other readers.
 */
#ifndef UMBEL_FOREIGN_H
#define UMBEL_FOREIGN_H

#include <umbel/file.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the name and summary of format i; false when i is past the end.
 * summary may be NULL. */
UMBEL_API bool umbel_foreign_at(size_t i, const char **name,
                                const char **summary);

/*
 * Creates a filter from the bytes of a foreign file, which may come from anyone
 * and may be mapped. Data in the file besides the cells becomes umbel_data.
 * source may be NULL.
 */
UMBEL_API umbel_status umbel_import(const char *format, const void *bytes,
                                    size_t len, const umbel_source *source,
                                    umbel_filter **out, umbel_error *err);

/*
 * Computes the minimum length of a file from its first bytes (256 suffice), not
 * counting data besides the cells, so that readers of streams can stop early.
 */
UMBEL_API umbel_status umbel_import_len(const char *format, const void *bytes,
                                        size_t len, uint64_t *least,
                                        umbel_error *err);

/*
 * Saves f in a foreign format; replaces path as umbel_save does. Fails when the
 * format cannot express the filter.
 */
UMBEL_API umbel_status umbel_export(const umbel_filter *f, const char *format,
                                    const char *path, umbel_error *err);

/* Computes the length of the file that umbel_export writes. */
UMBEL_API umbel_status umbel_export_len(const umbel_filter *f,
                                        const char *format, uint64_t *len,
                                        umbel_error *err);
/* Writes the exported file to a descriptor, at its current position. */
UMBEL_API umbel_status umbel_export_to(const umbel_filter *f,
                                       const char *format, int fd,
                                       umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif
