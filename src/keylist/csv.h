/*
 * csv.h - comma-separated values as in RFC 4180.
 */
#ifndef UM_KEYLIST_CSV_H
#define UM_KEYLIST_CSV_H

#include "keylist/source.h"

/*
 * Returns the length of text up to and including the last newline outside
 * quotation marks. *quoted is true if the text begins inside them; it becomes
 * true if it ends inside them.
 */
size_t um_csv_whole(const uint8_t *text, size_t len, bool *quoted);

/* Returns the end of the record that begins at `at`: its newline, or end. */
const uint8_t *um_csv_record_end(const uint8_t *at, const uint8_t *end);

/*
 * Finds field n of a record, or the last one if n is UM_LAST_FIELD, and checks
 * the whole record. *field is its text without the quotation marks around it;
 * *doubled is true if others in it are doubled. Returns what is wrong with the
 * record, or NULL.
 */
const char *um_csv_field(umbel_slice record, char delimiter, uint64_t n,
                         umbel_slice *field, bool *doubled);

/* Copies a field with each doubled quotation mark made single. Returns its
 * length. */
size_t um_csv_unquote(umbel_slice field, uint8_t *out);

/* Finds f->column in the first record of a file. E_KEY if it is not there. */
umbel_status um_csv_column(const um_key_format *f, const uint8_t *text,
                           size_t len, const char *file, uint64_t *field,
                           umbel_error *err);

#endif
