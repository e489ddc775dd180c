/*
 * save.h - files that are there whole, or not at all.
 */
#ifndef UM_FILTER_SAVE_H
#define UM_FILTER_SAVE_H

#include <umbel/base.h>

/*
 * Write parts one after the other, as umbel_save does: the name holds the old
 * bytes or the new at every moment. What is no regular file is written
 * straight.
 */
umbel_status um_save_parts(const umbel_slice *parts, size_t nparts,
                           const char *path, umbel_error *err);
/*
 * The same with bytes that lie beside it already, in the file `from`, which is
 * gone then. path is no link; where it names no regular file it is refused.
 */
umbel_status um_save_ready(const char *from, const char *path,
                           umbel_error *err);
/*
 * The same for a file that is read and locked (flock) by its descriptor: *fd is
 * the new one, which had its lock before it had the name.
 */
umbel_status um_save_held(const umbel_slice *parts, size_t nparts,
                          const char *path, int *fd, umbel_error *err);
/* Names that came to be in it, or went, stay so when the power fails. */
bool um_sync_directory(const char *dir);
/* The same for the directory that path is in. */
bool um_sync_name(const char *path);
/* Returns true if that file still has this name. */
bool um_is_at(int fd, const char *path);
/* Parts to an open descriptor. */
umbel_status um_write_parts(int fd, const umbel_slice *parts, size_t nparts,
                            umbel_error *err);

/* --- locks ---------------------------------------------------------------- */

/*
 * Opens path and waits for its lock, which is held until *fd is closed. flags
 * are those of open: O_RDONLY, O_CREAT when it may be new, O_DIRECTORY.
 */
umbel_status um_lock(const char *path, int flags, int *fd, umbel_error *err);

#endif
