/*
 * redisbloom.c - RedisBloom's chain of sub-filters: sizes, adding, querying,
 * merging; headers and chunks.
 */
#include "foreign/redisbloom.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "filter/addressing/redisbloom.h"
#include "filter/envelope.h"
#include "filter/sizing.h"
#include "foreign/internal.h"
#include "kinds/rows.h"

#include <inttypes.h>
#include <math.h>

/* --- links ------------------------------------------------------------------
 */

bool um_bf_plan(um_bf_link *link, uint64_t capacity, double error)
{
    if (!(error > 0 && error < 1) || capacity == 0)
        return false;
    double per_item = um_redisbloom_bits_per_item(error);
    double bits = um_redisbloom_bits((double)capacity, per_item);
    if (!(bits < 0x1p62))
        return false;
    *link = (um_bf_link){.nbits = (uint64_t)bits,
                         .bytes = (uint64_t)bits / 8,
                         .capacity = capacity,
                         .error = error,
                         .bits_per_item = per_item,
                         .hashes = (uint32_t)um_redisbloom_hashes(per_item)};
    return true;
}

bool um_bf_link_fits(const um_bf_link *l)
{
    return l->nbits > 0 && l->nbits % 8 == 0 && l->bytes == l->nbits / 8 &&
           l->error > 0 && l->error < 1 && l->bits_per_item > 0 &&
           l->hashes >= 1 && l->hashes <= UM_BF_MAX_HASHES &&
           um_redisbloom_hashes(l->bits_per_item) == l->hashes &&
           (l->log2 == 0 || (l->log2 < 64 && l->nbits == 1ull << l->log2));
}

umbel_status um_bf_check_limit(const um_bf *b, const um_bf_link *link,
                               umbel_error *err)
{
    uint64_t used = um_bf_bytes(b);

    if (used > b->limit || link->bytes > b->limit - used)
        return um_fail_detail(err, UMBEL_E_LIMIT, UMBEL_D_MEMORY_LIMIT,
                              "the filter takes %" PRIu64 " bytes and %" PRIu64
                              " more, the limit is %" PRIu64,
                              used, link->bytes, b->limit);
    return UMBEL_OK;
}

umbel_status um_bf_link_bits(const um_bf *b, um_bf_link *link, umbel_error *err)
{
    UM_TRY(um_bf_check_limit(b, link, err));
    link->bits = um_get(&b->alloc, (size_t)link->bytes);
    return link->bits ? UMBEL_OK : um_no_memory(err, link->bytes);
}

static size_t links_len(size_t n)
{
    return n * sizeof(um_bf_link);
}

umbel_status um_bf_hold(um_bf *b, uint32_t n, umbel_error *err)
{
    if (n <= b->cap)
        return UMBEL_OK;
    if (n > UM_BF_MAX_LINKS)
        return um_fail(err, UMBEL_E_LIMIT,
                       "%" PRIu32 " sub-filters, at most %d are taken", n,
                       UM_BF_MAX_LINKS);
    um_bf_link *links = um_get(&b->alloc, links_len(n));
    if (!links)
        return um_no_memory(err, links_len(n));
    if (b->nlinks)
        memcpy(links, b->links, links_len(b->nlinks));
    um_put(&b->alloc, b->links, links_len(b->cap));
    b->links = links;
    b->cap = n;
    return UMBEL_OK;
}

umbel_status um_bf_append(um_bf *b, const um_bf_link *link, umbel_error *err)
{
    UM_TRY(um_bf_hold(b, b->nlinks + 1, err));
    b->links[b->nlinks++] = *link;
    return UMBEL_OK;
}

static umbel_status grow(um_bf *b, um_bf_link *link, umbel_error *err)
{
    UM_TRY(um_bf_link_bits(b, link, err));
    umbel_status status = um_bf_append(b, link, err);
    if (status)
        um_put(&b->alloc, link->bits, (size_t)link->bytes);
    return status;
}

/* --- the chain --------------------------------------------------------------
 */

umbel_status um_bf_blank(uint64_t limit, const umbel_alloc *alloc, um_bf **out,
                         umbel_error *err)
{
    umbel_alloc a = um_alloc_or_default(alloc);
    um_bf *b = um_get(&a, sizeof *b);

    if (!b)
        return um_no_memory(err, sizeof *b);
    b->alloc = a;
    b->limit = limit;
    *out = b;
    return UMBEL_OK;
}

umbel_status um_bf_open(const um_bf_params *p, uint64_t limit,
                        const umbel_alloc *alloc, um_bf **out, umbel_error *err)
{
    um_bf_link link;
    um_bf *b;

    if (!um_bf_plan(&link, p->capacity, p->fixed ? p->error : p->error / 2))
        return um_fail(err, UMBEL_E_RANGE,
                       "no filter has a capacity of %" PRIu64
                       " and an error of %g",
                       p->capacity, p->error);
    UM_TRY(um_bf_blank(limit, alloc, &b, err));
    b->expansion = p->expansion;
    b->options =
        UM_BF_NOT_ROUNDED | UM_BF_HASH64 | (p->fixed ? UM_BF_FIXED : 0);
    umbel_status status = grow(b, &link, err);
    if (status == UMBEL_OK)
        *out = b;
    else
        um_bf_close(b);
    return status;
}

void um_bf_close(um_bf *b)
{
    if (!b)
        return;
    umbel_alloc alloc = b->alloc;
    for (uint32_t i = 0; i < b->nlinks; i++)
        um_put(&alloc, b->links[i].bits, (size_t)b->links[i].bytes);
    um_put(&alloc, b->links, links_len(b->cap));
    um_put(&alloc, b, sizeof *b);
}

/* Appends a link with the same content. */
static umbel_status append_copy(um_bf *b, const um_bf_link *from,
                                umbel_error *err)
{
    um_bf_link link = *from;

    UM_TRY(grow(b, &link, err));
    memcpy(link.bits, from->bits, (size_t)from->bytes);
    return UMBEL_OK;
}

umbel_status um_bf_copy(const um_bf *b, um_bf **out, umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    um_bf *copy;

    /* A filter that was loaded may be larger than its limit. */
    UM_TRY(um_bf_blank(INT64_MAX, &b->alloc, &copy, err));
    copy->items = b->items;
    copy->options = b->options;
    copy->expansion = b->expansion;
    for (uint32_t i = 0; i < b->nlinks && !status; i++)
        status = append_copy(copy, &b->links[i], err);
    copy->limit = b->limit;
    if (status == UMBEL_OK)
        *out = copy;
    else
        um_bf_close(copy);
    return status;
}

uint64_t um_bf_capacity(const um_bf *b)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < b->nlinks; i++)
        sum += b->links[i].capacity;
    return sum;
}

uint64_t um_bf_bytes(const um_bf *b)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < b->nlinks; i++)
        sum += b->links[i].bytes;
    return sum;
}

/* Counts RedisBloom's structs with 32 and 64 bytes. */
uint64_t um_bf_size(const um_bf *b)
{
    return 32 + 64 * (uint64_t)b->nlinks + um_bf_bytes(b);
}

size_t um_bf_memory(const um_bf *b)
{
    return sizeof *b + links_len(b->cap) + (size_t)um_bf_bytes(b);
}

/* --- keys -------------------------------------------------------------------
 */

/*
 * Cells of a batch are computed and fetched before the first is tested, so that
 * memory accesses overlap. Cells beyond the first AHEAD of a key are computed
 * when they are tested.
 */
enum { BATCH = 64, AHEAD = 16 };

typedef struct bf_batch {
    umbel_digest digest[BATCH];
    uint64_t cell[BATCH][AHEAD];
    size_t n;
} bf_batch;

static void digest_batch(bf_batch *q, const umbel_slice *keys, size_t left)
{
    q->n = left < BATCH ? left : BATCH;
    for (size_t i = 0; i < q->n; i++)
        q->digest[i] = um_murmur_digest(keys[i].data, keys[i].len);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Prefetches the cells of the keys that have not matched yet. */
static void fetch_batch(bf_batch *q, const um_bf_link *l, const bool *hit)
{
    uint32_t ahead = smaller(l->hashes, AHEAD);

    for (size_t i = 0; i < q->n; i++)
        for (uint32_t j = 0; j < ahead && !(hit && hit[i]); j++) {
            q->cell[i][j] = um_redisbloom_cell(q->digest[i], j, l->nbits);
            __builtin_prefetch(l->bits + (q->cell[i][j] >> 3));
        }
}

static bool test_cells(const um_bf_link *l, umbel_digest d)
{
    for (uint32_t j = 0; j < l->hashes; j++)
        if (!um_bit(l->bits, um_redisbloom_cell(d, j, l->nbits)))
            return false;
    return true;
}

static bool test_fetched(const bf_batch *q, size_t i, const um_bf_link *l)
{
    uint32_t ahead = smaller(l->hashes, AHEAD);

    for (uint32_t j = 0; j < ahead; j++)
        if (!um_bit(l->bits, q->cell[i][j]))
            return false;
    for (uint32_t j = ahead; j < l->hashes; j++)
        if (!um_bit(l->bits, um_redisbloom_cell(q->digest[i], j, l->nbits)))
            return false;
    return true;
}

bool um_bf_has(const um_bf *b, umbel_digest d)
{
    for (uint32_t l = b->nlinks; l-- > 0;)
        if (test_cells(&b->links[l], d))
            return true;
    return false;
}

void um_bf_query(const um_bf *b, const umbel_slice *keys, size_t n, bool *hit)
{
    bf_batch q;

    if (n == 1) { /* nothing to overlap with */
        *hit = um_bf_has(b, um_murmur_digest(keys->data, keys->len));
        return;
    }
    memset(hit, 0, n * sizeof *hit);
    for (size_t done = 0; done < n; done += q.n) {
        bool *found = hit + done;
        digest_batch(&q, keys + done, n - done);
        for (uint32_t l = b->nlinks; l-- > 0;) { /* the newest is the largest */
            fetch_batch(&q, &b->links[l], found);
            for (size_t i = 0; i < q.n; i++)
                if (!found[i])
                    found[i] = test_fetched(&q, i, &b->links[l]);
        }
    }
}

static umbel_status reserve(um_bf *b, umbel_error *err)
{
    const um_bf_link *last = &b->links[b->nlinks - 1];
    um_bf_link next;

    if (last->items < last->capacity)
        return UMBEL_OK;
    if (b->options & UM_BF_FIXED)
        return um_fail(err, UMBEL_E_FULL,
                       "the filter is full, and is not one that grows");
    uint32_t times = b->expansion ? b->expansion : 1;
    if (last->capacity > UINT64_MAX / times ||
        !um_bf_plan(&next, last->capacity * times, last->error / 2))
        return um_fail(err, UMBEL_E_LIMIT, "the next link would be too large");
    return grow(b, &next, err);
}

static bool set_cells(um_bf_link *l, umbel_digest d)
{
    bool fresh = false;

    for (uint32_t j = 0; j < l->hashes; j++)
        fresh |= um_set_bit(l->bits, um_redisbloom_cell(d, j, l->nbits));
    return fresh;
}

static umbel_status add_one(um_bf *b, umbel_digest d, bool *fresh,
                            umbel_error *err)
{
    *fresh = false;
    if (um_bf_has(b, d))
        return UMBEL_OK;
    UM_TRY(reserve(b, err));
    um_bf_link *last = &b->links[b->nlinks - 1];
    *fresh = set_cells(last, d);
    last->items++;
    b->items++;
    return UMBEL_OK;
}

umbel_status um_bf_add(um_bf *b, const umbel_slice *keys, size_t n, bool *fresh,
                       size_t *done, umbel_error *err)
{
    bf_batch q;

    for (*done = 0; *done < n;) {
        digest_batch(&q, keys + *done, n - *done);
        for (uint32_t l = b->nlinks; q.n > 1 && l-- > 0;)
            fetch_batch(&q, &b->links[l], NULL);
        for (size_t i = 0; i < q.n; i++, ++*done)
            UM_TRY(add_one(b, q.digest[i], &fresh[*done], err));
    }
    return UMBEL_OK;
}

/* --- merging ----------------------------------------------------------------
 */

static bool has_size_of(const um_bf_link *a, const um_bf_link *b)
{
    return a->nbits == b->nbits && a->hashes == b->hashes;
}

/* Returns true if every bit of a is set in b. */
static bool is_within(const um_bf_link *a, const um_bf_link *b)
{
    for (uint64_t i = 0; i < a->bytes; i++)
        if (a->bits[i] & ~b->bits[i])
            return false;
    return true;
}

/*
 * Returns true if a link of b already contains the keys of from, or absorbs
 * them: when filters are merged again, an older and a newer state of the same
 * link meet.
 */
static bool is_known(um_bf *b, const um_bf_link *from)
{
    for (uint32_t i = 0; i < b->nlinks; i++) {
        um_bf_link *l = &b->links[i];
        if (!has_size_of(l, from))
            continue;
        if (is_within(from, l))
            return true;
        if (from->items >= l->items && is_within(l, from)) {
            memcpy(l->bits, from->bits, (size_t)l->bytes);
            b->items += from->items - l->items;
            l->items = from->items;
            return true;
        }
    }
    return false;
}

/* Finds a link with space for the items of another; NULL: none. */
static um_bf_link *find_room(um_bf *b, const um_bf_link *from)
{
    for (uint32_t i = 0; i < b->nlinks; i++) {
        um_bf_link *l = &b->links[i];
        if (has_size_of(l, from) && l->items <= l->capacity &&
            from->items <= l->capacity - l->items)
            return l;
    }
    return NULL;
}

static umbel_status merge_link(um_bf *b, const um_bf_link *from,
                               umbel_error *err)
{
    if (is_known(b, from))
        return UMBEL_OK;
    um_bf_link *to = find_room(b, from);
    if (!to && b->options & UM_BF_FIXED)
        return um_fail(err, UMBEL_E_FULL,
                       "a filter that does not grow takes the keys of one of "
                       "the same size, and no more than it has room for");
    if (from->items > UINT64_MAX - b->items)
        return um_fail(err, UMBEL_E_LIMIT, "it would have too many items");
    if (!to)
        UM_TRY(append_copy(b, from, err));
    b->items += from->items;
    if (!to)
        return UMBEL_OK;
    for (uint64_t i = 0; i < to->bytes; i++)
        to->bits[i] |= from->bits[i];
    to->items += from->items;
    return UMBEL_OK;
}

umbel_status um_bf_merge(um_bf *into, const um_bf *from, umbel_error *err)
{
    if (into == from)
        return UMBEL_OK;
    for (uint32_t i = 0; i < from->nlinks; i++)
        UM_TRY(merge_link(into, &from->links[i], err));
    return UMBEL_OK;
}

/* --- headers and chunks of BF.SCANDUMP ------------------------------------ */

size_t um_bf_header_len(const um_bf *b)
{
    return UM_BF_HEAD + (size_t)b->nlinks * UM_BF_LINK;
}

static void write_link(um_writer *w, const um_bf_link *l)
{
    um_write_u64(w, l->bytes);
    um_write_u64(w, l->nbits);
    um_write_u64(w, l->items);
    um_write_f64(w, l->error);
    um_write_f64(w, l->bits_per_item);
    um_write_u32(w, l->hashes);
    um_write_u64(w, l->capacity);
    um_write_bytes(w, &l->log2, 1);
}

void um_bf_append_header(const um_bf *b, uint8_t *out)
{
    um_writer w = {out, out + um_bf_header_len(b), false};

    um_write_u64(&w, b->items);
    um_write_u32(&w, b->nlinks);
    um_write_u32(&w, b->options);
    um_write_u32(&w, b->expansion);
    for (uint32_t i = 0; i < b->nlinks; i++)
        write_link(&w, &b->links[i]);
}

static void get_link(um_reader *r, um_bf_link *l)
{
    *l = (um_bf_link){.bytes = um_get_u64(r)};
    l->nbits = um_get_u64(r);
    l->items = um_get_u64(r);
    l->error = um_get_f64(r);
    l->bits_per_item = um_get_f64(r);
    l->hashes = um_get_u32(r);
    l->capacity = um_get_u64(r);
    um_get_bytes(r, &l->log2, 1);
}

static umbel_status bad_header(umbel_error *err, const char *why)
{
    return um_fail(err, UMBEL_E_FORMAT, "not a dump of a RedisBloom filter: %s",
                   why);
}

umbel_status um_bf_check(const um_bf *b, umbel_error *err)
{
    uint64_t sum = 0;

    if (b->nlinks == 0)
        return bad_header(err, "it has no sub-filters");
    if (b->options & ~(uint32_t)UM_BF_OPTIONS || !(b->options & UM_BF_HASH64))
        return bad_header(err, "its options are unknown");
    for (uint32_t i = 0; i < b->nlinks; i++) {
        if (b->links[i].items > UINT64_MAX - sum)
            return bad_header(err, "its items do not add up");
        sum += b->links[i].items;
    }
    if (sum != b->items)
        return bad_header(err, "its items do not add up");
    return UMBEL_OK;
}

umbel_status um_bf_header_says(const uint8_t *bytes, size_t len, uint64_t *out,
                               umbel_error *err)
{
    um_reader r = {bytes, bytes + len, false};

    um_get_u64(&r);
    uint64_t links = um_get_u32(&r);
    if (r.bad || links == 0)
        return bad_header(err, "it does not begin like one");
    *out = UM_BF_HEAD + links * UM_BF_LINK;
    return UMBEL_OK;
}

/* Reads links and adds them to b, which then owns their bits. */
static umbel_status parse_links(um_bf *b, um_reader *r, uint32_t n, bool bits,
                                umbel_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        um_bf_link *l = &b->links[i];
        get_link(r, l);
        if (!um_bf_link_fits(l))
            return bad_header(err, "the numbers of a sub-filter contradict "
                                   "each other");
        UM_TRY(bits ? um_bf_link_bits(b, l, err)
                    : um_bf_check_limit(b, l, err));
        b->nlinks++;
    }
    return um_bf_check(b, err);
}

umbel_status um_bf_from_header(const void *bytes, size_t len, uint64_t limit,
                               bool bits, const umbel_alloc *alloc, um_bf **out,
                               umbel_error *err)
{
    um_reader r = {bytes, (const uint8_t *)bytes + len, false};
    uint64_t expected = 0;
    um_bf *b;

    UM_TRY(um_bf_header_says(bytes, len, &expected, err));
    if (expected != len)
        return bad_header(err, "its header has another length than it says");
    UM_TRY(um_bf_blank(limit, alloc, &b, err));
    b->items = um_get_u64(&r);
    uint32_t n = um_get_u32(&r);
    b->options = um_get_u32(&r);
    b->expansion = um_get_u32(&r);
    umbel_status status = um_bf_hold(b, n, err);
    if (!status)
        status = parse_links(b, &r, n, bits, err);
    if (status)
        um_bf_close(b);
    else
        *out = b;
    return status;
}

/* Finds the link that contains an offset into all bits, and makes the offset
 * relative to it; NULL if it is past the end. */
static const um_bf_link *find_link(const um_bf *b, uint64_t *offset)
{
    for (uint32_t i = 0; i < b->nlinks; i++) {
        if (*offset < b->links[i].bytes)
            return &b->links[i];
        *offset -= b->links[i].bytes;
    }
    return NULL;
}

umbel_slice um_bf_chunk(const um_bf *b, uint64_t offset)
{
    const um_bf_link *l = find_link(b, &offset);

    if (!l)
        return (umbel_slice){"", 0};
    uint64_t left = l->bytes - offset;
    return (umbel_slice){l->bits + offset,
                         left < UM_BF_CHUNK ? (size_t)left : UM_BF_CHUNK};
}

umbel_status um_bf_load(um_bf *b, uint64_t offset, const void *bytes,
                        size_t len, umbel_error *err)
{
    const um_bf_link *l = find_link(b, &offset);

    if (!l)
        return um_fail(err, UMBEL_E_RANGE, "the chunk begins behind the end");
    if (len > l->bytes - offset)
        return um_fail(err, UMBEL_E_LIMIT,
                       "the chunk is longer than the rest of its sub-filter");
    if (len)
        memcpy(l->bits + offset, bytes, len);
    return UMBEL_OK;
}

/*
 * The foreign format: the output of BF.SCANDUMP, header and bits.
 *
 * The chunks are concatenated without their iterators, since header and bits
 * determine their lengths. One sub-filter of the usual size becomes a bloom
 * filter on addressing redisbloom; several become a filter of kind chain, bit
 * for bit.
 */

enum { PLAIN_OPTIONS = UM_BF_NOT_ROUNDED | UM_BF_HASH64 };

/* Parses the header at the start of bytes into a chain without bits. */
static umbel_status read_header(const uint8_t *bytes, size_t len,
                                const umbel_source *source, um_bf **out,
                                umbel_error *err)
{
    uint64_t header = 0;
    uint64_t limit =
        source && source->memory_limit ? source->memory_limit : UM_MAX_CELLS;

    UM_TRY(um_bf_header_says(bytes, len, &header, err));
    if (header > len)
        return um_fail(err, UMBEL_E_FORMAT,
                       "cut short: %zu bytes, and the header has %" PRIu64, len,
                       header);
    return um_bf_from_header(bytes, (size_t)header, limit, false,
                             source ? source->alloc : NULL, out, err);
}

static umbel_status least(const uint8_t *bytes, size_t len, uint64_t *out,
                          umbel_error *err)
{
    um_bf *b;

    UM_TRY(um_bf_header_says(bytes, len, out, err));
    if (*out > len)
        return UMBEL_OK;
    UM_TRY(read_header(bytes, len, NULL, &b, err));
    *out += um_bf_bytes(b);
    um_bf_close(b);
    return UMBEL_OK;
}

/* Returns true if the link has the size that its capacity and error give. */
static bool is_planned(const um_bf_link *l)
{
    um_bf_link plan;

    return um_bf_plan(&plan, l->capacity, l->error) && plan.nbits == l->nbits &&
           plan.hashes == l->hashes && plan.log2 == l->log2 &&
           plan.bits_per_item == l->bits_per_item;
}

static umbel_status check_chain(const um_bf *b, size_t len, umbel_error *err)
{
    uint64_t all = um_bf_header_len(b) + um_bf_bytes(b);

    if (all != len)
        return um_fail(err, UMBEL_E_FORMAT,
                       "%s: %zu bytes, and its header promises %" PRIu64,
                       len < all ? "cut short" : "something follows its bits",
                       len, all);
    if ((b->options & ~(uint32_t)UM_BF_FIXED) != PLAIN_OPTIONS)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "its options are not those of filters made by "
                       "BF.RESERVE");
    if (b->nlinks > UM_CHAIN_MAX_LINKS)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "it has grown to %" PRIu32 " sub-filters, and umbel "
                       "takes %d: reserve room for %" PRIu64
                       " items and add them again",
                       b->nlinks, UM_CHAIN_MAX_LINKS, b->items);
    return UMBEL_OK;
}

static umbel_status create_bloom(const um_bf *b, const uint8_t *bits,
                                 const umbel_source *source, umbel_filter **out,
                                 umbel_error *err)
{
    const um_bf_link *l = &b->links[0];
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;

    p.addressing = "redisbloom";
    p.key_form = UMBEL_KEYS_UNRECORDED; /* the format does not record it */
    p.capacity = l->capacity;
    p.fpr = l->error;
    p.cells = l->nbits;
    p.hashes = l->hashes;
    p.alloc = source->alloc;
    UM_TRY(umbel_create("bloom", &p, &f, err));
    f->added = b->items;
    f->expansion =
        um_redisbloom_growth(b->expansion, b->options & UM_BF_FIXED) &
        UM_MAX_EXPANSION;
    memcpy(f->payload, bits, (size_t)l->bytes);
    *out = f;
    return UMBEL_OK;
}

/* Returns the sum of the links' target errors. */
static double error_of_all(const um_bf *b)
{
    double sum = 0;

    for (uint32_t i = 0; i < b->nlinks; i++)
        sum += b->links[i].error;
    return fmin(fmax(sum, 2 * b->links[0].error), 0.999);
}

static um_chain_link link_of(const um_bf_link *l)
{
    return (um_chain_link){.nbits = l->nbits,
                           .items = l->items,
                           .capacity = l->capacity,
                           .error = l->error,
                           .bits_per_item = l->bits_per_item,
                           .hashes = l->hashes,
                           .log2 = l->log2};
}

static umbel_status create_chain(const um_bf *b, const uint8_t *bits,
                                 const umbel_source *source, umbel_filter **out,
                                 umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_alloc alloc = um_alloc_or_default(source->alloc);
    umbel_filter *f;
    um_shape s;

    p.key_form = UMBEL_KEYS_UNRECORDED;
    p.capacity = b->links[0].capacity;
    p.fpr = error_of_all(b);
    UM_TRY(um_shape_from_params(UM_CHAIN_KIND, &p, &s, err));
    s.setting[0] = b->nlinks;
    s.cells = 8 * um_bf_bytes(b);
    s.hashes =
        b->links[0].hashes < UM_MAX_HASHES ? b->links[0].hashes : UM_MAX_HASHES;
    s.expansion = um_chain_growth(b->expansion, b->options & UM_BF_FIXED) &
                  UM_MAX_EXPANSION;
    UM_TRY(um_check_shape(&s, err));
    UM_TRY(um_filter_create(&s, &alloc, &f, err));
    f->added = b->items;
    for (uint32_t i = 0; i < b->nlinks; i++) {
        um_chain_link l = link_of(&b->links[i]);
        um_chain_set_link(f->self, i, &l);
    }
    memcpy(um_chain_cells(f->self), bits, (size_t)um_bf_bytes(b));
    *out = f;
    return UMBEL_OK;
}

static umbel_status import(const uint8_t *bytes, size_t len,
                           const umbel_source *source, umbel_filter **out,
                           umbel_error *err)
{
    um_bf *b;

    UM_TRY(read_header(bytes, len, source, &b, err));
    umbel_status status = check_chain(b, len, err);
    bool simple = b->nlinks == 1 && is_planned(&b->links[0]);
    if (status == UMBEL_OK)
        status = (simple ? create_bloom : create_chain)(
            b, bytes + um_bf_header_len(b), source, out, err);
    um_bf_close(b);
    return status;
}

static umbel_status check_shape(const um_shape *s, umbel_error *err)
{
    if (!s->kind->links && (!um_has_bits(s->kind) ||
                            strcmp(s->addressing->name, "redisbloom") != 0))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "RedisBloom has other cells: build the filter with "
                       "--kind bloom --addressing redisbloom (this is %s, %s)",
                       s->kind->name, s->addressing->name);
    if (s->attached)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "RedisBloom has no place for the data that the filter "
                       "carries: remove it with convert --data /dev/null");
    return UMBEL_OK;
}

/* Describes a filter as a link. RedisBloom computes the number of hashes from
 * the bits per item; for a size that um_bf_plan does not give, any number of
 * bits per item that leads to the same hashes will do. */
static um_bf_link describe(const um_shape *s)
{
    um_bf_link l;

    if (!um_bf_plan(&l, s->capacity ? s->capacity : 1, s->fpr) ||
        l.hashes != s->hashes)
        l.bits_per_item = um_redisbloom_per_item(s->hashes);
    l.capacity = s->capacity ? s->capacity : s->added;
    l.error = s->fpr;
    l.hashes = s->hashes;
    l.nbits = s->cells;
    l.bytes = s->cells / 8;
    l.items = s->added;
    l.log2 = 0;
    return l;
}

/* Fills in the links of a filter, at most UM_CHAIN_MAX_LINKS. */
static umbel_status describe_links(const umbel_filter *f, um_bf *b,
                                   umbel_error *err)
{
    um_chain_link l;

    b->nlinks = (uint32_t)um_chain_links(f->self);
    for (uint32_t i = 0; i < b->nlinks; i++) {
        if (!um_chain_link_at(f->self, i, &l))
            return um_fail(err, UMBEL_E_FORMAT,
                           "damaged: the sizes of its sub-filters contradict "
                           "each other");
        b->links[i] = (um_bf_link){.bytes = l.nbits / 8,
                                   .nbits = l.nbits,
                                   .items = l.items,
                                   .capacity = l.capacity,
                                   .error = l.error,
                                   .bits_per_item = l.bits_per_item,
                                   .hashes = l.hashes,
                                   .log2 = l.log2};
        if (!um_bf_link_fits(&b->links[i]) || l.items > UINT64_MAX - b->items)
            return um_fail(err, UMBEL_E_FORMAT,
                           "damaged: the numbers of a sub-filter contradict "
                           "each other");
        b->items += l.items;
    }
    return UMBEL_OK;
}

static umbel_status part(const umbel_filter *f, uint8_t head[UM_FOREIGN_HEAD],
                         umbel_slice parts[UM_FOREIGN_PARTS], size_t *n,
                         umbel_error *err)
{
    const um_shape *s = um_shape_of(f);
    um_bf_link links[UM_CHAIN_MAX_LINKS];
    bool fixed = s->kind->links ? um_chain_is_fixed(s->expansion)
                                : um_redisbloom_is_fixed(s->expansion);

    UM_TRY(check_shape(s, err));
    um_bf b = {.links = links,
               .nlinks = 1,
               .items = s->kind->links ? 0 : s->added,
               .options = PLAIN_OPTIONS | (fixed ? UM_BF_FIXED : 0),
               .expansion = um_redisbloom_expansion(s->expansion)};
    if (s->kind->links)
        UM_TRY(describe_links(f, &b, err));
    else
        links[0] = describe(s);
    um_bf_append_header(&b, head);
    parts[0] = (umbel_slice){head, um_bf_header_len(&b)};
    parts[1] = (umbel_slice){f->payload, (size_t)um_bf_bytes(&b)};
    *n = 2;
    return UMBEL_OK;
}

_Static_assert(UM_BF_HEAD + UM_BF_LINK * UM_CHAIN_MAX_LINKS <= UM_FOREIGN_HEAD,
               "a header has room");

const um_foreign um_foreign_redisbloom = {
    .name = "redisbloom",
    .summary =
        "filters of RedisBloom, as BF.SCANDUMP gives them: also grown ones, "
        "with capacity, error and number of keys; read and written, compared "
        "with dumps of RedisBloom",
    .least = least,
    .import = import,
    .part = part,
};
