/*
 * sync_terms.h - on which terms a directory of 'umbel sync' exchanges: what a
 * list is beside its shape, and who the server is.
 *
 * As text, in the directory, and as the data of an empty filter that
 * 'umbel-clearinghouse shape' writes.
 */
#ifndef UM_EXCHANGE_SYNC_TERMS_H
#define UM_EXCHANGE_SYNC_TERMS_H

#include <umbel/sync.h>

enum { UM_TERMS_TEXT = 512 };

typedef struct um_sync_terms {
    char list[UMBEL_SYNC_MAX_NAME];
    uint64_t epoch_seconds, origin_cap;
    uint32_t epochs, page_bytes, quorum;
    char agree[UMBEL_SYNC_MAX_AGREE]; /* "": nothing */
    bool has_server;
    uint8_t server[UMBEL_ORIGIN_LEN]; /* its public key */
} um_sync_terms;

/* What directories have among themselves: one list, one epoch. */
extern const um_sync_terms um_sync_terms_standard;

/* Writes them as text; returns its length. */
size_t um_sync_terms_print(const um_sync_terms *t, char out[UM_TERMS_TEXT]);
/* Reads such a text, to its NUL; false: it is something else. */
bool um_sync_terms_read(const char *text, um_sync_terms *out);

/* The terms that a filter carries as data; the standard if it carries none.
 * E_FORMAT: it carries something else. */
umbel_status um_sync_terms_of(const umbel_filter *f, um_sync_terms *out,
                              umbel_error *err);
umbel_status um_sync_terms_attach(const um_sync_terms *t, umbel_filter *f,
                                  umbel_error *err);

#endif
