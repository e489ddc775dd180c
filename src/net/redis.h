/*
 * redis.h - a connection to a Redis or Valkey server, with hiredis.
 *
 * It knows nothing about filters. Without hiredis every call fails with
 * E_UNSUPPORTED (redis_missing.c).
 */
#ifndef UM_NET_REDIS_H
#define UM_NET_REDIS_H

#include <umbel/base.h>

/* --- replies (redis_reply.c) ---------------------------------------------- */

/*
 * Replies to the commands that umbel sends are single values or short arrays;
 * anything else is refused. Parsing needs no socket and allocates nothing.
 */
enum { UM_REDIS_MAX_VALUES = 4 };

typedef enum um_redis_type {
    UM_REDIS_NIL,
    UM_REDIS_NUMBER,
    UM_REDIS_STATUS,
    UM_REDIS_BYTES,
    UM_REDIS_ERROR
} um_redis_type;

typedef struct um_redis_value {
    um_redis_type type;
    int64_t number;
    umbel_slice text; /* of a status, bytes or an error; in the input */
} um_redis_value;

typedef struct um_redis_reply {
    bool is_array;
    size_t n; /* values; 1 unless it is an array */
    um_redis_value value[UM_REDIS_MAX_VALUES];
} um_redis_reply;

typedef enum um_redis_parsed {
    UM_REDIS_WHOLE,
    UM_REDIS_MORE, /* the reply is incomplete */
    UM_REDIS_BAD
} um_redis_parsed;

/* Parses the reply at the beginning of the input, whose bytes may not exceed
 * limit. */
um_redis_parsed um_redis_parse(const void *input, size_t len, size_t limit,
                               um_redis_reply *out);

/* --- connections ---------------------------------------------------------- */

typedef struct um_redis um_redis;

/* Largest value in a reply: RedisBloom's largest chunk. */
enum { UM_REDIS_MAX_BYTES = 16 << 20 };

/*
 * Connects to redis://[[USER]:PASSWORD@]HOST[:PORT]/KEY, and sends the
 * password, which may also be in the environment (UMBEL_REDIS_PASSWORD). Fails
 * if the server is silent for timeout seconds.
 */
umbel_status um_redis_open(const char *url, uint64_t timeout, um_redis **out,
                           umbel_error *err);
void um_redis_close(um_redis *r);

/* Returns the key of the address, decoded. */
umbel_slice um_redis_key(const um_redis *r);
/* Returns the bytes received so far. */
uint64_t um_redis_received(const um_redis *r);

/*
 * Sends a command and waits for its reply, which is valid until the next call.
 * Error replies are replies; E_IO if no reply arrives within the limits. If a
 * node of a cluster replies that another one has the key (MOVED), connects to
 * that one, and sends the command, this one and all later ones, there.
 */
umbel_status um_redis_call(um_redis *r, const umbel_slice *words, size_t n,
                           um_redis_reply *out, umbel_error *err);

#endif
