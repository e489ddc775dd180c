/*
 * puller.c - a round: manifest, judgement, the cheaper way, admission, rename.
 *
 * What a manifest says is remembered as soon as it is believed, before anything
 * else is fetched: who lets a new one pass and then holds its filter back
 * cannot return to an older one.
 */
#include "cli/puller.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/content.h"
#include "cli/download.h"
#include "cli/files.h"
#include "cli/shelf.h"
#include "filter/save.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- addresses and places ---------------------------------------------------
 */

static bool set_text(char *out, size_t room, const char *a, const char *b)
{
    int len = snprintf(out, room, "%s%s", a, b);
    return len >= 0 && (size_t)len < room;
}

/* The last word of the address; with or without .manifest it is the same. */
static bool set_name(um_puller *p)
{
    static const char ending[] = ".manifest";
    const char *host = strstr(p->base_url, "://") + 3;
    char *name = strrchr(host, '/');
    size_t end = sizeof ending - 1, len = name ? strlen(++name) : 0;

    if (len > end && strcmp(name + len - end, ending) == 0)
        len -= end;
    if (!name || !um_name_is_fine(name, len))
        return false;
    memcpy(p->name, name, len);
    p->name[len] = '\0';
    *name = '\0';
    return true;
}

umbel_status um_puller_init(um_puller *p, const char *url, const char *path,
                            umbel_error *err)
{
    p->path = path;
    if (!um_is_url(url))
        return um_fail(err, UMBEL_E_RANGE,
                       "%.100s is no address: it begins with http://, "
                       "https:// or file://",
                       um_url_shown(url));
    if (strncmp(url, "file://", 7) == 0 && url[7] != '/' &&
        strncmp(url + 7, "localhost/", 10) != 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "behind file:// comes a whole path, as in "
                       "file:///srv/shelf/words");
    if (!set_text(p->base_url, sizeof p->base_url, url, "") ||
        !um_pull_state_init(&p->memo, path))
        return um_fail(err, UMBEL_E_RANGE, "the address or name is too long");
    if (!set_name(p))
        return um_fail(err, UMBEL_E_RANGE,
                       "the address ends with the name of a filter, as in "
                       "https://example.org/lists/words");
    int len = snprintf(p->manifest_url, sizeof p->manifest_url, "%s%s.manifest",
                       p->base_url, p->name);
    if (len < 0 || (size_t)len >= sizeof p->manifest_url)
        return um_fail(err, UMBEL_E_RANGE, "the address is too long");
    return UMBEL_OK;
}

static um_terms terms_of(const um_puller *p)
{
    return (um_terms){
        .name = p->name, .trust = p->trust, .now = (uint64_t)time(NULL)};
}

static umbel_status memorize(um_puller *p, umbel_error *err)
{
    um_memory now = {.serial = p->manifest.serial,
                     .expires = p->manifest.expires,
                     .is_signed = p->manifest.is_signed};

    memcpy(now.name, p->manifest.name, sizeof now.name);
    memcpy(now.filter, p->manifest.filter.digest, sizeof now.filter);
    memcpy(now.key, p->manifest.key, sizeof now.key);
    set_text(now.tag, sizeof now.tag, p->tag, "");
    return um_pull_state_write(&p->memo, &now, err);
}

/* --- the manifest -----------------------------------------------------------
 */

typedef struct text {
    char bytes[UM_MANIFEST_MAX];
    size_t len;
} text;

static bool take_text(void *ctx, const void *bytes, size_t len,
                      umbel_error *err)
{
    text *t = ctx;

    (void)err; /* the fetch has a limit of its own */
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
    return true;
}

/* The manifest that we remember, as far as we do; its filter is there. */
static void recall(um_puller *p)
{
    p->manifest = (um_manifest){.serial = p->last.serial,
                                .expires = p->last.expires,
                                .is_signed = p->last.is_signed};
    memcpy(p->manifest.name, p->last.name, sizeof p->last.name);
    memcpy(p->manifest.filter.digest, p->last.filter, sizeof p->last.filter);
    p->manifest.filter.len = (uint64_t)p->seen.st_size;
    memcpy(p->manifest.key, p->last.key, sizeof p->last.key);
    set_text(p->tag, sizeof p->tag, p->last.tag, "");
}

static umbel_status doubt_address(umbel_error *err)
{
    umbel_error said = *err;

    return um_fail(err, said.status,
                   "%.170s: an address ends with the filter's name, without / "
                   "and .umb",
                   said.text);
}

/* Conditional only while we still have what it was about, as we want it. */
static umbel_status fetch_manifest(um_puller *p, bool have, umbel_error *err)
{
    text t = {.len = 0};
    um_terms terms = terms_of(p);
    um_fetched fetched;
    um_fetch f = {.url = p->manifest_url,
                  .ca = p->ca,
                  .max = UM_MANIFEST_MAX,
                  .fresh = true,
                  .take = take_text,
                  .ctx = &t};

    if (have && um_memory_fits(&p->last, &terms))
        f.tag = p->last.tag;
    umbel_status status = um_fetch_run(&f, &fetched, err);
    p->moved += fetched.bytes;
    if (status != UMBEL_OK && fetched.missing)
        return doubt_address(err);
    if (status != UMBEL_OK)
        return status;
    if (fetched.unchanged) {
        recall(p);
        return um_judge_again(&p->last, terms.now, err);
    }
    set_text(p->tag, sizeof p->tag, fetched.tag, "");
    status = um_manifest_read(t.bytes, t.len, &p->manifest, err);
    return status == UMBEL_OK ? um_judge(&p->manifest, &p->last, &terms, err)
                              : status;
}

/* --- the filter -------------------------------------------------------------
 */

/*
 * Who watches a large file need not read it every time. Times are coarse: what
 * changed just before it was read may have changed again without a trace.
 */
static bool is_as_seen(const um_puller *p, const struct stat *st)
{
    enum { COARSE = 2 };
    const struct stat *was = &p->seen;

    return p->seen_at && p->seen_at - st->st_ctim.tv_sec >= COARSE &&
           st->st_dev == was->st_dev && st->st_ino == was->st_ino &&
           st->st_size == was->st_size &&
           st->st_ctim.tv_sec == was->st_ctim.tv_sec &&
           st->st_ctim.tv_nsec == was->st_ctim.tv_nsec;
}

static umbel_status look(um_puller *p, const struct stat *st, umbel_error *err)
{
    uint64_t len;
    time_t now = time(NULL);
    umbel_status status = um_content_digest(p->path, p->seen_digest, &len, err);

    p->seen = *st;
    p->seen_at = status == UMBEL_OK ? now : 0;
    return status;
}

/* What is there is read as a whole: a pipe would never end. */
static umbel_status digest_file(um_puller *p, uint8_t out[UM_DIGEST_LEN],
                                bool *there, umbel_error *err)
{
    struct stat st;
    umbel_status status = UMBEL_OK;

    *there = stat(p->path, &st) == 0;
    if (!*there)
        return errno == ENOENT ? UMBEL_OK : um_fail_path(err, p->path);
    if (!S_ISREG(st.st_mode))
        return um_fail(err, UMBEL_E_IO, "%s%s: not a regular file",
                       um_path_dots(p->path), um_path_tail(p->path));
    if (!is_as_seen(p, &st))
        status = look(p, &st, err);
    memcpy(out, p->seen_digest, UM_DIGEST_LEN);
    return status;
}

/* A piece of the manifest, as a file that is there and right. */
static umbel_status get_piece(um_puller *p, const um_blob *piece,
                              um_blob_kind kind, um_download *d,
                              umbel_error *err)
{
    char name[UM_BLOB_NAME], url[UM_URL_MAX];

    *d = (um_download){.url = url, .ca = p->ca, .piece = piece};
    um_blob_name(piece->digest, kind, name);
    if (!um_download_to(d, p->path) ||
        !set_text(url, sizeof url, p->base_url, name))
        return um_fail(err, UMBEL_E_RANGE, "the address or name is too long");
    umbel_status status = um_download_run(d, err);
    p->moved += d->moved;
    d->url = NULL;
    return status;
}

static bool was_admitted(const um_puller *p,
                         const uint8_t digest[UM_DIGEST_LEN])
{
    return p->has_admitted &&
           memcmp(p->admitted, digest, sizeof p->admitted) == 0;
}

/* Every way in goes through here; once for the same bytes. */
static umbel_status admit(um_puller *p, const void *bytes, size_t len,
                          const uint8_t digest[UM_DIGEST_LEN], umbel_error *err)
{
    umbel_filter *f = NULL;
    umbel_ruling ruling;

    if (was_admitted(p, digest))
        return UMBEL_OK;
    umbel_status status =
        umbel_admit_bytes(bytes, len, &p->source, &p->wants, &f, &ruling, err);
    umbel_close(f);
    if (status != UMBEL_OK)
        return status;
    if (!ruling.admitted)
        return um_fail(err, UMBEL_E_REFUSED, "not admitted: %.160s%s",
                       ruling.reason[0].text,
                       um_memory_advice(ruling.reason[0].text));
    memcpy(p->admitted, digest, sizeof p->admitted);
    p->has_admitted = true;
    return UMBEL_OK;
}

/* What is there and need not be fetched is held to the same limits. */
static umbel_status admit_file(um_puller *p, const char *path,
                               const uint8_t digest[UM_DIGEST_LEN],
                               umbel_error *err)
{
    um_content c;

    if (was_admitted(p, digest))
        return UMBEL_OK;
    umbel_status status = um_content_read(&c, path, err);
    if (status == UMBEL_OK)
        status = admit(p, c.bytes, c.len, digest, err);
    um_content_fini(&c);
    return status;
}

/*
 * The part becomes the file, without a second copy on the disk. A link stays
 * one: what it names is written. What is not admitted stays a part, so that it
 * is not fetched again and again.
 */
static umbel_status settle_part(um_puller *p, const char *part,
                                umbel_error *err)
{
    struct stat st;
    um_content c;
    umbel_status status = admit_file(p, part, p->manifest.filter.digest, err);

    if (status != UMBEL_OK)
        return status;
    if (lstat(p->path, &st) != 0 || !S_ISLNK(st.st_mode))
        return um_save_ready(part, p->path, err);
    status = um_content_read(&c, part, err);
    if (status != UMBEL_OK)
        return status;
    umbel_slice all = {c.bytes, c.len};
    status = um_save_parts(&all, 1, p->path, err);
    um_content_fini(&c);
    return status;
}

static umbel_status take_whole(um_puller *p, umbel_error *err)
{
    um_download d;
    umbel_status status =
        get_piece(p, &p->manifest.filter, UM_BLOB_FILTER, &d, err);

    p->gone = status != UMBEL_OK && d.missing;
    return status == UMBEL_OK ? settle_part(p, d.path, err) : status;
}

/* *f becomes the filter after a step. */
static umbel_status apply(um_puller *p, const um_step *step, umbel_filter **f,
                          bool *final, umbel_error *err)
{
    um_download d;
    um_content c;
    umbel_filter *next = NULL;
    umbel_status status = get_piece(p, &step->file, UM_BLOB_STEP, &d, err);

    *final = status == UMBEL_E_IO && !d.missing;
    if (status != UMBEL_OK)
        return status;
    status = um_content_read(&c, d.path, err);
    if (status == UMBEL_OK)
        status = umbel_patch(*f, c.bytes, c.len, &next, err);
    um_content_fini(&c);
    unlink(d.path);
    if (status == UMBEL_OK) {
        umbel_close(*f);
        *f = next;
    }
    return status;
}

/* The published file, to the last byte, from what steps made. */
static umbel_status encode(const um_puller *p, const umbel_filter *f,
                           um_content *out, umbel_error *err)
{
    uint8_t digest[UM_DIGEST_LEN];
    umbel_status status = um_content_encode(out, f, err);

    if (status != UMBEL_OK)
        return status;
    um_digest_of(out->bytes, out->len, digest);
    if (memcmp(digest, p->manifest.filter.digest, sizeof digest) == 0)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_REFUSED,
                   "the differences lead to another filter than the "
                   "published one");
}

/*
 * *final: the whole file would not help. The network or the disk fails it as
 * well, and what is not admitted as these bytes is not admitted.
 */
static umbel_status take_steps(um_puller *p, bool *final, umbel_error *err)
{
    umbel_filter *f = NULL;
    um_content c = {.len = 0};
    umbel_status status = umbel_load(p->path, &p->source, &f, err);

    for (size_t i = p->route.first;
         status == UMBEL_OK && i < p->manifest.nsteps; i++)
        status = apply(p, &p->manifest.step[i], &f, final, err);
    if (status == UMBEL_OK)
        status = encode(p, f, &c, err);
    umbel_close(f);
    if (status == UMBEL_OK) {
        umbel_slice all = {c.bytes, c.len};
        *final = true;
        status = admit(p, c.bytes, c.len, p->manifest.filter.digest, err);
        if (status == UMBEL_OK)
            status = um_save_parts(&all, 1, p->path, err);
    }
    um_content_fini(&c);
    return status;
}

static umbel_status take_route(um_puller *p, umbel_error *err)
{
    bool final = false;

    if (p->manifest.filter.len > p->wants.max_bytes)
        return um_fail(err, UMBEL_E_REFUSED,
                       "the published filter has %" PRIu64
                       " bytes, the limit is %" PRIu64 " (--max-bytes)",
                       p->manifest.filter.len, p->wants.max_bytes);
    if (p->route.by_steps) {
        umbel_status status = take_steps(p, &final, err);
        if (status == UMBEL_OK || final)
            return status;
    }
    p->route.by_steps = false;
    return take_whole(p, err);
}

/* --- a round ----------------------------------------------------------------
 */

static umbel_status round_locked(um_puller *p, umbel_error *err)
{
    uint8_t have[UM_DIGEST_LEN];
    bool there = false;

    p->gone = false;
    umbel_status status = um_pull_state_read(&p->memo, &p->last, err);
    if (status == UMBEL_OK)
        status = digest_file(p, have, &there, err);
    if (status != UMBEL_OK)
        return status;
    bool as_left = there && memcmp(have, p->last.filter, sizeof have) == 0;
    status = fetch_manifest(p, as_left, err);
    if (status != UMBEL_OK)
        return status;
    p->route = um_route_from(&p->manifest, there ? have : NULL);
    status = memorize(p, err);
    if (status != UMBEL_OK)
        return status;
    status = p->route.current ? admit_file(p, p->path, have, err)
                              : take_route(p, err);
    if (status == UMBEL_OK)
        um_download_clear(p->path); /* of this try, or of one that was killed */
    return status;
}

umbel_status um_puller_round(um_puller *p, umbel_error *err)
{
    umbel_status status = um_pull_state_open(&p->memo, err);

    if (status != UMBEL_OK)
        return status;
    p->moved = 0;
    status = round_locked(p, err);
    if (p->gone) /* published anew since we read the manifest? once more */
        status = round_locked(p, err);
    um_pull_state_close(&p->memo);
    return status;
}
