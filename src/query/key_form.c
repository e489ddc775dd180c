/*
 * key_form.c - from a key as people write it to the key that a filter stores.
 *
 * Every form is one function. Texts come from anyone: they are bounded before
 * a library sees them.
 */
#include "query/internal.h"

#include "base/bits.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"

#include <umbel/describe.h>

#include <arpa/inet.h>
#include <idn2.h>
#include <md4.h>
#include <md5.h>
#include <sha1.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>

static umbel_status refuse(const char *why, umbel_error *err)
{
    return um_fail(err, UMBEL_E_KEY, "%s", why);
}

/* --- hexadecimal and folded text ------------------------------------------ */

static umbel_status decode_hex(umbel_slice key, void *space, umbel_slice *out,
                               umbel_error *err)
{
    char why[UM_WHY_LEN];

    if (!um_hex_decode(key.data, key.len, space)) {
        um_why_not_hex(key.data, key.len, why);
        return refuse(why, err);
    }
    *out = (umbel_slice){space, key.len / 2};
    return UMBEL_OK;
}

/* --- digests -------------------------------------------------------------- */

static void sha1(umbel_slice key, uint8_t *out)
{
    SHA1_CTX ctx;

    SHA1Init(&ctx);
    SHA1Update(&ctx, key.data, key.len);
    SHA1Final(out, &ctx);
}

static void sha256(umbel_slice key, uint8_t *out)
{
    SHA2_CTX ctx;

    SHA256Init(&ctx);
    SHA256Update(&ctx, key.data, key.len);
    SHA256Final(out, &ctx);
}

static void md5(umbel_slice key, uint8_t *out)
{
    MD5_CTX ctx;

    MD5Init(&ctx);
    MD5Update(&ctx, key.data, key.len);
    MD5Final(out, &ctx);
}

/* Decodes one character of valid UTF-8 of that many bytes. */
static uint32_t decode_utf8(const uint8_t *at, size_t len)
{
    uint32_t c = len == 1 ? at[0] : at[0] & (0x7Fu >> len);

    for (size_t i = 1; i < len; i++)
        c = c << 6 | (at[i] & 0x3Fu);
    return c;
}

/* MD4 of the text in UTF-16LE, as Windows stores passwords. */
static bool ntlm(umbel_slice key, uint8_t *out)
{
    const uint8_t *at = key.data, *end = at + key.len;
    uint8_t unit[256];
    size_t n = 0, len;
    MD4_CTX ctx;

    MD4Init(&ctx);
    for (; at < end; at += len) {
        len = um_utf8_len(at, (size_t)(end - at));
        if (!len)
            return false;
        uint32_t c = decode_utf8(at, len);
        if (c > 0xFFFF) {
            uint32_t high = 0xD7C0 + (c >> 10);
            unit[n++] = (uint8_t)high;
            unit[n++] = (uint8_t)(high >> 8);
            c = 0xDC00 | (c & 0x3FF);
        }
        unit[n++] = (uint8_t)c;
        unit[n++] = (uint8_t)(c >> 8);
        if (n > sizeof unit - 4) {
            MD4Update(&ctx, unit, n);
            n = 0;
        }
    }
    MD4Update(&ctx, unit, n);
    MD4Final(out, &ctx);
    return true;
}

size_t um_form_digest_len(umbel_key_form form)
{
    switch (form) {
    case UMBEL_KEYS_SHA1:
        return SHA1_DIGEST_LENGTH;
    case UMBEL_KEYS_SHA256:
        return SHA256_DIGEST_LENGTH;
    case UMBEL_KEYS_MD5:
    case UMBEL_KEYS_NTLM: /* MD4 */
        return MD5_DIGEST_LENGTH;
    case UMBEL_KEYS_TEXT:
    case UMBEL_KEYS_UNRECORDED:
    case UMBEL_KEYS_HEX:
    case UMBEL_KEYS_INTEGER:
    case UMBEL_KEYS_FOLDED_TEXT:
    case UMBEL_KEYS_DOMAIN:
    case UMBEL_KEYS_NETWORK:
        break;
    }
    return 0;
}

static umbel_status digest_text(umbel_key_form form, umbel_slice key,
                                uint8_t *space, umbel_slice *out,
                                umbel_error *err)
{
    if (form == UMBEL_KEYS_SHA1)
        sha1(key, space);
    else if (form == UMBEL_KEYS_SHA256)
        sha256(key, space);
    else if (form == UMBEL_KEYS_MD5)
        md5(key, space);
    else if (!ntlm(key, space))
        return refuse("not UTF-8, which NTLM digests need", err);
    *out = (umbel_slice){space, um_form_digest_len(form)};
    return UMBEL_OK;
}

static umbel_status decode_digest(umbel_key_form form, umbel_slice key,
                                  uint8_t *space, umbel_slice *out,
                                  umbel_error *err)
{
    size_t len = um_form_digest_len(form);
    char why[UM_WHY_LEN];

    if (key.len == 2 * len)
        return decode_hex(key, space, out, err);
    snprintf(why, sizeof why, "a digest (%s) has %zu hexadecimal digits",
             umbel_key_form_name(form), 2 * len);
    return refuse(why, err);
}

/* --- domains -------------------------------------------------------------- */

/* Returns true if a label has more than 63 bytes. */
static bool has_long_label(const uint8_t *name, size_t len)
{
    size_t label = 0;

    for (size_t i = 0; i < len; i++) {
        label = name[i] == '.' ? 0 : label + 1;
        if (label > 63)
            return true;
    }
    return false;
}

/*
 * Names are handled 8 bytes at a time: where their dots are is hard to predict,
 * so a branch on each byte would take longer than the look-ups.
 */
#define EACH UINT64_C(0x0101010101010101)

/* Loads 8 bytes of a name, with letters in place of those after its end. */
static inline uint64_t load_name(umbel_slice name, size_t i)
{
    const uint8_t *at = name.data;
    size_t left = name.len - i;
    uint64_t x = 0;

    if (left >= 8)
        return um_load64(at + i);
    if (name.len >= 8) /* the last 8 bytes, without those before i */
        x = um_load64(at + name.len - 8) >> 8 * (8 - left);
    else
        for (size_t j = 0; j < left; j++)
            x |= (uint64_t)at[i + j] << 8 * j;
    return x | EACH * 'a' << 8 * left;
}

/* Sets the highest bit of each byte, all of ASCII, that is low to high. */
static inline uint64_t in_range(uint64_t x, unsigned low, unsigned high)
{
    return (x + EACH * (0x80 - low)) & ~(x + EACH * (0x7F - high)) &
           EACH * 0x80;
}

/* Returns a bit for each of 8 bytes, all of ASCII, that is a dot. */
static inline uint64_t dots_of(uint64_t x)
{
    return (in_range(x, '.', '.') >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

void um_find_dots(umbel_slice name, uint64_t dots[UM_DOT_WORDS])
{
    memset(dots, 0, UM_DOT_WORDS * sizeof *dots);
    for (size_t i = 0; i < name.len; i += 8)
        dots[i / 64] |= dots_of(load_name(name, i)) << i % 64;
}

/* Converts a name of ASCII; out has space for a multiple of 8 bytes. Returns
 * what is wrong with the name, or NULL. */
static const char *convert_name(umbel_slice name, uint8_t out[UM_NAME_SPACE])
{
    uint64_t fine = EACH * 0x80, twice = 0, last_dot = 1;

    if (name.len > UM_NAME_MAX)
        return "longer than 253 bytes, the limit for a domain name";
    for (size_t i = 0; i < name.len; i += 8) {
        uint64_t x = load_name(name, i), y = x & EACH * 0x7F;
        y |= in_range(y, 'A', 'Z') >> 2;
        fine &= ~x & (in_range(y, 'a', 'z') | in_range(y, '0', '9') |
                      in_range(y, '-', '.') | in_range(y, '_', '_'));
        uint64_t dots = dots_of(y);
        twice |= dots & (dots << 1 | last_dot);
        last_dot = dots >> 7;
        um_store64(out + i, y);
    }
    if (fine != EACH * 0x80)
        return "not a domain name: it has a character other than letters, "
               "digits, - and _";
    if (!name.len || twice || out[name.len - 1] == '.')
        return "not a domain name: it has an empty label";
    if (name.len > 63 && has_long_label(out, name.len))
        return "a label of a domain name has at most 63 bytes";
    return NULL;
}

static bool is_ascii(umbel_slice s)
{
    const uint8_t *at = s.data;

    for (size_t i = 0; i < s.len; i++)
        if (at[i] >= 0x80)
            return false;
    return true;
}

/* Converts a name that is not ASCII to A-labels. */
static const char *convert_idn(umbel_slice name, uint8_t out[UM_NAME_SPACE],
                               size_t *len)
{
    char text[4 * UM_NAME_MAX + 1], *ascii = NULL;

    if (!um_slice_text(name, text, sizeof text) || strlen(text) < name.len)
        return "not a domain name: it is too long, or has a NUL";
    int code =
        idn2_to_ascii_8z(text, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
    if (code != IDN2_OK)
        return idn2_strerror(code);
    *len = strlen(ascii);
    if (*len > 1 && ascii[*len - 1] == '.') /* another dot of Unicode */
        --*len;
    const char *wrong = convert_name((umbel_slice){ascii, *len}, out);
    idn2_free(ascii);
    return wrong;
}

static umbel_status form_domain(umbel_slice key, uint8_t space[UM_NAME_SPACE],
                                umbel_slice *out, umbel_error *err)
{
    umbel_slice name = key;
    const uint8_t *at = key.data;
    const char *wrong;

    if (name.len > 1 && at[0] == '*' && at[1] == '.')
        name = (umbel_slice){at + 2, name.len - 2};
    else if (name.len > 1 && at[0] == '.')
        name = (umbel_slice){at + 1, name.len - 1};
    at = name.data;
    if (name.len > 1 && at[name.len - 1] == '.')
        name.len--;
    wrong = convert_name(name, space);
    if (wrong && !is_ascii(name))
        wrong = convert_idn(name, space, &name.len);
    if (wrong)
        return refuse(wrong, err);
    *out = (umbel_slice){space, name.len};
    return UMBEL_OK;
}

/* --- networks ------------------------------------------------------------- */

void um_mask_prefix(uint8_t *key, size_t key_len)
{
    unsigned bits = key[0];

    for (size_t i = 1; i < key_len; i++) {
        if (bits < 8)
            key[i] = (uint8_t)(key[i] & 0xFF00u >> bits);
        bits -= bits < 8 ? bits : 8;
    }
}

static umbel_status form_network(umbel_slice key, uint8_t space[UM_NETWORK_V6],
                                 umbel_slice *out, umbel_error *err)
{
    static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    static const char *const what =
        "not an IPv4 or IPv6 address or network, such as 192.0.2.0/24";
    char text[INET6_ADDRSTRLEN + 4], *slash;
    uint8_t *address = space + 1;
    size_t key_len = UM_NETWORK_V4;
    uint64_t bits = 32;

    if (!um_slice_text(key, text, sizeof text) || strlen(text) < key.len)
        return refuse(what, err);
    slash = strchr(text, '/');
    if (slash)
        *slash++ = '\0';
    if (inet_pton(AF_INET, text, address) != 1) {
        if (inet_pton(AF_INET6, text, address) != 1)
            return refuse(what, err);
        key_len = UM_NETWORK_V6;
        bits = 128;
    }
    if (slash && !um_decimal_parse(slash, bits, &bits))
        return refuse(key_len == UM_NETWORK_V4
                          ? "the prefix length of IPv4 is 0 to 32"
                          : "the prefix length of IPv6 is 0 to 128",
                      err);
    if (key_len == UM_NETWORK_V6 && bits >= 96 &&
        memcmp(address, mapped, sizeof mapped) == 0) {
        memmove(address, address + 12, 4);
        key_len = UM_NETWORK_V4;
        bits -= 96;
    }
    space[0] = (uint8_t)bits;
    um_mask_prefix(space, key_len);
    *out = (umbel_slice){space, key_len};
    return UMBEL_OK;
}

/* --- any form ------------------------------------------------------------- */

umbel_status um_form_key(umbel_key_form form, bool digests, umbel_slice key,
                         void *space, umbel_slice *out, umbel_error *err)
{
    switch (form) {
    case UMBEL_KEYS_HEX:
        return decode_hex(key, space, out, err);
    case UMBEL_KEYS_FOLDED_TEXT:
        um_fold_case(key.data, key.len, space);
        *out = (umbel_slice){space, key.len};
        return UMBEL_OK;
    case UMBEL_KEYS_SHA1:
    case UMBEL_KEYS_SHA256:
    case UMBEL_KEYS_MD5:
    case UMBEL_KEYS_NTLM:
        return (digests ? decode_digest : digest_text)(form, key, space, out,
                                                       err);
    case UMBEL_KEYS_DOMAIN:
        return form_domain(key, space, out, err);
    case UMBEL_KEYS_NETWORK:
        return form_network(key, space, out, err);
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
    umbel_slice text = {key, len};
    umbel_error why;

    if (um_form_key(umbel_key_form_of(f), false, text, space, out, &why))
        return um_refuse_key(text, &why, err);
    return UMBEL_OK;
}

umbel_status um_refuse_key(umbel_slice key, const umbel_error *why,
                           umbel_error *err)
{
    enum { SHOWN = 40 };

    return um_fail(err, why->status, "\"%.*s\"%s: %s",
                   key.len < SHOWN ? (int)key.len : SHOWN,
                   (const char *)key.data, key.len > SHOWN ? "..." : "",
                   why->text);
}
