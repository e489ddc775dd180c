/*
 * digests.h - the digests of a key source, for work that goes through them
 * several times.
 */
#ifndef UM_KEYS_DIGESTS_H
#define UM_KEYS_DIGESTS_H

#include "keys/list.h"
#include "ops/digest_source.h"

typedef struct um_key_digests {
    um_key_source keys;
    const umbel_filter *filter; /* hashes them */
    um_key_list list;           /* of keys that cannot be read again */
    umbel_key_list view;
} um_key_digests;

/*
 * Makes *out the digests of keys as filter hashes them. Files are read again
 * each time; keys of a pipe are kept. Release d with um_key_digests_fini, also
 * after a failure; it must stay where it is until then.
 */
umbel_status um_key_digests_init(um_key_digests *d, const um_key_source *keys,
                                 const umbel_filter *filter,
                                 um_digest_source *out, umbel_error *err);
void um_key_digests_fini(um_key_digests *d);

#endif
