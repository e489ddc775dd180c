/* seeds.h - shared by the seeds_*.c files. */
#ifndef UM_FUZZ_SEEDS_H
#define UM_FUZZ_SEEDS_H

#include "fuzz.h"

enum { UM_SEED_ROOM = 2048 }; /* maximum length of a seed file */

/* Prints the error and exits. */
_Noreturn void um_seed_fail(const char *what, const umbel_error *err);
/* Writes one corpus file of a target. */
void um_seed_write(const char *target, const char *name, const void *bytes,
                   size_t len);

/* Write all corpus files of some targets. */
void um_seed_filters(void);  /* decode, load */
void um_seed_patches(void);  /* patch */
void um_seed_codes(void);    /* code */
void um_seed_foreigns(void); /* foreign, key_file */
void um_seed_programs(void); /* params, ops */
void um_seed_syncs(void);    /* sync */

#endif
