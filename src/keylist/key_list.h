/*
 * key_list.h - all keys of a source in memory: digests, weights, amounts,
 * lines.
 */
#ifndef UM_KEYLIST_KEY_LIST_H
#define UM_KEYLIST_KEY_LIST_H

#include "keylist/source.h"
#include "query/digest_set.h"

typedef struct um_key_list {
    size_t n;
    umbel_digest *digests; /* NULL: no filter was given */
    double *weights;       /* NULL: the format has none; all are 1 */
    uint64_t *amounts;     /* NULL: the format has none; all are 1 */

    size_t cap;
    char *text;       /* lines one after the other, when kept */
    size_t *line_end; /* NULL: no lines are kept */
    size_t text_len, text_cap;
} um_key_list;

/* What to keep of the keys. Zeroed: weights and amounts that the format has. */
typedef struct um_key_list_params {
    const umbel_filter *filter; /* NULL: keep no digests */
    bool keep_lines;
    size_t max_keys; /* more are E_LIMIT; 0: as many as there is memory for */
} um_key_list_params;

/*
 * Reads all keys of s. A source without paths gives an empty list, not standard
 * input. On success release *out with um_key_list_fini; on failure it is empty.
 */
umbel_status um_key_list_read(um_key_list *out, const um_key_source *s,
                              const um_key_list_params *params,
                              umbel_error *err);
void um_key_list_fini(um_key_list *k);

/* Returns the list as the library takes it. Valid as long as the list. */
umbel_key_list um_key_list_view(const um_key_list *k);
/* Returns the line of key i. Only if lines are kept. */
umbel_slice um_key_list_line(const um_key_list *k, size_t i);

/*
 * The digests of a key source, for work that goes through them
 * several times.
 */

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
