/*
 * redisbloom.c - RedisBloom's chain of sub-filters: sizes, adding, querying,
 * merging. Headers and chunks are in redisbloom_dump.c.
 */
#include "foreign/redisbloom.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/murmur.h"
#include "filter/addressing/redisbloom.h"

#include <inttypes.h>

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

    UM_TRY(um_bf_blank(b->limit, &b->alloc, &copy, err));
    copy->items = b->items;
    copy->options = b->options;
    copy->expansion = b->expansion;
    for (uint32_t i = 0; i < b->nlinks && !status; i++)
        status = append_copy(copy, &b->links[i], err);
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

/* Their structs have 32 and 64 bytes. */
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
 * memory accesses overlap. A key with more hashes computes the others when it
 * comes to them.
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

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Fetches the cells of those keys that did not match yet. */
static void fetch_batch(bf_batch *q, const um_bf_link *l, const bool *hit)
{
    uint32_t ahead = least(l->hashes, AHEAD);

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
    uint32_t ahead = least(l->hashes, AHEAD);

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
 * Returns true if a link has the keys of another, or got them: an older or a
 * newer state of the same link meets itself when filters are merged again.
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

/* Finds a link that can take the items of another; NULL: none. */
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
