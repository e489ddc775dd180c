/*
 * puller.c - a round: manifest, judgement, the cheaper way, admission, rename.
 */
#include "cli/puller.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/content.h"
#include "cli/download.h"
#include "cli/shelf.h"
#include "filter/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- addresses and places ---------------------------------------------------
 */

static bool set_text(char *out, size_t room, const char *a, const char *b)
{
    int len = snprintf(out, room, "%s%s", a, b);
    return len >= 0 && (size_t)len < room;
}

umbel_status um_puller_init(um_puller *p, const char *url, const char *path,
                            umbel_error *err)
{
    static const char ending[] = ".manifest";
    size_t len = strlen(url), end = sizeof ending - 1;
    bool full = len > end && strcmp(url + len - end, ending) == 0;

    p->path = path;
    if (!um_is_url(url))
        return um_fail(err, UMBEL_E_RANGE,
                       "%.100s is no address: it begins with http://, "
                       "https:// or file://",
                       url);
    if (!set_text(p->manifest_url, sizeof p->manifest_url, url,
                  full ? "" : ending) ||
        !set_text(p->base_url, sizeof p->base_url, url, "") ||
        !set_text(p->memory_path, sizeof p->memory_path, p->path, ".pull"))
        return um_fail(err, UMBEL_E_RANGE, "the address or name is too long");
    *(strrchr(p->base_url, '/') + 1) = '\0';
    return UMBEL_OK;
}

/* Held while a round lasts: a second reader of the same file waits. */
static umbel_status lock(const um_puller *p, int *fd, umbel_error *err)
{
    *fd = open(p->memory_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0)
        return um_fail_path(err, p->memory_path);
    while (flock(*fd, LOCK_EX) != 0)
        if (errno != EINTR) {
            umbel_status status = um_fail_path(err, p->memory_path);
            close(*fd);
            return status;
        }
    return UMBEL_OK;
}

/* --- memory -----------------------------------------------------------------
 */

static umbel_status remember(um_puller *p, int fd, umbel_error *err)
{
    char text[UM_MEMORY_MAX];
    umbel_error inner;
    ssize_t len = pread(fd, text, sizeof text, 0);

    p->last = (um_memory){.serial = 0};
    if (len < 0)
        return um_fail_path(err, p->memory_path);
    if (len == 0)
        return UMBEL_OK;
    umbel_status status = um_memory_read(text, (size_t)len, &p->last, &inner);
    if (status != UMBEL_OK)
        return um_fail(err, status, "%s%s: %s", um_path_dots(p->memory_path),
                       um_path_tail(p->memory_path), inner.text);
    return UMBEL_OK;
}

/*
 * Servers name states by the second and the length: two manifests of one second
 * have one name, and who remembers it would never see the second of them.
 */
static bool has_settled(const um_manifest *m)
{
    enum { SETTLED = 2 };
    return (uint64_t)time(NULL) >= m->made + SETTLED;
}

/* In place: the lock is on this very file. Short enough for one write. */
static umbel_status memorize(um_puller *p, int fd, umbel_error *err)
{
    char text[UM_MEMORY_MAX];
    um_memory now = {.serial = p->manifest.serial,
                     .expires = p->manifest.expires,
                     .is_signed = p->manifest.is_signed};

    memcpy(now.filter, p->manifest.filter.digest, sizeof now.filter);
    memcpy(now.key, p->manifest.key, sizeof now.key);
    if (!strpbrk(p->tag, "\r\n") && has_settled(&p->manifest))
        set_text(now.tag, sizeof now.tag, p->tag, "");
    size_t len = um_memory_write(&now, text);
    if (pwrite(fd, text, len, 0) != (ssize_t)len ||
        ftruncate(fd, (off_t)len) != 0 || fsync(fd) != 0)
        return um_fail_path(err, p->memory_path);
    return UMBEL_OK;
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

/* Conditional only while we still have what it was about. */
static umbel_status fetch_manifest(um_puller *p, bool have, umbel_error *err)
{
    text t = {.len = 0};
    um_fetched fetched;
    um_fetch f = {.url = p->manifest_url,
                  .max = UM_MANIFEST_MAX,
                  .tag = have && p->last.serial ? p->last.tag : NULL,
                  .take = take_text,
                  .ctx = &t};

    umbel_status status = um_fetch_run(&f, &fetched, err);
    p->moved += fetched.bytes;
    p->unchanged = fetched.unchanged;
    if (fetched.missing)
        return um_fail(err, UMBEL_E_IO,
                       "%.150s is not there: an address ends with the "
                       "filter's name, without / and .umb",
                       p->manifest_url);
    if (status == UMBEL_OK && fetched.unchanged)
        return um_judge_again(&p->last, (uint64_t)time(NULL), err);
    if (status != UMBEL_OK)
        return status;
    set_text(p->tag, sizeof p->tag, fetched.tag, "");
    status = um_manifest_read(t.bytes, t.len, &p->manifest, err);
    if (status == UMBEL_OK)
        status = um_judge(&p->manifest, &p->last, p->trust,
                          (uint64_t)time(NULL), err);
    return status;
}

/* --- the filter -------------------------------------------------------------
 */

static umbel_status digest_file(const char *path, uint8_t out[UM_DIGEST_LEN],
                                bool *there, umbel_error *err)
{
    um_content c;

    *there = access(path, F_OK) == 0;
    if (!*there)
        return UMBEL_OK;
    umbel_status status = um_content_read(&c, path, err);
    if (status == UMBEL_OK)
        um_digest_of(c.bytes, c.len, out);
    um_content_fini(&c);
    return status;
}

static umbel_status get_piece(um_puller *p, const um_blob *piece,
                              um_blob_kind kind, char path[PATH_MAX],
                              umbel_error *err)
{
    char name[UM_BLOB_NAME], url[UM_URL_MAX];

    um_blob_name(piece->digest, kind, name);
    int len = snprintf(path, PATH_MAX, "%s.part-%.16s", p->path, name);
    if (len < 0 || len >= PATH_MAX ||
        !set_text(url, sizeof url, p->base_url, name))
        return um_fail(err, UMBEL_E_RANGE, "the address or name is too long");
    return um_download(url, piece, path, &p->moved, err);
}

/* Every way in goes through here. */
static umbel_status admit(const um_puller *p, const void *bytes, size_t len,
                          umbel_error *err)
{
    umbel_filter *f = NULL;
    umbel_ruling ruling;
    umbel_status status =
        umbel_admit_bytes(bytes, len, NULL, &p->wants, &f, &ruling, err);

    umbel_close(f);
    if (status != UMBEL_OK || ruling.admitted)
        return status;
    return um_fail(err, UMBEL_E_REFUSED, "not admitted: %.200s",
                   ruling.reason[0].text);
}

static umbel_status settle(const um_puller *p, const void *bytes, size_t len,
                           umbel_error *err)
{
    umbel_slice part = {bytes, len};
    umbel_status status = admit(p, bytes, len, err);

    return status == UMBEL_OK ? um_save_parts(&part, 1, p->path, err) : status;
}

/* The part becomes the file, without a second copy on the disk. A link stays
 * one: what it names is written. */
static umbel_status settle_part(const um_puller *p, const char *part,
                                const um_content *c, umbel_error *err)
{
    struct stat st;

    if (lstat(p->path, &st) == 0 && !S_ISREG(st.st_mode))
        return settle(p, c->bytes, c->len, err);
    umbel_status status = admit(p, c->bytes, c->len, err);
    if (status != UMBEL_OK)
        return status;
    if (lstat(p->path, &st) == 0 && chmod(part, st.st_mode & 07777) != 0)
        return um_fail_path(err, part);
    return rename(part, p->path) == 0 ? UMBEL_OK : um_fail_path(err, p->path);
}

static umbel_status take_whole(um_puller *p, umbel_error *err)
{
    char path[PATH_MAX];
    um_content c;
    umbel_status status =
        get_piece(p, &p->manifest.filter, UM_BLOB_FILTER, path, err);

    if (status != UMBEL_OK)
        return status;
    status = um_content_read(&c, path, err);
    if (status == UMBEL_OK)
        status = settle_part(p, path, &c, err);
    um_content_fini(&c);
    unlink(path); /* unless it has the name by now */
    return status;
}

/* *f becomes the filter after a step. */
static umbel_status apply(um_puller *p, const um_step *step, umbel_filter **f,
                          umbel_error *err)
{
    char path[PATH_MAX];
    um_content c;
    umbel_filter *next = NULL;
    umbel_status status = get_piece(p, &step->file, UM_BLOB_STEP, path, err);

    if (status != UMBEL_OK)
        return status;
    status = um_content_read(&c, path, err);
    if (status == UMBEL_OK)
        status = umbel_patch(*f, c.bytes, c.len, &next, err);
    um_content_fini(&c);
    unlink(path);
    if (status == UMBEL_OK) {
        umbel_close(*f);
        *f = next;
    }
    return status;
}

/* What steps made must be the published file, to the last byte. */
static umbel_status settle_filter(const um_puller *p, const umbel_filter *f,
                                  umbel_error *err)
{
    uint8_t digest[UM_DIGEST_LEN];
    size_t len = umbel_encoded_len(f);
    uint8_t *bytes = malloc(len);

    if (!bytes)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes", len);
    umbel_status status = umbel_encode(f, bytes, len, &len, err);
    if (status == UMBEL_OK) {
        um_digest_of(bytes, len, digest);
        if (memcmp(digest, p->manifest.filter.digest, sizeof digest) != 0)
            status = um_fail(err, UMBEL_E_REFUSED,
                             "the differences lead to another filter than the "
                             "published one");
    }
    if (status == UMBEL_OK)
        status = settle(p, bytes, len, err);
    free(bytes);
    return status;
}

static umbel_status take_steps(um_puller *p, umbel_error *err)
{
    umbel_filter *f;
    umbel_status status = umbel_load(p->path, NULL, &f, err);

    if (status != UMBEL_OK)
        return status;
    for (size_t i = p->route.first;
         status == UMBEL_OK && i < p->manifest.nsteps; i++)
        status = apply(p, &p->manifest.step[i], &f, err);
    if (status == UMBEL_OK)
        status = settle_filter(p, f, err);
    umbel_close(f);
    return status;
}

/* Whatever is wrong with a difference, the whole file is a way. */
static umbel_status take_route(um_puller *p, umbel_error *err)
{
    if (p->manifest.filter.len > p->wants.max_bytes)
        return um_fail(err, UMBEL_E_REFUSED,
                       "the published filter has %" PRIu64
                       " bytes, the limit is %" PRIu64 " (--max-bytes)",
                       p->manifest.filter.len, p->wants.max_bytes);
    if (p->route.current)
        return UMBEL_OK;
    if (p->route.by_steps && take_steps(p, NULL) == UMBEL_OK)
        return UMBEL_OK;
    p->route.by_steps = false;
    return take_whole(p, err);
}

static umbel_status round_locked(um_puller *p, int fd, umbel_error *err)
{
    uint8_t have[UM_DIGEST_LEN];
    bool there = false;

    umbel_status status = remember(p, fd, err);
    if (status == UMBEL_OK)
        status = digest_file(p->path, have, &there, err);
    if (status != UMBEL_OK)
        return status;
    bool as_left = there && memcmp(have, p->last.filter, sizeof have) == 0;
    status = fetch_manifest(p, as_left, err);
    if (status != UMBEL_OK || p->unchanged)
        return status;
    p->route = um_route_from(&p->manifest, there ? have : NULL);
    status = take_route(p, err);
    if (status == UMBEL_OK)
        status = memorize(p, fd, err);
    return status;
}

umbel_status um_puller_round(um_puller *p, umbel_error *err)
{
    int fd;
    umbel_status status = lock(p, &fd, err);

    if (status != UMBEL_OK)
        return status;
    p->moved = 0;
    p->unchanged = false;
    p->tag[0] = '\0';
    status = round_locked(p, fd, err);
    close(fd);
    return status;
}
