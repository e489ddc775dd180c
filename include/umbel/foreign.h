/*
 * foreign.h - files that other programs read and write.
 *
 * A format has an addressing of its own, so that a filter and the foreign file
 * have the same cells. What is read becomes an ordinary filter: it can be
 * asked, verified, retouched, and written back for readers that never heard of
 * umbel.
 */
#ifndef UMBEL_FOREIGN_H
#define UMBEL_FOREIGN_H

#include <umbel/file.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The i-th format: its name, and in a line what it is; false: past the end. */
UMBEL_API bool umbel_foreign_at(size_t i, const char **name,
                                const char **summary);

/*
 * A filter of its own memory from a foreign file, which may be a mapping and
 * come from anyone. What the file carries beside the cells is kept as
 * umbel_data. source may be NULL.
 */
UMBEL_API umbel_status umbel_import(const char *format, const void *bytes,
                                    size_t len, const umbel_source *source,
                                    umbel_filter **out, umbel_error *err);

/*
 * How many bytes a file that begins so has at least; what it carries beside the
 * cells comes on top. The first 256 bytes tell. For readers of streams, who
 * stop where nothing good can follow.
 */
UMBEL_API umbel_status umbel_import_len(const char *format, const void *bytes,
                                        size_t len, uint64_t *least,
                                        umbel_error *err);

/*
 * Write the file as that format has it; path is replaced as umbel_save does.
 * Refused when the filter holds what the format cannot say.
 */
UMBEL_API umbel_status umbel_export(const umbel_filter *f, const char *format,
                                    const char *path, umbel_error *err);

/* How many bytes that would be. */
UMBEL_API umbel_status umbel_export_len(const umbel_filter *f,
                                        const char *format, uint64_t *len,
                                        umbel_error *err);
/* The same to an open descriptor, from where it stands on. */
UMBEL_API umbel_status umbel_export_to(const umbel_filter *f,
                                       const char *format, int fd,
                                       umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif
