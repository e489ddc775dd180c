/*
 * rspamd_db.h - mails in the file of rspamd's own fuzzy storage, an SQLite
 * database (backend "sqlite").
 *
 * It has a table of mails (digests) and one of shingles, in which a shingle
 * belongs to the mail that was written last. The file may come from anyone; it
 * is read by the command, and never by the server.
 */
#ifndef UM_CLEARINGHOUSE_RSPAMD_DB_H
#define UM_CLEARINGHOUSE_RSPAMD_DB_H

#include "kinds/near/near.h"

typedef struct um_rspamd_record {
    uint8_t digest[UM_NEAR_NAME];
    uint8_t flag;
    int32_t value;
    uint64_t time; /* seconds since 1970 */
    uint32_t has;  /* bit i: shingle[i] is there */
    uint64_t shingle[UM_NEAR_SHINGLES];
} um_rspamd_record;

typedef enum um_rspamd_next {
    UM_RSPAMD_RECORD,
    UM_RSPAMD_SKIPPED, /* why is in *err */
    UM_RSPAMD_END,
    UM_RSPAMD_BROKEN /* why is in *err; nothing more can be read */
} um_rspamd_next;

typedef struct um_rspamd_db um_rspamd_db;

/* E_UNSUPPORTED: built without SQLite; E_FORMAT: not such a file. */
umbel_status um_rspamd_open(const char *path, um_rspamd_db **out,
                            umbel_error *err);
um_rspamd_next um_rspamd_read(um_rspamd_db *d, um_rspamd_record *out,
                              umbel_error *err);
/* NULL is fine. */
void um_rspamd_close(um_rspamd_db *d);

#endif
