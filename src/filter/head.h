/*
 * head.h - the head of a file: a shape as bytes, and back.
 */
#ifndef UM_FILTER_HEAD_H
#define UM_FILTER_HEAD_H

#include "base/bytes.h"
#include "coding/section.h"
#include "filter/handle.h"

/* Offsets in a head, and its sizes; on the wire. */
enum {
    UM_HEAD_VERSION = 2,
    UM_HEAD_VERSION_AT = 8,
    UM_HEAD_LEN_AT = 12,
    UM_HEAD_SUM_AT = 14,   /* the payload's checksum */
    UM_HEAD_NAMES_AT = 22, /* kind, addressing, hash; then numbers, fields */
    UM_HEAD_START = 16,    /* bytes needed to know the length of the head */
    UM_HEAD_CHECKSUM_LEN = 8,
    UM_HEAD_MAX = 4096,
    UM_HEAD_NAME_MAX = 15
};

/* Numbers of fields. Readers refuse unknown odd ones, and keep unknown even
 * ones. */
typedef enum um_head_tag {
    UM_TAG_SEED = 1,
    UM_TAG_SECRET_ID = 3,
    UM_TAG_FLAGS = 5,
    UM_TAG_FPR = 7,
    UM_TAG_FALSE_NEGATIVES = 9,
    UM_TAG_DATA = 11,
    UM_TAG_KEY_FORM = 13,
    UM_TAG_FROM = 15,
    UM_TAG_TO = 17,
    UM_TAG_CODING = 19,
    UM_TAG_PREFIXES = 120, /* three words, in 120, 122 and 124 */
    UM_TAG_EXPANSION = 126 /* sorted after even ones that are kept */
} um_head_tag;

/* A decoded head, and what it implies for the file. */
typedef struct um_head {
    um_shape shape;
    size_t len;                       /* of the head: the payload starts here */
    size_t payload_len;               /* in memory: raw */
    size_t stored_len;                /* in the file, which ends after it */
    uint64_t stored[UM_MAX_SECTIONS]; /* bytes of each section */
    size_t align;                     /* of sections in the file */
    um_code_version coding;           /* of coded sections */
    uint64_t payload_checksum;
} um_head;

/*
 * Encodes the head of a file into UM_HEAD_MAX bytes; returns its length. code
 * has the length of each section's code; NULL: they are raw. The checksum is
 * that of the raw payload.
 */
size_t um_head_encode(const um_shape *s, uint64_t payload_checksum,
                      const uint64_t *code, uint8_t out[UM_HEAD_MAX]);
/* Returns the length of the head only. */
size_t um_head_size(const um_shape *s, const uint64_t *code);

/* Returns a rate that takes two bytes in a head, at most 0.25 % above fpr; fpr
 * itself if it is below 4.1e-13 or above 0.999. */
double um_round_fpr(double fpr);

/* Returns true if bytes begin like a file of umbel: a filter or a
 * difference. */
bool um_is_umbel_file(const void *bytes, size_t len);

/* Reads the head's length from its first UM_HEAD_START bytes. */
umbel_status um_head_len(const uint8_t *bytes, size_t len, size_t *head_len,
                         umbel_error *err);
/* Decodes and checks the whole head, from a private copy of its bytes. */
umbel_status um_head_decode(const uint8_t *bytes, size_t len, um_head *out,
                            umbel_error *err);

#endif
