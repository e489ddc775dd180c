/*
 * digest_text.c - signatures as text.
 */
#include "clearinghouse/runtime/digest_text.h"

#include "base/error.h"
#include "base/hex.h"
#include "clearinghouse/protocols/razor/code.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHINGLE_LEN = 18 }; /* "3:" and 16 digits */

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
