/*
 * manifest.c - arbitrary manifests and reader states.
 *
 * The input is a text. It is read as a manifest, once as it is and once with a
 * valid signature, which a fuzzer cannot guess. It is also read as the state
 * that a reader stores.
 */
#include "fuzz.h"

#include "publish/manifest.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t key[UMBEL_TRUST_KEY_LEN], secret[UMBEL_SIGN_KEY_LEN];

static void create_keys(void)
{
    static const uint8_t seed[crypto_sign_SEEDBYTES] = {1};

    crypto_sign_seed_keypair(key, secret, seed);
}

/*
 * Checks that an update route costs less than the full file and starts at the
 * filter that the reader has.
 */
static void check_routes(const um_manifest *m)
{
    static const uint8_t strange[UM_DIGEST_LEN] = {1, 2, 3};

    UM_WANT(um_route_from(m, m->filter.digest).current);
    for (size_t i = 0; i <= m->nsteps; i++) {
        const uint8_t *have = i < m->nsteps ? m->step[i].from : strange;
        um_route r = um_route_from(m, have);
        UM_WANT(!r.current || memcmp(have, m->filter.digest, 32) == 0);
        UM_WANT(!r.by_steps || (r.first == i && r.bytes < m->filter.len));
        UM_WANT(r.by_steps || r.current || r.bytes == m->filter.len);
        for (size_t j = r.first; r.by_steps && j < m->nsteps; j++)
            r.bytes -= m->step[j].file.len;
        UM_WANT(!r.by_steps || r.bytes == 0);
    }
}

/*
 * Checks that the next manifest after m can be read back, and has the next
 * serial.
 */
static void follow(const um_manifest *m, bool sign_it)
{
    um_blob step = {.len = 9};
    um_edition e = {.filter = {.digest = {7}, .len = 99},
                    .now = m->made,
                    .valid = 60,
                    .keep = (size_t)m->made % 70};
    char text[UM_MANIFEST_MAX];
    um_manifest next, back;

    e.step = m->made & 1 ? &step : NULL;
    if (m->serial == UINT64_MAX - 1)
        return;
    um_manifest_next(m, &e, &next);
    size_t len = um_manifest_write(&next, sign_it ? secret : NULL, text);
    UM_WANT(um_manifest_read(text, len, &back, NULL) == UMBEL_OK);
    UM_WANT(back.serial == m->serial + 1 && back.nsteps <= UMBEL_MAX_STEPS);
}

/*
 * Checks that only manifests signed by the trusted key are accepted, and that a
 * reader who changes the trusted key accepts a lower serial.
 */
static void judge_key(const um_manifest *m)
{
    um_manifest none = {.serial = 0}, last = *m;
    um_update_policy policy = {
        .name = m->name, .now = m->expires, .trust = key};
    bool ours = m->is_signed && memcmp(m->key, key, sizeof key) == 0;
    umbel_status want = ours ? UMBEL_OK : UMBEL_E_REFUSED;

    UM_WANT(um_policy_check(m, &none, &policy, NULL) == want);
    UM_WANT(um_policy_unchanged(m, &policy) == ours);
    last.serial++;
    last.is_signed = true;
    last.key[0] ^= 1;
    UM_WANT(um_policy_check(m, &last, &policy, NULL) == want);
    policy.trust = NULL;
    UM_WANT(um_policy_check(m, &last, &policy, NULL) == UMBEL_E_REFUSED);
}

/*
 * Checks that an accepted manifest is accepted again, until it expires or a
 * newer one was seen.
 */
static void judge(const um_manifest *m)
{
    um_manifest none = {.serial = 0}, last = *m;
    um_update_policy policy = {.name = m->name, .now = m->expires};
    umbel_error err;

    UM_WANT(um_policy_check(m, &none, &policy, &err) == UMBEL_OK);
    UM_WANT(um_policy_check(m, &last, &policy, &err) == UMBEL_OK);
    last.serial++;
    UM_WANT(um_policy_check(m, &last, &policy, &err) == UMBEL_E_REFUSED);
    um_fuzz_check_error(UMBEL_E_REFUSED, &err);
    policy.name = "another.name";
    UM_WANT(strcmp(m->name, policy.name) == 0 ||
            um_policy_check(m, &none, &policy, &err) == UMBEL_E_REFUSED);
    policy = (um_update_policy){.name = m->name, .now = m->expires + 1};
    bool expired = m->expires && policy.now;
    UM_WANT(!expired ||
            um_policy_check(m, &none, &policy, &err) == UMBEL_E_REFUSED);
    UM_WANT((um_policy_check_time(m, policy.now, &err) == UMBEL_E_REFUSED) ==
            expired);
    judge_key(m);
}

static bool read_manifest(const char *text, size_t len, bool dear,
                          um_manifest *out)
{
    umbel_error err;
    umbel_status status = um_manifest_read(text, len, out, &err);

    if (status != UMBEL_OK) {
        um_fuzz_check_error(status, &err);
        return false;
    }
    UM_WANT(um_name_is_fine(out->name, strlen(out->name)));
    UM_WANT(out->serial > 0 && out->nsteps <= UMBEL_MAX_STEPS);
    check_routes(out);
    follow(out, dear);
    judge(out);
    return true;
}

/*
 * Returns where the end of the manifest begins: at its last line "unsigned" or
 * "key".
 */
static size_t body_len(const char *text, size_t len)
{
    static const char *const ends[] = {"unsigned\n", "key "};

    for (size_t at = len; at-- > 0;)
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            size_t n = strlen(ends[i]);
            if (len - at >= n && memcmp(text + at, ends[i], n) == 0 &&
                (at == 0 || text[at - 1] == '\n'))
                return at;
        }
    return len;
}

/* Returns the text with its end replaced by a valid signature. Free it. */
static char *sign(const char *text, size_t *len)
{
    enum { END = 256 };
    char hex[2 * crypto_sign_BYTES + 1];
    uint8_t signature[crypto_sign_BYTES];
    size_t body = body_len(text, *len);
    char *out = malloc(body + END);

    if (!out)
        abort();
    memcpy(out, text, body);
    sodium_bin2hex(hex, sizeof hex, key, sizeof key);
    body += (size_t)snprintf(out + body, END, "key %s\n", hex);
    crypto_sign_detached(signature, NULL, (const uint8_t *)out, body, secret);
    sodium_bin2hex(hex, sizeof hex, signature, sizeof signature);
    *len = body + (size_t)snprintf(out + body, END / 2 + 16, "sign %s\n", hex);
    return out;
}

/* Checks that a manifest that is readable unsigned is readable when signed. */
static void read_signed(const char *text, size_t len, bool fine)
{
    um_manifest ended;
    size_t signed_len = len;
    char *whole = sign(text, &signed_len);
    bool fine_too = read_manifest(whole, signed_len, true, &ended);

    UM_WANT(!fine || fine_too || len + 256 > UM_MANIFEST_MAX);
    UM_WANT(!fine_too || memcmp(ended.key, key, sizeof key) == 0);
    free(whole);
}

static void read_memory(const char *text, size_t len)
{
    char again[UM_PULL_STATE_MAX];
    um_manifest m;
    char tag[UMBEL_MAX_TAG];
    umbel_error err;
    bool due;
    umbel_status status = um_pull_state_read(text, len, &m, tag, &due, &err);

    if (status != UMBEL_OK) {
        um_fuzz_check_error(status, &err);
        return;
    }
    UM_WANT(um_pull_state_write(&m, tag, due, again) == len &&
            memcmp(again, text, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const char *text = (const char *)data;
    char again[UM_MANIFEST_MAX];
    um_manifest plain;

    if (!secret[0] && !key[0])
        create_keys();
    if (!data)
        text = "";
    bool dear = um_fuzz_one_in(16, data, len); /* signatures are slow */
    bool fine = read_manifest(text, len, dear, &plain);
    if (fine && !plain.is_signed) {
        UM_WANT(um_manifest_write(&plain, NULL, again) == len);
        UM_WANT(memcmp(again, text, len) == 0);
    }
    if (dear)
        read_signed(text, len, fine);
    read_memory(text, len);
    return 0;
}
