/*
 * signature.c - arithmetic modulo 2^160 + 7 in 32-bit words.
 */
#include "papers/spam/signatures/signature.h"

#include "base/bits.h"

#include <sha1.h>
#include <string.h>

enum { WORDS = SIGNATURE_WORDS, ABOVE = 7 }; /* p = 2^160 + ABOVE */

um_wide um_signature_of(uint64_t message)
{
    uint64_t bytes = um_le64(message);
    uint8_t sum[SHA1_DIGEST_LENGTH];
    um_wide x = {{0}};
    SHA1_CTX ctx;

    SHA1Init(&ctx);
    SHA1Update(&ctx, (const uint8_t *)&bytes, sizeof bytes);
    SHA1Final(sum, &ctx);
    for (size_t i = 0; i < SHA1_DIGEST_LENGTH; i++)
        x.word[WORDS - 1 - i / 4] |= (uint32_t)sum[i] << (24 - 8 * (i % 4));
    return x;
}

static int compare(const um_wide *a, const um_wide *b)
{
    for (size_t i = WORDS + 1; i-- > 0;)
        if (a->word[i] != b->word[i])
            return a->word[i] > b->word[i] ? 1 : -1;
    return 0;
}

static const um_wide prime = {{ABOVE, 0, 0, 0, 0, 1}};

/* Computes a - b, which must not be negative. */
static void subtract(um_wide *a, const um_wide *b)
{
    uint64_t borrow = 0;

    for (size_t i = 0; i <= WORDS; i++) {
        uint64_t d = (uint64_t)a->word[i] - b->word[i] - borrow;
        a->word[i] = (uint32_t)d;
        borrow = d >> 63;
    }
}

um_wide um_wide_draw(um_rng *rng, bool positive)
{
    um_wide x, zero = {{0}};

    do {
        for (size_t i = 0; i < WORDS; i++)
            x.word[i] = (uint32_t)um_random(rng);
        x.word[WORDS] = (uint32_t)um_random(rng) & 1;
    } while (compare(&x, &prime) >= 0 || (positive && !compare(&x, &zero)));
    return x;
}

/* Computes c x + d, in 11 words. */
static void multiply(const um_wide *c, const um_wide *x, const um_wide *d,
                     uint32_t out[2 * WORDS + 2])
{
    memset(out, 0, (2 * WORDS + 2) * sizeof *out);
    memcpy(out, d->word, sizeof d->word);
    for (size_t i = 0; i <= WORDS; i++) {
        uint64_t carry = 0;
        for (size_t j = 0; j <= WORDS; j++) {
            carry += (uint64_t)c->word[i] * x->word[j] + out[i + j];
            out[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        for (size_t j = i + WORDS + 1; carry && j < 2 * WORDS + 2; j++) {
            carry += out[j];
            out[j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
}

/*
 * Reduces modulo p. 2^160 is -7, so high 2^160 + low = low - 7 high. 7 high is
 * below 2^165, so it is folded once more: 7 high = e 2^160 + f = f - 7 e, e
 * below 2^5.
 */
static um_wide reduce(const uint32_t in[2 * WORDS + 2])
{
    um_wide low = {{0}}, seven = {{0}};
    uint64_t carry = 0;

    memcpy(low.word, in, WORDS * sizeof *in);
    for (size_t i = 0; i < WORDS; i++) {
        carry += (uint64_t)ABOVE * in[WORDS + i];
        seven.word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    /* The words above those are not 0 if both factors have the bit 2^160. */
    carry += (uint64_t)ABOVE * in[2 * (size_t)WORDS];
    um_wide more = {{(uint32_t)(ABOVE * carry)}};
    /* Computes low - seven + more, and adds p until nothing is borrowed. */
    carry = more.word[0];
    for (size_t i = 0; i <= WORDS; i++) {
        carry += (uint64_t)low.word[i] + prime.word[i];
        low.word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    subtract(&low, &seven);
    while (compare(&low, &prime) >= 0)
        subtract(&low, &prime);
    return low;
}

um_wide um_wide_linear(const um_wide *c, const um_wide *x, const um_wide *d)
{
    uint32_t product[2 * WORDS + 2];

    multiply(c, x, d, product);
    return reduce(product);
}

uint64_t um_wide_mod(const um_wide *x, uint64_t m)
{
    um_u128 rest = 0;

    for (size_t i = WORDS + 1; i-- > 0;)
        rest = (rest << 32 | x->word[i]) % m;
    return (uint64_t)rest;
}

uint64_t um_wide_chunk(const um_wide *x, uint32_t i, uint32_t k)
{
    uint32_t bits = SIGNATURE_BITS / k;
    uint64_t chunk = 0;

    for (uint32_t j = 0; j < bits; j++) {
        uint32_t at = SIGNATURE_BITS - 1 - (i * bits + j);
        chunk = chunk << 1 | (x->word[at / 32] >> at % 32 & 1);
    }
    return chunk;
}
