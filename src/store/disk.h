/*
 * disk.h - what the store asks of a disk: one row of operations.
 *
 * All names are in one directory. The row is a table so that tests can put a
 * simulated disk behind the store, which fails and loses power as it is told
 * (tests/support/sim_disk.h).
 *
 * Operations return 0 or a number of errno.h.
 */
#ifndef UM_STORE_DISK_H
#define UM_STORE_DISK_H

#include <umbel/base.h>

#include <sys/types.h>

typedef struct um_disk um_disk;

typedef enum um_disk_mode {
    UM_DISK_READ,
    UM_DISK_CREATE /* for reading and writing, empty */
} um_disk_mode;

typedef struct um_disk_ops {
    /* EWOULDBLOCK: a process holds it, *holder, or 0 if that is not known.
     * Else it is held until release. */
    int (*lock)(um_disk *d, const char *name, pid_t *holder);
    int (*names)(um_disk *d, void (*each)(void *ctx, const char *name),
                 void *ctx);

    int (*open)(um_disk *d, const char *name, um_disk_mode mode, int *file);
    int (*size)(um_disk *d, int file, uint64_t *size);
    /* Reads len bytes, or those up to the end of the file. */
    int (*read)(um_disk *d, int file, uint64_t at, void *out, size_t len,
                size_t *got);
    /* Writes all bytes; after a failure, any of them. */
    int (*write)(um_disk *d, int file, uint64_t at, const void *bytes,
                 size_t len);
    /* What was written survives a power cut; not the name of a new file. */
    int (*sync)(um_disk *d, int file);
    void (*close)(um_disk *d, int file);

    int (*rename)(um_disk *d, const char *from, const char *to);
    int (*remove)(um_disk *d, const char *name);
    /* Names that were created, renamed and removed survive a power cut. */
    int (*sync_names)(um_disk *d);

    /*
     * Runs job in a child process, which has this moment's memory. ended
     * returns true once it is over, with what job returned, or EINTR if it was
     * killed. stop kills it.
     */
    int (*start)(um_disk *d, int (*job)(void *arg), void *arg, pid_t *child);
    bool (*ended)(um_disk *d, pid_t child, int *result);
    void (*stop)(um_disk *d, pid_t child);
    /* Called by a job between two parts of its work: in a child, leaves the
     * disk and the processor to the parent for a while. NULL: no need. */
    void (*rest)(um_disk *d);

    void (*release)(um_disk *d);

    /* True: fdatasync and the like run in a thread. False: in the caller. */
    bool threads;
} um_disk_ops;

struct um_disk {
    const um_disk_ops *ops;
};

/*
 * Opens a directory of the file system, and makes it (mode 0700) if it is not
 * there. Release with um_disk_close.
 */
umbel_status um_disk_open(const char *path, um_disk **out, umbel_error *err);
/* Returns OK if the directory that would hold path exists and can be written.
 */
umbel_status um_check_makeable(const char *path, umbel_error *err);
/* NULL is accepted. */
void um_disk_close(um_disk *d);

/* Fails with E_IO, "NAME: " and what the number means. Returns OK for 0. */
umbel_status um_disk_status(int number, const char *name, umbel_error *err);

/*
 * Gives a file that was written as NAME.new its name, so that it is there whole
 * or not at all: sync, rename, sync of the names. Closes nothing.
 */
int um_disk_finish(um_disk *d, int file, const char *name);

enum { UM_DISK_NAME = 48 }; /* longest name that the store uses, with the NUL */

#endif
