/*
 * pull.c - a reader: fetches the manifest, applies the update policy, chooses
 * the cheaper route, admits the filter and replaces the old one.
 *
 * A manifest is stored as soon as it is accepted, before anything else is
 * fetched. A server that sends a new manifest but withholds its filter
 * therefore cannot go back to an older one.
 *
 * A blob is downloaded into a part in the store, and an interrupted download is
 * resumed.
 */
#include "base/error.h"
#include "base/hex.h"
#include "filter/envelope.h"
#include "filter/head.h"
#include "publish/internal.h"
#include "publish/publish.h"

#include <umbel/diff.h>

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UM_PART_NAME = 32 };

typedef struct download {
    const umbel_fetcher *fetcher;
    const umbel_store *store;
    const char *url;
    const um_blob *blob;
    char part[UM_PART_NAME]; /* its name in the store: .part-DIGITS */
    uint64_t moved;          /* bytes that were fetched */
    bool missing;            /* the server refuses to send it */
    /* State of the current attempt. */
    bool restarted;    /* the server began at byte 0 */
    bool too_long;     /* it sent more bytes than the file has */
    bool store_failed; /* the bytes could not be stored */
} download;

/* --- downloads: parts
 * ------------------------------------------------------------------
 */

enum { DIGITS = 16 }; /* digits of the digest in a part's name */
static const char mark[] = ".part-";

static void name_part(download *d)
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

/* Removes all parts of a store except keep, which may be NULL. Failures are
 * ignored: a part that cannot be removed only takes space. */
static void clear_parts(const umbel_store *store, const char *keep)
{
    clearing c = {store, keep};

    store->list(store->ctx, clear_part, &c, NULL);
}

static void remove_part(const download *d)
{
    d->store->remove(d->store->ctx, d->part, NULL);
}

/* --- downloads: bytes
 * ------------------------------------------------------------------
 */

static umbel_status append_part(void *ctx, uint64_t at, umbel_slice bytes,
                                umbel_error *err)
{
    download *d = ctx;

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
 * Fetches the missing bytes. Sets *again if bytes of an earlier attempt were
 * used, which may be wrong. The part is removed if it cannot be continued, or
 * if the store is full, since other files may need the space.
 */
static umbel_status fetch_rest(download *d, bool *again, umbel_error *err)
{
    umbel_response response = {.bytes = 0};
    umbel_request request = {
        .url = d->url, .max = d->blob->len, .take = append_part, .ctx = d};

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

static umbel_status check_part(const download *d, umbel_error *err)
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

static umbel_status try_once(download *d, bool *again, umbel_error *err)
{
    *again = false;
    UM_TRY(fetch_rest(d, again, err));
    return check_part(d, err);
}

/*
 * Fetches the blob into a part, resuming an earlier attempt; starts from the
 * beginning if that fails. Bytes that do not match the digest are removed and
 * refused (E_REFUSED). An interrupted part stays for the next attempt; parts of
 * other blobs are removed.
 */
static umbel_status run_download(download *d, umbel_error *err)
{
    bool again;

    name_part(d);
    clear_parts(d->store, d->part);
    umbel_status status = try_once(d, &again, err);
    return status != UMBEL_OK && again ? try_once(d, &again, err) : status;
}

enum { URL_MAX = 2048 };

/* Names in the store. */
static const char filter_name[] = "", state_name[] = ".pull";

struct umbel_puller {
    umbel_fetcher fetcher;
    umbel_store store;
    char base_url[URL_MAX]; /* up to the name */
    char name[UM_NAME_MAX + 1];
    const uint8_t *trust;
    umbel_admission wants;
    umbel_source source;

    uint8_t admitted[UM_DIGEST_LEN]; /* the filter that was admitted last */
    bool has_admitted;

    /* State of the last round. */
    uint64_t now;
    um_manifest last; /* accepted before, without steps */
    char last_tag[UMBEL_MAX_TAG];
    bool has_command; /* it is due after each new filter */
    bool due;         /* it has not succeeded for the filter yet */
    bool there;       /* the store has a filter, `have` */
    um_blob have;
    um_manifest manifest;
    char tag[UMBEL_MAX_TAG];
    um_route route;
    uint64_t moved;
    bool new_key;
    bool gone; /* a blob of the manifest is missing: there may be a newer one */
};

/* --- opening -------------------------------------------------------------- */

/* Splits the address into base URL and name; .manifest may follow the name. */
static bool set_name(umbel_puller *p)
{
    static const char ending[] = ".manifest";
    const char *scheme = strstr(p->base_url, "://");
    char *slash = strrchr(p->base_url, '/');
    size_t end = sizeof ending - 1;

    if (!slash || (scheme && slash < scheme + 3))
        return false;
    size_t len = strlen(++slash);
    if (len > end && strcmp(slash + len - end, ending) == 0)
        len -= end;
    if (!um_name_is_fine(slash, len))
        return false;
    memcpy(p->name, slash, len);
    p->name[len] = '\0';
    *slash = '\0';
    return true;
}

static umbel_status set_url(umbel_puller *p, const char *url, umbel_error *err)
{
    if (url && strlen(url) >= URL_MAX)
        return um_fail(err, UMBEL_E_RANGE, "the address is too long");
    snprintf(p->base_url, URL_MAX, "%s", url ? url : "");
    if (!set_name(p))
        return um_fail(err, UMBEL_E_RANGE,
                       "an address ends with the name of a filter, as in "
                       "https://example.org/lists/words");
    return UMBEL_OK;
}

static umbel_status set_params(umbel_puller *p, const umbel_pull_params *params,
                               umbel_error *err)
{
    p->trust = params->trust_key;
    p->source = (umbel_source)UMBEL_SOURCE_INIT;
    p->source.memory_limit = params->memory_limit;
    p->wants = (umbel_admission)UMBEL_ADMISSION_INIT;
    if (params->wants)
        p->wants = *params->wants;
    if (p->wants.max_bytes == 0)
        p->wants.max_bytes = UM_PULL_MAX_BYTES;
    return set_url(p, params->url, err);
}

umbel_status umbel_pull_open(const umbel_pull_params *params,
                             const umbel_fetcher *fetcher,
                             const umbel_store *store, umbel_puller **out,
                             umbel_error *err)
{
    if (!params || params->size < sizeof *params)
        return um_fail(err, UMBEL_E_RANGE,
                       "params.size is not set: start from UMBEL_PULL_INIT");
    if (!fetcher || fetcher->size < sizeof *fetcher || !fetcher->get)
        return um_fail(err, UMBEL_E_RANGE,
                       "the fetcher's size is not set, or it lacks a call");
    UM_TRY(um_store_check(store, true, err));
    if (sodium_init() < 0) /* chooses the fast digest */
        return um_fail(err, UMBEL_E_IO, "the system gives no random numbers");
    umbel_puller *p = calloc(1, sizeof *p);
    if (!p)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for a reader");
    p->fetcher = *fetcher;
    p->store = *store;
    umbel_status status = set_params(p, params, err);
    if (status == UMBEL_OK)
        *out = p;
    else
        free(p);
    return status;
}

void umbel_pull_close(umbel_puller *p)
{
    free(p);
}

/* --- state ---------------------------------------------------------------- */

/* Reads the state; an empty one means that the reader never pulled. */
static umbel_status read_state(umbel_puller *p, umbel_error *err)
{
    const umbel_store *s = &p->store;
    umbel_slice text;

    p->last = (um_manifest){.serial = 0};
    *p->last_tag = '\0';
    p->due = false;
    umbel_status status = s->get(s->ctx, state_name, &text, err);
    if (status != UMBEL_OK)
        return status == UMBEL_E_UNKNOWN ? UMBEL_OK : status;
    if (text.len)
        status = um_pull_state_read(text.data, text.len, &p->last, p->last_tag,
                                    &p->due, err);
    s->release(s->ctx, text);
    return um_name_file(status, um_store_where(s, state_name), err);
}

static umbel_status write_state(umbel_puller *p, umbel_error *err)
{
    char text[UM_PULL_STATE_MAX], before[UM_PULL_STATE_MAX];
    bool due = p->due || (p->has_command && !p->route.current);
    umbel_slice part = {text,
                        um_pull_state_write(&p->manifest, p->tag, due, text)};
    bool was_due = p->due;

    p->due = due;
    if (p->last.serial &&
        um_pull_state_write(&p->last, p->last_tag, was_due, before) ==
            part.len &&
        memcmp(text, before, part.len) == 0)
        return UMBEL_OK;
    return p->store.put(p->store.ctx, state_name, &part, 1, err);
}

/* Does the work of um_pull_done, unless another pull has come in between. */
static umbel_status clear_due(umbel_puller *p, umbel_error *err)
{
    char text[UM_PULL_STATE_MAX];
    uint64_t serial = p->manifest.serial;

    UM_TRY(read_state(p, err));
    if (!p->due || p->last.serial != serial)
        return UMBEL_OK;
    umbel_slice part = {
        text, um_pull_state_write(&p->last, p->last_tag, false, text)};
    UM_TRY(p->store.put(p->store.ctx, state_name, &part, 1, err));
    p->due = false;
    return UMBEL_OK;
}

void um_pull_set_command(umbel_puller *p)
{
    p->has_command = true;
}

bool um_pull_is_due(const umbel_puller *p)
{
    return p->due;
}

umbel_status um_pull_done(umbel_puller *p, umbel_error *err)
{
    UM_TRY(p->store.lock(p->store.ctx, err));
    umbel_status status = clear_due(p, err);
    p->store.unlock(p->store.ctx);
    return status;
}

/* Refuses to replace a file that is neither a filter nor from an earlier
 * pull. */
static umbel_status spare_other_file(const umbel_puller *p, umbel_error *err)
{
    umbel_slice all;

    UM_TRY(p->store.get(p->store.ctx, filter_name, &all, err));
    bool is_filter = um_is_umbel_file(all.data, all.len);
    p->store.release(p->store.ctx, all);
    if (is_filter)
        return UMBEL_OK;
    um_set_error(err, UMBEL_E_IO,
                 "this is not a filter, and would be replaced by one: remove "
                 "it first, or pull to another file");
    return um_name_file(UMBEL_E_IO, um_store_where(&p->store, filter_name),
                        err);
}

static umbel_status look_at_filter(umbel_puller *p, umbel_error *err)
{
    umbel_status status =
        um_store_object_digest(&p->store, filter_name, &p->have, err);

    p->there = status == UMBEL_OK;
    if (p->there && p->have.len && !p->last.serial)
        return spare_other_file(p, err);
    return status == UMBEL_E_UNKNOWN ? UMBEL_OK : status;
}

/* --- the manifest --------------------------------------------------------- */

typedef struct text {
    char bytes[UM_MANIFEST_MAX];
    size_t len;
} text;

static umbel_status append_text(void *ctx, uint64_t at, umbel_slice bytes,
                                umbel_error *err)
{
    text *t = ctx;

    if (at > sizeof t->bytes || bytes.len > sizeof t->bytes - at)
        return um_fail(err, UMBEL_E_LIMIT,
                       "the server sends more than %zu bytes: it is not what "
                       "was published",
                       sizeof t->bytes);
    memcpy(t->bytes + at, bytes.data, bytes.len);
    t->len = (size_t)at + bytes.len;
    return UMBEL_OK;
}

static umbel_status doubt_address(umbel_status status, umbel_error *err)
{
    umbel_error said = {.text = ""};

    if (err)
        said = *err;
    return um_fail(err, status,
                   "%.170s: an address ends with the filter's name, without / "
                   "and .umb",
                   said.text);
}

/* Stores the tag if it is one plain line, since it is written to the state and
 * sent back unchanged. */
static void set_tag(umbel_puller *p, const char *tag)
{
    size_t len = strnlen(tag, UMBEL_MAX_TAG);
    bool plain = len < UMBEL_MAX_TAG && tag[0] != ' ';

    for (size_t i = 0; plain && i < len; i++)
        plain = tag[i] >= ' ' && tag[i] <= '~';
    snprintf(p->tag, sizeof p->tag, "%s", plain ? tag : "");
}

/* Fetches the manifest: only if it has changed, provided that we have the
 * filter of the last one. */
static umbel_status fetch_manifest(umbel_puller *p, umbel_error *err)
{
    text t = {.len = 0};
    um_update_policy policy = {
        .name = p->name, .trust = p->trust, .now = p->now};
    umbel_response response = {.bytes = 0};
    char url[URL_MAX + UM_NAME_MAX + 16];
    umbel_request request = {.url = url,
                             .max = UM_MANIFEST_MAX,
                             .fresh = true,
                             .take = append_text,
                             .ctx = &t};

    snprintf(url, sizeof url, "%s%s.manifest", p->base_url, p->name);
    if (p->there && um_same_digest(p->have.digest, p->last.filter.digest) &&
        um_policy_unchanged(&p->last, &policy))
        request.tag = p->last_tag;
    umbel_status status =
        p->fetcher.get(p->fetcher.ctx, &request, &response, err);
    p->moved += response.bytes;
    if (status != UMBEL_OK)
        return response.missing ? doubt_address(status, err) : status;
    if (response.unchanged && request.tag && *request.tag) {
        p->manifest = p->last;
        p->manifest.filter = p->have;
        memcpy(p->tag, p->last_tag, sizeof p->tag);
        return um_policy_check_time(&p->last, p->now, err);
    }
    set_tag(p, response.tag);
    UM_TRY(um_manifest_read(t.bytes, t.len, &p->manifest, err));
    return um_policy_check(&p->manifest, &p->last, &policy, err);
}

/* --- admission ------------------------------------------------------------ */

static umbel_status use_ruling(umbel_puller *p, const umbel_ruling *ruling,
                               const uint8_t *digest, umbel_error *err)
{
    if (!ruling->admitted) {
        const umbel_reason *why = &ruling->reason[0];
        bool memory = why->code == UMBEL_REFUSED_BYTES &&
                      ruling->bytes <= p->wants.max_bytes;
        return um_fail_detail(err, UMBEL_E_REFUSED,
                              memory ? UMBEL_D_MEMORY_LIMIT : UMBEL_D_NONE,
                              "not admitted: %s", why->text);
    }
    memcpy(p->admitted, digest, sizeof p->admitted);
    p->has_admitted = true;
    return UMBEL_OK;
}

/* Admits a file of the store, unless the same bytes were admitted before. */
static umbel_status admit_file(umbel_puller *p, const char *name,
                               const uint8_t *digest, umbel_error *err)
{
    umbel_ruling ruling;
    umbel_slice all;

    if (p->has_admitted && um_same_digest(p->admitted, digest))
        return UMBEL_OK;
    UM_TRY(p->store.get(p->store.ctx, name, &all, err));
    umbel_status status = umbel_admit_bytes(all.data, all.len, &p->source,
                                            &p->wants, NULL, &ruling, err);
    p->store.release(p->store.ctx, all);
    return status ? status : use_ruling(p, &ruling, digest, err);
}

/* Admits a filter made by differences, as strictly as one that was decoded
 * here. */
static umbel_status admit_filter(umbel_puller *p, const umbel_filter *f,
                                 umbel_error *err)
{
    umbel_ruling ruling;
    uint64_t limit = p->source.memory_limit;

    if (!limit && umbel_coded(f))
        limit = um_open_limit(p->manifest.filter.len);
    if (limit && f->payload_len > limit)
        return um_fail_detail(err, UMBEL_E_REFUSED, UMBEL_D_MEMORY_LIMIT,
                              "not admitted: the filter takes %zu bytes, the "
                              "limit is %" PRIu64,
                              f->payload_len, limit);
    UM_TRY(umbel_admit(f, &p->wants, &ruling, err));
    return use_ruling(p, &ruling, p->manifest.filter.digest, err);
}

/* --- the filter ----------------------------------------------------------- */

/* Fetches a blob of the manifest into a part with the right digest. */
static umbel_status fetch_blob(umbel_puller *p, const um_blob *blob,
                               um_blob_kind kind, download *d, umbel_error *err)
{
    char name[UM_BLOB_NAME], url[URL_MAX + UM_BLOB_NAME];

    um_blob_name(blob, kind, name);
    snprintf(url, sizeof url, "%s%s", p->base_url, name);
    *d = (download){
        .fetcher = &p->fetcher, .store = &p->store, .url = url, .blob = blob};
    umbel_status status = run_download(d, err);
    d->url = NULL;
    p->moved += d->moved;
    return status;
}

/* Fetches the whole filter. If it is refused, it stays as a part, so that it is
 * not fetched again. */
static umbel_status pull_whole(umbel_puller *p, umbel_error *err)
{
    download d;
    const um_blob *filter = &p->manifest.filter;
    umbel_status status = fetch_blob(p, filter, UM_BLOB_FILTER, &d, err);

    p->gone = status != UMBEL_OK && d.missing;
    if (status != UMBEL_OK)
        return status;
    UM_TRY(admit_file(p, d.part, filter->digest, err));
    return p->store.move(p->store.ctx, d.part, filter_name, err);
}

static umbel_status load_filter(const umbel_puller *p, umbel_filter **out,
                                umbel_error *err)
{
    umbel_slice all;

    UM_TRY(p->store.get(p->store.ctx, filter_name, &all, err));
    umbel_status status = umbel_decode(all.data, all.len, &p->source, out, err);
    p->store.release(p->store.ctx, all);
    return status;
}

/* Applies a step: replaces *f by the next filter. */
static umbel_status apply_step(umbel_puller *p, const um_step *step,
                               umbel_filter **f, bool *final, umbel_error *err)
{
    download d;
    umbel_slice all;
    umbel_filter *next = NULL;
    umbel_status status = fetch_blob(p, &step->file, UM_BLOB_STEP, &d, err);

    *final = status == UMBEL_E_IO && !d.missing;
    if (status != UMBEL_OK)
        return status;
    UM_TRY(p->store.get(p->store.ctx, d.part, &all, err));
    status = umbel_patch(*f, all.data, all.len, &next, err);
    p->store.release(p->store.ctx, all);
    p->store.remove(p->store.ctx, d.part, NULL);
    if (status != UMBEL_OK)
        return status;
    umbel_close(*f);
    *f = next;
    return UMBEL_OK;
}

/* Replaces the stored filter by f, if f is byte for byte the published file. */
static umbel_status write_filter(umbel_puller *p, const umbel_filter *f,
                                 bool *final, umbel_error *err)
{
    uint8_t digest[UM_DIGEST_LEN];
    um_parts parts;

    UM_TRY(um_parts_init(&parts, f, err));
    um_digest_parts(parts.part, UM_COUNT(parts.part), digest);
    *final = um_same_digest(digest, p->manifest.filter.digest);
    umbel_status status = UMBEL_OK;
    if (!*final)
        status = um_fail(err, UMBEL_E_REFUSED,
                         "the differences lead to another filter than the "
                         "published one");
    if (status == UMBEL_OK)
        status = admit_filter(p, f, err);
    if (status == UMBEL_OK)
        status = p->store.put(p->store.ctx, filter_name, parts.part,
                              UM_COUNT(parts.part), err);
    um_parts_fini(&parts, f);
    return status;
}

/*
 * Updates the filter by steps. Sets *final if fetching the whole file would not
 * help, because the network or the store has failed, or the published filter is
 * not admitted.
 */
static umbel_status pull_steps(umbel_puller *p, bool *final, umbel_error *err)
{
    umbel_filter *f = NULL;
    umbel_status status = load_filter(p, &f, err);

    for (size_t i = p->route.first; !status && i < p->manifest.nsteps; i++)
        status = apply_step(p, &p->manifest.step[i], &f, final, err);
    if (status == UMBEL_OK)
        status = write_filter(p, f, final, err);
    umbel_close(f);
    return status;
}

static umbel_status pull_route(umbel_puller *p, umbel_error *err)
{
    bool final = false;

    if (p->manifest.filter.len > p->wants.max_bytes)
        return um_fail_detail(err, UMBEL_E_REFUSED, UMBEL_D_BYTES_LIMIT,
                              "the published filter has %" PRIu64
                              " bytes, the limit is %" PRIu64,
                              p->manifest.filter.len, p->wants.max_bytes);
    if (p->route.by_steps) {
        umbel_status status = pull_steps(p, &final, err);
        if (status == UMBEL_OK || final)
            return status;
    }
    p->route.by_steps = false;
    return pull_whole(p, err);
}

/* --- a round -------------------------------------------------------------- */

static umbel_status round_locked(umbel_puller *p, umbel_error *err)
{
    p->gone = false;
    UM_TRY(read_state(p, err));
    UM_TRY(look_at_filter(p, err));
    UM_TRY(fetch_manifest(p, err));
    if (p->manifest.is_signed && !p->trust && !p->last.is_signed)
        p->new_key = true;
    p->route = um_route_from(&p->manifest, p->there ? p->have.digest : NULL);
    UM_TRY(write_state(p, err));
    if (p->route.current)
        UM_TRY(admit_file(p, filter_name, p->have.digest, err));
    else
        UM_TRY(pull_route(p, err));
    clear_parts(&p->store, NULL); /* also those of a killed round */
    return UMBEL_OK;
}

static void report_round(const umbel_puller *p, umbel_pulled *out)
{
    *out = (umbel_pulled){.serial = p->manifest.serial,
                          .route = p->route.current    ? UMBEL_PULL_CURRENT
                                   : p->route.by_steps ? UMBEL_PULL_STEPS
                                                       : UMBEL_PULL_WHOLE,
                          .bytes = p->manifest.filter.len,
                          .moved = p->moved,
                          .is_signed = p->manifest.is_signed,
                          .new_key = p->new_key,
                          .expires = p->manifest.expires};
    memcpy(out->key, p->manifest.key, sizeof out->key);
}

umbel_status umbel_pull_round(umbel_puller *p, uint64_t now, umbel_pulled *out,
                              umbel_error *err)
{
    UM_TRY(p->store.lock(p->store.ctx, err));
    p->now = now;
    p->moved = 0;
    p->new_key = false;
    umbel_status status = round_locked(p, err);
    if (status != UMBEL_OK && p->gone) /* try again: replaced by a newer one? */
        status = round_locked(p, err);
    p->store.unlock(p->store.ctx);
    if (status == UMBEL_OK && out)
        report_round(p, out);
    return status;
}
