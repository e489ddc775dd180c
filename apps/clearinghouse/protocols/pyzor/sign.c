/*
 * pyzor_sign.c - signatures of requests by accounts.
 *
 * The client signs the text that it sends, and pyzord the text that it prints
 * again from the fields it parsed. Both are the same for what clients send, so
 * only the second is computed here.
 */
#include "clearinghouse/protocols/pyzor/sign.h"

#include "base/decimal.h"
#include "base/hex.h"

#include <sha1.h>
#include <stdio.h>
#include <string.h>

void um_pyzor_hash_key(umbel_slice user, umbel_slice key,
                       char out[UM_SHA1_HEX + 1])
{
    SHA1_CTX ctx;
    uint8_t digest[SHA1_DIGEST_LENGTH];
    const char *at = key.data;

    SHA1Init(&ctx);
    SHA1Update(&ctx, user.data, user.len);
    SHA1Update(&ctx, (const uint8_t *)":", 1);
    for (size_t i = 0; i < key.len; i++) {
        bool capital = at[i] >= 'A' && at[i] <= 'Z';
        uint8_t c = (uint8_t)(capital ? at[i] - 'A' + 'a' : at[i]);
        SHA1Update(&ctx, &c, 1);
    }
    SHA1Final(digest, &ctx);
    um_hex_write(digest, SHA1_DIGEST_LENGTH, out);
}

static char *append(char *at, const void *data, size_t len)
{
    memcpy(at, data, len);
    return at + len;
}

/*
 * Writes M to out, which has room: a field of n >= 2 bytes becomes n + 1 at
 * most, and one more LF.
 */
static size_t signed_text(umbel_slice text, char out[2 * UM_PYZOR_MAX])
{
    um_pyzor_field f;
    char *at = out;

    for (um_pyzor_walk w = um_pyzor_begin(text); um_pyzor_next(&w, &f);) {
        if (um_pyzor_is_named(&f, "Sig"))
            continue;
        at = append(at, f.name.data, f.name.len);
        at = append(at, ": ", 2);
        at = append(at, f.value.data, f.value.len);
        at = append(at, "\n", 1);
    }
    while (at > out && (at[-1] == '\n' || at[-1] == ' ' || at[-1] == '\t'))
        at--;
    return (size_t)(at - out);
}

void um_pyzor_sign(umbel_slice text, uint64_t time,
                   const char hashed_key[UM_SHA1_HEX + 1],
                   char out[UM_SHA1_HEX + 1])
{
    char message[2 * UM_PYZOR_MAX], tail[2 * UM_SHA1_HEX];
    uint8_t digest[SHA1_DIGEST_LENGTH];
    SHA1_CTX ctx;

    SHA1Init(&ctx);
    SHA1Update(&ctx, (const uint8_t *)message, signed_text(text, message));
    SHA1Final(digest, &ctx);
    SHA1Init(&ctx);
    SHA1Update(&ctx, digest, sizeof digest);
    int len = snprintf(tail, sizeof tail, ":%llu:%s", (unsigned long long)time,
                       hashed_key);
    SHA1Update(&ctx, (const uint8_t *)tail, (size_t)len);
    SHA1Final(digest, &ctx);
    um_hex_write(digest, SHA1_DIGEST_LENGTH, out);
}

bool um_pyzor_time(umbel_slice value, uint64_t *out)
{
    return value.len <= 18 &&
           um_decimal_read(value.data, value.len, UINT64_MAX, out);
}
