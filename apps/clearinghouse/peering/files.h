/*
 * peers_files.h - files of peers_store.h: their names, and how one is written
 * and read. All in one directory.
 */
#ifndef UM_CLEARINGHOUSE_PEERS_FILES_H
#define UM_CLEARINGHOUSE_PEERS_FILES_H

#include "store/disk.h"

#include <umbel/sync.h>

/* A name of a copy's file. */
typedef struct um_copy_name {
    char text[UM_DISK_NAME];
} um_copy_name;

/* Compares two names, for qsort and bsearch. */
int um_copy_name_order(const void *a, const void *b);

/* Makes the name of a copy: the same at each start, whatever the order of
 * lists. */
void um_copy_name_create(const umbel_sync_copy *c, const char *list,
                         um_copy_name *out);
/* Returns true if a file has the name of a copy. */
bool um_copy_name_is(const char *name);
/* Returns true for "NAME.new", which a crash left. */
bool um_name_is_unfinished(const char *name);

/* Writes a filter as NAME.new, durable, and renames it. Returns 0 or a number
 * of errno.h. */
int um_copy_file_write(um_disk *d, const char *name, const umbel_filter *f);
/* Reads a filter of at most memory bytes. E_IO: the disk failed. */
umbel_status um_copy_file_read(um_disk *d, const char *name, uint64_t memory,
                               umbel_filter **out, umbel_error *err);

/* The same for the state, bytes with a checksum. The caller frees *out; NULL:
 * there is no such file. */
int um_state_file_write(um_disk *d, umbel_slice bytes);
umbel_status um_state_file_read(um_disk *d, uint8_t **out, size_t *len,
                                umbel_error *err);

#define UM_PEERS_STATE "state"

#endif
