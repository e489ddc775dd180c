/*
 * redis_missing.c - for builds without hiredis: every call fails.
 */
#include "base/error.h"
#include "net/redis.h"

umbel_status um_redis_open(const char *url, uint64_t timeout, um_redis **out,
                           umbel_error *err)
{
    (void)url;
    (void)timeout;
    (void)out;
    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "this umbel was built without hiredis, which redis:// "
                   "needs: install libhiredis-dev and build it again");
}

void um_redis_close(um_redis *r)
{
    (void)r;
}

umbel_slice um_redis_key(const um_redis *r)
{
    (void)r;
    return (umbel_slice){NULL, 0};
}

uint64_t um_redis_received(const um_redis *r)
{
    (void)r;
    return 0;
}

umbel_status um_redis_call(um_redis *r, const umbel_slice *words, size_t n,
                           um_redis_reply *out, umbel_error *err)
{
    (void)r;
    (void)words;
    (void)n;
    (void)out;
    return um_fail(err, UMBEL_E_UNSUPPORTED, "no connection");
}
