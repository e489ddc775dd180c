/*
 * redis.h - a connection to a Redis or Valkey server, with hiredis.
 *
 * Knows nothing about filters. Without hiredis every call fails and says so
 * (redis_missing.c).
 */
#ifndef UM_NET_REDIS_H
#define UM_NET_REDIS_H

#include "net/redis/redis_reply.h"

typedef struct um_redis um_redis;

/* Most bytes of one value in a reply: RedisBloom's largest chunk. */
enum { UM_REDIS_MAX_BYTES = 16 << 20 };

/*
 * Connects to redis://[[USER]:PASSWORD@]HOST[:PORT]/KEY, and sends the
 * password, which may also stand in the environment (UMBEL_REDIS_PASSWORD). A
 * server that is silent for timeout seconds is given up.
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
 * Error replies are replies; E_IO when there is none within the limits.
 */
umbel_status um_redis_call(um_redis *r, const umbel_slice *words, size_t n,
                           um_redis_reply *out, umbel_error *err);

#endif
