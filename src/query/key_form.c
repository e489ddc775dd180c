/*
 * key_form.c - from a key as people write it to the key that a filter stores.
 */
#include "query/query.h"

#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"

#include <umbel/describe.h>

static umbel_status decode_hex(umbel_slice key, void *space, umbel_slice *out,
                               umbel_error *err)
{
    char why[UM_WHY_LEN];

    if (!um_hex_decode(key.data, key.len, space)) {
        um_why_not_hex(key.data, key.len, why);
        return um_fail(err, UMBEL_E_KEY, "\"%.*s\": %s",
                       key.len < 40 ? (int)key.len : 40, (const char *)key.data,
                       why);
    }
    *out = (umbel_slice){space, key.len / 2};
    return UMBEL_OK;
}

umbel_status um_form_key(umbel_key_form form, umbel_slice key, void *space,
                         umbel_slice *out, umbel_error *err)
{
    switch (form) {
    case UMBEL_KEYS_HEX:
        return decode_hex(key, space, out, err);
    case UMBEL_KEYS_FOLDED_TEXT:
        um_fold_case(key.data, key.len, space);
        *out = (umbel_slice){space, key.len};
        return UMBEL_OK;
    case UMBEL_KEYS_TEXT:
    case UMBEL_KEYS_UNRECORDED:
    case UMBEL_KEYS_INTEGER: /* its hash reads the digits */
        break;
    }
    *out = key;
    return UMBEL_OK;
}

umbel_status umbel_form_key(const umbel_filter *f, const void *key, size_t len,
                            void *space, umbel_slice *out, umbel_error *err)
{
    return um_form_key(umbel_key_form_of(f), (umbel_slice){key, len}, space,
                       out, err);
}
