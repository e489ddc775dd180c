/*
 * sync_terms.c - the terms of an exchange as text, and back.
 */
#include "sync/terms.h"

#include "base/error.h"
#include "base/hex.h"
#include "publish/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "umbel-sync-list-1\n"

const um_sync_terms um_sync_terms_standard = {
    .list = "keys", .epochs = 1, .page_bytes = 65536, .quorum = 1};

size_t um_sync_terms_print(const um_sync_terms *t, char out[UM_TERMS_TEXT])
{
    char server[UM_DIGEST_HEX] = "-";

    if (t->has_server)
        um_digest_text(t->server, server);
    return (size_t)snprintf(
        out, UM_TERMS_TEXT,
        "list %s\nepoch_seconds %" PRIu64 "\nepochs %" PRIu32
        "\npage_bytes %" PRIu32 "\nquorum %" PRIu32 "\norigin_cap %" PRIu64
        "\nserver %s\n%s%s%s",
        t->list, t->epoch_seconds, t->epochs, t->page_bytes, t->quorum,
        t->origin_cap, server, t->agree[0] ? "agree " : "", t->agree,
        t->agree[0] ? "\n" : "");
}

bool um_sync_terms_read(const char *text, um_sync_terms *out)
{
    um_sync_terms t = {.has_server = false};
    char server[UM_DIGEST_HEX], again[UM_TERMS_TEXT];

    if (sscanf(text,
               "list %63s epoch_seconds %" SCNu64 " epochs %" SCNu32
               " page_bytes %" SCNu32 " quorum %" SCNu32 " origin_cap %" SCNu64
               " server %64s agree %63s",
               t.list, &t.epoch_seconds, &t.epochs, &t.page_bytes, &t.quorum,
               &t.origin_cap, server, t.agree) < 7)
        return false;
    t.has_server = um_digest_read(server, t.server);
    um_sync_terms_print(&t, again);
    if (strcmp(again, text) != 0) /* numbers too large, other blanks */
        return false;
    *out = t;
    return true;
}

umbel_status um_sync_terms_of(const umbel_filter *f, um_sync_terms *out,
                              umbel_error *err)
{
    umbel_slice data = umbel_data(f);
    size_t skip = strlen(MAGIC);
    char text[UM_TERMS_TEXT] = "";

    *out = um_sync_terms_standard;
    if (!data.len)
        return UMBEL_OK;
    if (data.len > skip && data.len - skip < sizeof text)
        memcpy(text, (const char *)data.data + skip, data.len - skip);
    if (!*text || memcmp(data.data, MAGIC, skip) != 0 ||
        !um_sync_terms_read(text, out))
        return um_fail(err, UMBEL_E_FORMAT,
                       "the filter carries data, but not those of "
                       "'umbel-clearinghouse shape'");
    return UMBEL_OK;
}

umbel_status um_sync_terms_attach(const um_sync_terms *t, umbel_filter *f,
                                  umbel_error *err)
{
    char text[sizeof MAGIC + UM_TERMS_TEXT] = MAGIC;
    size_t len = um_sync_terms_print(t, text + strlen(MAGIC));

    return umbel_set_data(f, text, strlen(MAGIC) + len, err);
}
