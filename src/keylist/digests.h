/*
 * digests.h - the digests of a key source, for work that goes through them
 * several times.
 */
#ifndef UM_KEYS_DIGESTS_H
#define UM_KEYS_DIGESTS_H

#include "keylist/source.h"
#include "query/digest_source.h"

/* A limit for um_key_digests_init: 256 MB. */
enum { UM_KEPT_DIGESTS = 1 << 24 };

typedef struct um_key_digests {
    um_key_source keys;
    const umbel_filter *filter; /* hashes them */
    size_t n, cap, most;
    uint64_t *lo; /* as long as hi follows from it: half the memory */
    umbel_digest *all;
} um_key_digests;

/*
 * Makes *out the digests of keys as filter hashes them. Those of files are kept
 * up to a number, more are read again each time; those of a pipe are kept,
 * however many. Release d with um_key_digests_fini, also after a failure;
 * it must stay where it is until then.
 */
umbel_status um_key_digests_init(um_key_digests *d, const um_key_source *keys,
                                 const umbel_filter *filter, size_t kept,
                                 um_digest_source *out, umbel_error *err);
void um_key_digests_fini(um_key_digests *d);

#endif
