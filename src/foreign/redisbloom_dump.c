/*
 * redisbloom_dump.c - headers and chunks of BF.SCANDUMP, and back.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "foreign/redisbloom.h"

#include <inttypes.h>

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

/* Finds the link that an offset of all bits lies in, and makes it one of that
 * link's; NULL: it is behind the last. */
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
