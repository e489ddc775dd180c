/*
 * vectors.h - the vector instructions that our AVX-512 files use, in plain C.
 *
 * Each function does what Intel's guide documents for the intrinsic of that
 * name, element by element and for all arguments, not only for those we pass.
 * tests/unit/kinds/emulate.c compares them with the processor where possible.
 * Names have the prefix e_, so that a program can use both.
 */
#ifndef UM_EMULATE_VECTORS_H
#define UM_EMULATE_VECTORS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Elements are in x86 byte order; on other byte orders nothing is emulated. */
#define E_AS_ON_X86 (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

typedef struct e_m128i {
    uint64_t q[2];
} e_m128i;

typedef struct e_m256i {
    uint64_t q[4];
} e_m256i;

typedef struct e_m512i {
    uint64_t q[8];
} e_m512i;

typedef uint8_t e_mmask8;
typedef uint16_t e_mmask16;

/* Returns a vector whose element dst[i] is the expression, for each of N i. */
#define E_EACH(type, N, expression)                                            \
    do {                                                                       \
        type dst;                                                              \
        for (int i = 0; i < (N); i++)                                          \
            dst.q[i] = (expression);                                           \
        return dst;                                                            \
    } while (0)

/* Returns the 32-bit element i: even ones are the low halves. */
static inline uint32_t e_get32(e_m256i a, int i)
{
    return (uint32_t)(a.q[i / 2] >> 32 * (i % 2));
}

static inline void e_set32(e_m256i *a, int i, uint32_t x)
{
    int shift = 32 * (i % 2);
    a->q[i / 2] &= ~((uint64_t)UINT32_MAX << shift);
    a->q[i / 2] |= (uint64_t)x << shift;
}

/* --- 128 and 256 bits ------------------------------------------------------
 */

static inline e_m128i e_mm_cvtsi32_si128(int a)
{
    return (e_m128i){{(uint32_t)a, 0}};
}

static inline e_m256i e_mm256_set1_epi64x(long long a)
{
    E_EACH(e_m256i, 4, (uint64_t)a);
}

static inline e_m256i e_mm256_set1_epi32(int a)
{
    E_EACH(e_m256i, 4, (uint64_t)(uint32_t)a << 32 | (uint32_t)a);
}

static inline e_m256i e_mm256_setr_epi32(int e0, int e1, int e2, int e3, int e4,
                                         int e5, int e6, int e7)
{
    const int e[8] = {e0, e1, e2, e3, e4, e5, e6, e7};
    e_m256i dst = {{0}};

    for (int i = 0; i < 8; i++)
        e_set32(&dst, i, (uint32_t)e[i]);
    return dst;
}

static inline e_m256i e_mm256_loadu_si256(const void *p)
{
    e_m256i dst;

    memcpy(&dst, p, sizeof dst);
    return dst;
}

static inline void e_mm256_storeu_si256(void *p, e_m256i a)
{
    memcpy(p, &a, sizeof a);
}

static inline e_m256i e_mm256_or_si256(e_m256i a, e_m256i b)
{
    E_EACH(e_m256i, 4, a.q[i] | b.q[i]);
}

/* Returns the carry flag of vptest: 1 if NOT a AND b is all zero. */
static inline int e_mm256_testc_si256(e_m256i a, e_m256i b)
{
    for (int i = 0; i < 4; i++)
        if (~a.q[i] & b.q[i])
            return 0;
    return 1;
}

/* Shifts each element by its own count; counts of 32 and more give 0. */
static inline e_m256i e_mm256_srlv_epi32(e_m256i a, e_m256i count)
{
    e_m256i dst = {{0}};

    for (int i = 0; i < 8; i++) {
        uint32_t n = e_get32(count, i);
        e_set32(&dst, i, n < 32 ? e_get32(a, i) >> n : 0);
    }
    return dst;
}

/* Rotates by counts mod 32; elements whose bit in k is clear become 0. */
static inline e_m256i e_mm256_maskz_rolv_epi32(e_mmask8 k, e_m256i a, e_m256i b)
{
    e_m256i dst = {{0}};

    for (int i = 0; i < 8; i++) {
        uint32_t x = e_get32(a, i), n = e_get32(b, i) % 32;
        if (k >> i & 1)
            e_set32(&dst, i, n ? x << n | x >> (32 - n) : x);
    }
    return dst;
}

/* --- 512 bits ---------------------------------------------------------------
 */

static inline e_m512i e_mm512_set1_epi64(long long a)
{
    E_EACH(e_m512i, 8, (uint64_t)a);
}

static inline e_m512i e_mm512_setr_epi64(long long e0, long long e1,
                                         long long e2, long long e3,
                                         long long e4, long long e5,
                                         long long e6, long long e7)
{
    const long long e[8] = {e0, e1, e2, e3, e4, e5, e6, e7};
    E_EACH(e_m512i, 8, (uint64_t)e[i]);
}

static inline e_m512i e_mm512_loadu_si512(const void *p)
{
    e_m512i dst;

    memcpy(&dst, p, sizeof dst);
    return dst;
}

static inline void e_mm512_storeu_si512(void *p, e_m512i a)
{
    memcpy(p, &a, sizeof a);
}

/* Aborts unless p is a multiple of 64, where the processor faults. */
static inline void e_mm512_store_si512(void *p, e_m512i a)
{
    if ((uintptr_t)p % 64)
        abort();
    memcpy(p, &a, sizeof a);
}

static inline e_m512i e_mm512_and_si512(e_m512i a, e_m512i b)
{
    E_EACH(e_m512i, 8, a.q[i] & b.q[i]);
}

static inline e_m512i e_mm512_or_si512(e_m512i a, e_m512i b)
{
    E_EACH(e_m512i, 8, a.q[i] | b.q[i]);
}

static inline e_m512i e_mm512_xor_si512(e_m512i a, e_m512i b)
{
    E_EACH(e_m512i, 8, a.q[i] ^ b.q[i]);
}

static inline e_m512i e_mm512_add_epi64(e_m512i a, e_m512i b)
{
    E_EACH(e_m512i, 8, a.q[i] + b.q[i]);
}

/* Returns the low 64 bits of the products. */
static inline e_m512i e_mm512_mullo_epi64(e_m512i a, e_m512i b)
{
    E_EACH(e_m512i, 8, a.q[i] * b.q[i]);
}

/* Multiplies the unsigned low halves; returns all 64 bits of the products. */
static inline e_m512i e_mm512_mul_epu32(e_m512i a, e_m512i b)
{
    E_EACH(e_m512i, 8, (a.q[i] & UINT32_MAX) * (b.q[i] & UINT32_MAX));
}

/* Shifts by the immediate's low 8 bits; 64 and more give 0. */
static inline e_m512i e_mm512_srli_epi64(e_m512i a, unsigned imm8)
{
    E_EACH(e_m512i, 8, (imm8 & 0xFF) < 64 ? a.q[i] >> (imm8 & 0xFF) : 0);
}

/* Shifts all elements by the low 64 bits of count; 64 and more give 0. */
static inline e_m512i e_mm512_sll_epi64(e_m512i a, e_m128i count)
{
    E_EACH(e_m512i, 8, count.q[0] < 64 ? a.q[i] << count.q[0] : 0);
}

/* Shifts each element by its own count. */
static inline e_m512i e_mm512_srlv_epi64(e_m512i a, e_m512i count)
{
    E_EACH(e_m512i, 8, count.q[i] < 64 ? a.q[i] >> count.q[i] : 0);
}

static inline e_m512i e_mm512_sllv_epi64(e_m512i a, e_m512i count)
{
    E_EACH(e_m512i, 8, count.q[i] < 64 ? a.q[i] << count.q[i] : 0);
}

/* Applied to both 32-bit halves of a and b by e_halves. */
typedef uint32_t e_of32(uint32_t a, uint32_t b);

static inline uint64_t e_halves(uint64_t a, uint64_t b, e_of32 *f)
{
    uint64_t high = f((uint32_t)(a >> 32), (uint32_t)(b >> 32));
    return high << 32 | f((uint32_t)a, (uint32_t)b);
}

static inline uint32_t e_add32(uint32_t a, uint32_t b)
{
    return a + b;
}

static inline uint32_t e_max32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Shifts left; counts of 32 and more give 0. */
static inline uint32_t e_sll32(uint32_t a, uint32_t n)
{
    return n < 32 ? a << n : 0;
}

static inline uint32_t e_srl32(uint32_t a, uint32_t n)
{
    return n < 32 ? a >> n : 0;
}

static inline e_m512i e_mm512_add_epi32(e_m512i a, e_m512i b)
{
    E_EACH(e_m512i, 8, e_halves(a.q[i], b.q[i], e_add32));
}

static inline e_m512i e_mm512_max_epu32(e_m512i a, e_m512i b)
{
    E_EACH(e_m512i, 8, e_halves(a.q[i], b.q[i], e_max32));
}

static inline e_m512i e_mm512_sllv_epi32(e_m512i a, e_m512i count)
{
    E_EACH(e_m512i, 8, e_halves(a.q[i], count.q[i], e_sll32));
}

static inline e_m512i e_mm512_srli_epi32(e_m512i a, unsigned imm8)
{
    uint64_t n = imm8 & 0xFF;
    E_EACH(e_m512i, 8, e_halves(a.q[i], n << 32 | n, e_srl32));
}

/* Returns a bit for each 32-bit element, the low half of a word first. */
static inline e_mmask16 e_mm512_testn_epi32_mask(e_m512i a, e_m512i b)
{
    e_mmask16 k = 0;

    for (int i = 0; i < 16; i++) {
        uint64_t both = a.q[i / 2] & b.q[i / 2];
        k |= (e_mmask16)(((uint32_t)(both >> 32 * (i % 2)) == 0) << i);
    }
    return k;
}

/* Returns a AND b where k has a bit, src elsewhere. */
static inline e_m512i e_mm512_mask_and_epi32(e_m512i src, e_mmask16 k,
                                             e_m512i a, e_m512i b)
{
    e_m512i dst = src;

    for (int i = 0; i < 16; i++) {
        uint64_t half = (uint64_t)UINT32_MAX << 32 * (i % 2);
        if (k >> i & 1)
            dst.q[i / 2] =
                (dst.q[i / 2] & ~half) | (a.q[i / 2] & b.q[i / 2] & half);
    }
    return dst;
}

/* Rotates by n mod 64. */
static inline uint64_t e_rol64(uint64_t x, uint64_t n)
{
    return n % 64 ? x << n % 64 | x >> (64 - n % 64) : x;
}

static inline e_m512i e_mm512_rol_epi64(e_m512i a, int imm8)
{
    E_EACH(e_m512i, 8, e_rol64(a.q[i], (uint64_t)imm8 & 0xFF));
}

static inline e_m512i e_mm512_rolv_epi64(e_m512i a, e_m512i b)
{
    E_EACH(e_m512i, 8, e_rol64(a.q[i], b.q[i]));
}

static inline e_m512i e_mm512_maskz_rolv_epi64(e_mmask8 k, e_m512i a, e_m512i b)
{
    E_EACH(e_m512i, 8, k >> i & 1 ? e_rol64(a.q[i], b.q[i]) : 0);
}

/* Returns, for every three bits a, b, c, bit 4a + 2b + c of the immediate. */
static inline uint64_t e_ternary(uint64_t a, uint64_t b, uint64_t c, int imm8)
{
    uint64_t dst = 0;

    for (int row = 0; row < 8; row++)
        if (imm8 >> row & 1)
            dst |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return dst;
}

static inline e_m512i e_mm512_ternarylogic_epi64(e_m512i a, e_m512i b,
                                                 e_m512i c, int imm8)
{
    E_EACH(e_m512i, 8, e_ternary(a.q[i], b.q[i], c.q[i], imm8));
}

/* Selects elements: bits 2..0 of an index choose the element, bit 3 a or b. */
static inline e_m512i e_mm512_permutex2var_epi64(e_m512i a, e_m512i idx,
                                                 e_m512i b)
{
    E_EACH(e_m512i, 8, (idx.q[i] & 8 ? b : a).q[idx.q[i] & 7]);
}

static inline e_mmask8 e_mm512_cmpneq_epi64_mask(e_m512i a, e_m512i b)
{
    e_mmask8 k = 0;

    for (int i = 0; i < 8; i++)
        k |= (e_mmask8)((a.q[i] != b.q[i]) << i);
    return k;
}

/* --- 512 bits, elements of 32 ------------------------------------------------
 */

static inline uint32_t e_get32_512(e_m512i a, int i)
{
    return (uint32_t)(a.q[i / 2] >> 32 * (i % 2));
}

/*
 * Returns a vector whose 32-bit element i is the expression, for each of 16 i.
 */
#define E_EACH32(expression)                                                   \
    do {                                                                       \
        e_m512i dst = {{0}};                                                   \
        for (int i = 0; i < 16; i++)                                           \
            dst.q[i / 2] |= (uint64_t)(uint32_t)(expression) << 32 * (i % 2);  \
        return dst;                                                            \
    } while (0)

static inline e_m512i e_mm512_set1_epi32(int a)
{
    E_EACH32(a);
}

static inline e_m512i e_mm512_sub_epi32(e_m512i a, e_m512i b)
{
    E_EACH32(e_get32_512(a, i) - e_get32_512(b, i));
}

/* Returns the low 32 bits of the products. */
static inline e_m512i e_mm512_mullo_epi32(e_m512i a, e_m512i b)
{
    E_EACH32(e_get32_512(a, i) * e_get32_512(b, i));
}

/* Shifts by the immediate's low 8 bits; 32 and more give 0. */
static inline e_m512i e_mm512_slli_epi32(e_m512i a, unsigned imm8)
{
    E_EACH32((imm8 & 0xFF) < 32 ? e_get32_512(a, i) << (imm8 & 0xFF) : 0);
}

/* Reads four bytes at base + index * scale; indices are signed. */
static inline uint32_t e_fetch32(const void *base, uint32_t index, int scale)
{
    uint32_t x;

    memcpy(&x, (const uint8_t *)base + (int64_t)(int32_t)index * scale,
           sizeof x);
    return x;
}

static inline e_m512i e_mm512_i32gather_epi32(e_m512i index, const void *base,
                                              int scale)
{
    E_EACH32(e_fetch32(base, e_get32_512(index, i), scale));
}

static inline e_mmask16 e_mm512_cmplt_epu32_mask(e_m512i a, e_m512i b)
{
    e_mmask16 k = 0;

    for (int i = 0; i < 16; i++)
        k |= (e_mmask16)((e_get32_512(a, i) < e_get32_512(b, i)) << i);
    return k;
}

/* Moves the lowest elements of a, in order, to those whose bit in k is set. */
static inline e_m512i e_mm512_maskz_expand_epi32(e_mmask16 k, e_m512i a)
{
    int next = 0;
    E_EACH32(k >> i & 1 ? e_get32_512(a, next++) : 0);
}

static inline e_m512i e_mm512_mask_or_epi32(e_m512i src, e_mmask16 k, e_m512i a,
                                            e_m512i b)
{
    E_EACH32(k >> i & 1 ? e_get32_512(a, i) | e_get32_512(b, i)
                        : e_get32_512(src, i));
}

/* Zero-extends sixteen 16-bit elements. */
static inline e_m512i e_mm512_cvtepu16_epi32(e_m256i a)
{
    E_EACH32((uint16_t)(a.q[i / 4] >> 16 * (i % 4)));
}

/* Returns the low bytes of the sixteen elements. */
static inline e_m128i e_mm512_cvtepi32_epi8(e_m512i a)
{
    e_m128i dst = {{0}};

    for (int i = 0; i < 16; i++)
        dst.q[i / 8] |= (uint64_t)(uint8_t)e_get32_512(a, i) << 8 * (i % 8);
    return dst;
}

static inline void e_mm_storeu_si128(void *p, e_m128i a)
{
    memcpy(p, &a, sizeof a);
}

static inline unsigned char e_kortestz_mask8_u8(e_mmask8 a, e_mmask8 b)
{
    return (a | b) == 0;
}

#endif
