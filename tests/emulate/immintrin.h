/*
 * immintrin.h - included in place of the compiler's own, it makes a file that
 * uses intrinsics use the emulation.
 *
 * A file that uses an intrinsic missing here does not compile: add it to
 * vectors.h, and a test to tests/unit/kinds/emulate.c.
 */
#ifndef UM_EMULATE_IMMINTRIN_H
#define UM_EMULATE_IMMINTRIN_H

#include "vectors.h"

/* The emulated processor has all features, or is not available at all. */
static inline bool e_use_avx512(void)
{
    return E_AS_ON_X86;
}
#define um_use_avx512 e_use_avx512

#define __m128i e_m128i
#define __m256i e_m256i
#define __m512i e_m512i
#define __mmask8 e_mmask8
#define __mmask16 e_mmask16

#define _mm_cvtsi32_si128 e_mm_cvtsi32_si128
#define _mm_storeu_si128 e_mm_storeu_si128

#define _mm256_loadu_si256 e_mm256_loadu_si256
#define _mm256_maskz_rolv_epi32 e_mm256_maskz_rolv_epi32
#define _mm256_or_si256 e_mm256_or_si256
#define _mm256_set1_epi32 e_mm256_set1_epi32
#define _mm256_set1_epi64x e_mm256_set1_epi64x
#define _mm256_setr_epi32 e_mm256_setr_epi32
#define _mm256_srlv_epi32 e_mm256_srlv_epi32
#define _mm256_storeu_si256 e_mm256_storeu_si256
#define _mm256_testc_si256 e_mm256_testc_si256

#define _kortestz_mask8_u8 e_kortestz_mask8_u8
#define _mm512_add_epi32 e_mm512_add_epi32
#define _mm512_add_epi64 e_mm512_add_epi64
#define _mm512_and_si512 e_mm512_and_si512
#define _mm512_cmplt_epu32_mask e_mm512_cmplt_epu32_mask
#define _mm512_cmpneq_epi64_mask e_mm512_cmpneq_epi64_mask
#define _mm512_cvtepi32_epi8 e_mm512_cvtepi32_epi8
#define _mm512_cvtepu16_epi32 e_mm512_cvtepu16_epi32
#define _mm512_i32gather_epi32 e_mm512_i32gather_epi32
#define _mm512_loadu_si512 e_mm512_loadu_si512
#define _mm512_mask_and_epi32 e_mm512_mask_and_epi32
#define _mm512_mask_or_epi32 e_mm512_mask_or_epi32
#define _mm512_maskz_expand_epi32 e_mm512_maskz_expand_epi32
#define _mm512_maskz_rolv_epi64 e_mm512_maskz_rolv_epi64
#define _mm512_max_epu32 e_mm512_max_epu32
#define _mm512_mul_epu32 e_mm512_mul_epu32
#define _mm512_mullo_epi32 e_mm512_mullo_epi32
#define _mm512_mullo_epi64 e_mm512_mullo_epi64
#define _mm512_or_si512 e_mm512_or_si512
#define _mm512_permutex2var_epi64 e_mm512_permutex2var_epi64
#define _mm512_rol_epi64 e_mm512_rol_epi64
#define _mm512_rolv_epi64 e_mm512_rolv_epi64
#define _mm512_set1_epi32 e_mm512_set1_epi32
#define _mm512_set1_epi64 e_mm512_set1_epi64
#define _mm512_setr_epi64 e_mm512_setr_epi64
#define _mm512_sll_epi64 e_mm512_sll_epi64
#define _mm512_sllv_epi32 e_mm512_sllv_epi32
#define _mm512_sllv_epi64 e_mm512_sllv_epi64
#define _mm512_slli_epi32 e_mm512_slli_epi32
#define _mm512_srli_epi32 e_mm512_srli_epi32
#define _mm512_srli_epi64 e_mm512_srli_epi64
#define _mm512_srlv_epi64 e_mm512_srlv_epi64
#define _mm512_store_si512 e_mm512_store_si512
#define _mm512_storeu_si512 e_mm512_storeu_si512
#define _mm512_sub_epi32 e_mm512_sub_epi32
#define _mm512_ternarylogic_epi64 e_mm512_ternarylogic_epi64
#define _mm512_testn_epi32_mask e_mm512_testn_epi32_mask
#define _mm512_xor_si512 e_mm512_xor_si512

#endif
