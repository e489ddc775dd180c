/*
 * shelf.c - a publisher's store, and the removal of what is old.
 */
#include "publish/shelf.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "publish/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char manifest_ending[] = ".manifest";

enum { MANIFEST_NAME = UM_NAME_MAX + sizeof manifest_ending };

static umbel_status read_manifest(const umbel_store *shelf, const char *file,
                                  um_manifest *out, umbel_error *err)
{
    umbel_slice text;

    UM_TRY(shelf->get(shelf->ctx, file, &text, err));
    umbel_status status = um_manifest_read(text.data, text.len, out, err);
    shelf->release(shelf->ctx, text);
    return um_name_file(status, um_store_where(shelf, file), err);
}

/* Only a manifest that certainly does not exist starts with serial 1. */
umbel_status um_shelf_manifest(const umbel_store *shelf, const char *name,
                               um_manifest *out, umbel_error *err)
{
    char file[MANIFEST_NAME];

    snprintf(file, sizeof file, "%s%s", name, manifest_ending);
    umbel_status status = read_manifest(shelf, file, out, err);
    if (status == UMBEL_E_UNKNOWN) {
        *out = (um_manifest){.serial = 0};
        snprintf(out->name, sizeof out->name, "%s", name);
        return UMBEL_OK;
    }
    if (status == UMBEL_OK && strcmp(out->name, name) != 0) {
        const char *where = um_store_where(shelf, file);
        return um_fail(err, UMBEL_E_FORMAT,
                       "%s%s is the manifest of \"%s\": remove it",
                       um_path_dots(where), um_path_tail(where), out->name);
    }
    return status;
}

umbel_status um_shelf_append_manifest(const umbel_store *shelf, um_manifest *m,
                                      const uint8_t *secret, umbel_error *err)
{
    char file[MANIFEST_NAME], text[UM_MANIFEST_MAX];
    umbel_slice part = {text, um_manifest_write(m, secret, text)};

    snprintf(file, sizeof file, "%s%s", m->name, manifest_ending);
    return shelf->put(shelf->ctx, file, &part, 1, err);
}

umbel_status um_shelf_load(const umbel_store *shelf, const um_blob *blob,
                           const umbel_source *source, umbel_filter **out,
                           umbel_error *err)
{
    char name[UM_BLOB_NAME];
    uint8_t digest[UM_DIGEST_LEN];
    umbel_slice all;
    umbel_status status;

    um_blob_name(blob, UM_BLOB_FILTER, name);
    UM_TRY(shelf->get(shelf->ctx, name, &all, err));
    um_digest_parts(&all, 1, digest);
    if (um_same_digest(digest, blob->digest)) {
        status = umbel_decode(all.data, all.len, source, out, err);
    } else {
        const char *where = um_store_where(shelf, name);
        status = um_fail(err, UMBEL_E_CHECKSUM,
                         "%s%s does not match the digest in its name",
                         um_path_dots(where), um_path_tail(where));
    }
    shelf->release(shelf->ctx, all);
    return status;
}

/* A blob that was damaged is replaced: no reader would take it. */
umbel_status um_shelf_append(const umbel_store *shelf, const um_blob *blob,
                             um_blob_kind kind, const umbel_slice *parts,
                             size_t n, umbel_error *err)
{
    char name[UM_BLOB_NAME];
    um_blob there;

    um_blob_name(blob, kind, name);
    if (um_store_object_digest(shelf, name, &there, NULL) == UMBEL_OK &&
        um_same_digest(there.digest, blob->digest))
        return UMBEL_OK;
    return shelf->put(shelf->ctx, name, parts, n, err);
}

/* --- what no manifest names any more ----------------------------------------
 */

typedef struct tidying {
    const umbel_store *shelf;
    uint8_t (*named)[UM_DIGEST_LEN];
    size_t n, cap;
    umbel_status status;
    umbel_error *err;
} tidying;

static umbel_status note_digest(tidying *t, const uint8_t *digest)
{
    if (!um_array_reserve(&t->named, &t->cap, t->n + 1, sizeof *t->named))
        return um_fail(t->err, UMBEL_E_NOMEM, "no memory to tidy up");
    memcpy(t->named[t->n++], digest, UM_DIGEST_LEN);
    return UMBEL_OK;
}

static umbel_status note_manifest(tidying *t, const char *file)
{
    um_manifest m;

    UM_TRY(read_manifest(t->shelf, file, &m, t->err));
    UM_TRY(note_digest(t, m.filter.digest));
    for (size_t i = 0; i < m.nsteps; i++)
        UM_TRY(note_digest(t, m.step[i].file.digest));
    return UMBEL_OK;
}

/* A manifest that cannot be read may name anything: it ends the list. */
static bool visit_manifest(void *ctx, const char *name)
{
    tidying *t = ctx;
    size_t len = strlen(name), end = sizeof manifest_ending - 1;

    if (len > end && strcmp(name + len - end, manifest_ending) == 0)
        t->status = note_manifest(t, name);
    return t->status == UMBEL_OK;
}

static bool is_named(const tidying *t, const uint8_t *digest)
{
    for (size_t i = 0; i < t->n; i++)
        if (um_same_digest(t->named[i], digest))
            return true;
    return false;
}

/* Removes only files whose name is their digest: others are not ours. */
static bool visit_blob(void *ctx, const char *name)
{
    tidying *t = ctx;
    uint8_t digest[UM_DIGEST_LEN];
    um_blob there;

    if (um_blob_name_read(name, digest) && !is_named(t, digest) &&
        um_store_object_digest(t->shelf, name, &there, NULL) == UMBEL_OK &&
        um_same_digest(there.digest, digest))
        t->shelf->remove(t->shelf->ctx, name, NULL);
    return true;
}

static umbel_status tidy_locked(tidying *t, const uint8_t *keep, size_t n)
{
    const umbel_store *s = t->shelf;

    for (size_t i = 0; i < n; i++)
        UM_TRY(note_digest(t, keep + i * UM_DIGEST_LEN));
    UM_TRY(s->list(s->ctx, visit_manifest, t, t->err));
    UM_TRY(t->status);
    return s->list(s->ctx, visit_blob, t, t->err);
}

umbel_status umbel_shelf_tidy(const umbel_store *shelf, const uint8_t *keep,
                              size_t n, umbel_error *err)
{
    tidying t = {.shelf = shelf, .err = err};

    UM_TRY(um_store_check(shelf, false, err));
    UM_TRY(shelf->lock(shelf->ctx, err));
    umbel_status status = tidy_locked(&t, keep, n);
    shelf->unlock(shelf->ctx);
    free(t.named);
    return status;
}
