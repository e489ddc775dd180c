/*
 * cmd_publish.c - umbel publish: put filters where any web server can serve
 * them.
 */
#include "cli/commands/publish.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/commands/redis.h"
#include "cli/framework/table.h"
#include "keylist/sniff.h"
#include "publish/content.h"
#include "publish/manifest.h"
#include "trust/key_file.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { DAY = 86400 };

static const um_option options[] = {
    {"sign", 0, "KEY", "sign with this key (umbel keygen --sign)",
     UM_TARGET(publish_args, sign), .role = UM_INPUT},
    {"valid", 0, "DAYS", "readers refuse the filter after DAYS days",
     UM_TARGET(publish_args, valid), .low = 1, .high = 36500},
    {"keep", 0, "N", "keep N differences, up to 64 (default 16)",
     UM_TARGET(publish_args, keep), .high = UMBEL_MAX_STEPS},
    {"never", 0, "FILE",
     "false positives that readers reported: retouch the filter, or, with "
     "groups, build it again like the last edition; may be repeated",
     UM_TARGET(publish_args, never), .role = UM_INPUT, .needs = "members"},
    {"members", 0, "FILE", "all keys of the filter; may be repeated",
     UM_TARGET(publish_args, members), .role = UM_INPUT, .needs = "never"},
    {0}};

/* Modes of the command: with lists of keys, or without. */
enum { PLAIN, NEVER };

static unsigned publish_mode(const void *values)
{
    return ((const publish_args *)values)->never.n ? UM_MODE(NEVER)
                                                   : UM_MODE(PLAIN);
}

/* All filters of one call. */
typedef struct publishing {
    const um_args *args;
    const publish_args *a;
    umbel_store shelf;
    umbel_publication what; /* what all of them share */
    uint8_t sign_key[UMBEL_SIGN_KEY_LEN];
    uint8_t (*replaced)[UMBEL_FILE_DIGEST_LEN];
    size_t nreplaced;
} publishing;

/* One filter on its way. */
typedef struct edition {
    char name[UM_NAME_MAX + 1];
    um_content file;
    umbel_filter *filter;
    umbel_taken_back taken_back;
    umbel_published done;
    um_report report;
} edition;

/* Takes the file's name without directories and .umb. */
static umbel_status name_of(const char *path, char out[UM_NAME_MAX + 1],
                            umbel_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t len = strlen(name);

    if (len > 4 && strcmp(name + len - 4, ".umb") == 0)
        len -= 4;
    if (!um_name_is_fine(name, len))
        return um_fail(err, UMBEL_E_RANGE,
                       "the name of %s%s cannot be part of an address: use "
                       "letters, digits and ._- inside, at most %d",
                       um_path_dots(path), um_path_tail(path), UM_NAME_MAX);
    memcpy(out, name, len);
    out[len] = '\0';
    return UMBEL_OK;
}

static umbel_status decode(const publishing *p, const char *path,
                           const um_content *file, const uint8_t *secret,
                           umbel_filter **out, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_error inner;

    source.verify = true;
    source.secret = secret;
    source.memory_limit = p->what.memory_limit;
    umbel_status status =
        umbel_decode(file->bytes, file->len, &source, out, &inner);
    if (!status)
        return UMBEL_OK;
    um_set_error(err, status, "%s%s: %.200s", um_path_dots(path),
                 um_path_tail(path), inner.text);
    um_set_detail(err, inner.detail);
    if (status == UMBEL_E_FORMAT)
        um_explain_not_filter(path, err);
    return status;
}

/* Fetches a filter that lives in Redis, and makes the file of it. */
static umbel_status fetch_filter(const publishing *p, const char *address,
                                 edition *e, umbel_error *err)
{
    const um_redis_limits limits = {.max_memory = p->what.memory_limit};
    uint64_t moved;

    UM_TRY(um_redis_fetch(address, &limits, &e->filter, &moved, err));
    e->file.cap = umbel_encoded_len(e->filter);
    e->file.bytes = malloc(e->file.cap);
    if (!e->file.bytes)
        return um_no_memory(err, e->file.cap);
    return umbel_encode(e->filter, e->file.bytes, e->file.cap, &e->file.len,
                        err);
}

/* Reads and verifies the filter: only what readers can read is published. */
static umbel_status read_filter(const publishing *p, const char *path,
                                edition *e, umbel_error *err)
{
    const char *key_file = p->a->secret.key_file;
    uint8_t secret[UMBEL_SECRET_LEN];

    if (um_is_redis(path))
        return fetch_filter(p, path, e, err);
    UM_TRY(um_content_read(&e->file, path, err));
    if (key_file)
        UM_TRY(um_secret_load(key_file, secret, err));
    umbel_status status =
        decode(p, path, &e->file, key_file ? secret : NULL, &e->filter, err);
    sodium_memzero(secret, sizeof secret);
    return status;
}

static void print_edition(const publishing *p, edition *e)
{
    const umbel_published *d = &e->done;
    um_report *r = &e->report;
    char digest[UM_DIGEST_HEX];

    um_digest_text(d->digest, digest);
    um_report_text(r, "name", NULL, e->name);
    um_report_count(r, "serial", NULL, NULL, d->serial);
    um_report_text(r, "digest", NULL, digest);
    um_report_count(r, "bytes", "full file", "bytes", d->bytes);
    um_report_count(r, "difference_bytes", "update", "bytes", d->step_bytes);
    um_report_count(r, "differences", "updates kept", NULL, d->steps);
    um_report_flag(r, "signed", NULL, d->is_signed);
    um_report_time(r, "expires", NULL, d->expires);
    if (p->a->never.n)
        um_report_taken_back(p->args, e->filter, &e->taken_back, r);
    if (d->unchanged)
        um_report_note(r, "The filter is the one published before.");
    if (*d->no_step.text)
        um_report_note(r, "All readers fetch the full file: %s.",
                       d->no_step.text);
    if (d->expiry_gone)
        um_report_note(r, "The last manifest had an expiry date, this one has "
                          "none: give --valid DAYS again to keep one.");
    um_report_print(p->args, r);
}

static umbel_status publish(publishing *p, edition *e, umbel_error *err)
{
    umbel_publication what = p->what;

    UM_TRY(p->a->never.n
               ? um_publish_never(p->args, &p->shelf, e->name, e->filter,
                                  &e->taken_back, &e->report, err)
               : um_check_reports(p->args, &p->shelf, e->name, e->filter, err));
    what.name = e->name;
    what.reports = e->taken_back.matched - e->taken_back.left;
    what.filter = e->filter;
    what.now = (uint64_t)time(NULL);
    if (!e->taken_back.rebuilt && e->taken_back.matched == e->taken_back.left)
        what.file = (umbel_slice){e->file.bytes, e->file.len};
    UM_TRY(umbel_publish(&what, &p->shelf, &e->done, err));
    if (e->done.has_last)
        memcpy(p->replaced[p->nreplaced++], e->done.last,
               UMBEL_FILE_DIGEST_LEN);
    print_edition(p, e);
    return UMBEL_OK;
}

static umbel_status publish_file(publishing *p, const char *path,
                                 umbel_error *err)
{
    edition e = {.filter = NULL};
    umbel_status status = name_of(path, e.name, err);

    if (status)
        goto done;
    status = read_filter(p, path, &e, err);
    if (status)
        goto done;
    status = publish(p, &e, err);
done:
    um_report_fini(&e.report);
    umbel_close(e.filter);
    um_content_fini(&e.file);
    return status;
}

/* Refuses two of one name: the first would be replaced at once. */
static umbel_status check_names(const um_list *filters, umbel_error *err)
{
    char a[UM_NAME_MAX + 1], b[UM_NAME_MAX + 1];

    for (size_t i = 0; i < filters->n; i++) {
        UM_TRY(name_of(filters->item[i], a, err));
        for (size_t j = 0; j < i; j++) {
            UM_TRY(name_of(filters->item[j], b, err));
            if (strcmp(a, b) == 0)
                return um_fail(err, UMBEL_E_RANGE,
                               "two filters have the name \"%s\"", a);
        }
    }
    return UMBEL_OK;
}

/* Says that the filters are published, although this failed. */
static umbel_status tidy(const publishing *p, umbel_error *err)
{
    umbel_error inner;
    umbel_status status =
        umbel_shelf_tidy(&p->shelf, *p->replaced, p->nreplaced, &inner);

    if (status)
        um_set_error(err, status,
                     "published, but old files were not removed: %.200s",
                     inner.text);
    return status;
}

static umbel_status publish_all(publishing *p, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    UM_TRY(umbel_store_dir(p->a->dir, &p->shelf, err));
    p->replaced = calloc(p->a->filters.n, sizeof *p->replaced);
    if (!p->replaced)
        status = um_fail(err, UMBEL_E_NOMEM, "no memory to begin");
    for (size_t i = 0; !status && i < p->a->filters.n; i++)
        status = publish_file(p, p->a->filters.item[i], err);
    if (!status)
        status = tidy(p, err);
    free(p->replaced);
    umbel_store_close(&p->shelf);
    return status;
}

/* --- redis:// as DIR --------------------------------------------------------
 */

static umbel_status store_file(publishing *p, umbel_error *err)
{
    const um_redis_limits limits = {0};
    const char *path = p->a->filters.item[0];
    edition e = {.filter = NULL};
    umbel_status status = read_filter(p, path, &e, err);

    if (status)
        goto done;
    status = um_redis_store(p->a->dir, &limits, e.file.bytes, e.file.len, err);
    if (status)
        goto done;
    um_report_text(&e.report, "name", NULL, strrchr(p->a->dir, '/') + 1);
    um_report_count(&e.report, "bytes", "full file", "bytes", e.file.len);
    um_report_print(p->args, &e.report);
done:
    um_report_fini(&e.report);
    umbel_close(e.filter);
    um_content_fini(&e.file);
    return status;
}

static int run_redis(publishing *p)
{
    const publish_args *a = p->a;
    umbel_error err;

    if (a->filters.n > 1)
        return um_misuse(p->args, "a key of Redis holds one filter");
    if (a->sign || a->valid.given || a->keep.given || a->never.n)
        return um_misuse(p->args,
                         "--sign, --valid, --keep and --never have no effect "
                         "on a key of Redis");
    p->what.memory_limit = a->memory.max_memory.n;
    return store_file(p, &err) ? um_trouble(p->args, &err) : UM_EXIT_FINE;
}

static umbel_status parse_options(publishing *p, umbel_error *err)
{
    const publish_args *a = p->a;

    p->what = (umbel_publication)UMBEL_PUBLICATION_INIT;
    p->what.memory_limit = a->memory.max_memory.n;
    if (a->keep.given)
        p->what.keep = (size_t)a->keep.n;
    p->what.valid = a->valid.n * DAY;
    if (a->sign) {
        UM_TRY(umbel_sign_key_load(a->sign, p->sign_key, err));
        p->what.sign_key = p->sign_key;
    }
    return UMBEL_OK;
}

static int run(const um_args *args)
{
    publishing p = {.args = args, .a = args->values};
    umbel_error err;
    umbel_status status;
    struct stat st;

    if (um_is_redis(p.a->dir))
        return run_redis(&p);
    if (stat(p.a->dir, &st) == 0 && !S_ISDIR(st.st_mode))
        return um_misuse(args,
                         "%s is not a directory: first comes DIR, then "
                         "the filters",
                         p.a->dir);
    if (p.a->never.n && p.a->filters.n > 1)
        return um_misuse(args, "--never is for one filter at a time");
    status = check_names(&p.a->filters, &err);
    if (status)
        goto done;
    status = parse_options(&p, &err);
    if (status)
        goto done;
    status = publish_all(&p, &err);
done:
    sodium_memzero(p.sign_key, sizeof p.sign_key);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command um_cmd_publish = {
    .name = "publish",
    .summary = "put filters where any web server can serve them",
    .section = UM_EXCHANGE,
    .values_len = sizeof(publish_args),
    .operands = {{"DIR", UM_TEXT, offsetof(publish_args, dir), .min = 1},
                 {"FILTER", UM_LIST, offsetof(publish_args, filters), UM_INPUT,
                  .min = 1}},
    .options = {{.rows = options},
                {.rows = um_key_options,
                 .base = offsetof(publish_args, keys),
                 .modes = UM_MODE(NEVER)},
                {.rows = um_secret_options,
                 .base = offsetof(publish_args, secret)},
                {.rows = um_memory_options,
                 .base = offsetof(publish_args, memory)}},
    .modes = {[PLAIN] = {"without --never", ""},
              [NEVER] = {"with --never", "--never n --members m"}},
    .mode = publish_mode,
    .run = run,
    .example = "shelf words.umb --sign key --valid 30",
    .details = "DIR is made if it does not exist; redis://HOST:PORT/KEY as DIR "
               "makes a key of FILTER in Redis, as FILTER it is a filter that "
               "lives there. Readers fetch with 'umbel "
               "pull ADDRESS-OF-DIR/NAME', where NAME is FILTER's file name "
               "without .umb. FILTER stays as it is. --sign, --valid and "
               "--never hold for this call: repeat them next time. A plain "
               "filter is refused without --never if the last edition was "
               "published with it.",
};
