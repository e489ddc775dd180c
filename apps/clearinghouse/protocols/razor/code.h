/*
 * razor_code.h - signatures and answers to challenges, as Razor2 writes them.
 *
 * Razor's base64 is a dialect: the bits of each hexadecimal digit come low bit
 * first, six make a character of A-Z a-z 0-9 - _, and zeros fill the last one.
 * A SHA-1 has 28 characters.
 */
#ifndef UM_CLEARINGHOUSE_RAZOR_CODE_H
#define UM_CLEARINGHOUSE_RAZOR_CODE_H

#include <umbel/base.h>

enum {
    UM_RAZOR_DIGEST = 20,      /* bytes of a SHA-1 */
    UM_RAZOR_DIGEST_TEXT = 28, /* characters of it */
    UM_RAZOR_PASSWORD = 64     /* bytes, at most: a block of the MAC */
};

void um_razor_encode(const uint8_t digest[UM_RAZOR_DIGEST],
                     char out[UM_RAZOR_DIGEST_TEXT + 1]);
/* Returns false for a text that is not the code of a SHA-1. */
bool um_razor_decode(umbel_slice text, uint8_t out[UM_RAZOR_DIGEST]);

/*
 * Writes what a client with that password answers to a challenge: an HMAC of
 * SHA-1 whose pads are exchanged, and whose inner hash is hexadecimal text.
 */
void um_razor_mac(umbel_slice password, umbel_slice challenge,
                  char out[UM_RAZOR_DIGEST_TEXT + 1]);

#endif
