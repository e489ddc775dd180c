/*
 * house_memory.h - the memory that the server uses, and may use.
 */
#ifndef UM_CLEARINGHOUSE_HOUSE_MEMORY_H
#define UM_CLEARINGHOUSE_HOUSE_MEMORY_H

#include "clearinghouse/server/server.h"

/* Resident memory of the process, in bytes; 0 if the system does not say. */
uint64_t um_server_memory(void);

/*
 * Makes each list once, which refuses wrong kinds and sizes. E_LIMIT if the
 * lists, when all their epochs are there, and the fronts need more than the
 * configuration allows.
 */
umbel_status um_server_check_memory(const um_config *c, umbel_error *err);

/* Returns the memory for um_store_build_totals: half of what is left, so that
 * the welcome file may grow. 0 without peers, where sums gain little. */
uint64_t um_server_sums_bytes(const um_config *c);

#endif
