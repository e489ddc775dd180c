/*
 * compat.c - functions that RedisBloom's commands share.
 */
#include "module/runtime/compat.h"

#include "module/runtime/memory.h"

bool um_open_write(um_ctx *ctx, um_str *name, const um_type *type, um_key **key,
                   void **value)
{
    *value = NULL;
    *key = um_api.OpenKey(ctx, name, UM_READ | UM_WRITE);
    if (um_api.KeyType(*key) == UM_KEY_EMPTY)
        return true;
    if (um_api.ModuleTypeGetType(*key) == type) {
        *value = um_api.ModuleTypeGetValue(*key);
        return true;
    }
    um_api.CloseKey(*key);
    um_api.ReplyWithError(ctx, UM_WRONG_TYPE);
    return false;
}

void um_changed(um_ctx *ctx, um_str *key, const char *event)
{
    um_api.ReplicateVerbatim(ctx);
    um_api.NotifyKeyspaceEvent(ctx, UM_NOTIFY_MODULE, event, key);
}

bool um_may_allocate(um_ctx *ctx, uint64_t bytes)
{
    return um_memory_check(ctx, bytes, NULL) == UMBEL_OK;
}
