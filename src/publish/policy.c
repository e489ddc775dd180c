/*
 * policy.c - which manifests a reader accepts, what it then fetches, and the
 * state that it keeps.
 *
 * A server that answers with an old manifest could hide a revocation for ever,
 * so serial numbers must not decrease, and a key that was trusted once must
 * sign again. One key may sign many lists, so the name is checked as well:
 * otherwise one could be served in place of another.
 *
 * The state of a reader is a text:
 *
 *     umbel-pull 1
 *     name words
 *     serial 7
 *     expires 1795373319
 *     filter DIGEST
 *     key PUBLIC        or "key none"
 *     tag TEXT          to the end of the line
 *
 * Reading formats the text again and compares, as for manifests.
 */
#include "publish/manifest.h"

#include "base/error.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* --- update policy -------------------------------------------------------- */

static bool is_of_key(const um_manifest *last, const uint8_t *key)
{
    return last->is_signed && memcmp(last->key, key, UMBEL_TRUST_KEY_LEN) == 0;
}

bool um_policy_unchanged(const um_manifest *last,
                         const um_update_policy *policy)
{
    return last->serial && strcmp(last->name, policy->name) == 0 &&
           (!policy->trust || is_of_key(last, policy->trust));
}

/* Checks that this manifest and the last one have the requested name. */
static umbel_status check_name(const um_manifest *m, const um_manifest *last,
                               const char *name, umbel_error *err)
{
    if (strcmp(m->name, name) != 0)
        return um_fail(err, UMBEL_E_REFUSED,
                       "asked for \"%s\", got the manifest of \"%s\"", name,
                       m->name);
    if (last->serial && strcmp(last->name, name) != 0)
        return um_fail_detail(err, UMBEL_E_REFUSED, UMBEL_D_STATE,
                              "the last pull was of \"%s\", not \"%s\": pull "
                              "to another file, or start over",
                              last->name, name);
    return UMBEL_OK;
}

static umbel_status check_key(const um_manifest *m, const um_manifest *last,
                              const uint8_t *trust, umbel_error *err)
{
    const uint8_t *want = trust ? trust : last->is_signed ? last->key : NULL;
    char key[UM_DIGEST_HEX];

    if (!want)
        return UMBEL_OK;
    if (!m->is_signed)
        return um_fail(err, UMBEL_E_REFUSED,
                       "the manifest is not signed: the publisher must sign it "
                       "with the key that you trust");
    if (sodium_memcmp(m->key, want, UMBEL_TRUST_KEY_LEN) != 0) {
        um_digest_text(m->key, key);
        return um_fail_detail(err, UMBEL_E_REFUSED, UMBEL_D_OTHER_KEY,
                              "the manifest is signed with another key than "
                              "the one that is trusted here: %s",
                              key);
    }
    return UMBEL_OK;
}

static umbel_status check_time(uint64_t expires, uint64_t now, umbel_error *err)
{
    const uint64_t day = 86400;

    if (!expires || now <= expires)
        return UMBEL_OK;
    bool days = now - expires >= 2 * day;
    return um_fail(err, UMBEL_E_REFUSED,
                   "the manifest expired %" PRIu64
                   " %s ago: the publisher must publish again",
                   days ? (now - expires) / day : now - expires,
                   days ? "days" : "s");
}

umbel_status um_policy_check_time(const um_manifest *last, uint64_t now,
                                  umbel_error *err)
{
    return check_time(last->expires, now, err);
}

static umbel_status check_serial(const um_manifest *m, const um_manifest *last,
                                 umbel_error *err)
{
    if (m->serial < last->serial)
        return um_fail_detail(err, UMBEL_E_REFUSED, UMBEL_D_STATE,
                              "the manifest is older than the last one: serial "
                              "%" PRIu64 " after %" PRIu64
                              "; a newer one may be held back. If the "
                              "publisher started over, start over, too",
                              m->serial, last->serial);
    if (m->serial == last->serial &&
        !um_same_digest(m->filter.digest, last->filter.digest))
        return um_fail(err, UMBEL_E_REFUSED,
                       "two manifests have serial %" PRIu64
                       " but different filters: two publishers write "
                       "there, or one of them is forged",
                       m->serial);
    return UMBEL_OK;
}

umbel_status um_policy_check(const um_manifest *m, const um_manifest *last,
                             const um_update_policy *policy, umbel_error *err)
{
    bool new_key = policy->trust && !is_of_key(last, policy->trust);

    UM_TRY(check_name(m, last, policy->name, err));
    UM_TRY(check_key(m, last, policy->trust, err));
    UM_TRY(check_time(m->expires, policy->now, err));
    return new_key ? UMBEL_OK : check_serial(m, last, err);
}

um_route um_route_from(const um_manifest *m, const uint8_t *have)
{
    um_route whole = {.bytes = m->filter.len};
    um_route steps = {.by_steps = true};

    if (have && um_same_digest(have, m->filter.digest))
        return (um_route){.current = true};
    for (size_t i = m->nsteps; have && i-- > 0;) {
        if (m->step[i].file.len > whole.bytes - steps.bytes)
            break;
        steps.bytes += m->step[i].file.len;
        steps.first = i;
        if (um_same_digest(m->step[i].from, have))
            return steps.bytes < whole.bytes ? steps : whole;
    }
    return whole;
}

/* --- the reader's state --------------------------------------------------- */

static const char due_line[] = "command due\n";

size_t um_pull_state_write(const um_manifest *m, const char *tag, bool due,
                           char out[UM_PULL_STATE_MAX])
{
    char filter[UM_DIGEST_HEX], key[UM_DIGEST_HEX] = "none";

    um_digest_text(m->filter.digest, filter);
    if (m->is_signed)
        um_digest_text(m->key, key);
    int len = snprintf(out, UM_PULL_STATE_MAX,
                       "umbel-pull 1\nname %s\nserial %" PRIu64
                       "\nexpires %" PRIu64 "\nfilter %s\nkey %s\ntag %s\n%s",
                       m->name, m->serial, m->expires, filter, key, tag,
                       due ? due_line : "");
    return (size_t)len;
}

/* Parses the fields leniently; the caller compares. text ends with a NUL. */
static bool scan_fields(const char *text, um_manifest *m, char *tag)
{
    char filter[UM_DIGEST_HEX] = "", key[UM_DIGEST_HEX] = "";
    int got = sscanf(text,
                     "umbel-pull 1 name %64s serial %" SCNu64
                     " expires %" SCNu64 " filter %64s key %64s tag %255[^\n]",
                     m->name, &m->serial, &m->expires, filter, key, tag);

    m->is_signed = strcmp(key, "none") != 0;
    return got >= 5 && um_name_is_fine(m->name, strlen(m->name)) &&
           um_digest_read(filter, m->filter.digest) &&
           (!m->is_signed || um_digest_read(key, m->key));
}

umbel_status um_pull_state_read(const char *text, size_t len,
                                um_manifest *newest, char tag[UMBEL_MAX_TAG],
                                bool *due, umbel_error *err)
{
    size_t line = sizeof due_line - 1;
    char copy[UM_PULL_STATE_MAX] = "", again[UM_PULL_STATE_MAX];
    char found[UMBEL_MAX_TAG] = "";
    um_manifest m = {.serial = 0};

    bool has_line = len > line && text[len - line - 1] == '\n' &&
                    memcmp(text + len - line, due_line, line) == 0;

    if (len < sizeof copy)
        memcpy(copy, text, has_line ? len - line : len);
    if (len >= sizeof copy || !scan_fields(copy, &m, found) ||
        um_pull_state_write(&m, found, has_line, again) != len ||
        memcmp(again, text, len) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "not the state of a pull, or damaged: remove it and "
                       "pull again");
    *newest = m;
    *due = has_line;
    memcpy(tag, found, sizeof found);
    return UMBEL_OK;
}
