/*
 * pyzor_sign.h - signatures of requests by accounts.
 *
 *   K    the account's key, hashed: hex SHA-1 of "user:" and the key in lower
 *        case
 *   M    the request without Sig, outer white space trimmed
 *   Sig  hex SHA-1 of SHA-1(M) (20 bytes) and ":TIME:K"
 */
#ifndef UM_CLEARINGHOUSE_PYZOR_SIGN_H
#define UM_CLEARINGHOUSE_PYZOR_SIGN_H

#include "clearinghouse/protocols/pyzor/request.h"

enum { UM_SHA1_HEX = 40 };

/* Writes K, in hexadecimal and terminated. */
void um_pyzor_hash_key(umbel_slice user, umbel_slice key,
                       char out[UM_SHA1_HEX + 1]);

/* Writes the signature that the request should have. The text must not be
 * longer than UM_PYZOR_MAX. */
void um_pyzor_sign(umbel_slice text, uint64_t time,
                   const char hashed_key[UM_SHA1_HEX + 1],
                   char out[UM_SHA1_HEX + 1]);

/* Parses the value of Time: digits only. */
bool um_pyzor_time(umbel_slice value, uint64_t *out);

#endif
