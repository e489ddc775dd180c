/*
 * api.c - the server's functions, fetched by their names.
 */
#include "module/runtime/api.h"

#include <string.h>

um_server_api um_api;

/* Stores the function at where; returns 0 if the server has it. */
typedef int get_api(const char *name, void *where);

const char *um_api_fetch(const um_ctx *ctx)
{
    /* The first word of a context is the function that looks up the others. */
    get_api *get;
    const char *missing = NULL;

    memcpy(&get, (const void *)ctx, sizeof get);

#define FETCH(result, name, parameters)                                        \
    if (get("RedisModule_" #name, (void *)&um_api.name))                       \
        missing = #name;
    UM_API_LIST(FETCH)
#undef FETCH
#define FETCH(result, name, parameters)                                        \
    get("RedisModule_" #name, (void *)&um_api.name);
    UM_API_YOUNGER_LIST(FETCH)
#undef FETCH
    return missing;
}

bool um_from_primary(um_ctx *ctx)
{
    return um_api.GetContextFlags(ctx) & (UM_REPLICATED | UM_LOADING);
}
