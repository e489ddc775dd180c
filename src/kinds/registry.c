/*
 * registry.c - the tables of kinds, addressings and fast paths, for src/filter.
 */
#include "filter/addressing/addressing.h"
#include "filter/kind.h"
#include "kinds/rows.h"

/* X(name) stands for the row um_fast_name. */
#ifdef UM_HAVE_X86
#define FAST_X86(X)                                                            \
    X(bloom_blocked256_avx512)                                                 \
    X(bloom_blocked512_avx512)                                                 \
    X(bloom_blocked256_avx2)                                                   \
    X(bloom_blocked512_avx2)                                                   \
    X(bloom_classic_avx2)                                                      \
    X(scalable_avx2)                                                           \
    X(ribbon_avx2)                                                             \
    X(counting_blocked128_avx2)                                                \
    X(generalized_blocked512_avx512)                                           \
    X(generalized_blocked512_avx2)
#else
#define FAST_X86(X)
#endif

#define FAST(X) FAST_X86(X) X(bloom_classic)

#define DECLARE_FAST(name) extern const um_fast um_fast_##name;
FAST(DECLARE_FAST)

#define KIND(name) &um_kind_##name,
static const um_kind *const kinds[] = {UM_KINDS(KIND) NULL};
static const um_kind *const inner_kinds[] = {UM_INNER_KINDS(KIND) NULL};

#define ADDRESSING(name) &um_addressing_##name,
static const um_addressing *const addressings[] = {UM_ADDRESSINGS(ADDRESSING)
                                                       NULL};

#define FAST_ROW(name) &um_fast_##name,
static const um_fast *const fast[] = {FAST(FAST_ROW) NULL};

const um_table_set um_tables = {kinds, inner_kinds, addressings, fast};
