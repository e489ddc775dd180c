/*
 * sim_disk.h - a disk in memory that fails and loses power on demand.
 *
 * Until a file is synced, each of its writes is pending; until the names are
 * synced, so is each new, changed and removed name. When the power fails, each
 * pending write survives, is lost, or survives in some of its sectors,
 * regardless of those before it; each pending name survives or not.
 *
 * A child process is simulated by recording its operations, and performing them
 * one by one between the parent's operations.
 *
 * All random choices come from one seed.
 */
#ifndef UM_TESTS_SIM_DISK_H
#define UM_TESTS_SIM_DISK_H

#include "store/disk.h"

typedef struct sim_disk sim_disk;

sim_disk *sim_open(uint64_t seed);
void sim_close(sim_disk *d);

/*
 * Returns the disk for um_store_config.disk. Closing the store keeps the disk.
 */
um_disk *sim_ops(sim_disk *d);

/* Returns a random number below n from the same stream. */
uint64_t sim_below(sim_disk *d, uint64_t n);

/* Makes the power fail at the n-th operation from now: all later ones fail. */
void sim_cut_after(sim_disk *d, uint64_t n);
bool sim_is_off(const sim_disk *d);
/*
 * Cuts the power or, if power is false, kills the process, which leaves pending
 * writes pending. Every operation fails until sim_power_on.
 */
void sim_off(sim_disk *d, bool power);
void sim_power_on(sim_disk *d);

/*
 * Makes one operation in n fail (0: none), with an error that fits it. A failed
 * sync loses the pending writes, and the next one succeeds.
 */
void sim_fail(sim_disk *d, uint64_t one_in);
/* Limits the bytes of all files; further writes fail with ENOSPC. */
void sim_limit(sim_disk *d, uint64_t bytes);

typedef struct sim_stats {
    uint64_t ops, failed, cuts, kills;
    uint64_t lost, torn, kept; /* pending writes at power failures */
    uint64_t names_lost, names_kept;
} sim_stats;

sim_stats sim_stats_of(const sim_disk *d);
uint64_t sim_bytes(const sim_disk *d);

#endif
