/*
 * redis.h - filters that live in Redis or Valkey: redis://HOST:PORT/KEY.
 */
#ifndef UM_CLI_REDIS_H
#define UM_CLI_REDIS_H

#include <umbel/file.h>

/* What a server may cost; 0 means the default. */
typedef struct um_redis_limits {
    uint64_t timeout;   /* seconds: 30 */
    uint64_t max_bytes; /* of the filter: 1 GiB */
    uint64_t max_memory;
} um_redis_limits;

bool um_is_redis(const char *address);

/*
 * Fetches the filter of a key: one of umbel's module (UMB.EXPORT), or one of
 * RedisBloom (BF.SCANDUMP). moved receives the bytes that came.
 */
umbel_status um_redis_fetch(const char *address, const um_redis_limits *limits,
                            umbel_filter **out, uint64_t *moved,
                            umbel_error *err);
/* Makes a key of the bytes of a file (UMB.IMPORT). */
umbel_status um_redis_store(const char *address, const um_redis_limits *limits,
                            const void *bytes, size_t len, umbel_error *err);

#endif
