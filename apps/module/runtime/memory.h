/*
 * memory.h - the server's memory for filters.
 *
 * Filters live in the server's memory, so used_memory, MEMORY USAGE and
 * maxmemory count them. An allocation that fails is an error reply.
 */
#ifndef UM_MODULE_MEMORY_H
#define UM_MODULE_MEMORY_H

#include "module/runtime/api.h"

#include <umbel/base.h>

/* For umbel_params and umbel_source. */
extern const umbel_alloc um_module_alloc;

/*
 * Until it is called with false, this thread gets no memory for more cells than
 * umbel.max-filter-bytes allows: a filter that grows must not become one that
 * cannot be loaded again.
 */
void um_memory_growing(bool yes);

/* Returns the bytes that all filters take now. Any thread may ask. */
uint64_t um_memory_used(void);

/*
 * E_LIMIT when a filter of that many bytes passes umbel.max-filter-bytes or,
 * with what the server uses already, maxmemory; the latter is not asked when
 * the command comes from the primary or the AOF.
 */
umbel_status um_memory_check(um_ctx *ctx, uint64_t bytes, umbel_error *err);

/* Returns true if the server uses more than maxmemory, and neither evicts keys
 * nor has the command from its primary. */
bool um_memory_is_over(um_ctx *ctx);

#endif
