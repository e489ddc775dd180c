/*
 * redis_reply.h - replies of a Redis server (RESP2), parsed within limits.
 *
 * Holds no socket and allocates nothing. Replies to the commands that umbel
 * sends are single values or arrays of a few; anything else is bad.
 */
#ifndef UM_NET_REDIS_REPLY_H
#define UM_NET_REDIS_REPLY_H

#include <umbel/base.h>

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
    UM_REDIS_MORE, /* the rest has not come */
    UM_REDIS_BAD
} um_redis_parsed;

/* Parses the reply at the beginning of the input, whose bytes may not exceed
 * limit. */
um_redis_parsed um_redis_parse(const void *input, size_t len, size_t limit,
                               um_redis_reply *out);

#endif
