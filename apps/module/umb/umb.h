/*
 * umb.h - the functions of the commands UMB.*; umb.c has their rows.
 */
#ifndef UM_MODULE_UMB_H
#define UM_MODULE_UMB_H

#include "module/runtime/command.h"

um_command_run um_umb_reserve, um_umb_add, um_umb_madd, um_umb_check,
    um_umb_mcheck, um_umb_count, um_umb_mcount, um_umb_incrby, um_umb_remove,
    um_umb_clear, um_umb_rotate, um_umb_info, um_umb_merge, um_umb_estimate,
    um_umb_fold, um_umb_retouch, um_umb_export, um_umb_import;

/* key MEMBERS key NEVER key */
extern const um_key_spec um_keys_retouch[];

/* Prepares UMB.IMPORT for forks. */
void um_import_init(um_ctx *ctx);

#endif
