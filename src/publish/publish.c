/*
 * publish.c - publishes a filter: writes it, the difference from the last one
 * and the next manifest to a publish directory.
 *
 * In a publish directory manifests have names, and blobs (filters and
 * differences) are named by their digest. Blobs never change. They are written
 * first, the manifest last, and blobs that no manifest names any more are
 * removed.
 */
#include "publish/publish.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "filter/envelope.h"
#include "publish/internal.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the publish directory ------------------------------------------------ */

static const char manifest_ending[] = ".manifest";

enum { MANIFEST_NAME = UM_NAME_MAX + sizeof manifest_ending };

static umbel_status read_manifest(const umbel_store *dir, const char *file,
                                  um_manifest *out, umbel_error *err)
{
    umbel_slice text;

    UM_TRY(dir->get(dir->ctx, file, &text, err));
    umbel_status status = um_manifest_read(text.data, text.len, out, err);
    dir->release(dir->ctx, text);
    return um_name_file(status, um_store_where(dir, file), err);
}

/* Reads a manifest. Only one that certainly does not exist leads to serial
 * 1. */
umbel_status um_publish_dir_manifest(const umbel_store *dir, const char *name,
                                     um_manifest *out, umbel_error *err)
{
    char file[MANIFEST_NAME];

    snprintf(file, sizeof file, "%s%s", name, manifest_ending);
    umbel_status status = read_manifest(dir, file, out, err);
    if (status == UMBEL_E_UNKNOWN) {
        *out = (um_manifest){.serial = 0};
        snprintf(out->name, sizeof out->name, "%s", name);
        return UMBEL_OK;
    }
    if (status == UMBEL_OK && strcmp(out->name, name) != 0) {
        const char *where = um_store_where(dir, file);
        return um_fail(err, UMBEL_E_FORMAT,
                       "%s%s is the manifest of \"%s\": remove it",
                       um_path_dots(where), um_path_tail(where), out->name);
    }
    return status;
}

static umbel_status write_dir_manifest(const umbel_store *dir, um_manifest *m,
                                       const uint8_t *secret, umbel_error *err)
{
    char file[MANIFEST_NAME], text[UM_MANIFEST_MAX];
    umbel_slice part = {text, um_manifest_write(m, secret, text)};

    snprintf(file, sizeof file, "%s%s", m->name, manifest_ending);
    return dir->put(dir->ctx, file, &part, 1, err);
}

umbel_status um_publish_dir_load(const umbel_store *dir, const um_blob *blob,
                                 const umbel_source *source, umbel_filter **out,
                                 umbel_error *err)
{
    char name[UM_BLOB_NAME];
    uint8_t digest[UM_DIGEST_LEN];
    umbel_slice all;
    umbel_status status;

    um_blob_name(blob, UM_BLOB_FILTER, name);
    UM_TRY(dir->get(dir->ctx, name, &all, err));
    um_digest_parts(&all, 1, digest);
    if (um_same_digest(digest, blob->digest)) {
        status = umbel_decode(all.data, all.len, source, out, err);
    } else {
        const char *where = um_store_where(dir, name);
        status = um_fail(err, UMBEL_E_CHECKSUM,
                         "%s%s does not match the digest in its name",
                         um_path_dots(where), um_path_tail(where));
    }
    dir->release(dir->ctx, all);
    return status;
}

/* Writes a blob, unless it exists. A damaged one is replaced, since no reader
 * would accept it. */
static umbel_status write_blob(const umbel_store *dir, const um_blob *blob,
                               um_blob_kind kind, const umbel_slice *parts,
                               size_t n, umbel_error *err)
{
    char name[UM_BLOB_NAME];
    um_blob there;

    um_blob_name(blob, kind, name);
    if (um_store_object_digest(dir, name, &there, NULL) == UMBEL_OK &&
        um_same_digest(there.digest, blob->digest))
        return UMBEL_OK;
    return dir->put(dir->ctx, name, parts, n, err);
}

/* --- removing blobs that no manifest names -------------------------------- */

typedef struct tidying {
    const umbel_store *dir;
    uint8_t (*named)[UM_DIGEST_LEN];
    size_t n, cap;
    umbel_status status;
    umbel_error *err;
} tidying;

static umbel_status record_digest(tidying *t, const uint8_t *digest)
{
    if (!um_array_reserve(&t->named, &t->cap, t->n + 1, sizeof *t->named))
        return um_fail(t->err, UMBEL_E_NOMEM, "no memory to tidy up");
    memcpy(t->named[t->n++], digest, UM_DIGEST_LEN);
    return UMBEL_OK;
}

static umbel_status record_manifest(tidying *t, const char *file)
{
    um_manifest m;

    UM_TRY(read_manifest(t->dir, file, &m, t->err));
    UM_TRY(record_digest(t, m.filter.digest));
    for (size_t i = 0; i < m.nsteps; i++)
        UM_TRY(record_digest(t, m.step[i].file.digest));
    return UMBEL_OK;
}

/* Collects the blobs that a manifest names. One that cannot be read may name
 * any blob, so it ends the walk. */
static bool visit_manifest(void *ctx, const char *name)
{
    tidying *t = ctx;
    size_t len = strlen(name), end = sizeof manifest_ending - 1;

    if (len > end && strcmp(name + len - end, manifest_ending) == 0)
        t->status = record_manifest(t, name);
    return t->status == UMBEL_OK;
}

static bool is_named(const tidying *t, const uint8_t *digest)
{
    for (size_t i = 0; i < t->n; i++)
        if (um_same_digest(t->named[i], digest))
            return true;
    return false;
}

/* Removes a blob that no manifest names, if its name is its digest: other files
 * are not ours. */
static bool visit_blob(void *ctx, const char *name)
{
    tidying *t = ctx;
    uint8_t digest[UM_DIGEST_LEN];
    um_blob there;

    if (um_blob_name_read(name, digest) && !is_named(t, digest) &&
        um_store_object_digest(t->dir, name, &there, NULL) == UMBEL_OK &&
        um_same_digest(there.digest, digest))
        t->dir->remove(t->dir->ctx, name, NULL);
    return true;
}

static umbel_status tidy_locked(tidying *t, const uint8_t *keep, size_t n)
{
    const umbel_store *s = t->dir;

    for (size_t i = 0; i < n; i++)
        UM_TRY(record_digest(t, keep + i * UM_DIGEST_LEN));
    UM_TRY(s->list(s->ctx, visit_manifest, t, t->err));
    UM_TRY(t->status);
    return s->list(s->ctx, visit_blob, t, t->err);
}

umbel_status umbel_publish_tidy(const umbel_store *dir, const uint8_t *keep,
                                size_t n, umbel_error *err)
{
    tidying t = {.dir = dir, .err = err};

    UM_TRY(um_store_check(dir, false, err));
    UM_TRY(dir->lock(dir->ctx, err));
    umbel_status status = tidy_locked(&t, keep, n);
    dir->unlock(dir->ctx);
    free(t.named);
    return status;
}

umbel_status um_content_diff(um_content *c, const umbel_filter *old,
                             const umbel_filter *now, umbel_diff_result *cost,
                             umbel_error *err)
{
    size_t room = umbel_diff_bound(now);

    *c = (um_content){.bytes = malloc(room), .cap = room};
    if (!c->bytes)
        return um_no_memory(err, room);
    umbel_status status = umbel_diff(old, now, c->bytes, c->cap, cost, err);
    if (status == UMBEL_OK)
        c->len = (size_t)cost->bytes;
    else
        um_content_fini(c);
    return status;
}

um_name_text um_name_of(const umbel_filter *f)
{
    uint8_t name[UMBEL_CONTENT_LEN];
    um_name_text out = {""};

    umbel_content_name(f, name);
    um_digest_text(name, out.text);
    return out;
}

/* --- publishing ----------------------------------------------------------- */

/* A filter that is being published. */
typedef struct edition {
    const umbel_publication *what;
    const umbel_store *dir;
    umbel_slice part[2]; /* the filter's file */
    size_t nparts;
    um_blob filter, step;
    bool has_step;
    umbel_error no_step; /* why has_step is false */
    um_manifest last, next;
} edition;

umbel_status um_check_readers(const umbel_filter *f, umbel_error *err)
{
    umbel_admission wants = UMBEL_ADMISSION_INIT;
    umbel_ruling ruling;

    wants.max_bytes = UM_PULL_MAX_BYTES;
    UM_TRY(umbel_admit(f, &wants, &ruling, err));
    if (ruling.admitted)
        return UMBEL_OK;
    return um_fail_detail(err, UMBEL_E_REFUSED, UMBEL_D_NOT_ADMITTED,
                          "readers would not admit this filter: %s",
                          ruling.reason[0].text);
}

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

/* Checks that the key is the one that signed the last manifest. Two publishers
 * with different keys would lock out each other's readers. */
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
                   secret ? "trust the new key" : "start over");
}

/* Writes the difference from old, if there is one and it is smaller than the
 * filter. */
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
        status = write_blob(e->dir, &e->step, UM_BLOB_STEP, &part, 1, err);
    } else {
        um_set_error(&e->no_step, UMBEL_OK, "too much has changed");
    }
    um_content_fini(&c);
    return status;
}

/* Creates the difference from the last filter. Without that filter there is
 * none, which is not an error. */
static umbel_status create_step(edition *e, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *old;

    source.memory_limit = e->what->memory_limit;
    if (e->last.serial == 0 || e->what->keep == 0 ||
        um_same_digest(e->last.filter.digest, e->filter.digest) ||
        um_publish_dir_load(e->dir, &e->last.filter, &source, &old,
                            &e->no_step))
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
    return write_dir_manifest(e->dir, &e->next, w->sign_key, err);
}

/* Writes blobs first and the manifest last, so that everything it names
 * exists. */
static umbel_status publish_locked(edition *e, umbel_error *err)
{
    UM_TRY(um_publish_dir_manifest(e->dir, e->what->name, &e->last, err));
    UM_TRY(check_signer(e, err));
    um_digest_parts(e->part, e->nparts, e->filter.digest);
    for (size_t i = 0; i < e->nparts; i++)
        e->filter.len += e->part[i].len;
    UM_TRY(write_blob(e->dir, &e->filter, UM_BLOB_FILTER, e->part, e->nparts,
                      err));
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
                           const umbel_store *dir, umbel_published *out,
                           umbel_error *err)
{
    edition e = {.what = what, .dir = dir, .nparts = 1};
    um_parts parts;

    UM_TRY(check_publication(what, err));
    UM_TRY(um_store_check(dir, false, err));
    if (!what->force)
        UM_TRY(um_check_readers(what->filter, err));
    if (sodium_init() < 0) /* chooses the fast digest */
        return um_fail(err, UMBEL_E_IO, "the system gives no random numbers");
    e.part[0] = what->file;
    if (!what->file.len) {
        UM_TRY(um_parts_init(&parts, what->filter, err));
        memcpy(e.part, parts.part, sizeof e.part);
        e.nparts = UM_COUNT(e.part);
    }
    umbel_status status = dir->lock(dir->ctx, err);
    if (status == UMBEL_OK) {
        status = publish_locked(&e, err);
        dir->unlock(dir->ctx);
    }
    if (!what->file.len)
        um_parts_fini(&parts, what->filter);
    if (status == UMBEL_OK && out)
        report_edition(&e, out);
    return status;
}
