/*
 * rspamd_db.c - reads mails from the database of rspamd's fuzzy storage, in
 * SQLite (backend "sqlite").
 *
 * The table digests has the mails. In the table shingles each shingle belongs
 * to the mail that was written last. SQLite runs no view, trigger or function
 * of the file, which may come from anyone.
 */
#include "clearinghouse/admin/import_files.h"

#include "base/error.h"

#ifdef UM_HAVE_SQLITE
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MAX_BYTES = 1 << 20, /* of a row */
    STEPS = 1000,        /* of SQLite's VM between calls of too_long */
    MAX_CALLS = 100000,  /* of too_long, per row */
    MIN_ROW = 4          /* least bytes of a row in the file */
};

struct um_rspamd_db {
    sqlite3 *db;
    sqlite3_stmt *mails, *shingles;
    unsigned calls;
    uint64_t row, max_rows; /* because a page may be linked many times */
};

/* Stops a query that takes too long. A row takes far fewer steps, but a crafted
 * file can make a query run forever. */
static int too_long(void *arg)
{
    um_rspamd_db *d = arg;

    return ++d->calls > MAX_CALLS;
}

static umbel_status broken(const um_rspamd_db *d, umbel_error *err)
{
    return um_fail(err, UMBEL_E_FORMAT,
                   "not a file of rspamd's fuzzy storage (sqlite), or damaged: "
                   "%.160s",
                   d->db ? sqlite3_errmsg(d->db) : "no memory");
}

static umbel_status prepare(um_rspamd_db *d, const char *text,
                            sqlite3_stmt **out, umbel_error *err)
{
    if (sqlite3_prepare_v2(d->db, text, -1, out, NULL) != SQLITE_OK)
        return broken(d, err);
    return UMBEL_OK;
}

/* Checks that both are tables: a view could compute forever. */
static umbel_status check_tables(um_rspamd_db *d, umbel_error *err)
{
    sqlite3_stmt *s;
    int n = 0;

    UM_TRY(prepare(d,
                   "SELECT count(*) FROM sqlite_master WHERE type = 'table' "
                   "AND rootpage > 0 AND name IN ('digests', 'shingles')",
                   &s, err));
    if (sqlite3_step(s) == SQLITE_ROW)
        n = sqlite3_column_int(s, 0);
    umbel_status status = n == 2 ? UMBEL_OK : broken(d, err);
    if (status && sqlite3_errcode(d->db) == SQLITE_ROW)
        um_set_error(err, UMBEL_E_FORMAT,
                     "an SQLite file, but not of rspamd's fuzzy storage: it "
                     "has no tables digests and shingles");
    sqlite3_finalize(s);
    return status;
}

static umbel_status prepare_all(um_rspamd_db *d, umbel_error *err)
{
    sqlite3_limit(d->db, SQLITE_LIMIT_LENGTH, MAX_BYTES);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_progress_handler(d->db, STEPS, too_long, d);
    sqlite3_exec(d->db, "PRAGMA cell_size_check = 1", NULL, NULL, NULL);
    UM_TRY(check_tables(d, err));
    UM_TRY(prepare(d,
                   "SELECT id, flag, digest, value, time FROM digests "
                   "ORDER BY rowid",
                   &d->mails, err));
    return prepare(d,
                   "SELECT value, number FROM shingles WHERE digest_id = ?1 "
                   "LIMIT 64",
                   &d->shingles, err);
}

umbel_status um_rspamd_open(const char *path, um_rspamd_db **out,
                            umbel_error *err)
{
    um_rspamd_db *d = calloc(1, sizeof *d);
    struct stat st = {.st_size = 0};

    if (!d)
        return um_no_memory(err, sizeof *d);
    if (stat(path, &st) == 0)
        d->max_rows = (uint64_t)st.st_size / MIN_ROW + 1;
    umbel_status status =
        sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK
            ? prepare_all(d, err)
            : broken(d, err);
    if (status == UMBEL_OK)
        *out = d;
    else
        um_rspamd_close(d);
    return status;
}

/* Reads the shingles of a mail; false if that fails. */
static bool read_shingles(um_rspamd_db *d, sqlite3_int64 id,
                          um_rspamd_record *out)
{
    int got;

    sqlite3_bind_int64(d->shingles, 1, id);
    while ((got = sqlite3_step(d->shingles)) == SQLITE_ROW) {
        sqlite3_int64 number = sqlite3_column_int64(d->shingles, 1);
        if (number < 0 || number >= UM_NEAR_SHINGLES)
            continue;
        out->shingle[number] = (uint64_t)sqlite3_column_int64(d->shingles, 0);
        out->has |= UINT32_C(1) << number;
    }
    sqlite3_reset(d->shingles);
    return got == SQLITE_DONE;
}

static um_import_next skip(const um_rspamd_db *d, const char *why,
                           umbel_error *err)
{
    um_set_error(err, UMBEL_E_FORMAT, "mail %llu: %s",
                 (unsigned long long)d->row, why);
    return UM_IMPORT_SKIPPED;
}

static um_import_next read_row(um_rspamd_db *d, um_rspamd_record *out,
                               umbel_error *err)
{
    const void *digest = sqlite3_column_blob(d->mails, 2);
    int len = sqlite3_column_bytes(d->mails, 2);
    sqlite3_int64 flag = sqlite3_column_int64(d->mails, 1);
    sqlite3_int64 value = sqlite3_column_int64(d->mails, 3);
    sqlite3_int64 time = sqlite3_column_int64(d->mails, 4);

    *out = (um_rspamd_record){.flag = (uint8_t)flag, .time = (uint64_t)time};
    if (!digest || len != UM_NEAR_NAME)
        return skip(d, "its digest does not have 64 bytes", err);
    if (flag < 0 || flag > UINT8_MAX)
        return skip(d, "its flag is not from 0 to 255", err);
    if (value > INT32_MAX || value <= INT32_MIN)
        return skip(d, "its value has more than 32 bits", err);
    if (time < 1 || time > UINT32_MAX)
        return skip(d, "its time is not a time", err);
    memcpy(out->digest, digest, UM_NEAR_NAME);
    out->value = (int32_t)value;
    if (!read_shingles(d, sqlite3_column_int64(d->mails, 0), out))
        return skip(d, "its shingles cannot be read: the file is damaged", err);
    return UM_IMPORT_RECORD;
}

um_import_next um_rspamd_read(um_rspamd_db *d, um_rspamd_record *out,
                              umbel_error *err)
{
    d->calls = 0;
    if (++d->row > d->max_rows) {
        um_set_error(
            err, UMBEL_E_FORMAT,
            "more rows than a file of this size can have: it is damaged");
        return UM_IMPORT_BROKEN;
    }
    switch (sqlite3_step(d->mails)) {
    case SQLITE_ROW:
        return read_row(d, out, err);
    case SQLITE_DONE:
        return UM_IMPORT_END;
    default:
        broken(d, err);
        return UM_IMPORT_BROKEN;
    }
}

void um_rspamd_close(um_rspamd_db *d)
{
    if (!d)
        return;
    sqlite3_finalize(d->mails);
    sqlite3_finalize(d->shingles);
    sqlite3_close(d->db);
    free(d);
}

#else

umbel_status um_rspamd_open(const char *path, um_rspamd_db **out,
                            umbel_error *err)
{
    (void)path;
    *out = NULL;
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "this program was built without SQLite: install "
                   "libsqlite3-dev, and build it again");
}

um_import_next um_rspamd_read(um_rspamd_db *d, um_rspamd_record *out,
                              umbel_error *err)
{
    (void)d;
    (void)out;
    (void)err;
    return UM_IMPORT_END;
}

void um_rspamd_close(um_rspamd_db *d)
{
    (void)d;
}

#endif
