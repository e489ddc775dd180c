/*
 * pyzord_dump.c - arbitrary gdbm dumps: read to the end, or rejected with a
 * line of plain text; every record has a digest.
 */
#include "fuzz.h"

#include "clearinghouse/admin/import_files.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t none = 0;
    /* fmemopen rejects size 0; opened for reading, it does not write. */
    union {
        const void *in;
        void *plain;
    } u = {size ? data : &none};
    FILE *in = fmemopen(u.plain, size ? size : 1, "r");
    um_pyzord_dump dump = {.in = in};
    um_pyzord_record r;
    um_import_next next;
    umbel_error err;

    if (!in)
        return 0;
    do {
        next = um_pyzord_dump_next(&dump, &r, &err);
        if (next == UM_IMPORT_RECORD)
            UM_WANT(strlen(r.digest) == 40);
        if (next == UM_IMPORT_SKIPPED || next == UM_IMPORT_BROKEN)
            UM_WANT(err.text[0] && !strchr(err.text, '\n'));
    } while (next == UM_IMPORT_RECORD || next == UM_IMPORT_SKIPPED);
    UM_WANT(dump.line <= (size ? size : 1));
    fclose(in);
    return 0;
}
