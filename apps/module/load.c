/*
 * load.c - the module's entry point: types, settings, commands, INFO.
 */
#include "module/runtime/command.h"
#include "module/runtime/compat.h"
#include "module/runtime/settings.h"
#include "module/runtime/type.h"
#include "module/umb/umb.h"

#include "base/error.h"

#include <umbel/base.h>

/* Commands and data types that belong together. */
typedef struct um_family {
    const char *category; /* for ACL rules, on servers from 7.4 on */
    const um_module_command *commands;
    const um_module_type *types[2];
    bool compat; /* only with the setting compat */
} um_family;

static const um_family families[] = {
    {"umbel", um_module_umb, {&um_module_filter_type}, false},
    /* Compatible with RedisBloom. CF.* ("cuckoo", MBbloomCF) and TOPK.*
     * ("topk", TopK-TYPE) would belong here. */
    {"bloom", um_module_bf, {&um_module_bf_type}, true},
    {"cms", um_module_cms, {&um_module_cms_type}, true},
};

static bool register_type(um_ctx *ctx, const um_module_type *t)
{
    um_type_methods methods = t->methods;

    *t->type = um_api.CreateDataType(ctx, t->name, t->encoding, &methods);
    if (!*t->type)
        um_api.Log(ctx, "warning",
                   "umbel: data type %s cannot be registered: another module "
                   "has it",
                   t->name);
    return *t->type;
}

static bool register_family(um_ctx *ctx, const um_family *f)
{
    for (size_t i = 0; i < UM_COUNT(f->types) && f->types[i]; i++)
        if (!register_type(ctx, f->types[i]))
            return false;
    return um_register_commands(ctx, f->commands, f->category);
}

static bool register_families(um_ctx *ctx)
{
    for (size_t i = 0; i < UM_COUNT(families); i++)
        if (!families[i].compat || um_settings.compat)
            if (!register_family(ctx, &families[i]))
                return false;
    return true;
}

int RedisModule_OnLoad(um_ctx *ctx, um_str **argv, int argc);

UMBEL_API int RedisModule_OnLoad(um_ctx *ctx, um_str **argv, int argc)
{
    const char *missing = um_api_fetch(ctx);

    if (!um_api.SetModuleAttribs || um_api.IsModuleNameBusy("umbel"))
        return UM_ERR;
    um_api.SetModuleAttribs(ctx, "umbel", UMBEL_VERSION, 1);
    if (missing) {
        um_api.Log(ctx, "warning",
                   "umbel: this server lacks RedisModule_%s: Redis 7.0 or "
                   "Valkey is needed",
                   missing);
        return UM_ERR;
    }
    um_api.SetModuleOptions(ctx, UM_HANDLES_IO_ERRORS);
    if (!um_settings_load(ctx, argv, argc) || !register_families(ctx))
        return UM_ERR;
    um_stats_register(ctx);
    um_import_init(ctx);
    return UM_DONE;
}
