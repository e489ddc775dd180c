/*
 * packet.c - generalized filters that consist of their bits only, for packets.
 *
 * A packet that records the routers it passes has a few bytes for that, no
 * space for a head, and a sender who chooses the initial content (2011 paper,
 * section 1). So all routers agree on the shape in advance, and the bits may
 * have any content. Cells are drawn from the whole array as on addressing
 * classic, and are distinct. That matters here: the paper's functions would
 * coincide for 6 % of the keys (256 bits, 4 + 4), which would be lost at once.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "kinds/generalized/generalized.h"

#include <umbel/experimental/generalized.h>

#include <inttypes.h>

enum { MAX_FUNCTIONS = 32 };

struct umbel_packet {
    umbel_alloc alloc;
    um_hasher hasher;
    um_secret secret;
    uint32_t bits, reset, set;
    bool collide;
};

static umbel_status check(const umbel_packet_params *p, umbel_error *err)
{
    if (!p || p->size != sizeof *p)
        return um_fail(err, UMBEL_E_RANGE,
                       "params.size is not sizeof(umbel_packet_params)");
    if (p->bits < UMBEL_PACKET_MIN || p->bits > UMBEL_PACKET_MAX)
        return um_fail(err, UMBEL_E_RANGE,
                       "a packet's filter has %d to %d bits, got %" PRIu32
                       ": what is larger wants kind generalized",
                       UMBEL_PACKET_MIN, UMBEL_PACKET_MAX, p->bits);
    if (p->reset > MAX_FUNCTIONS || p->set < 1 || p->set > MAX_FUNCTIONS)
        return um_fail(err, UMBEL_E_RANGE,
                       "reset must be 0..%d and set 1..%d, got %" PRIu32
                       " and %" PRIu32,
                       MAX_FUNCTIONS, MAX_FUNCTIONS, p->reset, p->set);
    return UMBEL_OK;
}

umbel_status umbel_packet_open(const umbel_packet_params *params,
                               umbel_packet **out, umbel_error *err)
{
    UM_TRY(check(params, err));
    umbel_alloc alloc = um_alloc_or_default(params->alloc);
    umbel_packet *p = um_get(&alloc, sizeof *p);
    if (!p)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a packet's shape");
    *p = (umbel_packet){.alloc = alloc,
                        .bits = params->bits,
                        .reset = params->reset,
                        .set = params->set,
                        .collide = params->collide};
    um_hasher_init(&p->hasher,
                   params->secret ? um_hash_find("sip") : um_hash_row(0),
                   params->seed, &p->secret);
    if (params->secret)
        um_hasher_unlock(&p->hasher, params->secret);
    *out = p;
    return UMBEL_OK;
}

void umbel_packet_close(umbel_packet *p)
{
    if (!p)
        return;
    umbel_alloc alloc = p->alloc;
    um_hasher_fini(&p->hasher);
    um_put(&alloc, p, sizeof *p);
}

/* Computes the key's reset cells, then its set cells. */
static void cells_of(const umbel_packet *p, const void *key, size_t len,
                     uint64_t pos[UM_MAX_HASHES])
{
    umbel_slice slice = {key, len};
    umbel_digest d;

    p->hasher.row->digest(&p->hasher, &slice, 1, &d);
    if (p->collide)
        um_colliding_cells(p->bits, p->reset + p->set, d, pos);
    else
        um_free_cells(p->bits, p->reset + p->set, d, pos);
}

static void write_bit(uint8_t *bits, uint64_t i, bool value)
{
    uint8_t mask = (uint8_t)(1u << (i & 7));

    bits[i >> 3] =
        (uint8_t)(value ? bits[i >> 3] | mask : bits[i >> 3] & ~mask);
}

/* Adds a key. If cells coincide, clearing wins. Compares the bits before and
 * after: intermediate changes do not count. */
bool umbel_packet_add(const umbel_packet *p, void *bits, const void *key,
                      size_t len)
{
    uint64_t pos[UM_MAX_HASHES];
    uint32_t k = p->reset + p->set;
    bool before[UM_MAX_HASHES], changed = false;

    cells_of(p, key, len, pos);
    for (uint32_t j = 0; j < k; j++)
        before[j] = um_bit(bits, pos[j]);
    for (uint32_t j = k; j-- > 0;)
        write_bit(bits, pos[j], j >= p->reset);
    for (uint32_t j = 0; j < k; j++)
        changed |= um_bit(bits, pos[j]) != before[j];
    return changed;
}

bool umbel_packet_query(const umbel_packet *p, const void *bits,
                        const void *key, size_t len)
{
    return umbel_packet_inverted(p, bits, NULL, key, len) == 0;
}

uint32_t umbel_packet_inverted(const umbel_packet *p, const void *bits,
                               const void *unknown, const void *key, size_t len)
{
    uint64_t pos[UM_MAX_HASHES];
    uint32_t inverted = 0;

    cells_of(p, key, len, pos);
    for (uint32_t j = 0; j < p->reset + p->set; j++)
        inverted += um_bit(bits, pos[j]) != (j >= p->reset) &&
                    !(unknown && um_bit(unknown, pos[j]));
    return inverted;
}

void umbel_packet_cover(const umbel_packet *p, void *unknown, const void *key,
                        size_t len)
{
    uint64_t pos[UM_MAX_HASHES];

    cells_of(p, key, len, pos);
    for (uint32_t j = 0; j < p->reset + p->set; j++)
        write_bit(unknown, pos[j], true);
}
