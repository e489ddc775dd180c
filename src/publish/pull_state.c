/*
 * pull_state.c - what a reader remembers, as text.
 *
 *     umbel-pull 1
 *     name words
 *     serial 7
 *     expires 1795373319
 *     filter DIGEST
 *     key PUBLIC        or "key none"
 *     tag TEXT          to the end of the line
 *
 * Reading writes the text again and compares, as for manifests.
 */
#include "publish/pull_state.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

size_t um_pull_state_write(const um_manifest *m, const char *tag,
                           char out[UM_PULL_STATE_MAX])
{
    char filter[UM_DIGEST_HEX], key[UM_DIGEST_HEX] = "none";

    um_digest_text(m->filter.digest, filter);
    if (m->is_signed)
        um_digest_text(m->key, key);
    int len = snprintf(out, UM_PULL_STATE_MAX,
                       "umbel-pull 1\nname %s\nserial %" PRIu64
                       "\nexpires %" PRIu64 "\nfilter %s\nkey %s\ntag %s\n",
                       m->name, m->serial, m->expires, filter, key, tag);
    return (size_t)len;
}

/* Reads the fields loosely; the caller compares. text ends with a NUL. */
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
                                umbel_error *err)
{
    char copy[UM_PULL_STATE_MAX] = "", again[UM_PULL_STATE_MAX];
    char found[UMBEL_MAX_TAG] = "";
    um_manifest m = {.serial = 0};

    if (len < sizeof copy)
        memcpy(copy, text, len);
    if (len >= sizeof copy || !scan_fields(copy, &m, found) ||
        um_pull_state_write(&m, found, again) != len ||
        memcmp(again, text, len) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "not the state of a pull, or damaged: remove it and "
                       "pull again");
    *newest = m;
    memcpy(tag, found, sizeof found);
    return UMBEL_OK;
}
