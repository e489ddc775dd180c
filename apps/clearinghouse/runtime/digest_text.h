/*
 * digest_text.h - signatures as text, the form that people type and that the
 * store hashes.
 *
 * A SHA-1 (exact, pyzor) is 40 hexadecimal digits, as Pyzor clients send it. A
 * super-shingle is its position and 16 digits: "3:00c4f01a9be2d517". Every list
 * counts these texts (Razor's signatures, which are a SHA-1, too), so whatever
 * `why` prints can be looked up, forgotten and welcomed unchanged. A mail of
 * rspamd's fuzzy storage has its own digest of 128 digits, as rspamd prints and
 * rspamc accepts it.
 */
#ifndef UM_CLEARINGHOUSE_DIGEST_TEXT_H
#define UM_CLEARINGHOUSE_DIGEST_TEXT_H

#include <umbel/base.h>

enum {
    UM_DIGEST_BYTES = 20,
    UM_FUZZY_BYTES = 64,
    UM_DIGEST_TEXT = 2 * UM_FUZZY_BYTES + 1, /* bytes of any, with the NUL */
    UM_RAZOR_TEXT = 28 /* characters of a SHA-1 in Razor's code */
};

/* Returns true for the SHA-1 of the empty text, which is never counted: all
 * mails without text share it. */
bool um_digest_is_empty_text(umbel_slice digest);

/* Writes a digest as text. Returns out without its NUL, as a key. */
umbel_slice um_signature_print(const uint8_t digest[UM_DIGEST_BYTES],
                               char out[UM_DIGEST_TEXT]);
umbel_slice um_fuzzy_print_name(const uint8_t digest[UM_FUZZY_BYTES],
                                char out[UM_DIGEST_TEXT]);
umbel_slice um_shingle_print(unsigned position, uint64_t shingle,
                             char out[UM_DIGEST_TEXT]);

/*
 * Encodes a SHA-1 in Razor's dialect of base64: the bits of each hexadecimal
 * digit come low bit first, six make a character of A-Z a-z 0-9 - _, and zeros
 * fill the last one.
 */
void um_razor_encode(const uint8_t digest[UM_DIGEST_BYTES],
                     char out[UM_RAZOR_TEXT + 1]);
/* Decodes it; false if the text is not a SHA-1 in this code. */
bool um_razor_decode(umbel_slice text, uint8_t out[UM_DIGEST_BYTES]);

/* Copies a digest that somebody typed, in lower case, and converts Razor's code
 * to hexadecimal. Returns E_RANGE if it is not a digest. */
umbel_status um_signature_read(umbel_slice typed, char out[UM_DIGEST_TEXT],
                               umbel_error *err);

#endif
