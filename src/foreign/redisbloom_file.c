/*
 * foreign_redisbloom.c - what BF.SCANDUMP gives: the header, then the bits.
 *
 * The chunks one after the other, without their iterators: header and bits say
 * how long they are. One sub-filter of the usual size is a bloom filter on
 * addressing redisbloom, several are a filter of kind chain, bit for bit.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "filter/addressing/redisbloom.h"
#include "filter/envelope.h"
#include "filter/sizing.h"
#include "foreign/foreign.h"
#include "foreign/redisbloom.h"
#include "kinds/scalable/chain.h"

#include <inttypes.h>
#include <math.h>

enum { PLAIN_OPTIONS = UM_BF_NOT_ROUNDED | UM_BF_HASH64 };

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
    p.key_form = UMBEL_KEYS_UNRECORDED; /* the format does not say */
    p.capacity = l->capacity;
    p.fpr = l->error;
    p.cells = l->nbits;
    p.hashes = l->hashes;
    p.alloc = source->alloc;
    UM_TRY(umbel_create("bloom", &p, &f, err));
    f->added = b->items;
    f->expansion =
        um_redisbloom_growth(b->expansion, b->options & UM_BF_FIXED) &
        UM_EXPANSION_MOST;
    memcpy(f->payload, bits, (size_t)l->bytes);
    *out = f;
    return UMBEL_OK;
}

/* The error of all links together, as far as it was asked for. */
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
                  UM_EXPANSION_MOST;
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

/* Their readers compute the hashes from the bits per item, which of a size that
 * was not planned is any number that gives these. */
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
    .summary = "filters of RedisBloom, as BF.SCANDUMP gives them",
    .least = least,
    .import = import,
    .part = part,
};
