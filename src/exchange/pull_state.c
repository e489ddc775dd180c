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
#include "exchange/pull_state.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void um_pull_state_of(const um_manifest *m, const char *tag, um_pull_state *out)
{
    *out = (um_pull_state){
        .serial = m->serial, .expires = m->expires, .is_signed = m->is_signed};
    memcpy(out->name, m->name, sizeof out->name);
    memcpy(out->filter, m->filter.digest, sizeof out->filter);
    memcpy(out->key, m->key, sizeof out->key);
    snprintf(out->tag, sizeof out->tag, "%s", tag);
}

size_t um_pull_state_write(const um_pull_state *s, char out[UM_PULL_STATE_MAX])
{
    char filter[UM_DIGEST_HEX], key[UM_DIGEST_HEX] = "none";

    um_digest_text(s->filter, filter);
    if (s->is_signed)
        um_digest_text(s->key, key);
    int len = snprintf(out, UM_PULL_STATE_MAX,
                       "umbel-pull 1\nname %s\nserial %" PRIu64
                       "\nexpires %" PRIu64 "\nfilter %s\nkey %s\ntag %s\n",
                       s->name, s->serial, s->expires, filter, key, s->tag);
    return (size_t)len;
}

/* Reads the fields loosely; the caller compares. text ends with a NUL. */
static bool scan_fields(const char *text, um_pull_state *s)
{
    char filter[UM_DIGEST_HEX] = "", key[UM_DIGEST_HEX] = "";
    int got = sscanf(text,
                     "umbel-pull 1 name %64s serial %" SCNu64
                     " expires %" SCNu64 " filter %64s key %64s tag %255[^\n]",
                     s->name, &s->serial, &s->expires, filter, key, s->tag);

    s->is_signed = strcmp(key, "none") != 0;
    return got >= 5 && um_name_is_fine(s->name, strlen(s->name)) &&
           um_digest_read(filter, s->filter) &&
           (!s->is_signed || um_digest_read(key, s->key));
}

umbel_status um_pull_state_read(const char *text, size_t len,
                                um_pull_state *out, umbel_error *err)
{
    char copy[UM_PULL_STATE_MAX] = "", again[UM_PULL_STATE_MAX];
    um_pull_state s = {.serial = 0};

    if (len < sizeof copy)
        memcpy(copy, text, len);
    if (len >= sizeof copy || !scan_fields(copy, &s) ||
        um_pull_state_write(&s, again) != len || memcmp(again, text, len) != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "not the state of a pull, or damaged: remove it and "
                       "pull again");
    *out = s;
    return UMBEL_OK;
}
