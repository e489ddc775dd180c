/*
 * publish.c - a publisher: the filter, a difference from the last one, the next
 * manifest.
 */
#include "publish/publish.h"

#include "base/error.h"
#include "filter/envelope.h"
#include "publish/content.h"
#include "publish/shelf.h"
#include "publish/store.h"

#include <sodium.h>
#include <string.h>

/* --- the next manifest ------------------------------------------------------
 */

static void drop_first(um_manifest *m, size_t n)
{
    m->nsteps -= n;
    memmove(m->step, m->step + n, m->nsteps * sizeof m->step[0]);
}

/* Drops the steps up to the one that starts from this filter. */
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

/* --- publishing -------------------------------------------------------------
 */

/* A filter on its way to the shelf. */
typedef struct edition {
    const umbel_publication *what;
    const umbel_store *shelf;
    umbel_slice part[2]; /* the filter's file */
    size_t nparts;
    um_blob filter, step;
    bool has_step;
    umbel_error no_step; /* why there is none */
    um_manifest last, next;
} edition;

static umbel_status check_publication(const umbel_publication *w,
                                      umbel_error *err)
{
    if (!w || w->size < sizeof *w || !w->name || !w->filter)
        return um_fail(err, UMBEL_E_RANGE,
                       "a publication has its size, a name and a filter: start "
                       "from UMBEL_PUBLICATION_INIT");
    if (!um_name_is_fine(w->name, strlen(w->name)))
        return um_fail(err, UMBEL_E_RANGE,
                       "\"%.80s\" is no name for an address: use letters, "
                       "digits and ._- inside, up to %d",
                       w->name, UM_NAME_MAX);
    if (w->keep > UMBEL_MAX_STEPS)
        return um_fail(err, UMBEL_E_RANGE, "at most %d differences are kept",
                       UMBEL_MAX_STEPS);
    if (w->valid > UINT64_MAX - w->now)
        return um_fail(err, UMBEL_E_RANGE, "the time of expiry is too large");
    return UMBEL_OK;
}

/* Two publishers with different keys would lock each other's readers out. */
static umbel_status check_signer(const edition *e, umbel_error *err)
{
    const uint8_t *secret = e->what->sign_key;
    uint8_t key[UMBEL_TRUST_KEY_LEN] = {0};

    if (secret)
        crypto_sign_ed25519_sk_to_pk(key, secret);
    if (!e->last.is_signed ||
        (secret && memcmp(key, e->last.key, sizeof key) == 0))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_REFUSED,
                   "%s was published with %s key: sign with that one, or "
                   "remove its manifest; every reader must then %s",
                   e->what->name, secret ? "another" : "a",
                   secret ? "be told to trust the new key" : "start over");
}

/* Puts the difference from old, where there is one and it is the smaller. */
static umbel_status write_step(edition *e, const umbel_filter *old,
                               umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    umbel_diff_result cost;
    um_content c;

    if (um_content_diff(&c, old, e->what->filter, &cost, &e->no_step))
        return UMBEL_OK;
    umbel_slice part = {c.bytes, c.len};
    e->has_step = c.len < e->filter.len;
    if (e->has_step) {
        um_digest_parts(&part, 1, e->step.digest);
        e->step.len = c.len;
        status =
            um_shelf_append(e->shelf, &e->step, UM_BLOB_STEP, &part, 1, err);
    } else {
        um_set_error(&e->no_step, UMBEL_OK, "too much has changed");
    }
    um_content_fini(&c);
    return status;
}

/* Without the last filter there is no difference, and that is no failure. */
static umbel_status create_step(edition *e, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *old;

    source.memory_limit = e->what->memory_limit;
    if (e->last.serial == 0 || e->what->keep == 0 ||
        um_same_digest(e->last.filter.digest, e->filter.digest) ||
        um_shelf_load(e->shelf, &e->last.filter, &source, &old, &e->no_step))
        return UMBEL_OK;
    umbel_status status = write_step(e, old, err);
    umbel_close(old);
    return status;
}

static umbel_status write_manifest(edition *e, umbel_error *err)
{
    const umbel_publication *w = e->what;
    um_edition next = {.filter = e->filter,
                       .step = e->has_step ? &e->step : NULL,
                       .now = w->now,
                       .valid = w->valid,
                       .reports = w->reports,
                       .keep = w->keep};

    um_manifest_next(&e->last, &next, &e->next);
    if (e->next.serial == UINT64_MAX)
        return um_fail(err, UMBEL_E_LIMIT,
                       "%s was published too often: use another name", w->name);
    return um_shelf_append_manifest(e->shelf, &e->next, w->sign_key, err);
}

/* Blobs first, the manifest last: whatever it names is there. */
static umbel_status publish_locked(edition *e, umbel_error *err)
{
    UM_TRY(um_shelf_manifest(e->shelf, e->what->name, &e->last, err));
    UM_TRY(check_signer(e, err));
    um_digest_parts(e->part, e->nparts, e->filter.digest);
    for (size_t i = 0; i < e->nparts; i++)
        e->filter.len += e->part[i].len;
    UM_TRY(um_shelf_append(e->shelf, &e->filter, UM_BLOB_FILTER, e->part,
                           e->nparts, err));
    UM_TRY(create_step(e, err));
    return write_manifest(e, err);
}

static void report_edition(const edition *e, umbel_published *out)
{
    const um_manifest *last = &e->last, *next = &e->next;

    *out = (umbel_published){
        .serial = next->serial,
        .bytes = e->filter.len,
        .step_bytes = e->has_step ? e->step.len : 0,
        .steps = next->nsteps,
        .is_signed = next->is_signed,
        .expires = next->expires,
        .expiry_gone = last->expires && !next->expires,
        .unchanged = last->serial &&
                     um_same_digest(last->filter.digest, e->filter.digest),
        .has_last = last->serial > 0,
        .no_step = e->no_step};
    memcpy(out->digest, e->filter.digest, sizeof out->digest);
    memcpy(out->last, last->filter.digest, sizeof out->last);
}

umbel_status umbel_publish(const umbel_publication *what,
                           const umbel_store *shelf, umbel_published *out,
                           umbel_error *err)
{
    edition e = {.what = what, .shelf = shelf, .nparts = 1};
    um_parts parts;

    UM_TRY(check_publication(what, err));
    UM_TRY(um_store_check(shelf, false, err));
    if (sodium_init() < 0) /* picks the fast digest */
        return um_fail(err, UMBEL_E_IO, "the system gives no random numbers");
    e.part[0] = what->file;
    if (!what->file.len) {
        UM_TRY(um_parts_init(&parts, what->filter, err));
        memcpy(e.part, parts.part, sizeof e.part);
        e.nparts = UM_COUNT(e.part);
    }
    umbel_status status = shelf->lock(shelf->ctx, err);
    if (status == UMBEL_OK) {
        status = publish_locked(&e, err);
        shelf->unlock(shelf->ctx);
    }
    if (!what->file.len)
        um_parts_fini(&parts, what->filter);
    if (status == UMBEL_OK && out)
        report_edition(&e, out);
    return status;
}
