/*
 * cmd_pull.c - umbel pull: have what somebody publishes, for few bytes.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/content.h"
#include "cli/download.h"
#include "cli/files.h"
#include "cli/report.h"
#include "cli/shelf.h"
#include "cli/table.h"
#include "exchange/pull.h"
#include "filter/disk.h"
#include "net/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static const um_option options[] = {
    {"output", 'o', "FILE",
     "the filter here; what is there is brought up to date"},
    {"trust", 0, "KEY", "only what this key signed: a file, or 64 digits"},
    {"max-error", 0, "P", "refuse a filter that errs more"},
    {"max-bytes", 0, "N", "refuse a larger filter (default 1GiB)"},
    {"watch", 0, "S", "go on, asking every S seconds"},
    {0}};

enum { URL_MAX = 2048, TEXT_MAX = UM_MANIFEST_MAX + 1 };

/* A reader and its place. */
typedef struct pulling {
    const um_args *args;
    char manifest_url[URL_MAX], base_url[URL_MAX];
    const char *path;
    char memory_path[PATH_MAX]; /* PATH.pull: what we remember, and our lock */
    const uint8_t *trust;       /* NULL: as before, or anyone */
    umbel_admission wants;

    /* Of one round. */
    um_memory last;
    um_manifest manifest;
    um_route route;
    uint64_t moved; /* bytes that came over the network */
    char tag[UM_FETCH_TAG];
    bool unchanged; /* says the server */
} pulling;

/* --- addresses and places ---------------------------------------------------
 */

static bool set_text(char *out, size_t room, const char *a, const char *b)
{
    int len = snprintf(out, room, "%s%s", a, b);
    return len >= 0 && (size_t)len < room;
}

static umbel_status set_places(pulling *p, const char *url, umbel_error *err)
{
    static const char ending[] = ".manifest";
    size_t len = strlen(url), end = sizeof ending - 1;
    bool full = len > end && strcmp(url + len - end, ending) == 0;

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
static umbel_status lock(const pulling *p, int *fd, umbel_error *err)
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

static umbel_status remember(pulling *p, int fd, umbel_error *err)
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

/* In place: the lock is on this very file. Short enough for one write. */
static umbel_status memorize(pulling *p, int fd, umbel_error *err)
{
    char text[UM_MEMORY_MAX];
    um_memory now = {.serial = p->manifest.serial,
                     .is_signed = p->manifest.is_signed};

    memcpy(now.filter, p->manifest.filter.digest, sizeof now.filter);
    memcpy(now.key, p->manifest.key, sizeof now.key);
    if (!strpbrk(p->tag, "\r\n"))
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
    char bytes[TEXT_MAX];
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
static umbel_status fetch_manifest(pulling *p, bool have, umbel_error *err)
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
    if (status != UMBEL_OK || fetched.unchanged)
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

static umbel_status get_piece(pulling *p, const um_piece *piece,
                              um_piece_kind kind, char path[PATH_MAX],
                              umbel_error *err)
{
    char name[UM_PIECE_NAME], url[URL_MAX];

    um_piece_name(piece->digest, kind, name);
    int len = snprintf(path, PATH_MAX, "%s.part-%.16s", p->path, name);
    if (len < 0 || len >= PATH_MAX ||
        !set_text(url, sizeof url, p->base_url, name))
        return um_fail(err, UMBEL_E_RANGE, "the address or name is too long");
    return um_download(url, piece, path, &p->moved, err);
}

/* Every way in goes through here. */
static umbel_status admit(const pulling *p, const void *bytes, size_t len,
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

static umbel_status settle(const pulling *p, const void *bytes, size_t len,
                           umbel_error *err)
{
    umbel_slice part = {bytes, len};
    umbel_status status = admit(p, bytes, len, err);

    return status == UMBEL_OK ? um_save_parts(&part, 1, p->path, err) : status;
}

static umbel_status take_whole(pulling *p, umbel_error *err)
{
    char path[PATH_MAX];
    um_content c;
    umbel_status status =
        get_piece(p, &p->manifest.filter, UM_PIECE_FILTER, path, err);

    if (status != UMBEL_OK)
        return status;
    status = um_content_read(&c, path, err);
    if (status == UMBEL_OK)
        status = settle(p, c.bytes, c.len, err);
    um_content_fini(&c);
    unlink(path);
    return status;
}

/* *f becomes the filter after a step. */
static umbel_status apply(pulling *p, const um_step *step, umbel_filter **f,
                          umbel_error *err)
{
    char path[PATH_MAX];
    um_content c;
    umbel_filter *next = NULL;
    umbel_status status = get_piece(p, &step->file, UM_PIECE_STEP, path, err);

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
static umbel_status settle_filter(const pulling *p, const umbel_filter *f,
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

static umbel_status take_steps(pulling *p, umbel_error *err)
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
static umbel_status take_route(pulling *p, umbel_error *err)
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

/* --- a round ----------------------------------------------------------------
 */

static void report(const pulling *p)
{
    umbel_info info = {0};
    uint64_t full = p->manifest.filter.len;
    const char *how = p->route.current    ? "current"
                      : p->route.by_steps ? "differences"
                                          : "whole";

    if (um_has(p->args, "json")) {
        um_info_text(&info, "file", p->path);
        um_info_count(&info, "serial", p->manifest.serial);
        um_info_text(&info, "how", how);
        um_info_count(&info, "bytes", full);
        um_info_count(&info, "moved", p->moved);
        um_info_flag(&info, "signed", p->manifest.is_signed);
        um_print_json(stdout, &info);
    } else if (!um_has(p->args, "quiet")) {
        um_print_path(stdout, p->path);
        printf("serial %" PRIu64 ", ", p->manifest.serial);
        if (p->route.current)
            printf("nothing to fetch (moved %s bytes)",
                   um_grouped(p->moved).text);
        else
            printf("moved %s bytes%s%s", um_grouped(p->moved).text,
                   p->route.by_steps ? " instead of " : ", the whole file",
                   p->route.by_steps ? um_grouped(full).text : "");
        puts(p->manifest.is_signed ? ", signed" : ", not signed");
    }
    fflush(stdout);
}

static umbel_status round_locked(pulling *p, int fd, umbel_error *err)
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

static umbel_status pull_once(pulling *p, umbel_error *err)
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

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static void await_signals(void)
{
    struct sigaction action = {.sa_handler = stop};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Trouble is told and tried again: a reader outlives its server's bad days. */
static void watch(pulling *p, uint64_t seconds)
{
    umbel_error err;

    await_signals();
    while (!stopped) {
        if (pull_once(p, &err) != UMBEL_OK)
            um_trouble(p->args, &err);
        else if (!p->unchanged)
            report(p);
        struct timespec pause = {.tv_sec = (time_t)seconds};
        if (!stopped)
            nanosleep(&pause, NULL);
    }
}

static umbel_status take_options(pulling *p, uint8_t trust[UM_TRUST_KEY_LEN],
                                 uint64_t *seconds, umbel_error *err)
{
    const um_args *args = p->args;
    const char *key = um_value(args, "trust");

    p->wants = (umbel_admission)UMBEL_ADMISSION_INIT;
    p->wants.max_bytes = (uint64_t)1 << 30;
    umbel_status status =
        um_value_share(args, "max-error", &p->wants.max_error, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "max-bytes", &p->wants.max_bytes, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "watch", seconds, err);
    if (status == UMBEL_OK && um_has(args, "watch") &&
        (*seconds < 1 || *seconds > 1000000))
        status = um_fail(err, UMBEL_E_RANGE, "--watch is 1 to 1000000 seconds");
    if (status == UMBEL_OK && key) {
        status = um_read_trust_key(key, trust, err);
        p->trust = trust;
    }
    return status;
}

/* Refused is an answer, 1; trouble is 2. */
static int conclude(pulling *p, umbel_status status, const umbel_error *err)
{
    if (status == UMBEL_OK && p->unchanged) {
        p->route.current = true;
        p->manifest.serial = p->last.serial;
        p->manifest.is_signed = p->last.is_signed;
    }
    if (status == UMBEL_OK) {
        report(p);
        return UM_EXIT_FINE;
    }
    int code = um_trouble(p->args, err);
    return status == UMBEL_E_REFUSED ? UM_EXIT_NO : code;
}

static int run(const um_args *args)
{
    uint8_t trust[UM_TRUST_KEY_LEN];
    pulling *p = calloc(1, sizeof *p);
    uint64_t seconds = 0;
    umbel_error err;
    int code;

    if (args->noperands != 1 || !um_has(args, "output")) {
        free(p);
        return um_misuse(args, "give one address, and where to: -o FILE");
    }
    if (!p)
        return UM_EXIT_TROUBLE;
    p->args = args;
    p->path = um_value(args, "output");
    umbel_status status = take_options(p, trust, &seconds, &err);
    if (status == UMBEL_OK)
        status = set_places(p, args->operands[0], &err);
    if (status != UMBEL_OK) {
        code = um_trouble(args, &err);
    } else if (seconds) {
        watch(p, seconds);
        code = UM_EXIT_FINE;
    } else {
        status = pull_once(p, &err);
        code = conclude(p, status, &err);
    }
    free(p);
    return code;
}

const um_command um_cmd_pull = {
    .name = "pull",
    .args = "ADDRESS -o FILE",
    .summary = "fetch a published filter, or what changed in it",
    .options = {options},
    .details =
        "ADDRESS is http://, https:// or file://, up to the filter's name. "
        "FILE.pull remembers\nthe last pull: keep it beside FILE. Ends "
        "with 1 when what was fetched is refused.",
    .run = run,
};
