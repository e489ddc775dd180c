/*
 * witness.h - which packets passed a router, by time slices (SPIE).
 *
 * A packet is a digest of the bytes that routers do not change. The digests of
 * the open slice are a pk_set in memory; a closed slice is a file, a filter of
 * kind ribbon that 'umbel info' describes too.
 */
#ifndef UM_PACKETS_WITNESS_H
#define UM_PACKETS_WITNESS_H

#include "packets/mark/mark.h"

#include <umbel/filter.h>

/* --- digests -------------------------------------------------------------- */

enum { PK_DIGEST_LEN = 8 };

/*
 * Digests the invariant bytes of a packet: the first 8 bytes of their
 * BLAKE2b-128, as a little-endian number. Nobody can find a packet with a given
 * digest, but whoever can guess all the bytes can confirm the guess.
 */
uint64_t pk_digest(const uint8_t *invariant, size_t len);

/* --- the open slice ------------------------------------------------------- */

/*
 * A set of digests that is an enumerable filter: it keeps a fingerprint of each
 * digest in about log2(8 e / fpr) bits. A digest that was not added has the
 * fingerprint of another with probability n / universe, at most fpr / 8.
 */
typedef struct pk_set pk_set;

#define PK_FPR_MIN 1e-6
#define PK_FPR_MAX 0.1
enum { PK_CAPACITY_MIN = 1000, PK_CAPACITY_MAX = 1 << 28 };

/* Opens a set for capacity digests. All of its memory is allocated now. */
umbel_status pk_set_open(uint64_t capacity, double fpr, pk_set **out,
                         umbel_error *err);
/* NULL is accepted. */
void pk_set_close(pk_set *s);
/* Removes all digests; later ones are fingerprinted with this seed. */
void pk_set_clear(pk_set *s, uint64_t seed);
/* Adds a digest. Returns false and changes nothing if the set is full. */
bool pk_set_add(pk_set *s, uint64_t digest);
/* Returns the number of different fingerprints. */
uint64_t pk_set_count(const pk_set *s);
/* Returns the bytes of a set, all of them, and of the pages that are used. */
size_t pk_set_memory(const pk_set *s);
size_t pk_set_used(const pk_set *s);
/* Returns the number that fingerprints are below. */
uint64_t pk_set_universe(const pk_set *s);
/* Returns the number of parts, and the fingerprints of one in ascending order;
 * out has space for pk_set_part_max. Returns how many there are. */
uint32_t pk_set_parts(const pk_set *s);
size_t pk_set_part_max(const pk_set *s);
size_t pk_set_read(const pk_set *s, uint32_t part, uint64_t *out);

/* Returns the fingerprint of a digest. */
uint64_t pk_fingerprint(uint64_t digest, uint64_t universe, uint64_t seed);

/* --- closed slices -------------------------------------------------------- */

typedef struct pk_slice_facts {
    char router[PK_ROUTER_LEN];
    uint64_t from, to; /* times of its first and last packet, nanoseconds */
    uint64_t packets;  /* that were added; the filter contains each once */
    uint64_t universe, seed; /* of its fingerprints */
} pk_slice_facts;

typedef struct pk_slice {
    pk_slice_facts facts;
    double error; /* probability that a packet that did not pass matches */
    umbel_filter *filter;
} pk_slice;

/* Builds the filter of a set, with an error rate of fpr in all; facts->seed is
 * that of the set. */
umbel_status pk_slice_build(const pk_set *s, const pk_slice_facts *facts,
                            double fpr, pk_slice *out, umbel_error *err);
/* Reads the facts from a filter that was saved: the bytes may be anybody's. On
 * success *out owns the filter. */
umbel_status pk_slice_attach(umbel_filter *f, pk_slice *out, umbel_error *err);
/* Maps a file; verify checks its cells. */
umbel_status pk_slice_open(const char *path, bool verify, pk_slice *out,
                           umbel_error *err);
void pk_slice_fini(pk_slice *s);
/* Asks n digests. */
umbel_status pk_slice_query(const pk_slice *s, const uint64_t *digests,
                            size_t n, bool *hit, umbel_error *err);

/* --- a directory of slices ------------------------------------------------ */

/* The files of a directory that have names of slices, oldest first. */
typedef struct pk_slice_names {
    char (*name)[40];
    size_t n, cap;
} pk_slice_names;

umbel_status pk_slices_list(const char *dir, pk_slice_names *out,
                            umbel_error *err);
void pk_slice_names_fini(pk_slice_names *n);

typedef struct pk_witness_config {
    const char *dir, *router;
    uint64_t slice, keep; /* nanoseconds */
    uint64_t max_disk;    /* bytes of all slices; 0: no limit */
    uint64_t capacity;    /* packets of a slice; more begin another one */
    double fpr;
    bool seeded; /* otherwise each slice has a random seed */
    uint64_t seed;
} pk_witness_config;

typedef struct pk_witness_counts {
    uint64_t packets, slices, overflows, late, removed;
    uint64_t disk;     /* bytes of the slices that were written */
    uint64_t stored;   /* fingerprints in them */
    double open_bytes; /* of the fullest slice, a packet, while open */
} pk_witness_counts;

/*
 * Writes slices into a directory, which is locked and created if it is
 * missing. A slice ends when a packet belongs to a later interval, when it is
 * full, and at pk_witness_cut. Its file is built and written by a thread.
 */
typedef struct pk_witness pk_witness;

umbel_status pk_witness_open(const pk_witness_config *c, pk_witness **out,
                             umbel_error *err);
umbel_status pk_witness_add(pk_witness *w, uint64_t digest, uint64_t time,
                            umbel_error *err);
/* Ends the slice if it is over at this time. */
umbel_status pk_witness_tick(pk_witness *w, uint64_t now, umbel_error *err);
/* Ends the slice, if it has packets, and waits until its file is written. */
umbel_status pk_witness_cut(pk_witness *w, umbel_error *err);
pk_witness_counts pk_witness_count(const pk_witness *w);
/* Returns the memory: two sets, and what building a filter takes. */
size_t pk_witness_memory(const pk_witness *w);
/* Does not write the open slice. NULL is accepted. */
void pk_witness_close(pk_witness *w);

#endif
