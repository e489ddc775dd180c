/*
 * sim_disk.h - a disk in memory that fails and loses power on demand.
 *
 * Until a file is synced, each of its writes is pending; until the names are
 * synced, so is each new, changed and removed name. When the power fails each
 * pending write survives, is lost, or survives in some of its sectors, whatever
 * happened to those before it; pending names survive or not.
 *
 * A child process is simulated by recording what it does, and doing that step
 * by step between the parent's operations.
 *
 * Everything is drawn from one seed.
 */
#ifndef UM_TESTS_SIM_DISK_H
#define UM_TESTS_SIM_DISK_H

#include "store/disk.h"

typedef struct sim_disk sim_disk;

sim_disk *sim_open(uint64_t seed);
void sim_close(sim_disk *d);

/* For um_store_config.disk. The store's close leaves the disk as it is. */
um_disk *sim_ops(sim_disk *d);

/* A random number below n, of the same stream. */
uint64_t sim_below(sim_disk *d, uint64_t n);

/* The power fails at the n-th operation from now on: all later ones fail. */
void sim_cut_after(sim_disk *d, uint64_t n);
bool sim_is_off(const sim_disk *d);
/* The power fails now, or (false) the process is killed, which leaves pending
 * writes pending. Every operation fails until sim_power_on. */
void sim_off(sim_disk *d, bool power);
void sim_power_on(sim_disk *d);

/* One operation in n fails (0: none), with an error that fits it. A failed sync
 * loses what was pending, and the next one succeeds. */
void sim_fail(sim_disk *d, uint64_t one_in);
/* Bytes that all files may have; beyond, writes fail with ENOSPC. */
void sim_limit(sim_disk *d, uint64_t bytes);

typedef struct sim_stats {
    uint64_t ops, failed, cuts, kills;
    uint64_t lost, torn, kept; /* pending writes, when the power failed */
    uint64_t names_lost, names_kept;
} sim_stats;

sim_stats sim_stats_of(const sim_disk *d);
uint64_t sim_bytes(const sim_disk *d);

#endif
