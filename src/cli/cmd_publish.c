/*
 * cmd_publish.c - umbel publish: put filters where any web server can serve
 * them.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/confirmed.h"
#include "cli/files.h"
#include "cli/keys.h"
#include "cli/report.h"
#include "cli/sniff.h"
#include "cli/table.h"
#include "exchange/content.h"

#include <umbel/exchange.h>

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const um_option options[] = {
    {"sign", 0, "KEY", "sign with this key (umbel keygen --sign)"},
    {"valid", 0, "DAYS", "readers refuse it after so many days"},
    {"keep", 0, "N", "differences that are kept, up to 64 (default 16)"},
    {"never", 0, "FILE",
     "keys that readers found to match falsely: retouch; may be given again"},
    {"members", 0, "FILE", "with --never: all keys of the filter"},
    {0}};

enum { KEEP = 16, DAY = 86400 };

/* All filters of one call. */
typedef struct publishing {
    const um_args *args;
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
                       "%s%s has no name for an address: letters, digits and "
                       "._- inside, up to %d, please",
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
    if (status == UMBEL_OK)
        return UMBEL_OK;
    um_set_error(err, status, "%s%s: %.180s%s", um_path_dots(path),
                 um_path_tail(path), inner.text, um_memory_advice(inner.text));
    if (status == UMBEL_E_FORMAT)
        um_sniff_filter(path, err);
    return status;
}

/* Reads and verifies the filter: only what readers can read is published. */
static umbel_status read_filter(const publishing *p, const char *path,
                                edition *e, umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];
    bool given;

    UM_TRY(um_content_read(&e->file, path, err));
    UM_TRY(um_read_secret(p->args, secret, &given, err));
    umbel_status status =
        decode(p, path, &e->file, given ? secret : NULL, &e->filter, err);
    sodium_memzero(secret, sizeof secret);
    return status;
}

static void info_taken_back(const publishing *p, const edition *e,
                            umbel_info *out)
{
    const umbel_taken_back *t = &e->taken_back;

    if (!um_has(p->args, "never"))
        return;
    um_info_count(out, "never_matched", t->matched);
    um_info_count(out, "never_left", t->left);
    um_info_count(out, "never_members", t->members);
    um_info_count(out, "members_lost", t->lost);
}

static void report_json(const publishing *p, const edition *e)
{
    const umbel_published *d = &e->done;
    umbel_info info = {0};
    char digest[UM_DIGEST_HEX];

    um_digest_text(d->digest, digest);
    um_info_text(&info, "name", e->name);
    um_info_count(&info, "serial", d->serial);
    um_info_text(&info, "digest", digest);
    um_info_count(&info, "bytes", d->bytes);
    um_info_count(&info, "difference_bytes", d->step_bytes);
    um_info_count(&info, "differences", d->steps);
    um_info_flag(&info, "signed", d->is_signed);
    um_info_count(&info, "expires", d->expires);
    info_taken_back(p, e, &info);
    um_print_json(stdout, &info);
}

static void report(const publishing *p, const edition *e)
{
    const umbel_published *d = &e->done;

    if (um_has(p->args, "never"))
        um_tell_taken_back(stdout, e->name, p->args, e->filter, &e->taken_back);
    printf("%s: serial %" PRIu64 ", %s bytes", e->name, d->serial,
           um_grouped(d->bytes).text);
    if (d->step_bytes)
        printf(", or %s for who has the last one",
               um_grouped(d->step_bytes).text);
    else if (d->unchanged)
        fputs(", as before", stdout);
    puts(d->is_signed ? ", signed" : ", not signed");
    if (*d->no_step.text)
        printf("all readers fetch the whole file: %s\n", d->no_step.text);
    if (d->expiry_gone)
        puts("the manifest before this one was to expire, this one is not: "
             "--valid DAYS");
}

static umbel_status publish(publishing *p, edition *e, umbel_error *err)
{
    umbel_publication what = p->what;

    if (um_has(p->args, "never"))
        UM_TRY(um_take_back(p->args, e->filter, &e->taken_back, err));
    what.name = e->name;
    what.filter = e->filter;
    what.now = (uint64_t)time(NULL);
    if (e->taken_back.matched == e->taken_back.left) /* nothing was changed */
        what.file = (umbel_slice){e->file.bytes, e->file.len};
    UM_TRY(umbel_publish(&what, &p->shelf, &e->done, err));
    if (e->done.has_last)
        memcpy(p->replaced[p->nreplaced++], e->done.last,
               UMBEL_FILE_DIGEST_LEN);
    if (um_has(p->args, "json"))
        report_json(p, e);
    else if (!um_has(p->args, "quiet"))
        report(p, e);
    return UMBEL_OK;
}

static umbel_status publish_file(publishing *p, const char *path,
                                 umbel_error *err)
{
    edition e = {.filter = NULL};
    umbel_status status = name_of(path, e.name, err);

    if (status == UMBEL_OK)
        status = read_filter(p, path, &e, err);
    if (status == UMBEL_OK)
        status = publish(p, &e, err);
    umbel_close(e.filter);
    um_content_fini(&e.file);
    return status;
}

/* Refuses two of one name: the first would be replaced at once. */
static umbel_status check_names(const um_args *args, umbel_error *err)
{
    char a[UM_NAME_MAX + 1], b[UM_NAME_MAX + 1];

    for (size_t i = 1; i < args->noperands; i++) {
        UM_TRY(name_of(args->operands[i], a, err));
        for (size_t j = 1; j < i; j++) {
            UM_TRY(name_of(args->operands[j], b, err));
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

    if (status != UMBEL_OK)
        return um_fail(err, status,
                       "published, but what is old was not removed: %.200s",
                       inner.text);
    return UMBEL_OK;
}

static umbel_status publish_all(publishing *p, umbel_error *err)
{
    const um_args *args = p->args;

    UM_TRY(umbel_store_dir(args->operands[0], &p->shelf, err));
    p->replaced = calloc(args->noperands, sizeof *p->replaced);
    umbel_status status =
        p->replaced ? UMBEL_OK
                    : um_fail(err, UMBEL_E_NOMEM, "no memory to begin");
    for (size_t i = 1; status == UMBEL_OK && i < args->noperands; i++)
        status = publish_file(p, args->operands[i], err);
    if (status == UMBEL_OK)
        status = tidy(p, err);
    free(p->replaced);
    umbel_store_close(&p->shelf);
    return status;
}

static umbel_status take_options(const um_args *args, publishing *p,
                                 umbel_error *err)
{
    uint64_t days = 0, keep = KEEP;
    const char *key = um_value(args, "sign");

    p->what = (umbel_publication)UMBEL_PUBLICATION_INIT;
    UM_TRY(um_value_count(args, "keep", &keep, err));
    UM_TRY(um_value_count(args, "valid", &days, err));
    UM_TRY(um_value_count(args, "max-memory", &p->what.memory_limit, err));
    if (keep > UMBEL_MAX_STEPS)
        return um_fail(err, UMBEL_E_RANGE, "--keep goes up to %d",
                       UMBEL_MAX_STEPS);
    if (days > 36500 || (um_has(args, "valid") && days == 0))
        return um_fail(err, UMBEL_E_RANGE, "--valid is 1 to 36500 days");
    p->what.keep = (size_t)keep;
    p->what.whole = keep == 0;
    p->what.valid = days * DAY;
    if (key) {
        UM_TRY(umbel_sign_key_load(key, p->sign_key, err));
        p->what.sign_key = p->sign_key;
    }
    return UMBEL_OK;
}

static int run(const um_args *args)
{
    publishing p = {.args = args};
    umbel_error err;

    if (args->noperands < 2)
        return um_misuse(args,
                         "give a directory, and filters to publish there");
    if (um_has(args, "never") != um_has(args, "members"))
        return um_misuse(args, "--never and --members go together");
    if (um_has(args, "never") && args->noperands > 2)
        return um_misuse(args, "--never is for one filter at a time");
    umbel_status status = check_names(args, &err);
    if (status == UMBEL_OK)
        status = take_options(args, &p, &err);
    if (status == UMBEL_OK)
        status = publish_all(&p, &err);
    sodium_memzero(p.sign_key, sizeof p.sign_key);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_publish = {
    .name = "publish",
    .args = "DIR FILTER...",
    .summary = "put filters where any web server can serve them",
    .options = {options, um_keys_options, um_secret_options, um_memory_options},
    .example = "shelf words.umb --sign key --valid 30",
    .details = "DIR is made if need be, in a directory that is there. Readers "
               "fetch with 'umbel pull ADDRESS-OF-DIR/NAME', NAME being "
               "FILTER's file name without .umb. FILTER stays as it is. "
               "--sign, --valid and --never are for this time: repeat them.",
    .run = run,
};
