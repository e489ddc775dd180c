/*
 * razor_code.c - Razor's base64 and its MAC.
 */
#include "clearinghouse/protocols/razor/code.h"

#include "clearinghouse/runtime/digest_text.h"

#include <sha1.h>
#include <string.h>

_Static_assert((int)UM_RAZOR_DIGEST == (int)UM_DIGEST_BYTES, "a SHA-1");

/* --- base64 --------------------------------------------------------------- */

static uint8_t reversed_nibbles(uint8_t x)
{
    x = (uint8_t)((x & 0x55) << 1 | (x >> 1 & 0x55));
    return (uint8_t)((x & 0x33) << 2 | (x >> 2 & 0x33));
}

void um_razor_encode(const uint8_t digest[UM_RAZOR_DIGEST],
                     char out[UM_RAZOR_DIGEST_TEXT + 1])
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "abcdefghijklmnopqrstuvwxyz0123456789-_";

    for (unsigned i = 0; i < UM_RAZOR_DIGEST_TEXT; i += 4) {
        uint32_t bits = 0;
        for (unsigned j = 0, at = i / 4 * 3; j < 3; j++, at++)
            bits = bits << 8 |
                   (at < UM_RAZOR_DIGEST ? reversed_nibbles(digest[at]) : 0);
        for (unsigned j = 0; j < 4; j++)
            out[i + j] = alphabet[bits >> (18 - 6 * j) & 63];
    }
    out[UM_RAZOR_DIGEST_TEXT] = '\0';
}

/* Returns the six bits of a character; 64: it is not in the alphabet. */
static uint32_t bits_of(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26u;
    if (c >= '0' && c <= '9')
        return c - '0' + 52u;
    return c == '-' ? 62 : c == '_' ? 63 : 64;
}

bool um_razor_decode(umbel_slice text, uint8_t out[UM_RAZOR_DIGEST])
{
    const uint8_t *at = text.data;
    uint32_t bad = 0;

    if (text.len != UM_RAZOR_DIGEST_TEXT)
        return false;
    for (unsigned i = 0; i < UM_RAZOR_DIGEST_TEXT; i += 4) {
        uint32_t bits = 0;
        for (unsigned j = 0; j < 4; j++) {
            uint32_t x = bits_of(at[i + j]);
            bad |= x & 64;
            bits = bits << 6 | (x & 63);
        }
        for (unsigned j = 0, to = i / 4 * 3; j < 3; j++, to++) {
            uint8_t byte = reversed_nibbles((uint8_t)(bits >> (16 - 8 * j)));
            if (to < UM_RAZOR_DIGEST)
                out[to] = byte;
            else
                bad |= byte;
        }
    }
    return !bad;
}

/* --- the MAC -------------------------------------------------------------- */

static void hash_padded(umbel_slice password, uint8_t pad, umbel_slice text,
                        uint8_t out[UM_RAZOR_DIGEST])
{
    uint8_t block[UM_RAZOR_PASSWORD];
    const uint8_t *key = password.data;
    SHA1_CTX ctx;

    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (uint8_t)(pad ^ (i < password.len ? key[i] : 0));
    SHA1Init(&ctx);
    SHA1Update(&ctx, block, sizeof block);
    SHA1Update(&ctx, text.data, text.len);
    SHA1Final(out, &ctx);
}

void um_razor_mac(umbel_slice password, umbel_slice challenge,
                  char out[UM_RAZOR_DIGEST_TEXT + 1])
{
    uint8_t digest[UM_RAZOR_DIGEST];
    char inner[UM_DIGEST_TEXT];

    hash_padded(password, 0x5c, challenge, digest);
    hash_padded(password, 0x36, um_signature_print(digest, inner), digest);
    um_razor_encode(digest, out);
}
