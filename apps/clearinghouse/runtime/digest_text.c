/*
 * digest_text.c - signatures as text.
 */
#include "clearinghouse/runtime/digest_text.h"

#include "base/error.h"
#include "base/hex.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHINGLE_LEN = 18 }; /* "3:" and 16 digits */

bool um_digest_is_empty_text(umbel_slice digest)
{
    static const char empty[] = "da39a3ee5e6b4b0d3255bfef95601890afd80709";

    return digest.len == sizeof empty - 1 &&
           memcmp(digest.data, empty, sizeof empty - 1) == 0;
}

umbel_slice um_signature_print(const uint8_t digest[UM_DIGEST_BYTES],
                               char out[UM_DIGEST_TEXT])
{
    return (umbel_slice){out, um_hex_write(digest, UM_DIGEST_BYTES, out)};
}

umbel_slice um_fuzzy_print_name(const uint8_t digest[UM_FUZZY_BYTES],
                                char out[UM_DIGEST_TEXT])
{
    return (umbel_slice){out, um_hex_write(digest, UM_FUZZY_BYTES, out)};
}

umbel_slice um_shingle_print(unsigned position, uint64_t shingle,
                             char out[UM_DIGEST_TEXT])
{
    int len =
        snprintf(out, UM_DIGEST_TEXT, "%u:%016" PRIx64, position % 10, shingle);

    return (umbel_slice){out, (size_t)len};
}

/* --- Razor's code --------------------------------------------------------- */

static uint8_t reversed_nibbles(uint8_t x)
{
    x = (uint8_t)((x & 0x55) << 1 | (x >> 1 & 0x55));
    return (uint8_t)((x & 0x33) << 2 | (x >> 2 & 0x33));
}

void um_razor_encode(const uint8_t digest[UM_DIGEST_BYTES],
                     char out[UM_RAZOR_TEXT + 1])
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "abcdefghijklmnopqrstuvwxyz0123456789-_";

    for (unsigned i = 0; i < UM_RAZOR_TEXT; i += 4) {
        uint32_t bits = 0;
        for (unsigned j = 0, at = i / 4 * 3; j < 3; j++, at++)
            bits = bits << 8 |
                   (at < UM_DIGEST_BYTES ? reversed_nibbles(digest[at]) : 0);
        for (unsigned j = 0; j < 4; j++)
            out[i + j] = alphabet[bits >> (18 - 6 * j) & 63];
    }
    out[UM_RAZOR_TEXT] = '\0';
}

/* Returns the six bits of a character; 64 if it is not in the alphabet. */
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

bool um_razor_decode(umbel_slice text, uint8_t out[UM_DIGEST_BYTES])
{
    const uint8_t *at = text.data;
    uint32_t bad = 0;

    if (text.len != UM_RAZOR_TEXT)
        return false;
    for (unsigned i = 0; i < UM_RAZOR_TEXT; i += 4) {
        uint32_t bits = 0;
        for (unsigned j = 0; j < 4; j++) {
            uint32_t x = bits_of(at[i + j]);
            bad |= x & 64;
            bits = bits << 6 | (x & 63);
        }
        for (unsigned j = 0, to = i / 4 * 3; j < 3; j++, to++) {
            uint8_t byte = reversed_nibbles((uint8_t)(bits >> (16 - 8 * j)));
            if (to < UM_DIGEST_BYTES)
                out[to] = byte;
            else
                bad |= byte;
        }
    }
    return !bad;
}

/* --- typed digests -------------------------------------------------------- */

static bool is_hex(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (um_hex_value((uint8_t)text[i]) < 0)
            return false;
    return true;
}

umbel_status um_signature_read(umbel_slice typed, char out[UM_DIGEST_TEXT],
                               umbel_error *err)
{
    const char *text = typed.data;
    uint8_t digest[UM_DIGEST_BYTES];
    bool hex = (typed.len == (size_t)2 * UM_DIGEST_BYTES ||
                typed.len == (size_t)2 * UM_FUZZY_BYTES) &&
               is_hex(text, typed.len);
    bool shingle = typed.len == SHINGLE_LEN && text[0] >= '0' &&
                   text[0] <= '9' && text[1] == ':' &&
                   is_hex(text + 2, SHINGLE_LEN - 2);

    if (um_razor_decode(typed, digest)) {
        um_signature_print(digest, out);
        return UMBEL_OK;
    }
    if (!hex && !shingle)
        return um_fail(err, UMBEL_E_RANGE,
                       "\"%.*s\" is no digest: copy one from the output of "
                       "umbel clearinghouse why (40 hexadecimal digits, or "
                       "16 after a position, as in 0:2e3dde90aa053ba7), or "
                       "from rspamd (128 digits)",
                       (int)(typed.len < 60 ? typed.len : 60), text);
    for (size_t i = 0; i < typed.len; i++)
        out[i] = (char)tolower((unsigned char)text[i]);
    out[typed.len] = '\0';
    return UMBEL_OK;
}
