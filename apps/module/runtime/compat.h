/*
 * compat.h - functions that RedisBloom's commands BF.* and CMS.* share.
 *
 * Replies and error texts are those of RedisBloom, because clients compare
 * them; many do not begin with "ERR ".
 */
#ifndef UM_MODULE_COMPAT_H
#define UM_MODULE_COMPAT_H

#include "foreign/redisbloom.h"
#include "module/runtime/api.h"
#include "module/runtime/command.h"
#include "module/runtime/keys.h"
#include "module/runtime/type.h"

extern const um_module_command um_module_bf[], um_module_cms[];
extern const um_module_type um_module_bf_type, um_module_cms_type;
extern um_type *um_bf_type, *um_cms_type;

/* A count-min sketch: the counter of a key in row i is chosen by its 32-bit
 * Murmur hash with seed i. */
typedef struct um_cms {
    uint64_t width, depth;
    int64_t count;   /* sum of all increments */
    uint32_t *cells; /* little-endian, as they are stored: um_cms_le */
} um_cms;

static inline uint32_t um_cms_le(uint32_t x)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap32(x);
#else
    return x;
#endif
}

/* Creates a sketch of at most limit bytes, which it checks before it allocates
 * anything. */
umbel_status um_cms_open(uint64_t width, uint64_t depth, uint64_t limit,
                         um_cms **out, umbel_error *err);
void um_cms_close(um_cms *c);
size_t um_cms_bytes(const um_cms *c);

um_command_run um_bf_reserve_run, um_bf_add_run, um_bf_madd_run,
    um_bf_insert_run, um_bf_exists_run, um_bf_mexists_run, um_bf_card_run,
    um_bf_info_run, um_bf_debug_run, um_bf_scandump_run, um_bf_loadchunk_run,
    um_bf_merge_run;

/*
 * Opens a key for writing: it is absent, or has a value of the type. Returns
 * false after a WRONGTYPE reply. Close it with CloseKey.
 */
bool um_open_write(um_ctx *ctx, um_str *name, const um_type *type, um_key **key,
                   void **value);

/* Replicates the command unchanged to replicas and the AOF, and sends a
 * keyspace notification of the event. */
void um_changed(um_ctx *ctx, um_str *key, const char *event);

/* Returns true if this much memory may be allocated. For commands from the
 * primary or the AOF only the setting limits it. */
bool um_may_allocate(um_ctx *ctx, uint64_t bytes);

#endif
