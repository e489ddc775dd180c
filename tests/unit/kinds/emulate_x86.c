/*
 * emulate_x86.c - emulated instructions compared with the processor's own, as
 * far as it has them.
 */
#include "support/test.h"

#if defined(__x86_64__)
#include "base/rng.h"
#include "emulate/vectors.h"

#include <immintrin.h>

enum { ROUNDS = 20000 };

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))

typedef struct input {
    e_m512i a, b, c;
    e_mmask8 k;
    int n;
} input;

/* Result of an instruction: a vector, or a number in its first element. */
typedef e_m512i outcome;
typedef void run(const input *in, outcome *out);

typedef struct row {
    const char *name;
    run *real, *emulated;
} row;

/*
 * X(id, call), where the call uses vectors a, b, c, mask k and number n. M(x)
 * is the real or the emulated intrinsic of that name. Immediates are those we
 * use, and some beyond the width.
 */
#define LIST256(X, M)                                                          \
    X(or_si256, M(mm256_or_si256)(a, b))                                       \
    X(srlv_epi32, M(mm256_srlv_epi32)(a, b))                                   \
    X(set1_epi64x, M(mm256_set1_epi64x)(n * 5000000000))                       \
    X(set1_epi32, M(mm256_set1_epi32)(n))                                      \
    X(setr_epi32, M(mm256_setr_epi32)(n, 1, -2, 3, 4, -5, 6, n))

#define LIST256VL(X, M) X(maskz_rolv_epi32, M(mm256_maskz_rolv_epi32)(k, a, b))

#define LIST512(X, M)                                                          \
    X(add_epi32, M(mm512_add_epi32)(a, b))                                     \
    X(add_epi64, M(mm512_add_epi64)(a, b))                                     \
    X(and_si512, M(mm512_and_si512)(a, b))                                     \
    X(mask_and_epi32,                                                          \
      M(mm512_mask_and_epi32)(a, M(mm512_testn_epi32_mask)(a, c), b, c))       \
    X(max_epu32, M(mm512_max_epu32)(a, b))                                     \
    X(maskz_rolv_epi64, M(mm512_maskz_rolv_epi64)(k, a, b))                    \
    X(mul_epu32, M(mm512_mul_epu32)(a, b))                                     \
    X(mullo_epi64, M(mm512_mullo_epi64)(a, b))                                 \
    X(or_si512, M(mm512_or_si512)(a, b))                                       \
    X(permutex2var_epi64, M(mm512_permutex2var_epi64)(a, b, c))                \
    X(rol_epi64_24, M(mm512_rol_epi64)(a, 24))                                 \
    X(rol_epi64_49, M(mm512_rol_epi64)(a, 49))                                 \
    X(rol_epi64_0, M(mm512_rol_epi64)(a, 0))                                   \
    X(rolv_epi64, M(mm512_rolv_epi64)(a, b))                                   \
    X(set1_epi64, M(mm512_set1_epi64)(n * 5000000000))                         \
    X(setr_epi64, M(mm512_setr_epi64)(n, 1, -2, 3, 4, -5, 6, n))               \
    X(sll_epi64, M(mm512_sll_epi64)(a, M(mm_cvtsi32_si128)(n)))                \
    X(sllv_epi32, M(mm512_sllv_epi32)(a, b))                                   \
    X(sllv_epi64, M(mm512_sllv_epi64)(a, b))                                   \
    X(srli_epi32_26, M(mm512_srli_epi32)(a, 26))                               \
    X(srli_epi32_32, M(mm512_srli_epi32)(a, 32))                               \
    X(srli_epi64_35, M(mm512_srli_epi64)(a, 35))                               \
    X(srli_epi64_64, M(mm512_srli_epi64)(a, 64))                               \
    X(srlv_epi64, M(mm512_srlv_epi64)(a, b))                                   \
    X(ternarylogic_96, M(mm512_ternarylogic_epi64)(a, b, c, 0x96))             \
    X(ternarylogic_BA, M(mm512_ternarylogic_epi64)(a, b, c, 0xBA))             \
    X(ternarylogic_1B, M(mm512_ternarylogic_epi64)(a, b, c, 0x1B))             \
    X(xor_si512, M(mm512_xor_si512)(a, b))                                     \
    X(sub_epi32, M(mm512_sub_epi32)(a, b))                                     \
    X(mullo_epi32, M(mm512_mullo_epi32)(a, b))                                 \
    X(set1_epi32_512, M(mm512_set1_epi32)(n))                                  \
    X(slli_epi32_16, M(mm512_slli_epi32)(a, 16))                               \
    X(slli_epi32_32, M(mm512_slli_epi32)(a, 32))                               \
    X(srli_epi32_15, M(mm512_srli_epi32)(a, 15))                               \
    X(expand_epi32,                                                            \
      M(mm512_maskz_expand_epi32)(M(mm512_cmplt_epu32_mask)(a, b), c))         \
    X(mask_or_epi32,                                                           \
      M(mm512_mask_or_epi32)(a, M(mm512_cmplt_epu32_mask)(c, b), b, c))        \
    X(cvtepu16_epi32,                                                          \
      M(mm512_cvtepu16_epi32)(M(mm256_set1_epi64x)(n * 5000000000)))           \
    X(gather_epi32,                                                            \
      M(mm512_i32gather_epi32)(M(mm512_and_si512)(a, M(mm512_set1_epi32)(7)),  \
                               &in->b, 4))

#define REAL(name) _##name
#define EMULATED(name) e_##name

#define OPERANDS(type, load)                                                   \
    type a = load((const void *)&in->a), b = load((const void *)&in->b);       \
    type c = load((const void *)&in->c);                                       \
    e_mmask8 k = in->k;                                                        \
    int n = in->n;                                                             \
    (void)a, (void)b, (void)c, (void)k, (void)n
#define FUNCTION(side, id, type, bits, call)                                   \
    static void side##_##id(const input *in, outcome *out)                     \
    {                                                                          \
        OPERANDS(type, bits##_loadu_si);                                       \
        bits##_storeu_si((void *)out, call);                                   \
    }

/* Names that the macros above can build. */
#define r256_loadu_si _mm256_loadu_si256
#define r256_storeu_si _mm256_storeu_si256
#define r512_loadu_si _mm512_loadu_si512
#define r512_storeu_si _mm512_storeu_si512
#define e256_loadu_si e_mm256_loadu_si256
#define e256_storeu_si e_mm256_storeu_si256
#define e512_loadu_si e_mm512_loadu_si512
#define e512_storeu_si e_mm512_storeu_si512

#define REAL256(id, call) AVX2 FUNCTION(real, id, __m256i, r256, call)
#define REAL256VL(id, call) AVX512 FUNCTION(real, id, __m256i, r256, call)
#define REAL512(id, call) AVX512 FUNCTION(real, id, __m512i, r512, call)
#define EMULATED256(id, call) FUNCTION(emulated, id, e_m256i, e256, call)
#define EMULATED512(id, call) FUNCTION(emulated, id, e_m512i, e512, call)

/*
 * Without optimisation gcc's intrinsics are macros, one of which converts a
 * mask of 0xFFFF to a signed type in this file.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
LIST256(REAL256, REAL)
LIST256(EMULATED256, EMULATED)
LIST256VL(REAL256VL, REAL)
LIST256VL(EMULATED256, EMULATED)
LIST512(REAL512, REAL)
LIST512(EMULATED512, EMULATED)
#pragma GCC diagnostic pop

/* Instructions whose result is a number. */
AVX2 static void real_testc_si256(const input *in, outcome *out)
{
    __m256i a = _mm256_loadu_si256((const void *)&in->a);
    __m256i b = _mm256_loadu_si256((const void *)&in->b);
    out->q[0] = (uint64_t)_mm256_testc_si256(a, b);
    out->q[1] = (uint64_t)_mm256_testc_si256(_mm256_or_si256(a, b), b);
}

static void emulated_testc_si256(const input *in, outcome *out)
{
    e_m256i a = e_mm256_loadu_si256(&in->a), b = e_mm256_loadu_si256(&in->b);
    out->q[0] = (uint64_t)e_mm256_testc_si256(a, b);
    out->q[1] = (uint64_t)e_mm256_testc_si256(e_mm256_or_si256(a, b), b);
}

AVX512 static void real_cmpneq_mask(const input *in, outcome *out)
{
    __m512i a = _mm512_loadu_si512(&in->a), b = _mm512_loadu_si512(&in->b);
    __mmask8 k = _mm512_cmpneq_epi64_mask(_mm512_maskz_mov_epi64(in->k, a),
                                          _mm512_maskz_mov_epi64(in->k, b));
    out->q[0] = k;
    out->q[1] = _kortestz_mask8_u8(k, k);
    out->q[2] = _kortestz_mask8_u8(k, in->k);
}

static void emulated_cmpneq_mask(const input *in, outcome *out)
{
    e_m512i a = in->a, b = in->b;

    for (int i = 0; i < 8; i++)
        if (!(in->k >> i & 1))
            a.q[i] = b.q[i] = 0;
    e_mmask8 k = e_mm512_cmpneq_epi64_mask(a, b);
    out->q[0] = k;
    out->q[1] = e_kortestz_mask8_u8(k, k);
    out->q[2] = e_kortestz_mask8_u8(k, in->k);
}

#define ROW(id, call) {#id, real_##id, emulated_##id},
static const row rows_avx2[] = {LIST256(ROW, EMULATED) ROW(testc_si256, )};
static const row rows_avx512[] = {
    LIST256VL(ROW, EMULATED) LIST512(ROW, EMULATED) ROW(cmpneq_mask, )};

/*
 * Returns random elements, often small, so that counts are in range and beyond.
 */
static e_m512i some512(um_rng *rng)
{
    e_m512i v;
    uint64_t keep = um_random_below(rng, 2) ? UINT64_MAX : 0x3F0000003F;

    for (int i = 0; i < 8; i++)
        v.q[i] = um_random(rng) & (um_random_below(rng, 3) ? keep : UINT64_MAX);
    return v;
}

static void check_rows(const row *rows, size_t n)
{
    um_rng rng = {1};

    for (int round = 0; round < ROUNDS; round++) {
        input in = {.a = some512(&rng),
                    .b = some512(&rng),
                    .c = some512(&rng),
                    .k = (e_mmask8)um_random(&rng),
                    .n = (int)um_random_below(&rng, 80) - 5};
        for (size_t i = 0; i < n; i++) {
            outcome real = {{0}}, emulated = {{0}};
            rows[i].real(&in, &real);
            rows[i].emulated(&in, &emulated);
            if (memcmp(&real, &emulated, sizeof real) != 0)
                fail_msg("%s is not what the processor does", rows[i].name);
        }
    }
}

static void avx2_is_as_the_processor_does_it(void **state)
{
    (void)state;
    if (!__builtin_cpu_supports("avx2"))
        skip();
    check_rows(rows_avx2, TEST_COUNT(rows_avx2));
}

static void avx512_is_as_the_processor_does_it(void **state)
{
    (void)state;
    if (!__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl"))
        skip();
    check_rows(rows_avx512, TEST_COUNT(rows_avx512));
}

TEST_GROUP(emulate_x86)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(avx2_is_as_the_processor_does_it),
        cmocka_unit_test(avx512_is_as_the_processor_does_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
TEST_GROUP(emulate_x86)
{
    print_message("no x86: nothing to compare with\n");
    return 0;
}
#endif
