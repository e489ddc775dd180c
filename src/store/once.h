/*
 * once.h - marks of signed requests, remembered for ten minutes.
 *
 * A signature is valid for some minutes, so a copied request could be counted
 * again. A mark is a 64-bit digest of such a request; 0 is no mark.
 */
#ifndef UM_STORE_ONCE_H
#define UM_STORE_ONCE_H

#include "store/pieces.h"

enum {
    UM_ONCE_SECONDS = 600,
    UM_ONCE_MAX = 1 << 20, /* marks within that time; a power of two */
    UM_ONCE_MAX_BYTES = 2 * UM_ONCE_MAX * 16 /* of memory */
};

/* Zeroed, it is empty. */
typedef struct um_once {
    struct um_once_slot {
        uint64_t mark, time;
    } * slot;
    size_t cap;       /* a power of two, or 0 */
    size_t used;      /* old ones included */
    uint64_t full_at; /* when it was found to have UM_ONCE_MAX young ones */
} um_once;

void um_once_fini(um_once *o);

/* Returns true if the mark was put within the last UM_ONCE_SECONDS. */
bool um_once_seen(const um_once *o, uint64_t mark, uint64_t now);
/* Makes room for n more marks. E_LIMIT beyond UM_ONCE_MAX, E_NOMEM. */
umbel_status um_once_reserve(um_once *o, size_t n, uint64_t now,
                             umbel_error *err);
/* Puts a mark, for which there is room. */
void um_once_append(um_once *o, uint64_t mark, uint64_t now);

umbel_status um_once_encode(const um_once *o, uint64_t now, const um_sink *to,
                            umbel_error *err);
/* o is empty. */
umbel_status um_once_decode(um_once *o, um_feed *from, umbel_error *err);

#endif
