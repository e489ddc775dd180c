/*
 * settings.h - the settings of the module.
 *
 * By module arguments (loadmodule umbel.so threads 4 compat yes) and by CONFIG
 * under the same names with "umbel." before them.
 */
#ifndef UM_MODULE_SETTINGS_H
#define UM_MODULE_SETTINGS_H

#include "module/runtime/api.h"

#include <umbel/filter.h>

typedef struct um_module_settings {
    long long max_filter_bytes, max_import_bytes, threads;
    int compat;            /* BF.* and CMS.*, too */
    int admission;         /* load only filters that pass admission */
    char secret_file[256]; /* "": none */
    uint8_t secret[UMBEL_SECRET_LEN];
    bool has_secret;
} um_module_settings;

/* Changed on the server's main thread only. */
extern um_module_settings um_settings;

/* Registers all of them, module arguments as defaults, and applies them. False
 * after a line in the log. */
bool um_settings_load(um_ctx *ctx, um_str **argv, int argc);

#endif
