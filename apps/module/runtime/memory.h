/*
 * memory.h - allocates filters from the server's memory.
 *
 * Filters are allocated by the server, so used_memory, MEMORY USAGE and
 * maxmemory include them. A failed allocation leads to an error reply.
 */
#ifndef UM_MODULE_MEMORY_H
#define UM_MODULE_MEMORY_H

#include "module/runtime/api.h"

#include <umbel/base.h>

/* The allocator, for umbel_params and umbel_source. */
extern const umbel_alloc um_module_alloc;

/*
 * Limits, until it is called with false, the cells that this thread may
 * allocate to umbel.max-filter-bytes: a filter that grows must not become too
 * large to be loaded again.
 */
void um_memory_growing(bool yes);

/* Returns the bytes of all filters. Any thread may call it. */
uint64_t um_memory_used(void);

/*
 * Returns the bytes that a filter may have: umbel.max-filter-bytes. What was
 * accepted before has no limit (the server's own RDB file and AOF, commands
 * from the primary): with a lower setting the server must still start, and a
 * replica must not miss changes.
 */
uint64_t um_memory_limit(um_ctx *ctx);
/* The same for a value that is being loaded: from a file, or by RESTORE. There
 * is no client then, but only the primary writes to a read-only replica. */
uint64_t um_load_limit(um_io *io);

/*
 * Returns E_LIMIT if a filter of that many bytes would exceed um_memory_limit
 * or, with the memory in use, maxmemory. The latter is not checked for commands
 * from the primary or the AOF.
 */
umbel_status um_memory_check(um_ctx *ctx, uint64_t bytes, umbel_error *err);

/* Returns true if the server uses more than maxmemory, unless it evicts keys or
 * the command comes from its primary. */
bool um_memory_is_over(um_ctx *ctx);

#endif
