/*
 * near_tags.h - which slots of a line have a tag.
 *
 * The plain way is the definition. Every x86-64 has SSE2, so the other one
 * needs no choice while it runs; tests hold it against the plain one.
 */
#ifndef UM_KINDS_NEAR_TAGS_H
#define UM_KINDS_NEAR_TAGS_H

#include "base/bits.h"

#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { UM_NEAR_WORDS = 3 }; /* of tags, in a line */

/* A bit for each byte of a word that is 0. */
static inline uint32_t um_zero_bytes(uint64_t x)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t tops = ~(((x & low) + low) | x | low);

    return (uint32_t)((tops >> 7) * UINT64_C(0x0102040810204080) >> 56);
}

/* A bit for each of the first 24 bytes of a line that is the tag, which tags
 * has in every byte. */
static inline uint32_t um_near_tags_plain(const uint8_t *line, uint64_t tags)
{
    uint32_t found = 0;

    for (unsigned word = 0; word < UM_NEAR_WORDS; word++)
        found |= um_zero_bytes(um_load64(line + 8 * (size_t)word) ^ tags)
                 << 8 * word;
    return found;
}

#ifdef __SSE2__
static inline uint32_t um_near_tags(const uint8_t *line, uint64_t tags)
{
    __m128i tag = _mm_set1_epi8((char)tags);
    __m128i low = _mm_loadu_si128((const __m128i *)(const void *)line);
    __m128i high = _mm_loadl_epi64((const __m128i *)(const void *)(line + 16));
    uint32_t first = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(low, tag));
    uint32_t rest = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(high, tag));

    return first | (rest & 0xff) << 16;
}
#else
static inline uint32_t um_near_tags(const uint8_t *line, uint64_t tags)
{
    return um_near_tags_plain(line, tags);
}
#endif

#endif
