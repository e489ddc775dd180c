/*
 * lock.h - lock a file that one process at a time may replace, or a directory
 * that it may change.
 */
#ifndef UM_FILTER_LOCK_H
#define UM_FILTER_LOCK_H

#include <umbel/base.h>

/*
 * Opens path and waits for its lock, which is held until *fd is closed. flags
 * are those of open: O_RDONLY, O_CREAT when it may be new, O_DIRECTORY.
 */
umbel_status um_lock(const char *path, int flags, int *fd, umbel_error *err);

#endif
