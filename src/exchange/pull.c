/*
 * pull.c - a reader's side: memory, judgement, route.
 *
 *     umbel-pull 1
 *     name words
 *     serial 7
 *     expires 1795373319
 *     filter DIGEST
 *     key PUBLIC        or "key none"
 *     tag TEXT          to the end of the line
 *
 * Who answers a reader with an old manifest can hide a revocation for ever, so
 * serial numbers only grow; and a key that was trusted once must sign again.
 * One key signs many lists, so the name counts as well: else any of them could
 * be served in place of another.
 */
#include "exchange/pull.h"

#include "base/error.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

size_t um_memory_write(const um_memory *m, char out[UM_MEMORY_MAX])
{
    char filter[UM_DIGEST_HEX], key[UM_DIGEST_HEX] = "none";

    um_digest_text(m->filter, filter);
    if (m->is_signed)
        um_digest_text(m->key, key);
    int len = snprintf(out, UM_MEMORY_MAX,
                       "umbel-pull 1\nname %s\nserial %" PRIu64
                       "\nexpires %" PRIu64 "\nfilter %s\nkey %s\ntag %s\n",
                       m->name, m->serial, m->expires, filter, key, m->tag);
    return (size_t)len;
}

umbel_status um_memory_read(const char *text, size_t len, um_memory *out,
                            umbel_error *err)
{
    char copy[UM_MEMORY_MAX], again[UM_MEMORY_MAX];
    char filter[UM_DIGEST_HEX] = "", key[UM_DIGEST_HEX] = "";
    um_memory m = {.serial = 0};

    if (len < sizeof copy) {
        memcpy(copy, text, len);
        copy[len] = '\0';
        int got =
            sscanf(copy,
                   "umbel-pull 1 name %64s serial %" SCNu64 " expires %" SCNu64
                   " filter %64s key %64s tag %255[^\n]",
                   m.name, &m.serial, &m.expires, filter, key, m.tag);
        m.is_signed = strcmp(key, "none") != 0;
        if (got >= 5 && um_name_is_fine(m.name, strlen(m.name)) &&
            strlen(filter) == UM_DIGEST_HEX - 1 &&
            um_hex_read(filter, m.filter, sizeof m.filter) &&
            (!m.is_signed || (strlen(key) == UM_DIGEST_HEX - 1 &&
                              um_hex_read(key, m.key, sizeof m.key))) &&
            um_memory_write(&m, again) == len &&
            memcmp(again, text, len) == 0) {
            *out = m;
            return UMBEL_OK;
        }
    }
    return um_fail(err, UMBEL_E_FORMAT,
                   "this is not what umbel pull writes: remove it, and pull "
                   "anew");
}

static bool is_of_key(const um_memory *last, const uint8_t *key)
{
    return last->is_signed && memcmp(last->key, key, UM_TRUST_KEY_LEN) == 0;
}

bool um_memory_fits(const um_memory *last, const um_terms *terms)
{
    return last->serial && strcmp(last->name, terms->name) == 0 &&
           (!terms->trust || is_of_key(last, terms->trust));
}

/* The manifest is about what was asked for, and so was the one before. */
static umbel_status judge_name(const um_manifest *m, const um_memory *last,
                               const char *name, umbel_error *err)
{
    if (strcmp(m->name, name) != 0)
        return um_fail(err, UMBEL_E_REFUSED,
                       "asked for \"%s\", got the manifest of \"%s\"", name,
                       m->name);
    if (last->serial && strcmp(last->name, name) != 0)
        return um_fail(err, UMBEL_E_REFUSED,
                       "until now this file was \"%s\": to have \"%s\" there "
                       "remove what the last pull left, FILE.pull",
                       last->name, name);
    return UMBEL_OK;
}

static umbel_status judge_key(const um_manifest *m, const um_memory *last,
                              const uint8_t *trust, umbel_error *err)
{
    const uint8_t *want = trust ? trust : last->is_signed ? last->key : NULL;
    char key[UM_DIGEST_HEX];

    if (!want)
        return UMBEL_OK;
    if (!m->is_signed)
        return um_fail(err, UMBEL_E_REFUSED,
                       "the manifest is not signed: who publishes it must sign "
                       "with the key that is trusted here");
    if (sodium_memcmp(m->key, want, UM_TRUST_KEY_LEN) != 0) {
        um_digest_text(m->key, key);
        return um_fail(err, UMBEL_E_REFUSED,
                       "the manifest is signed with another key than the one "
                       "that is trusted here: %s%s",
                       key,
                       trust ? "" : "; if that is right, name it with --trust");
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
                   " %s ago: who publishes it must do so again",
                   days ? (now - expires) / day : now - expires,
                   days ? "days" : "s");
}

umbel_status um_judge_again(const um_memory *last, uint64_t now,
                            umbel_error *err)
{
    return judge_time(last->expires, now, err);
}

static umbel_status judge_serial(const um_manifest *m, const um_memory *last,
                                 umbel_error *err)
{
    if (m->serial < last->serial)
        return um_fail(err, UMBEL_E_REFUSED,
                       "the manifest is older than one before: serial "
                       "%" PRIu64 " after %" PRIu64
                       "; somebody may be holding a newer one back (if the "
                       "publisher began anew, remove FILE.pull)",
                       m->serial, last->serial);
    if (m->serial == last->serial &&
        memcmp(m->filter.digest, last->filter, UM_DIGEST_LEN) != 0)
        return um_fail(err, UMBEL_E_REFUSED,
                       "two manifests have serial %" PRIu64
                       " and different filters: two publish there, or one "
                       "lies",
                       m->serial);
    return UMBEL_OK;
}

umbel_status um_judge(const um_manifest *m, const um_memory *last,
                      const um_terms *terms, umbel_error *err)
{
    bool anew = terms->trust && !is_of_key(last, terms->trust);
    umbel_status status = judge_name(m, last, terms->name, err);

    if (status == UMBEL_OK)
        status = judge_key(m, last, terms->trust, err);
    if (status == UMBEL_OK)
        status = judge_time(m->expires, terms->now, err);
    return status == UMBEL_OK && !anew ? judge_serial(m, last, err) : status;
}

um_route um_route_from(const um_manifest *m, const uint8_t *have)
{
    um_route whole = {.bytes = m->filter.len};
    um_route steps = {.by_steps = true};

    if (have && memcmp(have, m->filter.digest, UM_DIGEST_LEN) == 0)
        return (um_route){.current = true};
    for (size_t i = m->nsteps; have && i-- > 0;) {
        if (m->step[i].file.len > whole.bytes - steps.bytes)
            break;
        steps.bytes += m->step[i].file.len;
        steps.first = i;
        if (memcmp(m->step[i].from, have, UM_DIGEST_LEN) == 0)
            return steps.bytes < whole.bytes ? steps : whole;
    }
    return whole;
}
