/*
 * internal.h - sets of keys, symbols and frames, for reconciling and joining.
 *
 * Order from bottom to top: key_set.c, symbols.c, then reconcile.c and join.c,
 * which are machines: bytes in, bytes out.
 */
#ifndef UM_RECONCILE_INTERNAL_H
#define UM_RECONCILE_INTERNAL_H

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "coding/section.h"

#include <umbel/base.h>
#include <umbel/umbel.h>

/* --- sets of keys (key_set.c) --------------------------------------------- */

/* A sum of digests in two lanes, modulo 2^64 each: the hash of a set, which
 * does not depend on the order of its keys. */
typedef struct um_set_sum {
    uint64_t lo, hi;
} um_set_sum;

enum { UM_SET_SUM_LEN = 16 };

static inline void um_sum_add(um_set_sum *s, umbel_digest d)
{
    s->lo += d.lo;
    s->hi += d.hi;
}

static inline um_set_sum um_sum_minus(um_set_sum a, um_set_sum b)
{
    return (um_set_sum){a.lo - b.lo, a.hi - b.hi};
}

static inline bool um_sum_equal(um_set_sum a, um_set_sum b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* What is known about a key of ours. */
enum { UM_MAYBE_COMMON, UM_MISSING_THERE };

/* Half of lo tells most keys apart without a look at their digests. */
typedef struct um_key_slot {
    uint32_t number; /* 1 + the number of a key; 0: free */
    uint32_t tag;
} um_key_slot;

/* The different keys of a list, in the order of the list. Zeroed: empty. */
typedef struct um_key_set {
    const umbel_slice *keys; /* the list; must outlive the set */
    uint32_t *at;            /* key i of the set is keys[at[i]] */
    umbel_digest *digest;    /* by hash "sip" */
    uint8_t *state;          /* UM_MAYBE_COMMON at first */
    size_t n;
    um_set_sum sum;
    um_key_slot *slot;
    size_t nslots; /* a power of two */
    um_pool memory;
} um_key_set;

#define UM_NO_KEY SIZE_MAX

/* Hashes a list with a secret of UMBEL_SECRET_LEN bytes. Duplicates are left
 * out. E_LIMIT for more than 2^29 keys. */
umbel_status um_key_set_init(um_key_set *s, const umbel_slice *keys, size_t n,
                             const uint8_t *secret, umbel_error *err);
void um_key_set_fini(um_key_set *s);

/* Returns key i of the set. */
static inline umbel_slice um_key_set_key(const um_key_set *s, size_t i)
{
    return s->keys[s->at[i]];
}

/* Returns the number of the key with this digest, or UM_NO_KEY. */
size_t um_key_set_find(const um_key_set *s, const umbel_digest *d);
/* Returns the number of the only key whose lo ends with these bits (at least
 * um_key_set_bits of them); UM_NO_KEY if no key or several keys have them. */
size_t um_key_set_find_low(const um_key_set *s, uint64_t low, unsigned bits);
/* Returns how many low bits of lo name a key among n: enough that two keys
 * share them with probability 2^-34. */
unsigned um_key_set_bits(size_t n);

/* --- symbols (symbols.c) ---------------------------------------------------
 */

/*
 * The size of a difference, estimated from parities: each level samples half as
 * many keys as the one before, and has a bit for the parity of each bin.
 */
enum {
    UM_SKETCH_LEVELS = 20,
    UM_SKETCH_WORDS = 2, /* of 64 bins */
    UM_SKETCH_LEN = UM_SKETCH_LEVELS * UM_SKETCH_WORDS * 8
};

typedef struct um_sketch {
    uint64_t word[UM_SKETCH_LEVELS][UM_SKETCH_WORDS];
} um_sketch;

void um_sketch_init(um_sketch *s, const um_key_set *keys);
/* Returns the most likely number of keys that are in one of two sets only. */
double um_sketch_difference(const um_sketch *a, const um_sketch *b);

/*
 * A chunk of symbols: each is the exclusive or of the lo of some keys, and of
 * their check bits. A key is in `sixteenths` / 16 symbols of the chunk on
 * average, each in its own part of the chunk.
 */
enum {
    UM_SYMBOL_LEN = 12,
    UM_MAX_CHUNKS = 48,
    UM_FIRST_SIXTEENTHS = 48, /* of the first chunk */
    UM_MAX_SIXTEENTHS = 64,
    UM_MAX_SYMBOLS = 1 << 27 /* of all chunks */
};

typedef struct um_chunk {
    unsigned number; /* of the chunks between these two sets */
    unsigned sixteenths;
    size_t n;
    uint64_t factor[UM_MAX_SIXTEENTHS / 16]; /* hash functions of the parts */
    uint64_t *sum;
    uint32_t *check;
} um_chunk;

/* Creates a chunk without keys. E_RANGE for a shape that no policy asks for. */
umbel_status um_chunk_init(um_chunk *c, unsigned number, uint64_t n,
                           uint64_t sixteenths, umbel_error *err);
void um_chunk_fini(um_chunk *c);
/* Adds all keys that may be common. */
void um_chunk_add_set(um_chunk *c, const um_key_set *s);
/* Adds or removes one key: both are the same. */
void um_chunk_toggle(um_chunk *c, uint64_t lo);
void um_chunk_write(const um_chunk *c, uint8_t *out);
/* Combines the chunk with one that um_chunk_write wrote: what is left are the
 * keys of one set only. */
void um_chunk_combine(um_chunk *c, const uint8_t *in);

/* Decodes the difference between a set of ours and another one. Zeroed:
 * empty. */
typedef struct um_peeler {
    um_chunk chunk[UM_MAX_CHUNKS];
    size_t nchunks, symbols;
    double estimate; /* of the difference; 0: there is no chunk yet */
    uint64_t *found; /* lo of decoded keys */
    size_t nfound, cap;
} um_peeler;

void um_peeler_fini(um_peeler *p);
/* Takes a combined chunk, which it then owns, and decodes as much as
 * possible. */
umbel_status um_peeler_add(um_peeler *p, um_chunk *chunk, umbel_error *err);
/* Returns true if nothing is left. */
bool um_peeler_is_done(const um_peeler *p);

/* The shape of a chunk. */
typedef struct um_chunk_shape {
    uint64_t n;
    unsigned sixteenths;
} um_chunk_shape;

/* Returns the first chunk for a difference of about that size, and the next
 * one for what is left. */
um_chunk_shape um_first_chunk(double difference);
um_chunk_shape um_next_chunk(const um_peeler *p);

/* --- frames: a type, a length (varint), and that many bytes ----------------
 */

enum { UM_FRAME_PIECE = 65536 }; /* bytes of a frame of keys or rows */

typedef struct um_frame {
    uint8_t type;
    umbel_slice body; /* valid until the buffer changes */
    size_t len;       /* of the whole frame */
} um_frame;

/* Cuts the first frame off; out->len is 0 if it is incomplete. E_FORMAT if its
 * length is damaged, E_LIMIT if it is above max. */
umbel_status um_frame_read(umbel_slice bytes, uint64_t max, um_frame *out,
                           umbel_error *err);
/* Writes the head of a frame of len bytes. */
void um_frame_begin(um_buffer *out, uint8_t type, size_t len);
void um_frame_write(um_buffer *out, uint8_t type, const void *body, size_t len);

/* Appends a text with its length. */
void um_append_text(um_buffer *out, umbel_slice text);
/* Reads a text; empty and bad if it is not all there. */
umbel_slice um_read_text(um_reader *r);

/* --- filters of sets -------------------------------------------------------
 */

/* Returns the bits for each key that make the fewest bytes, when each of n keys
 * takes them and a match of each of others costs a number of bytes. */
unsigned um_set_filter_bits(double n, double others, double cost);
/* Appends a ribbon filter of the set's keys, hashed with this secret. */
umbel_status um_set_filter_append(um_buffer *out, const um_key_set *s,
                                  unsigned bits, const uint8_t *secret,
                                  umbel_error *err);
/* Opens such a filter. E_FORMAT if it is another kind of filter. */
umbel_status um_set_filter_open(umbel_slice bytes, uint64_t max_memory,
                                const uint8_t *secret, umbel_filter **out,
                                umbel_error *err);

/*
 * Joins (join.c): which keys of a long list are in a set on another host,
 * exactly.
 *
 *   seeker, who has the rows            holder, who has the set
 *   HELLO or its answer         <->
 *                               <-      FILTER of the set
 *   KEYS that match it, END     ->
 *                               <-      REPLY, a bit for each
 *   ROWS, DONE                  ->      (if the rows are wanted there)
 *
 * Both are parts of a program that carries the bytes. Bodies of messages may
 * come from anyone.
 */
enum um_join_message {
    UM_JOIN_HELLO = 64,
    UM_JOIN_FILTER,
    UM_JOIN_KEYS,
    UM_JOIN_END,
    UM_JOIN_REPLY,
    UM_JOIN_ROWS,
    UM_JOIN_DONE
};

enum { UM_JOIN_ANTI = 1, UM_JOIN_ESTIMATE = 2, UM_JOIN_TEXTS = 10 };

/* The first message of the side that was called by a user, and its answer. */
typedef struct um_join_hello {
    bool seeks; /* the sender has the rows */
    unsigned flags;
    uint64_t bytes; /* of the sender's list; 0: unknown */
    uint8_t secret[UMBEL_SECRET_LEN];
    umbel_slice text[UM_JOIN_TEXTS]; /* how lists are read, in the command's own
                                        order */
} um_join_hello;

void um_join_hello_write(um_buffer *out, const um_join_hello *h);
umbel_status um_join_hello_read(umbel_slice body, um_join_hello *out,
                                umbel_error *err);

/* The set, and the answers to keys so far. Zeroed: none. */
typedef struct um_join_holder {
    um_key_set set;
    uint8_t secret[UMBEL_SECRET_LEN];
    um_buffer bits;
    uint64_t asked, found;
} um_join_holder;

umbel_status um_join_holder_init(um_join_holder *h, const umbel_slice *keys,
                                 size_t n, const uint8_t *secret,
                                 umbel_error *err);
void um_join_holder_fini(um_join_holder *h);
/* Writes FILTER. bytes is the length of the rows. */
umbel_status um_join_holder_filter(const um_join_holder *h, uint64_t bytes,
                                   bool estimate, um_buffer *out,
                                   umbel_error *err);
/* Handles the body of KEYS; writes REPLY. */
umbel_status um_join_holder_keys(um_join_holder *h, umbel_slice body,
                                 umbel_error *err);
void um_join_holder_reply(um_join_holder *h, um_buffer *out);

/* The rows' side: the filter, and the keys that match it. Zeroed: none. */
typedef struct um_join_seeker {
    umbel_filter *filter; /* NULL: the set is empty */
    bool ready;           /* the filter has come */
    um_buffer text;       /* of candidates, with their lengths */
    umbel_digest *digest; /* of each */
    size_t *end;          /* in text */
    bool *confirmed;
    size_t n, cap;
    uint32_t *slot;
    size_t nslots;
    uint64_t rows, matching; /* looked at; of these, rows that match */
} um_join_seeker;

void um_join_seeker_fini(um_join_seeker *s);
/* Handles the body of FILTER. */
umbel_status um_join_seeker_filter(um_join_seeker *s, umbel_slice body,
                                   const uint8_t *secret, uint64_t max_memory,
                                   umbel_error *err);
/* Counts rows with these keys, and unless count_only, remembers those that
 * match. */
umbel_status um_join_seeker_add(um_join_seeker *s, const umbel_slice *keys,
                                const umbel_digest *digests, size_t n,
                                bool count_only, umbel_error *err);
/* Writes KEYS from candidate *at on; false when all are written. */
bool um_join_seeker_keys(const um_join_seeker *s, size_t *at, um_buffer *out);
/* Handles the body of REPLY. */
umbel_status um_join_seeker_reply(um_join_seeker *s, umbel_slice body,
                                  umbel_error *err);
/* Sets in[i] to true if a key is in the set of the holder. */
umbel_status um_join_seeker_look_up(const um_join_seeker *s,
                                    const umbel_digest *digests, size_t n,
                                    bool *in, umbel_error *err);

/* The numbers of DONE. */
typedef struct um_join_totals {
    uint64_t rows, matches;
} um_join_totals;

void um_join_done_write(um_buffer *out, um_join_totals totals);
umbel_status um_join_done_read(umbel_slice body, um_join_totals *out,
                               umbel_error *err);

#endif
