/*
 * foreign_redisbloom.c - what BF.SCANDUMP gives: the header, then the bits.
 *
 * The chunks one after the other, without their iterators: header and bits say
 * how long they are. One sub-filter is a bloom filter on addressing redisbloom,
 * bit for bit.
 */
#include "base/error.h"
#include "filter/envelope.h"
#include "filter/sizing.h"
#include "ops/foreign.h"
#include "ops/redisbloom.h"

#include <inttypes.h>

enum { PLAIN_OPTIONS = UM_BF_NOT_ROUNDED | UM_BF_HASH64 };

/*
 * How a filter grows, as a number of the head; on the wire. 0 is what they
 * write for one that does not grow: expansion 2, fixed.
 */
static uint64_t growth_to_number(uint32_t expansion, bool fixed)
{
    return ((uint64_t)expansion << 1 | fixed) ^ 5;
}

static uint32_t expansion_of(uint64_t number)
{
    return (uint32_t)((number ^ 5) >> 1);
}

static bool is_fixed(uint64_t number)
{
    return (number ^ 5) & 1;
}

/* Reads the header that the bytes begin with, into a chain without bits. */
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
    if (b->nlinks > 1)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "it has grown to %" PRIu32 " sub-filters, and umbel "
                       "takes one: reserve room for %" PRIu64
                       " items and add them again",
                       b->nlinks, b->items);
    if (!is_planned(&b->links[0]) ||
        (b->options & ~(uint32_t)UM_BF_FIXED) != PLAIN_OPTIONS)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "its size does not follow from its capacity and error, "
                       "as that of filters made by BF.RESERVE does");
    return UMBEL_OK;
}

static umbel_status make_filter(const um_bf *b, const uint8_t *bits,
                                const umbel_source *source, umbel_filter **out,
                                umbel_error *err)
{
    const um_bf_link *l = &b->links[0];
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;

    p.addressing = "redisbloom";
    p.key_form = UMBEL_KEYS_UNRECORDED; /* the format does not say */
    p.capacity = l->capacity;
    p.fpr = l->error;
    p.cells = l->nbits;
    p.hashes = l->hashes;
    p.alloc = source->alloc;
    UM_TRY(umbel_create("bloom", &p, &f, err));
    f->added = b->items;
    f->expansion = growth_to_number(b->expansion, b->options & UM_BF_FIXED) &
                   UM_EXPANSION_MOST;
    memcpy(f->payload, bits, (size_t)l->bytes);
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
    if (status == UMBEL_OK)
        status = make_filter(b, bytes + um_bf_header_len(b), source, out, err);
    um_bf_close(b);
    return status;
}

static umbel_status check_shape(const um_shape *s, umbel_error *err)
{
    if (!um_has_bits(s->kind) || strcmp(s->addressing->name, "redisbloom") != 0)
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

/* Their readers compute the hashes from the bits per item, which of a size that
 * was not planned is any number that gives these. */
static um_bf_link describe(const um_shape *s)
{
    um_bf_link l;

    if (!um_bf_plan(&l, s->capacity ? s->capacity : 1, s->fpr) ||
        l.hashes != s->hashes)
        l.bits_per_item = (s->hashes - 0.5) / 0.693147180559945;
    l.capacity = s->capacity ? s->capacity : s->added;
    l.error = s->fpr;
    l.hashes = s->hashes;
    l.nbits = s->cells;
    l.bytes = s->cells / 8;
    l.items = s->added;
    l.log2 = 0;
    return l;
}

static umbel_status part(const umbel_filter *f, uint8_t head[UM_FOREIGN_HEAD],
                         umbel_slice parts[UM_FOREIGN_PARTS], size_t *n,
                         umbel_error *err)
{
    const um_shape *s = um_shape_of(f);

    UM_TRY(check_shape(s, err));
    um_bf_link link = describe(s);
    um_bf b = {.links = &link,
               .nlinks = 1,
               .items = s->added,
               .options =
                   PLAIN_OPTIONS | (is_fixed(s->expansion) ? UM_BF_FIXED : 0),
               .expansion = expansion_of(s->expansion)};
    um_bf_put_header(&b, head);
    parts[0] = (umbel_slice){head, um_bf_header_len(&b)};
    parts[1] = (umbel_slice){f->payload, (size_t)link.bytes};
    *n = 2;
    return UMBEL_OK;
}

const um_foreign um_foreign_redisbloom = {
    .name = "redisbloom",
    .summary = "filters of RedisBloom, as BF.SCANDUMP gives them",
    .least = least,
    .import = import,
    .part = part,
};
