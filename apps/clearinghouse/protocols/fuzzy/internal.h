/*
 * internal.h - rspamd's fuzzy storage, for its own files: request.c parses and
 * prints datagrams, which are not encrypted; protocol.c has the rest.
 *
 * A request, with little-endian numbers:
 *
 *     u8 version | u8 command | u8 shingles, 0 or 32 | u8 flag | i32 value
 *     u32 tag | 64 bytes: the digest of a mail | 32 x u64: its shingles
 *     extensions: a letter and what it announces
 *
 * A reply:
 *
 *     i32 value | u32 flag | u32 tag, as asked | f32 probability
 *     64 bytes: digest | u32 time | 12 zeros
 *
 * rspamd writes numbers in the byte order of its machine. A client with the
 * other byte order is recognised by the value of a write: multiples of 65,536
 * and values above 16,777,215 do not occur otherwise.
 */
#ifndef UM_CLEARINGHOUSE_FUZZY_INTERNAL_H
#define UM_CLEARINGHOUSE_FUZZY_INTERNAL_H

#include "clearinghouse/lists/fuzzy_mails.h"
#include "clearinghouse/protocols/datagram_service.h"
#include "clearinghouse/protocols/doctor_probe.h"
#include "net/server/datagram.h"

/* --- requests ------------------------------------------------------------- */

enum {
    UM_FUZZY_PLAIN = 76, /* bytes of a request without shingles */
    UM_FUZZY_WHOLE = UM_FUZZY_PLAIN + 8 * UM_NEAR_SHINGLES,
    UM_FUZZY_MAX = 2048, /* with extensions */
    UM_FUZZY_REPLY = 96
};

/* Commands; also the operations in metrics. */
typedef enum um_fuzzy_op {
    UM_FUZZY_CHECK,
    UM_FUZZY_WRITE,
    UM_FUZZY_DELETE,
    UM_FUZZY_STAT,
    UM_FUZZY_PING,
    UM_FUZZY_OTHER,
    UM_FUZZY_OPS
} um_fuzzy_op;

/* How a request is answered: rows of the table in protocol.c. */
typedef enum um_fuzzy_outcome {
    UM_FUZZY_OK,
    UM_FUZZY_SHORT,
    UM_FUZZY_LONG,
    UM_FUZZY_ENCRYPTED,
    UM_FUZZY_VERSION,
    UM_FUZZY_COMMAND,
    UM_FUZZY_COUNT,
    UM_FUZZY_BYTE_ORDER,
    UM_FUZZY_FORBIDDEN,
    UM_FUZZY_NOT_STORED,
    UM_FUZZY_LIST_FULL,
    UM_FUZZY_RATE_LIMIT,
    UM_FUZZY_OUTCOMES
} um_fuzzy_outcome;

typedef struct um_fuzzy_request {
    um_fuzzy_op op;
    uint8_t flag;
    int32_t value;
    uint32_t tag;
    const uint8_t *digest; /* of UM_NEAR_NAME bytes, in the datagram */
    bool has_shingles;
    uint64_t shingle[UM_NEAR_SHINGLES]; /* as received */
} um_fuzzy_request;

/* Parses a datagram. Any result but UM_FUZZY_OK says what is wrong; op is set
 * in any case. */
um_fuzzy_outcome um_fuzzy_parse(const uint8_t *data, size_t len,
                                um_fuzzy_request *out);

typedef struct um_fuzzy_reply {
    int32_t value;
    uint32_t flag, tag;
    float probability;
    const uint8_t *digest; /* NULL for zeros */
    uint32_t time;
} um_fuzzy_reply;

void um_fuzzy_print(const um_fuzzy_reply *r, uint8_t out[UM_FUZZY_REPLY]);

/* --- the running protocol ------------------------------------------------- */

typedef struct um_fuzzy_settings {
    um_texts listen, writers;
} um_fuzzy_settings;

/* A network that may write. */
typedef struct um_fuzzy_writer {
    um_network network;
    unsigned bits;
} um_fuzzy_writer;

/* A request of a batch. */
typedef struct um_fuzzy_job {
    const um_datagram *datagram;
    um_fuzzy_request request;
    um_fuzzy_outcome outcome;
    umbel_digest digest;
} um_fuzzy_job;

typedef struct um_fuzzy_service {
    um_protocol_datagram net; /* must be first */
    const um_environment *env;
    um_service_stats *stats;
    uint64_t secret[UM_NEAR_SHINGLES]; /* for um_near_shingle */
    um_fuzzy_writer *writer;
    size_t nwriters;
    um_fuzzy_view view;
    um_fuzzy_job job[UM_DATAGRAM_BATCH];
} um_fuzzy_service;

#endif
