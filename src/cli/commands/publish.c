/*
 * publish.c - umbel publish: writes filters to a directory that any web server
 * can serve.
 */
#include "publish/publish.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "build/negatives.h"
#include "cli/commands/internal.h"
#include "cli/framework/option_groups.h"
#include "cli/framework/overfull.h"
#include "cli/framework/report.h"
#include "filter/content.h"
#include "keylist/key_list.h"
#include "keylist/sniff.h"
#include "publish/manifest.h"
#include "sync/directory.h"
#include "trust/key_file.h"

#include <umbel/experimental/exchange.h>

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef struct publish_args {
    const char *dir;
    um_list filters;
    const char *sign;
    um_whole valid, keep;
    um_list never, members;
    bool force;
    um_strict_args strict;
    um_key_args keys;
    um_secret_args secret;
    um_memory_args memory;
} publish_args;

/*
 * umbel publish --never: removes reported false positives.
 */

/* Returns the newest edition in the publish directory; NULL if there is
 * none. */
static umbel_filter *open_newest(const publish_args *a, const umbel_store *dir,
                                 const char *name)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *newest = NULL;
    um_manifest last;

    source.memory_limit = a->memory.max_memory.n;
    if (um_publish_dir_manifest(dir, name, &last, NULL) || !last.serial ||
        um_publish_dir_load(dir, &last.filter, &source, &newest, NULL))
        return NULL;
    return newest;
}

/* Notes reported keys that are members: readers may report these by mistake,
 * and they stay. */
static void note_members(const um_key_list *never, const bool *member,
                         um_report *r)
{
    umbel_error note;

    um_fail_marked(never, member, "they still match", &note);
    um_report_note(r, "%s.", note.text);
}

/* Sets the sources of both lists. */
static umbel_status find_lists(const um_args *args, const umbel_filter *f,
                               um_key_source *members, um_key_source *never,
                               umbel_error *err)
{
    const publish_args *a = args->values;

    UM_TRY(um_key_source_from_args(args, &a->keys, NULL, a->members, members,
                                   err));
    UM_TRY(um_obey_key_form(f, &members->format, err));
    UM_TRY(um_key_source_from_args(args, &a->keys, NULL, a->never, never, err));
    UM_TRY(um_obey_key_form(f, &never->format, err));
    never->format.weights = UM_WEIGHTS_TSV;
    return UMBEL_OK;
}

static umbel_status
remove_reported(umbel_filter *f, const um_digest_source *members,
                const um_key_list *never, const umbel_filter *newest,
                umbel_removed_reports *out, um_report *r, umbel_error *err)
{
    umbel_key_list reported = um_key_list_view(never);
    bool *member = calloc(never->n + 1, sizeof *member);
    umbel_status status;

    if (!member)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", never->n);
    status =
        um_remove_reported(f, members, &reported, newest, member, out, err);
    if (!status && out->members)
        note_members(never, member, r);
    free(member);
    return status;
}

/*
 * Changes f, which will be published under that name, so that the keys of
 * --never no longer match. A filter with groups keeps the choices of the newest
 * edition in the publish directory. Reported keys that are members are left
 * out, and noted in the report.
 */
static umbel_status publish_never(const um_args *args, const umbel_store *dir,
                                  const char *name, umbel_filter *f,
                                  umbel_removed_reports *out, um_report *r,
                                  umbel_error *err)
{
    um_key_list_params keep = {.filter = f, .keep_lines = true};
    um_key_source members, reported;
    um_key_digests digests = {0};
    um_key_list never = {0};
    um_digest_source source;
    umbel_filter *newest = NULL;
    umbel_status status;

    UM_TRY(find_lists(args, f, &members, &reported, err));
    status = um_key_digests_init(&digests, &members, f, 0, &source, err);
    if (status)
        goto done;
    status = um_key_list_read(&never, &reported, &keep, err);
    if (status)
        goto done;
    newest = open_newest(args->values, dir, name);
    status = remove_reported(f, &source, &never, newest, out, r, err);
    if (status == UMBEL_E_UNSUPPORTED) {
        umbel_error said = *err;
        um_set_error(err, status,
                     "%.170s; build the filter with --never, where its kind "
                     "can",
                     said.text);
    }
done:
    umbel_close(newest);
    um_key_digests_fini(&digests);
    um_key_list_fini(&never);
    return status;
}

static bool has_groups(const umbel_filter *f)
{
    umbel_field groups = {.value.count = 1};

    return f && !umbel_info_get(f, "groups", &groups, NULL) &&
           groups.value.count > 1;
}

/*
 * Refuses f, if --never is missing and keys that were removed from the last
 * edition would match again. A filter with groups may exclude them itself: if
 * the last one had groups, too, prints a warning instead.
 */
static umbel_status check_reports(const um_args *args, const umbel_store *dir,
                                  const char *name, const umbel_filter *f,
                                  umbel_error *err)
{
    um_manifest last;

    if (um_publish_dir_manifest(dir, name, &last, NULL) || !last.serial ||
        !last.reports || umbel_known_false_negatives(f))
        return UMBEL_OK;
    um_text n = um_counted(last.reports, "false positive was removed",
                           "false positives were removed");
    if (!has_groups(f))
        return um_fail(err, UMBEL_E_REFUSED,
                       "%s from the last edition of %s with --never, and would "
                       "match again: give --never and --members again, or "
                       "build the filter with --never (to let them match: "
                       "--never /dev/null)",
                       n.text, name);
    umbel_filter *newest = open_newest(args->values, dir, name);
    if (has_groups(newest))
        um_warn(args,
                "%s from the last edition of %s with --never: they match again "
                "unless this filter was built with --never",
                n.text, name);
    umbel_close(newest);
    return UMBEL_OK;
}

/* --- the command that loses no member ------------------------------------- */

/* Writes the options that differ from the defaults of 'umbel build'. */
static void write_shape(FILE *out, const umbel_filter *f)
{
    umbel_info info;

    umbel_describe(f, &info);
    for (size_t i = 0; i < info.n; i++) {
        const umbel_field *at = &info.field[i];
        if ((strcmp(at->name, "addressing") == 0 &&
             strcmp(at->value.text, "blocked512") != 0) ||
            (strcmp(at->name, "hash") == 0 &&
             strcmp(at->value.text, UM_DEFAULT_HASH) != 0))
            fprintf(out, " --%s %s", at->name, at->value.text);
        if (strcmp(at->name, "seed") == 0 && at->value.count)
            fprintf(out, " --seed %" PRIu64, at->value.count);
        if (strcmp(at->name, "capacity") == 0 && at->value.count)
            fprintf(out, " -n %" PRIu64, at->value.count);
        if (strcmp(at->name, "fpr") == 0 && at->value.real > 0)
            fprintf(out, " --fpr %g", at->value.real);
    }
}

static void write_files(FILE *out, const char *before, const um_list *files)
{
    for (size_t i = 0; i < files->n; i++) {
        fputs(before, out);
        um_print_quoted(out, files->item[i]);
    }
}

static void write_build(FILE *out, const um_args *args, const umbel_filter *f,
                        const umbel_removed_reports *t)
{
    const publish_args *a = args->values;

    fputs("umbel build", out);
    write_files(out, " ", &a->members);
    write_files(out, " --never ", &a->never);
    if (t->members)
        fputs(" --allow-members", out);
    um_print_used(out, args, um_key_options, NULL);
    um_print_used(out, args, um_secret_options, NULL);
    write_shape(out, f);
    write_files(out, " -o ", &a->filters);
}

static void note_build(const um_args *args, const umbel_filter *f,
                       const umbel_removed_reports *t, um_report *r)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return;
    write_build(out, args, f, t);
    if (fclose(out) == 0)
        um_report_note(r,
                       "To lose no member, publish the filter that this "
                       "builds: %s",
                       text);
    free(text);
}

/* Reports the removed keys. */
static void report_taken_back(const um_args *args, const umbel_filter *f,
                              const umbel_removed_reports *t, um_report *r)
{
    um_report_count(r, "never_matched", "reported, matching", "keys",
                    t->matched);
    um_report_count(r, "never_left", "still matching", "keys", t->left);
    um_report_count(r, "never_members", "reported members", "keys", t->members);
    um_report_count(r, "members_lost", "members lost", NULL, t->lost);
    um_report_count(r, "members_moved", "members moved", NULL, t->moved);
    if (t->left && !t->rebuilt)
        um_report_note(r,
                       "%s still match: removing them would lose more than 1 "
                       "%% of the members.",
                       um_counted(t->left, "key", "keys").text);
    if ((t->left || t->lost) && !t->rebuilt)
        note_build(args, f, t, r);
}

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
    {"force", 0, NULL, "publish a filter that readers would not admit",
     UM_TARGET(publish_args, force), .excludes = "strict"},
    {0}};

/* Modes of the command: with lists of keys, or without. */
enum { PLAIN, NEVER };

static unsigned publish_mode(const void *values)
{
    return ((const publish_args *)values)->never.n ? UM_MODE(NEVER)
                                                   : UM_MODE(PLAIN);
}

/* State of a call, for all its filters. */
typedef struct publishing {
    const um_args *args;
    const publish_args *a;
    umbel_store dir;
    umbel_publication what; /* common to all filters */
    uint8_t sign_key[UMBEL_SIGN_KEY_LEN];
    uint8_t (*replaced)[UMBEL_FILE_DIGEST_LEN];
    size_t nreplaced;
} publishing;

/* A filter that is being published. */
typedef struct edition {
    char name[UM_NAME_MAX + 1];
    um_content file;
    umbel_filter *filter;
    umbel_removed_reports taken_back;
    umbel_published done;
    um_report report;
} edition;

/* Derives the name from the file's name, without directories and .umb. */
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

/* Encodes as a file what is none: a filter from Redis, or the merged filters of
 * all origins in a directory of 'umbel sync'. */
static umbel_status fetch_filter(const publishing *p, const char *address,
                                 edition *e, umbel_error *err)
{
    const um_redis_limits limits = {.max_memory = p->what.memory_limit};
    uint64_t moved;

    if (um_is_redis(address))
        UM_TRY(um_redis_fetch(address, &limits, &e->filter, &moved, err));
    else
        UM_TRY(um_sync_dir_merge(address, (uint64_t)time(NULL),
                                 p->what.memory_limit, &e->filter, err));
    e->file.cap = umbel_encoded_len(e->filter);
    e->file.bytes = malloc(e->file.cap);
    if (!e->file.bytes)
        return um_no_memory(err, e->file.cap);
    return umbel_encode(e->filter, e->file.bytes, e->file.cap, &e->file.len,
                        err);
}

/* Reads and verifies the filter: only filters that readers can read are
 * published. */
static umbel_status read_filter(const publishing *p, const char *path,
                                edition *e, umbel_error *err)
{
    const char *key_file = p->a->secret.key_file;
    uint8_t secret[UMBEL_SECRET_LEN];

    if (um_is_redis(path))
        return fetch_filter(p, path, e, err);
    bool merged = um_is_sync_dir(path);
    UM_TRY(merged ? fetch_filter(p, path, e, err)
                  : um_content_read(&e->file, path, err));
    if (key_file)
        UM_TRY(um_secret_load(key_file, secret, err));
    umbel_status status = UMBEL_OK;
    if (!merged)
        status = decode(p, path, &e->file, key_file ? secret : NULL, &e->filter,
                        err);
    else if (key_file)
        status = umbel_unlock(e->filter, secret, err);
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
        report_taken_back(p->args, e->filter, &e->taken_back, r);
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

/* Checks the error of a filter as it will be published. That of a static kind
 * follows from its lists. */
static umbel_status check_error(const publishing *p, edition *e,
                                umbel_error *err)
{
    const um_new_filter written = {.filter = e->filter,
                                   .strict = p->a->strict.strict,
                                   .keys = umbel_added(e->filter),
                                   .build = "build it"};
    umbel_field kind;

    if (umbel_info_get(e->filter, "kind", &kind, NULL) == UMBEL_OK &&
        umbel_is_static(kind.value.text))
        return UMBEL_OK;
    return um_check_overfull(p->args, &written, &e->report, err);
}

static umbel_status publish(publishing *p, edition *e, umbel_error *err)
{
    umbel_publication what = p->what;

    UM_TRY(p->a->never.n
               ? publish_never(p->args, &p->dir, e->name, e->filter,
                               &e->taken_back, &e->report, err)
               : check_reports(p->args, &p->dir, e->name, e->filter, err));
    UM_TRY(check_error(p, e, err));
    what.name = e->name;
    what.reports = e->taken_back.matched - e->taken_back.left;
    what.filter = e->filter;
    what.now = (uint64_t)time(NULL);
    if (!e->taken_back.rebuilt && e->taken_back.matched == e->taken_back.left)
        what.file = (umbel_slice){e->file.bytes, e->file.len};
    UM_TRY(umbel_publish(&what, &p->dir, &e->done, err));
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

/* Refuses two filters with the same name: the second would replace the
 * first. */
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

/* Removes old files. The message of a failure says that the filters are
 * published nevertheless. */
static umbel_status tidy(const publishing *p, umbel_error *err)
{
    umbel_error inner;
    umbel_status status =
        umbel_publish_tidy(&p->dir, *p->replaced, p->nreplaced, &inner);

    if (status)
        um_set_error(err, status,
                     "published, but old files were not removed: %.200s",
                     inner.text);
    return status;
}

static umbel_status publish_all(publishing *p, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    UM_TRY(umbel_store_dir(p->a->dir, &p->dir, err));
    p->replaced = calloc(p->a->filters.n, sizeof *p->replaced);
    if (!p->replaced)
        status = um_fail(err, UMBEL_E_NOMEM, "no memory to begin");
    for (size_t i = 0; !status && i < p->a->filters.n; i++)
        status = publish_file(p, p->a->filters.item[i], err);
    if (!status)
        status = tidy(p, err);
    free(p->replaced);
    umbel_store_close(&p->dir);
    return status;
}

/* --- redis:// as DIR ------------------------------------------------------ */

static umbel_status store_file(publishing *p, umbel_error *err)
{
    const um_redis_limits limits = {0};
    const char *path = p->a->filters.item[0];
    edition e = {.filter = NULL};
    umbel_status status = read_filter(p, path, &e, err);

    if (!status)
        status = check_error(p, &e, err);
    if (!status && !p->a->force)
        status = um_check_readers(e.filter, err);
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

static umbel_status apply_options(publishing *p, umbel_error *err)
{
    const publish_args *a = p->a;

    p->what = (umbel_publication)UMBEL_PUBLICATION_INIT;
    p->what.memory_limit = a->memory.max_memory.n;
    if (a->keep.given)
        p->what.keep = (size_t)a->keep.n;
    p->what.valid = a->valid.n * DAY;
    p->what.force = a->force;
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
    status = apply_options(&p, &err);
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
    .options =
        {{.rows = options},
         {.rows = um_key_options,
          .base = offsetof(publish_args, keys),
          .modes = UM_MODE(NEVER)},
         {.rows = um_secret_options, .base = offsetof(publish_args, secret)},
         {.rows = um_strict_options, .base = offsetof(publish_args, strict)},
         {.rows = um_memory_options, .base = offsetof(publish_args, memory)}},
    .modes = {[PLAIN] = {"without --never", ""},
              [NEVER] = {"with --never", "--never n --members m"}},
    .mode = publish_mode,
    .run = run,
    .example = "site words.umb --sign key --valid 30",
    .details = "DIR is made if it does not exist; redis://HOST:PORT/KEY as DIR "
               "makes a key of FILTER in Redis, as FILTER it is a filter that "
               "lives there. Readers fetch with 'umbel "
               "pull ADDRESS-OF-DIR/NAME', where NAME is FILTER's file name "
               "without .umb. FILTER stays as it is. --sign, --valid and "
               "--never hold for this call: repeat them next time. A plain "
               "filter is refused without --never if the last edition was "
               "published with it.",
};
