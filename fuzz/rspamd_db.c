/*
 * rspamd_db.c - arbitrary SQLite files, read as databases of rspamd's fuzzy
 * storage: read to the end, or rejected with a line of plain text. The number
 * of rows must be bounded by the file's size.
 */
#include "fuzz.h"

#include "clearinghouse/admin/import_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes the input to a file in memory. SQLite opens files only by name. */
static int write_file(const uint8_t *data, size_t size, char path[64])
{
    strcpy(path, "/dev/shm/umbel-fuzz-XXXXXX");
    int fd = mkstemp(path);

    if (fd >= 0 && write(fd, data, size) != (ssize_t)size) {
        close(fd);
        unlink(path);
        return -1;
    }
    return fd;
}

static void read_all(um_rspamd_db *db, size_t size)
{
    um_rspamd_record r;
    um_import_next next;
    umbel_error err;
    size_t rows = 0;

    do {
        err.text[0] = 0;
        next = um_rspamd_read(db, &r, &err);
        if (next == UM_IMPORT_RECORD)
            UM_WANT(r.time >= 1 && r.time <= UINT32_MAX);
        if (next == UM_IMPORT_SKIPPED || next == UM_IMPORT_BROKEN)
            UM_WANT(err.text[0] && !strchr(err.text, '\n'));
        UM_WANT(++rows <= size / 4 + 2);
    } while (next == UM_IMPORT_RECORD || next == UM_IMPORT_SKIPPED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    um_rspamd_db *db = NULL;
    umbel_error err = {.status = UMBEL_OK};
    char path[64];
    int fd = write_file(data, size, path);

    if (fd < 0)
        return 0;
    if (um_rspamd_open(path, &db, &err) == UMBEL_OK)
        read_all(db, size);
    else
        UM_WANT(err.text[0] && !strchr(err.text, '\n'));
    um_rspamd_close(db);
    close(fd);
    unlink(path);
    return 0;
}
