/*
 * cms.h - the functions of the commands CMS.*; cms_merge.c has their rows.
 */
#ifndef UM_MODULE_CMS_H
#define UM_MODULE_CMS_H

#include "module/runtime/compat.h"

um_command_run um_cms_initbydim, um_cms_initbyprob, um_cms_incrby, um_cms_query,
    um_cms_info, um_cms_loadchunk;

/* Gives the sketch of a key; NULL after a reply. */
um_cms *um_cms_find(um_ctx *ctx, um_str *name);

#endif
