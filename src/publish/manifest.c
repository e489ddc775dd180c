/*
 * manifest.c - manifests as text.
 *
 *     umbel-manifest 1
 *     name words
 *     serial 7
 *     made 1794768519
 *     expires 1795373319
 *     reports 17                    unless there are none
 *     filter DIGEST LENGTH
 *     step FROM DIGEST LENGTH       any number, oldest first
 *     key PUBLIC                    the last two when it is signed:
 *     sign SIGNATURE                Ed25519 of everything before this line
 *
 * An unsigned manifest ends with the line "unsigned" instead, so that a
 * truncated manifest is never valid.
 *
 * Reading parses the fields leniently, formats the manifest again and compares:
 * a text that differs in any byte is refused.
 */
#include "publish/manifest.h"

#include "base/error.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void um_digest_parts(const umbel_slice *parts, size_t n,
                     uint8_t out[UM_DIGEST_LEN])
{
    crypto_generichash_state state;

    crypto_generichash_init(&state, NULL, 0, UM_DIGEST_LEN);
    for (size_t i = 0; i < n; i++)
        crypto_generichash_update(&state, parts[i].data, parts[i].len);
    crypto_generichash_final(&state, out, UM_DIGEST_LEN);
}

bool um_same_digest(const uint8_t *a, const uint8_t *b)
{
    return memcmp(a, b, UM_DIGEST_LEN) == 0;
}

bool um_name_is_fine(const char *name, size_t len)
{
    static const char middle[] = "._-", ending[] = ".manifest";
    size_t end = sizeof ending - 1;

    for (size_t i = 0; i < len; i++) {
        char c = name[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool digit = c >= '0' && c <= '9';
        bool inside = i > 0 && i < len - 1 && c && strchr(middle, c);
        if (!letter && !digit && !inside)
            return false;
    }
    return len > 0 && len <= UM_NAME_MAX &&
           (len < end || memcmp(name + len - end, ending, end) != 0);
}

static const char *const endings[] = {
    [UM_BLOB_FILTER] = ".umb", [UM_BLOB_STEP] = ".umd"};

void um_blob_name(const um_blob *blob, um_blob_kind kind,
                  char out[UM_BLOB_NAME])
{
    char hex[UM_DIGEST_HEX];

    um_digest_text(blob->digest, hex);
    snprintf(out, UM_BLOB_NAME, "%s%s", hex, endings[kind]);
}

bool um_blob_name_read(const char *name, uint8_t digest[UM_DIGEST_LEN])
{
    const char *ending = name + UM_DIGEST_HEX - 1;

    return strlen(name) == UM_BLOB_NAME - 1 &&
           um_hex_read(name, digest, UM_DIGEST_LEN) &&
           (strcmp(ending, endings[UM_BLOB_FILTER]) == 0 ||
            strcmp(ending, endings[UM_BLOB_STEP]) == 0);
}

/* --- writing -------------------------------------------------------------- */

/* A growing text; no manifest reaches its limit. */
typedef struct page {
    char *text;
    size_t len;
} page;

static void append(page *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(page *p, const char *format, ...)
{
    size_t room = UM_MANIFEST_MAX - p->len;
    va_list args;

    va_start(args, format);
    int len = vsnprintf(p->text + p->len, room, format, args);
    va_end(args);
    if (len > 0)
        p->len += (size_t)len < room ? (size_t)len : room - 1;
}

static void write_hex(page *p, const uint8_t *bytes, size_t len)
{
    char hex[2 * crypto_sign_BYTES + 1];

    um_hex_write(bytes, len, hex);
    append(p, " %s", hex);
}

static void write_piece(page *p, const um_blob *piece)
{
    write_hex(p, piece->digest, sizeof piece->digest);
    append(p, " %" PRIu64 "\n", piece->len);
}

/* Writes everything but the signature. */
static void write_body(page *p, const um_manifest *m)
{
    append(p, "umbel-manifest 1\nname %s\n", m->name);
    append(p, "serial %" PRIu64 "\nmade %" PRIu64 "\nexpires %" PRIu64 "\n",
           m->serial, m->made, m->expires);
    if (m->reports)
        append(p, "reports %" PRIu64 "\n", m->reports);
    append(p, "filter");
    write_piece(p, &m->filter);
    for (size_t i = 0; i < m->nsteps; i++) {
        append(p, "step");
        write_hex(p, m->step[i].from, UM_DIGEST_LEN);
        write_piece(p, &m->step[i].file);
    }
    if (m->is_signed) {
        append(p, "key");
        write_hex(p, m->key, sizeof m->key);
    } else {
        append(p, "unsigned");
    }
    append(p, "\n");
}

size_t um_manifest_write(um_manifest *m, const uint8_t *secret,
                         char out[UM_MANIFEST_MAX])
{
    uint8_t signature[crypto_sign_BYTES];
    page p = {out, 0};

    m->is_signed = secret != NULL;
    if (secret)
        crypto_sign_ed25519_sk_to_pk(m->key, secret);
    write_body(&p, m);
    if (secret) {
        crypto_sign_detached(signature, NULL, (const uint8_t *)out, p.len,
                             secret);
        append(&p, "sign");
        write_hex(&p, signature, sizeof signature);
        append(&p, "\n");
    }
    return p.len;
}

/* --- reading -------------------------------------------------------------- */

/* Parses a step, leniently; returns its length, or 0 if it is something
 * else. */
static int scan_step(const char *text, um_step *out)
{
    char from[UM_DIGEST_HEX] = "", file[UM_DIGEST_HEX] = "";
    int used = 0;

    sscanf(text, "step %64s %64s %" SCNu64 "\n%n", from, file, &out->file.len,
           &used);
    return used && um_digest_read(from, out->from) &&
                   um_digest_read(file, out->file.digest)
               ? used
               : 0;
}

/* Parses all but the signature, leniently, because the caller compares; returns
 * its length, or 0 if it is not a manifest. text ends with a NUL. */
static size_t scan_body(const char *text, um_manifest *m)
{
    char filter[UM_DIGEST_HEX] = "", key[UM_DIGEST_HEX] = "";
    const char *at = text;
    int used = 0;

    sscanf(at,
           "umbel-manifest 1 name %64s serial %" SCNu64 " made %" SCNu64
           " expires %" SCNu64 "\n%n",
           m->name, &m->serial, &m->made, &m->expires, &used);
    at += used;
    used = 0;
    sscanf(at, "reports %" SCNu64 "\n%n", &m->reports, &used);
    at += used;
    used = 0;
    sscanf(at, "filter %64s %" SCNu64 "\n%n", filter, &m->filter.len, &used);
    if (!used || !um_digest_read(filter, m->filter.digest))
        return 0;
    while (at += used, m->nsteps < UMBEL_MAX_STEPS &&
                           (used = scan_step(at, &m->step[m->nsteps])))
        m->nsteps++;
    used = 0;
    m->is_signed = sscanf(at, "key %64s\n%n", key, &used) == 1;
    if (!m->is_signed)
        sscanf(at, "unsigned\n%n", &used);
    else if (!um_digest_read(key, m->key))
        return 0;
    return used ? (size_t)(at - text) + (size_t)used : 0;
}

/* Formats the manifest again and compares it with the text. */
static bool is_the_text(const um_manifest *m, const char *text, size_t len)
{
    char again[UM_MANIFEST_MAX];
    page p = {again, 0};

    write_body(&p, m);
    return p.len == len && memcmp(again, text, len) == 0;
}

/* Checks that no filter occurs twice along the steps. */
static bool steps_make_sense(const um_manifest *m)
{
    for (size_t i = 0; i < m->nsteps; i++) {
        const uint8_t *from = m->step[i].from;
        if (um_same_digest(from, m->filter.digest))
            return false;
        for (size_t j = 0; j < i; j++)
            if (um_same_digest(from, m->step[j].from))
                return false;
    }
    return true;
}

static bool is_fine(const um_manifest *m, const char *text, size_t body)
{
    return body && m->serial > 0 && m->serial < UINT64_MAX &&
           um_name_is_fine(m->name, strlen(m->name)) &&
           is_the_text(m, text, body) && steps_make_sense(m);
}

/* Checks the line after the body, and the signature in it. */
static bool has_signed(const um_manifest *m, const char *text, size_t body)
{
    uint8_t signature[crypto_sign_BYTES];
    const char *at = text + body;
    size_t word = strlen("sign "), digits = 2 * sizeof signature;

    return strncmp(at, "sign ", word) == 0 &&
           strnlen(at + word, digits) == digits &&
           um_hex_read(at + word, signature, sizeof signature) &&
           at[word + digits] == '\n' &&
           crypto_sign_verify_detached(signature, (const uint8_t *)text, body,
                                       m->key) == 0;
}

umbel_status um_manifest_read(const char *text, size_t len, um_manifest *out,
                              umbel_error *err)
{
    const size_t signature = strlen("sign \n") + 2 * (size_t)crypto_sign_BYTES;
    char copy[UM_MANIFEST_MAX + 1] = "";
    um_manifest m = {.nsteps = 0};

    if (len <= UM_MANIFEST_MAX)
        memcpy(copy, text, len);
    if (strncmp(copy, "umbel-manifest ", 15) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "not a manifest: it does not begin like one");
    if (strncmp(copy + 15, "1\n", 2) != 0)
        return um_fail(err, UMBEL_E_VERSION,
                       "a manifest of a later version: use a newer umbel");
    size_t body = scan_body(copy, &m);
    if (!is_fine(&m, copy, body))
        return um_fail(err, UMBEL_E_FORMAT, "the manifest is damaged");
    if (m.is_signed && !has_signed(&m, copy, body))
        return um_fail(err, UMBEL_E_CHECKSUM,
                       "the manifest does not match its signature: it was "
                       "changed on the way");
    if (len != body + (m.is_signed ? signature : 0))
        return um_fail(err, UMBEL_E_FORMAT,
                       "the manifest is damaged: bytes follow its end");
    *out = m;
    return UMBEL_OK;
}

/* --- the next manifest ---------------------------------------------------- */

static void drop_first(um_manifest *m, size_t n)
{
    m->nsteps -= n;
    memmove(m->step, m->step + n, m->nsteps * sizeof m->step[0]);
}

/* Drops the steps up to and including the one that starts from this filter. */
static void drop_loop(um_manifest *m, const uint8_t *digest)
{
    for (size_t i = 0; i < m->nsteps; i++)
        if (um_same_digest(m->step[i].from, digest)) {
            drop_first(m, i + 1);
            return;
        }
}

static void append_step(um_manifest *m, const uint8_t *from,
                        const um_blob *step, size_t keep)
{
    if (m->nsteps >= keep)
        drop_first(m, m->nsteps - keep + 1);
    um_step *next = &m->step[m->nsteps++];
    memcpy(next->from, from, UM_DIGEST_LEN);
    next->file = *step;
}

void um_manifest_next(const um_manifest *last, const um_edition *e,
                      um_manifest *out)
{
    size_t keep = e->keep < UMBEL_MAX_STEPS ? e->keep : UMBEL_MAX_STEPS;
    bool first = last->serial == 0;

    *out = *last;
    out->serial++;
    out->made = e->now;
    out->expires = e->valid ? e->now + e->valid : 0;
    out->filter = e->filter;
    if (e->reports || !um_same_digest(last->filter.digest, e->filter.digest))
        out->reports = e->reports;
    if (!first && um_same_digest(last->filter.digest, e->filter.digest)) {
        if (out->nsteps > keep)
            drop_first(out, out->nsteps - keep);
        return;
    }
    drop_loop(out, e->filter.digest);
    if (e->step && keep && !first)
        append_step(out, last->filter.digest, e->step, keep);
    else
        out->nsteps = 0;
}
