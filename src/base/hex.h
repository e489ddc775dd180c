/*
 * hex.h - bytes as hexadecimal digits, and digests as text.
 */
#ifndef UM_BASE_HEX_H
#define UM_BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of a BLAKE2b-256 digest or an Ed25519 public key, and of its text. */
enum { UM_DIGEST_LEN = 32, UM_DIGEST_HEX = 2 * UM_DIGEST_LEN + 1 };

extern const uint8_t um_hex_values[256];

/* Returns the value of a digit, in upper or lower case; -1: not a digit. */
static inline int um_hex_value(uint8_t digit)
{
    return um_hex_values[digit] - 1;
}

/*
 * Decodes len digits, in upper or lower case, to len / 2 bytes. Returns false
 * if len is odd or a byte is not a digit.
 */
bool um_hex_decode(const void *text, size_t len, uint8_t *out);

/* Formats the reason why um_hex_decode refuses a text, and where. */
enum { UM_WHY_LEN = 80 };
void um_why_not_hex(const void *text, size_t len, char out[UM_WHY_LEN]);

/*
 * Reads len bytes from 2 len digits, in lower case only. Returns false at the
 * first byte that is not a digit, so a text that ends early is not overrun.
 */
bool um_hex_read(const char *text, uint8_t *out, size_t len);

/* Parses a number of sixteen digits, in upper or lower case; false if
 * invalid. */
bool um_hex_number(const char text[16], uint64_t *out);

/* Writes 2 len digits in lower case, and a NUL; returns 2 len. */
size_t um_hex_write(const void *bytes, size_t len, char *out);

/* Writes a digest, or a public key, in hexadecimal. */
void um_digest_text(const uint8_t digest[UM_DIGEST_LEN],
                    char out[UM_DIGEST_HEX]);
/* Parses a digest; returns false unless word is exactly one digest. */
bool um_digest_read(const char *word, uint8_t out[UM_DIGEST_LEN]);

#endif
