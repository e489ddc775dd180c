/*
 * reconcile.c - the machine of both sides, and its messages.
 *
 * One side is first: it asks, and sends symbols. The other one decodes them,
 * because it can then send the keys that the first one lacks without being
 * asked for them.
 *
 *   first                                the other one
 *   HELLO wants, nonce             ->
 *                                  <-    HELLO permits, nonce
 *   SUMMARY keys, hash of the set  ->
 *                                  <-    EQUAL, or DIFFER keys, hash, sketch
 *   FILTER (if many keys differ)   ->
 *                                  <-    FILTER (if it was asked for)
 *   SYMBOLS                        ->
 *                                  <-    MORE, until they are decoded
 *                                  <-    RESULT, KEYS
 *   PROOF, KEYS                    ->
 *                                  <-    SAVED
 *
 * All digests are keyed with both nonces. A key that does not match the other
 * side's filter is certainly missing there; it takes no further part, and its
 * owner alone counts it. The symbols are of the rest. Whatever went wrong shows
 * in the end, since both sides compare the hash of the keys that they take for
 * common; then everything starts again with other digests (AGAIN).
 */
#include "reconcile/internal.h"

#include "base/error.h"
#include "base/hash.h"

#include <umbel/experimental/reconcile.h>
#include <umbel/filter.h>

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, NONCE_LEN = 16, MAX_TRIES = 4 };
static const uint8_t magic[4] = {'U', 'M', 'R', 'C'};
#define DEFAULT_MEMORY (UINT64_C(1) << 30)

/* Bytes for each key that differs: symbols, and its name in RESULT. */
static const double symbol_cost = 18;
/* Filters must save more bytes than this, which is more than their heads. */
enum { FILTER_GAIN = 512 };

static void append_u8(um_buffer *out, uint8_t value)
{
    um_buffer_append(out, &value, 1);
}

typedef enum message {
    HELLO = 1,
    SUMMARY,
    EQUAL,
    DIFFER,
    FILTER,
    SYMBOLS,
    MORE,
    RESULT,
    KEYS,
    PROOF,
    SAVED,
    AGAIN
} message;

#define EXPECT(m) (1u << (m))
enum { FILTER_ATTACHED = 1, FILTER_WANTED = 2 };

struct umbel_reconcile {
    umbel_reconcile_params p;
    umbel_reconcile_step step;
    unsigned expected; /* messages, EXPECT(m) */
    umbel_status failed;
    umbel_error failure;
    um_buffer in, out;
    size_t sent; /* bytes of out that next has returned */
    umbel_reconcile_result result;
    unsigned tries;

    uint8_t nonce[2][NONCE_LEN]; /* of the first side, of the other one */
    uint8_t secret[UMBEL_SECRET_LEN];
    um_key_set set;
    uint64_t their_n;
    um_set_sum their_sum;
    unsigned travels; /* as the first side wants it */

    double difference;                /* expected in symbols; first only */
    unsigned chunks;                  /* sent */
    uint64_t symbols;                 /* sent */
    uint64_t symbol_keys, symbol_sum; /* of what their symbols are of */
    um_chunk_shape asked;             /* the chunk that comes next */
    um_peeler peeler;                 /* of the other side */
    uint64_t others; /* keys that only they have, decoded here */

    um_set_sum missing_there; /* of our keys that they lack */
    size_t sending;           /* the next key to look at; UM_NO_KEY: no keys */
    um_buffer keys;           /* received, texts with their lengths */
    uint64_t nkeys, keys_left;
    umbel_slice *received;
    bool discard; /* keys under way that belong to the last try */
};

/* --- opening and closing ---------------------------------------------------
 */

umbel_status umbel_reconcile_open(const umbel_reconcile_params *params,
                                  umbel_reconcile **out, umbel_error *err)
{
    if (params->size < sizeof *params || params->want > UMBEL_RECONCILE_BOTH)
        return um_fail(err, UMBEL_E_RANGE,
                       "start from UMBEL_RECONCILE_INIT; want is a sum of "
                       "UMBEL_RECONCILE_PULL and _PUSH");
    umbel_reconcile *r = calloc(1, sizeof *r);
    if (!r)
        return um_no_memory(err, sizeof *r);
    r->p = *params;
    if (!r->p.max_memory)
        r->p.max_memory = DEFAULT_MEMORY;
    r->travels = r->p.first ? r->p.want : 0;
    r->expected = EXPECT(HELLO);
    r->sending = UM_NO_KEY;
    r->result.method = "equal";
    uint8_t *nonce = r->nonce[!r->p.first];
    if (r->p.nonce)
        memcpy(nonce, r->p.nonce, NONCE_LEN);
    else
        randombytes_buf(nonce, NONCE_LEN);
    if (r->p.first) {
        um_frame_begin(&r->out, HELLO, sizeof magic + 2 + NONCE_LEN);
        um_buffer_append(&r->out, magic, sizeof magic);
        append_u8(&r->out, VERSION);
        append_u8(&r->out, (uint8_t)r->p.want);
        um_buffer_append(&r->out, nonce, NONCE_LEN);
    }
    *out = r;
    return UMBEL_OK;
}

/* Forgets what was computed with the last secret. */
static void forget(umbel_reconcile *r)
{
    um_key_set_fini(&r->set);
    um_peeler_fini(&r->peeler);
    um_buffer_fini(&r->keys);
    free(r->received);
    r->received = NULL;
    r->nkeys = r->keys_left = r->others = r->symbols = 0;
    r->chunks = 0;
    r->sending = UM_NO_KEY;
    r->missing_there = (um_set_sum){0, 0};
    r->result.ours_missing = r->result.theirs_missing = 0;
    r->result.method = "equal";
}

void umbel_reconcile_close(umbel_reconcile *r)
{
    if (!r)
        return;
    forget(r);
    um_buffer_fini(&r->in);
    um_buffer_fini(&r->out);
    sodium_memzero(r->secret, sizeof r->secret);
    free(r);
}

/* --- parts of messages -----------------------------------------------------
 */

static um_set_sum read_sum(um_reader *in)
{
    um_set_sum s = {um_get_u64(in), 0};
    s.hi = um_get_u64(in);
    return s;
}

static void append_sum(um_buffer *out, um_set_sum s)
{
    um_append_u64(out, s.lo);
    um_append_u64(out, s.hi);
}

/* Writes a message that was put together in body, and frees body. */
static void send_message(umbel_reconcile *r, message type, um_buffer *body)
{
    um_frame_write(&r->out, (uint8_t)type, body->data, body->len);
    r->out.failed |= body->failed;
    um_buffer_fini(body);
}

static umbel_status refuse(umbel_error *err, const char *why)
{
    return um_fail(err, UMBEL_E_REFUSED,
                   "the other side %s: it is damaged or lies. Nothing was "
                   "changed here",
                   why);
}

/* --- beginning -------------------------------------------------------------
 */

/* Hashes the keys with a secret of both nonces and the number of the try. */
static umbel_status hash_keys(umbel_reconcile *r, umbel_error *err)
{
    uint8_t text[2 * NONCE_LEN + 1];

    memcpy(text, r->nonce, sizeof r->nonce);
    text[sizeof r->nonce] = (uint8_t)r->tries;
    crypto_generichash(r->secret, sizeof r->secret, text, sizeof text, NULL, 0);
    return um_key_set_init(&r->set, r->p.keys, r->p.n, r->secret, err);
}

static void send_summary(umbel_reconcile *r)
{
    um_buffer body = {.len = 0};

    um_append_varint(&body, r->set.n);
    append_sum(&body, r->set.sum);
    send_message(r, SUMMARY, &body);
    r->expected = EXPECT(EQUAL) | EXPECT(DIFFER) | EXPECT(AGAIN);
}

/* Returns what the first side wants and the other one does not permit. */
static const char *find_conflict(unsigned wants, unsigned permits)
{
    if (wants & UMBEL_RECONCILE_PULL && !(permits & UMBEL_RECONCILE_PUSH))
        return "one side pulls, and the other one gives no keys: let that one "
               "--push, or leave out its option";
    if (wants & UMBEL_RECONCILE_PUSH && !(permits & UMBEL_RECONCILE_PULL))
        return "one side pushes, and the other one takes no keys: let that one "
               "--pull, or leave out its option";
    return NULL;
}

static umbel_status receive_hello(umbel_reconcile *r, um_reader *in,
                                  umbel_error *err)
{
    uint8_t theirs[sizeof magic], version, want;
    const uint8_t *nonce = in->at + sizeof magic + 2;

    um_get_bytes(in, theirs, sizeof theirs);
    um_get_bytes(in, &version, 1);
    um_get_bytes(in, &want, 1);
    if (in->bad || memcmp(theirs, magic, sizeof magic) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the other side is not umbel reconcile --stdio");
    if (version != VERSION || want > UMBEL_RECONCILE_BOTH ||
        in->end - in->at != NONCE_LEN)
        return um_fail(err, UMBEL_E_VERSION,
                       "the other side speaks version %u of the protocol, this "
                       "one %d: update the older one",
                       version, VERSION);
    memcpy(r->nonce[r->p.first], nonce, NONCE_LEN);
    in->at = in->end;
    if (!r->p.first) {
        um_frame_begin(&r->out, HELLO, sizeof magic + 2 + NONCE_LEN);
        um_buffer_append(&r->out, magic, sizeof magic);
        append_u8(&r->out, VERSION);
        append_u8(&r->out, (uint8_t)r->p.want);
        um_buffer_append(&r->out, r->nonce[1], NONCE_LEN);
        r->travels = want;
    }
    const char *conflict = r->p.first ? find_conflict(r->p.want, want)
                                      : find_conflict(want, r->p.want);
    if (conflict)
        return um_fail(err, UMBEL_E_REFUSED, "%s", conflict);
    UM_TRY(hash_keys(r, err));
    if (r->p.first)
        send_summary(r);
    else
        r->expected = EXPECT(SUMMARY);
    return UMBEL_OK;
}

/* Begins again with other digests. The first side then sends SUMMARY. */
static umbel_status try_again(umbel_reconcile *r, umbel_error *err)
{
    if (++r->tries == MAX_TRIES)
        return refuse(err, "and this one did not agree on what is common");
    forget(r);
    UM_TRY(hash_keys(r, err));
    if (r->p.first)
        send_summary(r);
    else
        r->expected = EXPECT(SUMMARY);
    return UMBEL_OK;
}

static umbel_status send_again(umbel_reconcile *r, umbel_error *err)
{
    um_frame_write(&r->out, AGAIN, "", 0);
    return try_again(r, err);
}

static umbel_status receive_summary(umbel_reconcile *r, um_reader *in,
                                    umbel_error *err)
{
    um_buffer body = {.len = 0};
    um_sketch sketch;

    (void)err;
    r->their_n = um_get_varint(in);
    r->their_sum = read_sum(in);
    if (in->bad)
        return UMBEL_OK;
    if (r->their_n == r->set.n && um_sum_equal(r->their_sum, r->set.sum)) {
        append_sum(&body, r->set.sum);
        send_message(r, EQUAL, &body);
        r->expected = 0;
        r->step = UMBEL_RECONCILE_DONE;
        return UMBEL_OK;
    }
    um_append_varint(&body, r->set.n);
    append_sum(&body, r->set.sum);
    um_sketch_init(&sketch, &r->set);
    for (int i = 0; i < UM_SKETCH_LEVELS; i++)
        for (int j = 0; j < UM_SKETCH_WORDS; j++)
            um_append_u64(&body, sketch.word[i][j]);
    send_message(r, DIFFER, &body);
    r->expected = EXPECT(FILTER) | EXPECT(SYMBOLS);
    /* Of an empty set there is no filter: all of ours is missing there. */
    if (!r->their_n)
        memset(r->set.state, UM_MISSING_THERE, r->set.n);
    return UMBEL_OK;
}

static umbel_status receive_equal(umbel_reconcile *r, um_reader *in,
                                  umbel_error *err)
{
    um_set_sum sum = read_sum(in);

    if (!in->bad && !um_sum_equal(sum, r->set.sum))
        return refuse(err, "calls lists equal that are not");
    r->step = UMBEL_RECONCILE_READY;
    return UMBEL_OK;
}

/* --- filters and symbols ---------------------------------------------------
 */

/* Our keys that their filter does not have are missing there. */
static umbel_status apply_filter(umbel_reconcile *r, umbel_slice bytes,
                                 umbel_error *err)
{
    enum { BATCH = 256 };
    umbel_filter *f;
    bool hit[BATCH];
    umbel_status status = UMBEL_OK;

    UM_TRY(um_set_filter_open(bytes, r->p.max_memory, r->secret, &f, err));
    for (size_t i = 0; !status && i < r->set.n; i += BATCH) {
        size_t n = r->set.n - i < BATCH ? r->set.n - i : BATCH;
        status = umbel_query_digests(f, r->set.digest + i, n, hit, err);
        for (size_t j = 0; !status && j < n; j++)
            r->set.state[i + j] = hit[j] ? UM_MAYBE_COMMON : UM_MISSING_THERE;
    }
    umbel_close(f);
    return status;
}

/* Sends a chunk of symbols; before the first one, the number and the sum of the
 * keys that they are of. */
static umbel_status send_symbols(umbel_reconcile *r, um_chunk_shape shape,
                                 umbel_error *err)
{
    um_buffer body = {.len = 0};
    um_chunk c;

    UM_TRY(um_chunk_init(&c, r->chunks, shape.n, shape.sixteenths, err));
    um_chunk_add_set(&c, &r->set);
    if (!r->chunks) {
        uint64_t n = 0, lo = 0;
        for (size_t i = 0; i < r->set.n; i++)
            if (r->set.state[i] == UM_MAYBE_COMMON) {
                n++;
                lo += r->set.digest[i].lo;
            }
        um_append_varint(&body, n);
        um_append_u64(&body, lo);
        um_append_varint(&body, shape.n);
        um_append_varint(&body, shape.sixteenths);
    }
    uint8_t *at = um_buffer_reserve(&body, c.n * UM_SYMBOL_LEN);
    if (at) {
        um_chunk_write(&c, at);
        body.len += c.n * UM_SYMBOL_LEN;
    }
    send_message(r, SYMBOLS, &body);
    um_chunk_fini(&c);
    r->chunks++;
    r->symbols += shape.n;
    r->expected = EXPECT(MORE) | EXPECT(RESULT) | EXPECT(AGAIN);
    return UMBEL_OK;
}

/* Returns the bytes that a filter of `keys` saves if that many keys of the
 * other side are not among them; 0 if it does not. */
static double filter_gain(double keys, double missing, unsigned *bits)
{
    *bits = um_set_filter_bits(keys, missing, symbol_cost);
    double gain = missing * symbol_cost * (1 - ldexp(1, -(int)*bits)) -
                  keys * *bits / 8 * 1.02;
    return keys > 0 && gain > FILTER_GAIN ? gain : 0;
}

/* Chooses what is sent: filters in one or both directions, then symbols. */
static umbel_status choose(umbel_reconcile *r, double d, umbel_error *err)
{
    double ours = (double)r->set.n, theirs = (double)r->their_n;
    um_buffer body = {.len = 0};
    uint8_t flags = 0;
    unsigned bits, their_bits;

    d = fmax(d, fabs(ours - theirs));
    d = fmin(d, ours + theirs);
    double only_theirs = fmin((d + theirs - ours) / 2, theirs);
    double only_ours = fmin((d + ours - theirs) / 2, ours);
    if (filter_gain(ours, only_theirs, &bits) > 0) {
        flags |= FILTER_ATTACHED;
        only_theirs *= ldexp(1, -(int)bits);
    }
    if (filter_gain(theirs, only_ours, &their_bits) > 0) {
        flags |= FILTER_WANTED;
        only_ours *= ldexp(1, -(int)their_bits);
    }
    if (ours == 0 || theirs == 0)
        only_theirs = only_ours = 0;
    r->difference = only_theirs + only_ours;
    r->result.method = "symbols";
    if (!flags)
        return send_symbols(r, um_first_chunk(r->difference), err);
    r->result.method = "filter";
    um_buffer_append(&body, &flags, 1);
    um_append_varint(&body, flags & FILTER_WANTED ? their_bits : 0);
    umbel_status status =
        flags & FILTER_ATTACHED
            ? um_set_filter_append(&body, &r->set, bits, r->secret, err)
            : UMBEL_OK;
    send_message(r, FILTER, &body);
    UM_TRY(status);
    r->expected = EXPECT(FILTER);
    return flags & FILTER_WANTED
               ? UMBEL_OK
               : send_symbols(r, um_first_chunk(r->difference), err);
}

static umbel_status receive_differ(umbel_reconcile *r, um_reader *in,
                                   umbel_error *err)
{
    um_sketch theirs, ours;

    r->their_n = um_get_varint(in);
    r->their_sum = read_sum(in);
    for (int i = 0; i < UM_SKETCH_LEVELS; i++)
        for (int j = 0; j < UM_SKETCH_WORDS; j++)
            theirs.word[i][j] = um_get_u64(in);
    if (in->bad)
        return UMBEL_OK;
    if (!r->their_n)
        memset(r->set.state, UM_MISSING_THERE, r->set.n);
    um_sketch_init(&ours, &r->set);
    return choose(r, um_sketch_difference(&ours, &theirs), err);
}

static umbel_status receive_filter(umbel_reconcile *r, um_reader *in,
                                   umbel_error *err)
{
    um_buffer body = {.len = 0};
    uint8_t flags;

    um_get_bytes(in, &flags, 1);
    uint64_t bits = um_get_varint(in);
    umbel_slice filter = {in->at, (size_t)(in->end - in->at)};
    bool is_reply = r->p.first;
    if (in->bad || flags > (FILTER_ATTACHED | FILTER_WANTED) || bits > 64 ||
        (is_reply && flags != FILTER_ATTACHED) ||
        !(flags & FILTER_ATTACHED) != !filter.len) {
        in->bad = true;
        return UMBEL_OK;
    }
    in->at = in->end;
    r->result.method = "filter";
    /* Our own filter has all keys, also those that theirs does not match. */
    if (flags & FILTER_WANTED) {
        append_u8(&body, FILTER_ATTACHED);
        um_append_varint(&body, 0);
        umbel_status status = um_set_filter_append(
            &body, &r->set, bits > 24 || bits < 2 ? 8 : (unsigned)bits,
            r->secret, err);
        send_message(r, FILTER, &body);
        UM_TRY(status);
    }
    if (filter.len)
        UM_TRY(apply_filter(r, filter, err));
    r->expected = EXPECT(SYMBOLS);
    return r->p.first ? send_symbols(r, um_first_chunk(r->difference), err)
                      : UMBEL_OK;
}

/* --- the first side: what the other one decoded ----------------------------
 */

static umbel_status receive_more(umbel_reconcile *r, um_reader *in,
                                 umbel_error *err)
{
    um_chunk_shape shape = {um_get_varint(in), 0};
    uint64_t sixteenths = um_get_varint(in);
    /* Filters leave fewer differences than this, and small sets have fewer. */
    uint64_t limit = 4 * (uint64_t)r->set.n + 65536;

    if (in->bad)
        return UMBEL_OK;
    if (r->chunks == UM_MAX_CHUNKS || shape.n > limit ||
        r->symbols + shape.n > limit || sixteenths > UM_MAX_SIXTEENTHS)
        return refuse(err, "asks for more symbols than the lists can need");
    shape.sixteenths = (unsigned)sixteenths;
    return send_symbols(r, shape, err);
}

/* Marks our keys that the other side decoded: numbers of as many low bits as
 * name a key, in ascending order. Sets *known to false if one is none of
 * ours. */
static void read_names(umbel_reconcile *r, um_reader *in, bool *known)
{
    unsigned bits = um_key_set_bits(r->set.n);
    uint64_t n = um_get_varint(in), low = 0;

    *known = true;
    for (uint64_t i = 0; i < n && !in->bad; i++) {
        uint64_t gap = um_get_varint(in);
        low += gap;
        size_t at = um_key_set_find_low(&r->set, low, bits);
        if (at == UM_NO_KEY || (i && !gap) ||
            r->set.state[at] == UM_MISSING_THERE)
            *known = false;
        else
            r->set.state[at] = UM_MISSING_THERE;
    }
}

/* Sums up what is missing there. */
static void count_missing(umbel_reconcile *r)
{
    r->result.theirs_missing = 0;
    r->missing_there = (um_set_sum){0, 0};
    for (size_t i = 0; i < r->set.n; i++)
        if (r->set.state[i] == UM_MISSING_THERE) {
            r->result.theirs_missing++;
            um_sum_add(&r->missing_there, r->set.digest[i]);
        }
}

static void send_proof(umbel_reconcile *r)
{
    um_buffer body = {.len = 0};

    append_sum(&body, um_sum_minus(r->set.sum, r->missing_there));
    um_append_varint(&body, r->result.theirs_missing);
    send_message(r, PROOF, &body);
    if (r->travels & UMBEL_RECONCILE_PUSH)
        r->sending = 0;
    r->expected = EXPECT(SAVED);
}

/* Prepares to receive keys: the number is known. */
static umbel_status expect_keys(umbel_reconcile *r, uint64_t n,
                                umbel_error *err)
{
    if (r->p.max_missing && n > r->p.max_missing)
        return um_fail(err, UMBEL_E_LIMIT,
                       "the other side has %" PRIu64
                       " keys that this list lacks, and the limit is %" PRIu64,
                       n, r->p.max_missing);
    r->keys_left = n;
    return UMBEL_OK;
}

static umbel_status receive_result(umbel_reconcile *r, um_reader *in,
                                   umbel_error *err)
{
    bool known, pulls = r->travels & UMBEL_RECONCILE_PULL;
    um_set_sum common;

    r->result.ours_missing = um_get_varint(in);
    common = read_sum(in);
    read_names(r, in, &known);
    if (in->bad)
        return UMBEL_OK;
    count_missing(r);
    if (r->result.ours_missing > r->their_n ||
        r->their_n - r->result.ours_missing !=
            r->set.n - r->result.theirs_missing)
        known = false;
    if (!known ||
        !um_sum_equal(common, um_sum_minus(r->set.sum, r->missing_there))) {
        r->discard = pulls;
        return send_again(r, err);
    }
    if (!pulls || !r->result.ours_missing) {
        send_proof(r);
        return UMBEL_OK;
    }
    r->expected = EXPECT(KEYS);
    return expect_keys(r, r->result.ours_missing, err);
}

/* --- the other side: decoding ----------------------------------------------
 */

static int compare_low(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/*
 * Sorts decoded keys into ours and theirs: the first r->others of them are
 * theirs. Returns false if the keys that are left as common, and theirs, are
 * not as many as the symbols are of, or have another sum.
 */
static bool sort_decoded(umbel_reconcile *r)
{
    uint64_t *found = r->peeler.found, n = 0, lo = 0;

    for (size_t i = 0; i < r->peeler.nfound; i++) {
        size_t at = um_key_set_find_low(&r->set, found[i], 64);
        if (at != UM_NO_KEY && r->set.state[at] == UM_MAYBE_COMMON) {
            r->set.state[at] = UM_MISSING_THERE;
            continue;
        }
        n++;
        lo += found[i];
        found[r->others++] = found[i];
    }
    for (size_t i = 0; i < r->set.n; i++)
        if (r->set.state[i] == UM_MAYBE_COMMON) {
            n++;
            lo += r->set.digest[i].lo;
        }
    return n == r->symbol_keys && lo == r->symbol_sum;
}

static void send_result(umbel_reconcile *r)
{
    um_buffer body = {.len = 0};
    uint64_t last = 0;

    count_missing(r);
    um_append_varint(&body, r->result.theirs_missing);
    append_sum(&body, um_sum_minus(r->set.sum, r->missing_there));
    um_append_varint(&body, r->others);
    uint64_t mask = ~(uint64_t)0 >> (64 - um_key_set_bits((size_t)r->their_n));
    for (uint64_t i = 0; i < r->others; i++)
        r->peeler.found[i] &= mask;
    if (r->others)
        qsort(r->peeler.found, (size_t)r->others, sizeof *r->peeler.found,
              compare_low);
    for (uint64_t i = 0; i < r->others; i++) {
        um_append_varint(&body, r->peeler.found[i] - last);
        last = r->peeler.found[i];
    }
    send_message(r, RESULT, &body);
    if (r->travels & UMBEL_RECONCILE_PULL)
        r->sending = 0;
    r->expected = EXPECT(PROOF) | EXPECT(AGAIN);
}

static umbel_status receive_symbols(umbel_reconcile *r, um_reader *in,
                                    umbel_error *err)
{
    um_chunk c;

    if (!r->peeler.nchunks) {
        r->symbol_keys = um_get_varint(in);
        r->symbol_sum = um_get_u64(in);
        r->asked.n = um_get_varint(in);
        uint64_t sixteenths = um_get_varint(in);
        r->asked.sixteenths =
            sixteenths > UM_MAX_SIXTEENTHS ? 0 : (unsigned)sixteenths;
    }
    if (in->bad || r->asked.n > UM_MAX_SYMBOLS ||
        (uint64_t)(in->end - in->at) != r->asked.n * UM_SYMBOL_LEN) {
        in->bad = true;
        return UMBEL_OK;
    }
    UM_TRY(um_chunk_init(&c, (unsigned)r->peeler.nchunks, r->asked.n,
                         r->asked.sixteenths, err));
    um_chunk_add_set(&c, &r->set);
    um_chunk_combine(&c, in->at);
    in->at = in->end;
    UM_TRY(um_peeler_add(&r->peeler, &c, err));
    if (um_peeler_is_done(&r->peeler)) {
        if (!sort_decoded(r))
            return send_again(r, err);
        send_result(r);
        return UMBEL_OK;
    }
    r->asked = um_next_chunk(&r->peeler);
    if (r->peeler.nchunks == UM_MAX_CHUNKS ||
        r->peeler.nfound > r->peeler.symbols)
        return send_again(r, err);
    um_buffer body = {.len = 0};
    um_append_varint(&body, r->asked.n);
    um_append_varint(&body, r->asked.sixteenths);
    send_message(r, MORE, &body);
    return UMBEL_OK;
}

/* --- keys ------------------------------------------------------------------
 */

/* Hashes the keys received: they must be those that are missing here. */
static umbel_status check_keys(umbel_reconcile *r, umbel_error *err)
{
    um_set_sum missing =
        um_sum_minus(r->their_sum, um_sum_minus(r->set.sum, r->missing_there));
    um_reader in = {r->keys.data, r->keys.data + r->keys.len, false};
    um_key_set set;

    r->received = malloc(((size_t)r->nkeys + 1) * sizeof *r->received);
    if (!r->received)
        return um_no_memory(err, r->nkeys * sizeof *r->received);
    for (uint64_t i = 0; i < r->nkeys; i++)
        r->received[i] = um_read_text(&in);
    UM_TRY(
        um_key_set_init(&set, r->received, (size_t)r->nkeys, r->secret, err));
    bool right = set.n == r->nkeys && um_sum_equal(set.sum, missing);
    for (size_t i = 0; right && i < set.n; i++)
        right = um_key_set_find(&r->set, &set.digest[i]) == UM_NO_KEY;
    um_key_set_fini(&set);
    return right ? UMBEL_OK
                 : refuse(err, "sent other keys than those that are missing");
}

static umbel_status end_keys(umbel_reconcile *r, umbel_error *err)
{
    UM_TRY(check_keys(r, err));
    r->expected = 0;
    if (r->p.first)
        send_proof(r);
    else
        r->step = UMBEL_RECONCILE_READY;
    return UMBEL_OK;
}

static umbel_status receive_keys(umbel_reconcile *r, um_reader *in,
                                 umbel_error *err)
{
    const uint8_t *start = in->at;
    uint64_t n = 0;

    for (; in->at < in->end && !in->bad; n++)
        um_read_text(in);
    if (in->bad || !n || n > r->keys_left) {
        in->bad = true;
        return UMBEL_OK;
    }
    size_t len = (size_t)(in->end - start);
    if (r->keys.len + len + (r->nkeys + n) * sizeof *r->received >
        r->p.max_memory)
        return um_fail(err, UMBEL_E_LIMIT,
                       "the keys that are missing here take more than %" PRIu64
                       " bytes of memory",
                       r->p.max_memory);
    um_buffer_append(&r->keys, start, len);
    if (r->keys.failed)
        return um_no_memory(err, len);
    r->nkeys += n;
    r->keys_left -= n;
    return r->keys_left ? UMBEL_OK : end_keys(r, err);
}

static umbel_status receive_proof(umbel_reconcile *r, um_reader *in,
                                  umbel_error *err)
{
    um_set_sum common = read_sum(in);

    r->result.ours_missing = um_get_varint(in);
    if (in->bad)
        return UMBEL_OK;
    if (!um_sum_equal(common, um_sum_minus(r->set.sum, r->missing_there)) ||
        r->result.ours_missing > r->their_n ||
        r->their_n - r->result.ours_missing !=
            r->set.n - r->result.theirs_missing)
        return refuse(err, "has not proved what is common");
    r->expected = 0;
    r->step = UMBEL_RECONCILE_READY;
    if (!(r->travels & UMBEL_RECONCILE_PUSH) || !r->result.ours_missing)
        return UMBEL_OK;
    r->step = UMBEL_RECONCILE_TALKING;
    r->expected = EXPECT(KEYS);
    return expect_keys(r, r->result.ours_missing, err);
}

static umbel_status receive_saved(umbel_reconcile *r, um_reader *in,
                                  umbel_error *err)
{
    (void)in;
    (void)err;
    r->expected = 0;
    r->step = UMBEL_RECONCILE_READY;
    return UMBEL_OK;
}

static umbel_status receive_again(umbel_reconcile *r, um_reader *in,
                                  umbel_error *err)
{
    (void)in;
    return try_again(r, err);
}

/* Appends a frame of keys that are missing there. */
static void append_keys(umbel_reconcile *r)
{
    um_buffer body = {.len = 0};

    for (; r->sending < r->set.n && body.len < UM_FRAME_PIECE; r->sending++)
        if (r->set.state[r->sending] == UM_MISSING_THERE)
            um_append_text(&body, um_key_set_key(&r->set, r->sending));
    if (r->sending >= r->set.n)
        r->sending = UM_NO_KEY;
    if (body.len)
        send_message(r, KEYS, &body);
    else
        um_buffer_fini(&body);
}

/* --- the interface ---------------------------------------------------------
 */

typedef umbel_status handler(umbel_reconcile *r, um_reader *in,
                             umbel_error *err);

static umbel_status handle(umbel_reconcile *r, const um_frame *f,
                           umbel_error *err)
{
    static handler *const handlers[] = {
        [HELLO] = receive_hello,   [SUMMARY] = receive_summary,
        [EQUAL] = receive_equal,   [DIFFER] = receive_differ,
        [FILTER] = receive_filter, [SYMBOLS] = receive_symbols,
        [MORE] = receive_more,     [RESULT] = receive_result,
        [KEYS] = receive_keys,     [PROOF] = receive_proof,
        [SAVED] = receive_saved,   [AGAIN] = receive_again};
    const uint8_t *at = f->body.data;
    um_reader in = {at, at + f->body.len, false};

    if (r->discard && f->type == KEYS)
        return UMBEL_OK;
    r->discard = false;
    if (f->type >= UM_COUNT(handlers) || !(r->expected & EXPECT(f->type)))
        return um_fail(err, UMBEL_E_FORMAT,
                       r->expected & EXPECT(HELLO)
                           ? "the other side is not umbel reconcile --stdio"
                           : "the other side sent a message out of order");
    if (f->type != KEYS)
        r->result.rounds += r->p.first;
    UM_TRY(handlers[f->type](r, &in, err));
    if (in.bad || in.at != in.end)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the other side sent a damaged message");
    return r->out.failed ? um_no_memory(err, r->out.len) : UMBEL_OK;
}

umbel_status umbel_reconcile_receive(umbel_reconcile *r, const void *bytes,
                                     size_t len, umbel_error *err)
{
    um_frame f = {.len = 0};
    size_t used = 0;

    if (r->failed) {
        um_set_error(err, r->failed, "%s", r->failure.text);
        return r->failed;
    }
    r->result.bytes_in += len;
    um_buffer_append(&r->in, bytes, len);
    umbel_status status =
        r->in.failed ? um_no_memory(&r->failure, len) : UMBEL_OK;
    while (!status) {
        umbel_slice left = {r->in.data + used, r->in.len - used};
        status = um_frame_read(left, r->p.max_memory, &f, &r->failure);
        if (status || !f.len)
            break;
        status = handle(r, &f, &r->failure);
        used += f.len;
    }
    um_buffer_discard(&r->in, used);
    if (status) {
        um_set_error(err, status, "%s", r->failure.text);
        r->expected = 0;
        r->failed = status;
    }
    return status;
}

bool umbel_reconcile_next(umbel_reconcile *r, umbel_slice *out)
{
    um_buffer_discard(&r->out, r->sent);
    r->sent = 0;
    if (!r->out.len && r->sending != UM_NO_KEY)
        append_keys(r);
    if (!r->out.len || r->out.failed)
        return false;
    *out = (umbel_slice){r->out.data, r->out.len};
    r->sent = r->out.len;
    r->result.bytes_out += r->out.len;
    return true;
}

umbel_reconcile_step umbel_reconcile_state(const umbel_reconcile *r)
{
    return r->step;
}

umbel_status umbel_reconcile_commit(umbel_reconcile *r, umbel_error *err)
{
    if (r->step != UMBEL_RECONCILE_READY)
        return um_fail(err, UMBEL_E_RANGE, "the exchange is not at its end");
    if (!r->p.first)
        um_frame_write(&r->out, SAVED, "", 0);
    r->step = UMBEL_RECONCILE_DONE;
    return r->out.failed ? um_no_memory(err, r->out.len) : UMBEL_OK;
}

void umbel_reconcile_report(const umbel_reconcile *r,
                            umbel_reconcile_result *out)
{
    *out = r->result;
    for (size_t i = 0; i < r->set.n; i++) {
        umbel_slice key = um_key_set_key(&r->set, i);
        out->agreement += um_checksum(key.data, key.len);
    }
    for (uint64_t i = 0; r->received && i < r->nkeys; i++)
        out->agreement += um_checksum(r->received[i].data, r->received[i].len);
}

bool umbel_reconcile_received(const umbel_reconcile *r, size_t i,
                              umbel_slice *out)
{
    if (r->step == UMBEL_RECONCILE_TALKING || !r->received || i >= r->nkeys)
        return false;
    *out = r->received[i];
    return true;
}

bool umbel_reconcile_lacking(const umbel_reconcile *r, size_t *at,
                             umbel_slice *out)
{
    while (*at < r->set.n && r->set.state[*at] != UM_MISSING_THERE)
        ++*at;
    if (r->step == UMBEL_RECONCILE_TALKING || *at >= r->set.n)
        return false;
    *out = um_key_set_key(&r->set, (*at)++);
    return true;
}
