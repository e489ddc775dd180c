/*
 * pull_state.h - what a reader remembers between two pulls.
 */
#ifndef UM_EXCHANGE_PULL_STATE_H
#define UM_EXCHANGE_PULL_STATE_H

#include "exchange/manifest.h"

enum { UM_PULL_STATE_MAX = 1024 };

/* The newest manifest that the reader accepted. */
typedef struct um_pull_state {
    char name[UM_NAME_MAX + 1];
    uint64_t serial;  /* 0: it never pulled */
    uint64_t expires; /* as the manifest said; 0: never */
    uint8_t filter[UM_DIGEST_LEN];
    bool is_signed;
    uint8_t key[UMBEL_TRUST_KEY_LEN]; /* that signed it */
    char tag[UMBEL_MAX_TAG]; /* the server's name for the manifest; "": none */
} um_pull_state;

/* Writes the state of a manifest that came with a tag. */
void um_pull_state_of(const um_manifest *m, const char *tag,
                      um_pull_state *out);

/* Write it as text, and read it back; E_FORMAT for any other text. */
size_t um_pull_state_write(const um_pull_state *s, char out[UM_PULL_STATE_MAX]);
umbel_status um_pull_state_read(const char *text, size_t len,
                                um_pull_state *out, umbel_error *err);

#endif
