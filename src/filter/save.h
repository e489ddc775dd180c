/*
 * save.h - writes files atomically.
 */
#ifndef UM_FILTER_SAVE_H
#define UM_FILTER_SAVE_H

#include <umbel/base.h>

/*
 * Saves the concatenated parts as umbel_save does: path has either the old
 * bytes or the new ones at all times. If path is not a regular file, writes to
 * it directly.
 */
umbel_status um_save_parts(const umbel_slice *parts, size_t nparts,
                           const char *path, umbel_error *err);
/*
 * Saves by renaming the file `from`, which is in the same directory. path must
 * be a regular file or not exist, and not be a link.
 */
umbel_status um_save_ready(const char *from, const char *path,
                           umbel_error *err);
/*
 * Saves as um_save_parts does, for a file that is kept open and locked (flock):
 * *fd becomes the new file, which was locked before it got the name.
 */
umbel_status um_save_held(const umbel_slice *parts, size_t nparts,
                          const char *path, int *fd, umbel_error *err);
/* Syncs a directory, so that names created or removed in it survive a power
 * failure. */
bool um_sync_directory(const char *dir);
/* Syncs the directory of path. */
bool um_sync_name(const char *path);
/* Returns true if path still names this file. */
bool um_is_at(int fd, const char *path);
/* Writes parts to an open descriptor. */
umbel_status um_write_parts(int fd, const umbel_slice *parts, size_t nparts,
                            umbel_error *err);

/* --- locks ---------------------------------------------------------------- */

/*
 * Opens path and waits for its lock, which is held until *fd is closed. flags
 * are those of open: O_RDONLY, O_CREAT if it may be new, O_DIRECTORY.
 */
umbel_status um_lock(const char *path, int flags, int *fd, umbel_error *err);

#endif
