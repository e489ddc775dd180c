/*
 * fast.c - the fast paths, best first.
 */
#include "filter/fast.h"

#include "base/error.h"

#include <string.h>

/* X(name) stands for the row um_fast_name. */
#ifdef UM_HAVE_X86
#define FAST_X86(X)                                                            \
    X(bloom_blocked256_avx512)                                                 \
    X(bloom_blocked512_avx512)                                                 \
    X(bloom_blocked256_avx2)                                                   \
    X(bloom_blocked512_avx2)                                                   \
    X(bloom_classic_avx2)                                                      \
    X(counting_blocked128_avx2)                                                \
    X(generalized_blocked512_avx512)                                           \
    X(generalized_blocked512_avx2)
#else
#define FAST_X86(X)
#endif

#define FAST(X) FAST_X86(X) X(bloom_classic)

#define DECLARE(name) extern const um_fast um_fast_##name;
FAST(DECLARE)

#define ROW(name) &um_fast_##name,
static const um_fast *const table[] = {FAST(ROW) NULL};

const um_fast *um_fast_row(size_t i)
{
    return i < UM_COUNT(table) ? table[i] : NULL;
}

bool um_fast_takes(const um_fast *row, const um_shape *s)
{
    return row->takes ? row->takes(s) : !um_unusual_setting(s);
}

const um_fast *um_fast_pick(const um_shape *s, const um_layout *l)
{
    if (!s->kind->add || !s->kind->query) /* what it cannot do stays so */
        return NULL;
    for (size_t i = 0; table[i]; i++)
        if (strcmp(table[i]->kind, s->kind->name) == 0 &&
            strcmp(table[i]->addressing, s->addressing->name) == 0 &&
            um_fast_takes(table[i], s) && table[i]->usable(l))
            return table[i];
    return NULL;
}
