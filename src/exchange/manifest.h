/*
 * manifest.h - what a directory of published filters says of one of them.
 *
 * A small text, signed when the publisher likes: which file is the filter now,
 * and which differences lead from earlier ones to it. Files are named by what
 * they hold (BLAKE2b-256), so they never change and any cache may keep them;
 * the manifest alone changes. Bytes in, bytes out: no clock, no disk, no
 * network.
 */
#ifndef UM_EXCHANGE_MANIFEST_H
#define UM_EXCHANGE_MANIFEST_H

#include <umbel/base.h>

enum {
    UM_DIGEST_LEN = 32,
    UM_DIGEST_HEX = 2 * UM_DIGEST_LEN + 1,
    UM_SIGN_KEY_LEN = 64,  /* Ed25519, secret */
    UM_TRUST_KEY_LEN = 32, /* ... public */
    UM_NAME_MAX = 64,
    UM_STEPS_MAX = 64,
    UM_MANIFEST_MAX = 32768 /* bytes: of any manifest that can be */
};

/* A file of the directory. */
typedef struct um_blob {
    uint8_t digest[UM_DIGEST_LEN];
    uint64_t len;
} um_blob;

/* A difference that turns one filter into the next. */
typedef struct um_step {
    uint8_t from[UM_DIGEST_LEN];
    um_blob file;
} um_step;

typedef struct um_manifest {
    char name[UM_NAME_MAX + 1];
    uint64_t serial;  /* grows with every manifest; from 1 to 2^64 - 2 */
    uint64_t made;    /* seconds since 1970 */
    uint64_t expires; /* 0: never */
    um_blob filter;   /* as it is now */
    /* Oldest first: each makes what the next is from, the last the filter. */
    size_t nsteps;
    um_step step[UM_STEPS_MAX];
    bool is_signed;
    uint8_t key[UM_TRUST_KEY_LEN]; /* by whom */
} um_manifest;

void um_digest_of(const void *bytes, size_t len, uint8_t out[UM_DIGEST_LEN]);
/* In hexadecimal, as names of files are. */
void um_digest_text(const uint8_t digest[UM_DIGEST_LEN],
                    char out[UM_DIGEST_HEX]);

/* 2 len digits, small letters only; false: they are not. */
bool um_hex_read(const char *text, uint8_t *out, size_t len);

/*
 * Letters, digits and . _ - in the middle: safe in any path and address. Not
 * such as end in .manifest: their address would be another's.
 */
bool um_name_is_fine(const char *name, size_t len);

/*
 * The text of m, into UM_MANIFEST_MAX bytes; tells its length. With secret it
 * is signed, and m->key is set.
 */
size_t um_manifest_write(um_manifest *m, const uint8_t *secret,
                         char out[UM_MANIFEST_MAX]);

/*
 * Read a text of anyone. There is one text per manifest, and no other is taken.
 * A signature is checked; whose it is, is for um_judge.
 */
umbel_status um_manifest_read(const char *text, size_t len, um_manifest *out,
                              umbel_error *err);

#endif
