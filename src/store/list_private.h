/*
 * list_private.h - what the files of a list share: list.c, list_epochs.c,
 * list_sums.c and list_bytes.c.
 */
#ifndef UM_STORE_LIST_PRIVATE_H
#define UM_STORE_LIST_PRIVATE_H

#include "filter/kind.h"
#include "filter/pages.h"
#include "store/list.h"

typedef struct um_epoch {
    umbel_filter *filter;
    uint64_t begin, end; /* the newest has not ended: 0 */
    unsigned threshold;  /* as it was when the epoch began; 0: none */
    uint64_t times[UM_LIST_MAX_THRESHOLD + 1]; /* [j]: digests that came j
                                                  times; the last: or more */
} um_epoch;

/* The epochs that have ended, added up: see list_sums.c. */
typedef struct um_list_sums {
    um_count_totals cells;
    size_t cleared; /* bytes of them */
    unsigned epoch; /* that is added now ... */
    uint64_t page;  /* ... from this page on */
    bool whole;
} um_list_sums;

struct um_list {
    um_list_config config; /* its name points to name */
    umbel_alloc alloc;
    char name[UM_LIST_MAX_NAME];
    char kind[UM_LIST_MAX_NAME];
    uint8_t secret[UMBEL_SECRET_LEN];
    uint64_t changes;
    unsigned n;
    um_epoch epoch[UM_LIST_MAX_EPOCHS]; /* newest first */
    um_list_sums sums;
};

/* Names what is wrong with a configuration. */
umbel_status um_list_check(const um_list_config *c, umbel_error *err);
/* Digests that an epoch was made for, without the room of a batch. */
uint64_t um_epoch_capacity(const umbel_filter *f);
/* Makes a list without epochs. */
umbel_status um_list_create(const um_list_config *c, const uint8_t *secret,
                            um_list **out, umbel_error *err);
/* Closes all epochs from number `from` on. */
void um_list_drop(um_list *l, unsigned from);
/* Other epochs have ended, or have gone. */
void um_list_sums_restart(um_list *l);
void um_list_sums_fini(um_list *l);

#endif
