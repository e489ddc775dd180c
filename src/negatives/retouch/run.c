/*
 * retouch_run.c - a method on plain positions, from bits to bits.
 */
#include "base/error.h"
#include "negatives/retouch/retouch.h"

#include <math.h>

static bool in_range(double x, double low, double high)
{
    return x >= low && x <= high; /* false for NAN */
}

/* Fields that a program compiled with an older header does not have are 0. */
static umbel_status consume(const umbel_retouch_params *given,
                            umbel_retouch_params *out, umbel_error *err)
{
    const uint8_t *bytes = (const uint8_t *)given;

    *out = (umbel_retouch_params)UMBEL_RETOUCH_INIT;
    if (!given)
        return UMBEL_OK;
    if (given->size < offsetof(umbel_retouch_params, ctx))
        return um_fail(err, UMBEL_E_RANGE,
                       "params.size is not set: start from UMBEL_RETOUCH_INIT");
    for (size_t i = sizeof *out; i < given->size; i++)
        if (given->size > 4096 || bytes[i])
            return um_fail(err, UMBEL_E_UNSUPPORTED,
                           "params ask for what this umbel does not know: use "
                           "a newer umbel");
    memcpy(out, given, given->size < sizeof *out ? given->size : sizeof *out);
    return UMBEL_OK;
}

umbel_status um_retouch_settle(const umbel_retouch_params *given,
                               umbel_retouch_params *out, umbel_error *err)
{
    umbel_retouch_params p;

    UM_TRY(consume(given, &p, err));
    if (!p.method)
        p.method = "greedy";
    if (!um_method_find(p.method))
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "there is no method of retouching called \"%s\"; "
                       "'umbel help methods' lists them",
                       p.method);
    if (!in_range(p.max_fn, 0, 1))
        return um_fail(err, UMBEL_E_RANGE,
                       "max_fn must be between 0 and 1, got %g", p.max_fn);
    if (!in_range(p.cost, 0, 1e300))
        return um_fail(err, UMBEL_E_RANGE, "cost must not be negative, got %g",
                       p.cost);
    if (!in_range(p.beta, 0, 1) || p.beta == 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "beta must be above 0 and at most 1, got %g", p.beta);
    if (!in_range(p.seconds, 0, 1e9))
        return um_fail(err, UMBEL_E_RANGE,
                       "seconds must be between 0 and 1e9, got %g", p.seconds);
    *out = p;
    return UMBEL_OK;
}

static bool matches(const um_problem *p, const uint64_t *pos)
{
    for (uint32_t j = 0; j < p->hashes; j++)
        if (!um_bit(p->bits, pos[j]))
            return false;
    return true;
}

static bool clear_bit(uint8_t *bits, uint64_t cell)
{
    uint8_t mask = (uint8_t)(1u << (cell & 7));
    bool was_set = bits[cell >> 3] & mask;

    bits[cell >> 3] &= (uint8_t)~mask;
    return was_set;
}

static void find_lost(const um_problem *p, um_outcome *out)
{
    for (size_t i = 0; i < p->members.n; i++)
        out->lost[i] = !matches(p, p->members.pos + i * p->hashes);
}

/*
 * Clear what only lost members owned. Bits that no member listed here ever
 * owned stay: members that the list lacks may need them.
 */
static void close_around(const um_problem *p, uint8_t *needed, um_outcome *out)
{
    for (size_t i = 0; i < p->members.n; i++)
        for (uint32_t j = 0; !out->lost[i] && j < p->hashes; j++)
            um_set_bit(needed, p->members.pos[i * p->hashes + j]);
    for (size_t i = 0; i < p->members.n; i++)
        for (uint32_t j = 0; out->lost[i] && j < p->hashes; j++) {
            uint64_t cell = p->members.pos[i * p->hashes + j];
            if (!um_bit(needed, cell))
                out->cleared += clear_bit(p->bits, cell);
        }
}

/* From the state to the bits; nothing here can fail. */
static void carry_out(const um_problem *p, const um_state *s, bool closes,
                      uint8_t *needed, um_outcome *out)
{
    const um_instance *in = s->in;

    out->cleared = 0;
    out->stopped = s->stopped;
    for (uint32_t x = 0; x < in->nbits; x++)
        if (closes ? s->bit[x].owners == 0 : s->closed[x])
            out->cleared += clear_bit(p->bits, in->cell[x]);
    find_lost(p, out);
    if (needed)
        close_around(p, needed, out);
    for (size_t i = 0; i < p->keys.n; i++)
        out->gone[i] = !matches(p, p->keys.pos + i * p->hashes);
}

static umbel_status run(const um_problem *p, const umbel_retouch_params *params,
                        um_pool *pool, um_outcome *out, umbel_error *err)
{
    const um_method *method = um_method_find(params->method);
    um_instance in;
    um_state s;
    uint8_t *needed = NULL;

    UM_TRY(um_instance_create(&in, p, params, method->all_bits, pool, err));
    if (method->closes || params->closure)
        needed = p->needed ? p->needed
                           : um_pool_get(pool, (size_t)(p->cells / 8 + 1), 1);
    if (!um_state_init(&s, &in, params) || pool->failed ||
        (!method->run(&s, method) && !s.stopped) || pool->failed)
        return um_fail(err, UMBEL_E_NOMEM,
                       "no memory to retouch %zu members and %zu keys",
                       p->members.n, p->keys.n);
    carry_out(p, &s, method->closes, needed, out);
    return UMBEL_OK;
}

umbel_status um_retouch_run(const um_problem *p,
                            const umbel_retouch_params *params,
                            const umbel_alloc *alloc, um_outcome *out,
                            umbel_error *err)
{
    um_pool pool;

    um_pool_init(&pool, alloc);
    umbel_status status = run(p, params, &pool, out, err);
    um_pool_fini(&pool);
    return status;
}
