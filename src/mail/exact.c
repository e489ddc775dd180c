/*
 * exact.c - SHA-1 of a text without its white space.
 *
 * Mail software breaks lines anew, so white space is all that differs between
 * copies of one mail that nobody changed.
 */
#include "mail/exact.h"

#include "mail/chars.h"

#include <sha1.h>

static size_t digest_part(umbel_slice part, SHA1_CTX *to)
{
    const uint8_t *s = part.data;
    size_t chars = 0, begin = 0, at = 0;

    while (at < part.len) {
        um_char c = um_char_at(s + at, part.len - at);
        bool space = um_char_is_space(c.code);
        if (space) {
            SHA1Update(to, s + begin, at - begin);
            begin = at + c.len;
        }
        chars += !space;
        at += c.len;
    }
    if (part.len)
        SHA1Update(to, s + begin, part.len - begin);
    return chars;
}

size_t um_exact_digest(const umbel_slice *parts, size_t n,
                       uint8_t out[UM_SIGNATURE_LEN])
{
    SHA1_CTX ctx;
    size_t chars = 0;

    SHA1Init(&ctx);
    for (size_t i = 0; i < n; i++)
        chars += digest_part(parts[i], &ctx);
    SHA1Final(out, &ctx);
    return chars;
}
