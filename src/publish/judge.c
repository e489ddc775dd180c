/*
 * judge.c - which manifests a reader accepts, and what it then fetches.
 *
 * A server that answers with an old manifest could hide a revocation for ever,
 * so serial numbers only grow, and a key that was trusted once must sign again.
 * One key signs many lists, so the name counts as well: otherwise any of them
 * could be served in place of another.
 */
#include "publish/judge.h"

#include "base/error.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

static bool is_of_key(const um_manifest *last, const uint8_t *key)
{
    return last->is_signed && memcmp(last->key, key, UMBEL_TRUST_KEY_LEN) == 0;
}

bool um_judge_unchanged(const um_manifest *last, const um_terms *terms)
{
    return last->serial && strcmp(last->name, terms->name) == 0 &&
           (!terms->trust || is_of_key(last, terms->trust));
}

/* Checks that this manifest and the last one are of the name asked for. */
static umbel_status judge_name(const um_manifest *m, const um_manifest *last,
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

static umbel_status judge_key(const um_manifest *m, const um_manifest *last,
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

static umbel_status judge_time(uint64_t expires, uint64_t now, umbel_error *err)
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

umbel_status um_judge_again(const um_manifest *last, uint64_t now,
                            umbel_error *err)
{
    return judge_time(last->expires, now, err);
}

static umbel_status judge_serial(const um_manifest *m, const um_manifest *last,
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

umbel_status um_judge(const um_manifest *m, const um_manifest *last,
                      const um_terms *terms, umbel_error *err)
{
    bool new_key = terms->trust && !is_of_key(last, terms->trust);

    UM_TRY(judge_name(m, last, terms->name, err));
    UM_TRY(judge_key(m, last, terms->trust, err));
    UM_TRY(judge_time(m->expires, terms->now, err));
    return new_key ? UMBEL_OK : judge_serial(m, last, err);
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
