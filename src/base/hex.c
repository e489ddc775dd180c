/*
 * hex.c - bytes as hexadecimal digits, and digests as text.
 */
#include "base/hex.h"

#include "base/bits.h"

#include <stdio.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static const char digits_of_16[] = "0123456789abcdef";

/* The value of each digit plus one; 0: not a digit. */
#define LETTER(lower, upper, value) [lower] = (value), [upper] = (value)
const uint8_t um_hex_values[256] = {['0'] = 1,
                                    ['1'] = 2,
                                    ['2'] = 3,
                                    ['3'] = 4,
                                    ['4'] = 5,
                                    ['5'] = 6,
                                    ['6'] = 7,
                                    ['7'] = 8,
                                    ['8'] = 9,
                                    ['9'] = 10,
                                    LETTER('a', 'A', 11),
                                    LETTER('b', 'B', 12),
                                    LETTER('c', 'C', 13),
                                    LETTER('d', 'D', 14),
                                    LETTER('e', 'E', 15),
                                    LETTER('f', 'F', 16)};

#define EACH_BYTE(x) ((x)*UINT64_C(0x0101010101010101))

/* Returns 0x80 in every byte of x that is a hexadecimal digit, 0 in others. */
static inline uint64_t find_digits(uint64_t x)
{
    uint64_t low = x & EACH_BYTE(0x7F), letter = low | EACH_BYTE(0x20);
    uint64_t digits =
        (low + EACH_BYTE(0x80 - '0')) & ~(low + EACH_BYTE(0x80 - '9' - 1));
    uint64_t letters = (letter + EACH_BYTE(0x80 - 'a')) &
                       ~(letter + EACH_BYTE(0x80 - 'f' - 1));

    return (digits | letters) & ~x & EACH_BYTE(0x80);
}

/* Joins eight digits into four bytes, the low ones of the result. */
static inline uint64_t join_digits(uint64_t x)
{
    x = (x & EACH_BYTE(0x0F)) + (x >> 6 & EACH_BYTE(0x01)) * 9;
    x = (x << 4 | x >> 8) & UINT64_C(0x00FF00FF00FF00FF);
    x = (x | x >> 8) & UINT64_C(0x0000FFFF0000FFFF);
    return x | x >> 16;
}

#ifdef __SSE2__
/* Returns a mask of the bytes of x that are at most those of most. */
static inline __m128i up_to(__m128i x, __m128i most)
{
    return _mm_cmpeq_epi8(_mm_min_epu8(x, most), x);
}

/* Joins sixteen digits into eight bytes. Returns false if one is not a
 * digit. */
static inline bool join_sixteen(const uint8_t *digits, uint8_t *out)
{
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)digits);
    __m128i digit = _mm_sub_epi8(x, _mm_set1_epi8('0'));
    __m128i letter =
        _mm_sub_epi8(_mm_or_si128(x, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
    __m128i is_digit = up_to(digit, _mm_set1_epi8(9));
    __m128i is_letter = up_to(letter, _mm_set1_epi8(5));
    __m128i ten_up = _mm_add_epi8(letter, _mm_set1_epi8(10));
    __m128i value = _mm_or_si128(_mm_and_si128(is_digit, digit),
                                 _mm_and_si128(is_letter, ten_up));
    __m128i high = _mm_slli_epi16(value, 4), low = _mm_srli_epi16(value, 8);
    __m128i bytes =
        _mm_and_si128(_mm_or_si128(high, low), _mm_set1_epi16(0xFF));

    _mm_storel_epi64((__m128i *)(void *)out, _mm_packus_epi16(bytes, bytes));
    return _mm_movemask_epi8(_mm_or_si128(is_digit, is_letter)) == 0xFFFF;
}
#endif

/* Decodes many digits at a time without a branch, and checks at the end. */
bool um_hex_decode(const void *text, size_t len, uint8_t *out)
{
    const uint8_t *digits = text;
    uint64_t all = EACH_BYTE(0x80);
    size_t i = 0;

#ifdef __SSE2__
    for (; i + 16 <= len; i += 16)
        all &= (uint64_t)0 - join_sixteen(digits + i, out + i / 2);
#endif
    for (; i + 8 <= len; i += 8) {
        uint64_t x = um_load64(digits + i), bytes = um_le64(join_digits(x));
        all &= find_digits(x);
        memcpy(out + i / 2, &bytes, 4);
    }
    for (; i + 2 <= len; i += 2) {
        int high = um_hex_value(digits[i]), low = um_hex_value(digits[i + 1]);
        out[i / 2] = (uint8_t)((unsigned)high << 4 | ((unsigned)low & 15));
        all = high >= 0 && low >= 0 ? all : 0;
    }
    return all == EACH_BYTE(0x80) && len % 2 == 0;
}

void um_why_not_hex(const void *text, size_t len, char out[UM_WHY_LEN])
{
    const uint8_t *digits = text;
    size_t n = 0;

    while (n < len && um_hex_value(digits[n]) >= 0)
        n++;
    if (n == len)
        snprintf(out, UM_WHY_LEN, "an odd number of hexadecimal digits");
    else
        snprintf(out, UM_WHY_LEN,
                 "not hexadecimal from character %zu on: \"%.*s\"", n + 1,
                 (int)(len - n < 16 ? len - n : 16), (const char *)digits + n);
}

bool um_hex_read(const char *text, uint8_t *out, size_t len)
{
    for (size_t i = 0; i < 2 * len; i++) {
        int value = um_hex_value((uint8_t)text[i]);
        if (value < 0 || (text[i] >= 'A' && text[i] <= 'F'))
            return false;
        out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] << 4 | value : value);
    }
    return true;
}

bool um_hex_number(const char text[16], uint64_t *out)
{
    uint8_t bytes[8] = {0};
    uint64_t number = 0;

    if (!um_hex_decode(text, 16, bytes))
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        number = number << 8 | bytes[i];
    *out = number;
    return true;
}

size_t um_hex_write(const void *bytes, size_t len, char *out)
{
    const uint8_t *from = bytes;

    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits_of_16[from[i] >> 4];
        out[2 * i + 1] = digits_of_16[from[i] & 15];
    }
    out[2 * len] = '\0';
    return 2 * len;
}

void um_digest_text(const uint8_t digest[UM_DIGEST_LEN],
                    char out[UM_DIGEST_HEX])
{
    um_hex_write(digest, UM_DIGEST_LEN, out);
}

bool um_digest_read(const char *word, uint8_t out[UM_DIGEST_LEN])
{
    return strlen(word) == UM_DIGEST_HEX - 1 &&
           um_hex_read(word, out, UM_DIGEST_LEN);
}
