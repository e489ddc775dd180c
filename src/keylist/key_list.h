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
    char *text;       /* lines one after the other, if kept */
    size_t *line_end; /* NULL: no lines are kept */
    size_t text_len, text_cap;
} um_key_list;

/* What to store of the keys. Zeroed: the weights and amounts that the format
 * has. */
typedef struct um_key_list_params {
    const umbel_filter *filter; /* NULL: keep no digests */
    bool keep_lines;
    size_t max_keys; /* more are E_LIMIT; 0: as many as there is memory for */
} um_key_list_params;

/*
 * Reads all keys of s. A source without paths is an empty list, not standard
 * input. On success release *out with um_key_list_fini; on failure it is empty.
 */
umbel_status um_key_list_read(um_key_list *out, const um_key_source *s,
                              const um_key_list_params *params,
                              umbel_error *err);
void um_key_list_fini(um_key_list *k);

/* Returns the list in the form that the library takes, valid as long as the
 * list. */
umbel_key_list um_key_list_view(const um_key_list *k);
/* Returns the line of key i. Requires that lines are kept. */
umbel_slice um_key_list_line(const um_key_list *k, size_t i);

/*
 * The digests of a key source, for algorithms that iterate over them several
 * times.
 */

/* A limit for um_key_digests_init, which corresponds to 256 MB. */
enum { UM_KEPT_DIGESTS = 1 << 24 };

typedef struct um_key_digests {
    um_key_source keys;
    const umbel_filter *filter; /* hashes them */
    size_t n, cap, most;
    uint64_t *lo; /* used while hi can be derived from lo: half the memory */
    umbel_digest *all;
} um_key_digests;

/*
 * Makes *out a source of the digests of keys, as filter hashes them. Up to
 * `kept` digests of files are stored; if there are more, files are read again
 * each time. Those of a pipe are always stored. Release d with
 * um_key_digests_fini, even after a failure; do not move it until then.
 */
umbel_status um_key_digests_init(um_key_digests *d, const um_key_source *keys,
                                 const umbel_filter *filter, size_t kept,
                                 um_digest_source *out, umbel_error *err);
void um_key_digests_fini(um_key_digests *d);

#endif
