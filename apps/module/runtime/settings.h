/*
 * settings.h - the settings of the module.
 *
 * They are set by module arguments (loadmodule umbel.so threads 4 compat yes),
 * or by CONFIG with "umbel." before the same names.
 */
#ifndef UM_MODULE_SETTINGS_H
#define UM_MODULE_SETTINGS_H

#include "module/runtime/api.h"

#include <umbel/filter.h>

typedef struct um_module_settings {
    long long max_filter_bytes, max_import_bytes, threads;
    int compat;            /* registers BF.* and CMS.*, too */
    int admission;         /* load only filters that pass admission */
    char secret_file[256]; /* "" if not set */
    uint8_t secret[UMBEL_SECRET_LEN];
    bool has_secret;
} um_module_settings;

/* Changed only on the server's main thread. */
extern um_module_settings um_settings;

/* Registers all settings, with module arguments as defaults, and applies them.
 * On failure logs why and returns false. */
bool um_settings_load(um_ctx *ctx, um_str **argv, int argc);

#endif
