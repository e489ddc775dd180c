/*
 * compat.h - what the commands of RedisBloom share here: BF.*, CMS.*.
 *
 * Replies and error texts are those of RedisBloom, because clients compare
 * them; many have no "ERR ".
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

/* A count-min sketch: row i of a key is its 32-bit Murmur hash, seed i. */
typedef struct um_cms {
    uint64_t width, depth;
    int64_t count;   /* of all increments */
    uint32_t *cells; /* little-endian, as they are saved: um_cms_le */
} um_cms;

static inline uint32_t um_cms_le(uint32_t x)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap32(x);
#else
    return x;
#endif
}

/* Bounds width and depth before anything is allocated. */
umbel_status um_cms_open(uint64_t width, uint64_t depth, um_cms **out,
                         umbel_error *err);
void um_cms_close(um_cms *c);
size_t um_cms_bytes(const um_cms *c);

um_command_run um_bf_reserve_run, um_bf_add_run, um_bf_madd_run,
    um_bf_insert_run, um_bf_exists_run, um_bf_mexists_run, um_bf_card_run,
    um_bf_info_run, um_bf_debug_run, um_bf_scandump_run, um_bf_loadchunk_run,
    um_bf_merge_run;

/*
 * A key that is opened to be written: absent, or of the type with a value.
 * False after a WRONGTYPE reply. Close it with CloseKey.
 */
bool um_open_write(um_ctx *ctx, um_str *name, const um_type *type, um_key **key,
                   void **value);

/* Sends the command to replicas and the AOF unchanged, and notifies clients
 * that watch the key space of the event. */
void um_changed(um_ctx *ctx, um_str *key, const char *event);

/* Returns true if memory for that many bytes may be taken. What comes from the
 * primary or the AOF is bounded by the setting only. */
bool um_may_allocate(um_ctx *ctx, uint64_t bytes);

/* Counts a load that was refused, and logs why. Returns NULL, for rdb_load. */
void *um_load_refused(um_io *io, const umbel_error *err);

#endif
