/*
 * disk.h - the disk operations that the store needs.
 *
 * All names are in one directory. The operations are a table so that tests can
 * run the store on a simulated disk that fails and loses power on demand
 * (tests/support/sim_disk.h).
 *
 * Operations return 0 or an errno.
 */
#ifndef UM_STORE_DISK_H
#define UM_STORE_DISK_H

#include <umbel/base.h>

#include <sys/types.h>

typedef struct um_disk um_disk;

typedef enum um_disk_mode {
    UM_DISK_READ,
    UM_DISK_CREATE /* read and write, truncated */
} um_disk_mode;

typedef struct um_disk_ops {
    /* Locks the file until release. Returns EWOULDBLOCK if another process
     * holds the lock and sets *holder to its pid, 0 if unknown. */
    int (*lock)(um_disk *d, const char *name, pid_t *holder);
    int (*names)(um_disk *d, void (*each)(void *ctx, const char *name),
                 void *ctx);

    int (*open)(um_disk *d, const char *name, um_disk_mode mode, int *file);
    int (*size)(um_disk *d, int file, uint64_t *size);
    /* Reads len bytes, or fewer at the end of the file. */
    int (*read)(um_disk *d, int file, uint64_t at, void *out, size_t len,
                size_t *got);
    /* Writes all bytes; if it fails, any part of them may be written. */
    int (*write)(um_disk *d, int file, uint64_t at, const void *bytes,
                 size_t len);
    /* Makes written bytes survive a power failure, but not the name of a new
     * file. */
    int (*sync)(um_disk *d, int file);
    void (*close)(um_disk *d, int file);

    int (*rename)(um_disk *d, const char *from, const char *to);
    int (*remove)(um_disk *d, const char *name);
    /* Makes created, renamed and removed names survive a power failure. */
    int (*sync_names)(um_disk *d);

    /*
     * Runs job in a child process with a copy of the current memory. ended
     * returns true when the child has exited; *result is what job returned, or
     * EINTR if the child was killed. stop kills it.
     */
    int (*start)(um_disk *d, int (*job)(void *arg), void *arg, pid_t *child);
    bool (*ended)(um_disk *d, pid_t child, int *result);
    void (*stop)(um_disk *d, pid_t child);
    /* Called by a job between two parts of its work: pauses the child so that
     * the parent gets the disk and the processor. NULL: not needed. */
    void (*rest)(um_disk *d);

    /* Finds the bytes that may be written until the disk is full. NULL:
     * unknown. */
    int (*space)(um_disk *d, uint64_t *bytes);

    void (*release)(um_disk *d);

    /* If true, slow operations run in the worker's thread, otherwise in the
     * caller's. */
    bool threads;
} um_disk_ops;

struct um_disk {
    const um_disk_ops *ops;
};

/*
 * Opens a directory of the file system; creates it (mode 0700) if it does not
 * exist. Release with um_disk_close.
 */
umbel_status um_disk_open(const char *path, um_disk **out, umbel_error *err);
/* Checks that the parent directory of path exists and is writable. */
umbel_status um_check_creatable(const char *path, umbel_error *err);
/* Releases the disk; NULL is accepted. */
void um_disk_close(um_disk *d);

/* Returns E_IO with "NAME: " and the text of the errno; OK for 0. */
umbel_status um_disk_status(int number, const char *name, umbel_error *err);

/*
 * Syncs NAME.new, a complete file, renames it to NAME and syncs the directory.
 * After a crash NAME is complete or does not exist. Does not close the file.
 */
int um_disk_finish(um_disk *d, int file, const char *name);

/* Copies a file to the same name on another disk, from its beginning to its
 * end, and syncs it; *bytes grows by its length. */
int um_disk_copy(um_disk *from, um_disk *to, const char *name, uint64_t *bytes);
/* Copies the first *bytes bytes of an open file, or all if it has fewer; sets
 * *bytes to the number that was copied. */
int um_disk_copy_bytes(um_disk *from, int in, um_disk *to, int out,
                       uint64_t *bytes);

enum { UM_DISK_NAME = 48 }; /* longest name of the store, with the NUL */

#endif
