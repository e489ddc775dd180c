/*
 * import_files.h - databases of other server programs that umbel clearinghouse
 * import reads. They may come from anyone; the command reads them, never the
 * server.
 */
#ifndef UM_CLEARINGHOUSE_IMPORT_FILES_H
#define UM_CLEARINGHOUSE_IMPORT_FILES_H

#include "clearinghouse/runtime/digest_text.h"
#include "kinds/near/near.h"

#include <stdio.h>

/* The result of reading one record. */
typedef enum um_import_next {
    UM_IMPORT_RECORD,
    UM_IMPORT_SKIPPED, /* *err has the reason */
    UM_IMPORT_END,
    UM_IMPORT_BROKEN /* *err has the reason; nothing more can be read */
} um_import_next;

/* --- pyzord_dump.c -------------------------------------------------------- */

typedef struct um_pyzord_record {
    char digest[UM_DIGEST_TEXT];
    uint64_t reports, whitelistings;
    uint64_t updated; /* seconds since 1970; 0 if unknown */
} um_pyzord_record;

/* The output of gdbm_dump for a pyzord database. */
typedef struct um_pyzord_dump {
    FILE *in;
    uint64_t line;  /* number of the last line that was read */
    uint64_t items; /* keys and values that were read */
    bool begun;     /* its header was read */
} um_pyzord_dump;

um_import_next um_pyzord_dump_next(um_pyzord_dump *d, um_pyzord_record *out,
                                   umbel_error *err);

/* --- rspamd_db.c ---------------------------------------------------------- */

typedef struct um_rspamd_record {
    uint8_t digest[UM_NEAR_NAME];
    uint8_t flag;
    int32_t value;
    uint64_t time; /* seconds since 1970 */
    uint32_t has;  /* bit i is set if shingle[i] exists */
    uint64_t shingle[UM_NEAR_SHINGLES];
} um_rspamd_record;

/* The database of rspamd's fuzzy storage, in SQLite. */
typedef struct um_rspamd_db um_rspamd_db;

/* Opens a database. Returns E_UNSUPPORTED without SQLite, E_FORMAT if the file
 * is something else. */
umbel_status um_rspamd_open(const char *path, um_rspamd_db **out,
                            umbel_error *err);
um_import_next um_rspamd_read(um_rspamd_db *d, um_rspamd_record *out,
                              umbel_error *err);
/* Accepts NULL. */
void um_rspamd_close(um_rspamd_db *d);

#endif
