/*
 * memory.h - the server's memory for filters.
 *
 * Filters live in the server's memory, so used_memory, MEMORY USAGE and
 * maxmemory count them. An allocation that fails is an error reply.
 */
#ifndef UM_MODULE_MEMORY_H
#define UM_MODULE_MEMORY_H

#include "module/api.h"

#include <umbel/base.h>

/* For umbel_params and umbel_source. */
extern const umbel_alloc um_module_alloc;

/* Returns the bytes that all filters take now. Any thread may ask. */
uint64_t um_memory_used(void);

/*
 * E_LIMIT when a filter of that many bytes passes umbel.max-filter-bytes or,
 * with what the server uses already, maxmemory.
 */
umbel_status um_memory_check(um_ctx *ctx, uint64_t bytes, umbel_error *err);

#endif
