/*
 * download.c - fetch a blob, resume where the last try broke off, check it.
 */
#include "publish/download.h"

#include "base/error.h"
#include "base/hex.h"
#include "publish/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- parts ------------------------------------------------------------------
 */

enum { DIGITS = 16 }; /* of a digest, in a part's name */
static const char mark[] = ".part-";

static void name_part(um_download *d)
{
    char hex[UM_DIGEST_HEX];

    um_digest_text(d->blob->digest, hex);
    snprintf(d->part, sizeof d->part, "%s%.*s", mark, DIGITS, hex);
}

static bool is_part(const char *name)
{
    uint8_t digits[DIGITS / 2];
    size_t skip = sizeof mark - 1;

    return strlen(name) == skip + DIGITS && memcmp(name, mark, skip) == 0 &&
           um_hex_read(name + skip, digits, sizeof digits);
}

typedef struct clearing {
    const umbel_store *store;
    const char *keep;
} clearing;

static bool clear_part(void *ctx, const char *name)
{
    const clearing *c = ctx;

    if (is_part(name) && (!c->keep || strcmp(name, c->keep) != 0))
        c->store->remove(c->store->ctx, name, NULL);
    return true;
}

/* A part that cannot be removed only takes room: failures do not matter. */
void um_download_clear(const umbel_store *store, const char *keep)
{
    clearing c = {store, keep};

    store->list(store->ctx, clear_part, &c, NULL);
}

static void remove_part(const um_download *d)
{
    d->store->remove(d->store->ctx, d->part, NULL);
}

/* --- bytes ------------------------------------------------------------------
 */

static umbel_status parse_part(void *ctx, uint64_t at, umbel_slice bytes,
                               umbel_error *err)
{
    um_download *d = ctx;

    d->restarted |= at == 0;
    d->too_long = at > d->blob->len || bytes.len > d->blob->len - at;
    if (d->too_long)
        return um_fail(err, UMBEL_E_LIMIT,
                       "the server sends more than %" PRIu64
                       " bytes: it is not what was published",
                       d->blob->len);
    umbel_status status =
        d->store->append(d->store->ctx, d->part, at, bytes, err);
    d->store_failed = status != UMBEL_OK;
    return status;
}

/*
 * Fetches what is missing. *again: an earlier try's bytes were used, and may be
 * what is wrong. A part is removed when it cannot be continued, and when the
 * store is full: other files may need the room.
 */
static umbel_status fetch_rest(um_download *d, bool *again, umbel_error *err)
{
    umbel_response response = {.bytes = 0};
    umbel_request request = {
        .url = d->url, .max = d->blob->len, .take = parse_part, .ctx = d};

    d->restarted = d->too_long = d->store_failed = false;
    UM_TRY(d->store->resume(d->store->ctx, d->part, &request.from, err));
    if (request.from > d->blob->len)
        request.from = 0;
    *again = request.from > 0;
    if (*again && request.from == d->blob->len)
        return UMBEL_OK;
    umbel_status status =
        d->fetcher->get(d->fetcher->ctx, &request, &response, err);
    d->moved += response.bytes;
    d->missing = response.missing;
    *again = *again && !d->restarted &&
             (status == UMBEL_OK || d->too_long || response.bad_range);
    if (d->too_long || response.bad_range || d->store_failed)
        remove_part(d);
    return status;
}

static umbel_status check_part(const um_download *d, umbel_error *err)
{
    um_blob got = {.len = 0};
    umbel_status status = um_store_object_digest(d->store, d->part, &got, err);

    if (status != UMBEL_OK && status != UMBEL_E_UNKNOWN)
        return status;
    if (status == UMBEL_OK && got.len == d->blob->len &&
        um_same_digest(got.digest, d->blob->digest))
        return UMBEL_OK;
    remove_part(d);
    return um_fail(err, UMBEL_E_REFUSED,
                   "the server's file is not what was published: its "
                   "digest differs");
}

static umbel_status try_once(um_download *d, bool *again, umbel_error *err)
{
    *again = false;
    UM_TRY(fetch_rest(d, again, err));
    return check_part(d, err);
}

umbel_status um_download_run(um_download *d, umbel_error *err)
{
    bool again;

    name_part(d);
    um_download_clear(d->store, d->part);
    umbel_status status = try_once(d, &again, err);
    return status != UMBEL_OK && again ? try_once(d, &again, err) : status;
}
