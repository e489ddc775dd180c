/*
 * import.h - counts of another server, taken over in pieces.
 *
 * A piece is lines "DIGEST REPORTS WHITELISTINGS", and has a name: the checksum
 * of the file that it comes from and its number there. A note of the store says
 * which pieces were counted, in one block with their counts, so that a piece
 * that is sent again, after a crash or by mistake, counts once.
 */
#ifndef UM_CLEARINGHOUSE_IMPORT_H
#define UM_CLEARINGHOUSE_IMPORT_H

#include "clearinghouse/protocols/protocol.h"

enum {
    UM_IMPORT_LINES = 100, /* of a piece: both counts fit one append */
    UM_IMPORT_MAILS = 50   /* the same: mails fit one block */
};

typedef struct um_import_result {
    bool again;       /* it was counted before */
    size_t counted;   /* digests */
    size_t left_out;  /* welcome, forgotten, empty text, or the list is full */
    size_t saturated; /* counts above what a list holds */
    uint64_t ticket;
} um_import_result;

/* E_FORMAT: not such lines; E_IO: the store has failed. */
umbel_status um_import_pyzor(const um_environment *env, const char *name,
                             umbel_slice lines, um_import_result *out,
                             umbel_error *err);

/* The same with mails of rspamd's fuzzy storage (import_fuzzy.c). */
umbel_status um_import_fuzzy(const um_environment *env, const char *name,
                             umbel_slice lines, um_import_result *out,
                             umbel_error *err);

#endif
