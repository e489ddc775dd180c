/*
 * scan.c - umbel scan: which files are known, by the digests in filters.
 */
#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/progress.h"
#include "cli/framework/report.h"
#include "query/query.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct scan_args {
    um_list filters, paths;
    um_choice hash;
    bool unknown_only, print0;
    const char *resume;
    um_open_args open;
    um_thread_args threads;
} scan_args;

static const char *const hash_choices[] = {"md5", "sha1", "sha256", NULL};

static const um_option options[] = {
    {"filter", 'F', "FILE", "a filter of digests of files; may be repeated",
     UM_TARGET(scan_args, filters), .role = UM_INPUT, .required = true},
    {"hash", 0, "NAME",
     "the digests are of this hash; needed if a filter does not record it",
     UM_TARGET(scan_args, hash), .choices = hash_choices},
    {"unknown-only", 0, NULL, "print only files that no filter knows",
     UM_TARGET(scan_args, unknown_only), .excludes = "quiet"},
    {"print0", 0, NULL, "print only paths, each followed by a NUL",
     UM_TARGET(scan_args, print0), .excludes = "json quiet"},
    {"resume", 0, "FILE",
     "record digests in FILE, and hash only files that are new or changed "
     "since they were recorded",
     UM_TARGET(scan_args, resume)},
    {0}};

enum { MAX_FILTERS = 64 };

typedef struct scan_ctx {
    const um_args *args;
    const scan_args *values;
    umbel_filter *filter[MAX_FILTERS];
    size_t nfilters;
    um_file_hash hash;
    um_question question;
    uint64_t files, known, unread;
    umbel_status status; /* of a filter that cannot be asked */
    umbel_error err;
} scan_ctx;

/* --- answers -------------------------------------------------------------- */

/* Asks a filter for a digest. Filters of text, as other programs write them,
 * have digits in either case. */
static umbel_status ask(scan_ctx *c, const umbel_filter *f, char *hex,
                        bool *known, umbel_error *err)
{
    size_t len = 2 * um_file_digest_len(c->hash);
    um_question_answer answer;
    umbel_key_form form = umbel_key_form_of(f);
    bool either = form == UMBEL_KEYS_TEXT || form == UMBEL_KEYS_UNRECORDED;

    *known = false;
    for (int upper = 0; upper <= (either ? 1 : 0) && !*known; upper++) {
        for (char *at = hex; upper && *at; at++)
            *at = (char)(*at >= 'a' ? *at - 'a' + 'A' : *at);
        UM_TRY(um_question_set(&c->question, f, (umbel_slice){hex, len}, err));
        UM_TRY(um_question_ask(&c->question, f, &answer, err));
        *known = answer.hit;
    }
    return UMBEL_OK;
}

static void print_json(const scan_ctx *c, const um_file_digest *file,
                       const char *hex, uint64_t in)
{
    const char *between = "";

    putchar('{');
    um_json_bytes(stdout, "path",
                  &(umbel_slice){file->path, strlen(file->path)});
    um_json_field(stdout, 1, "digest", file->why ? NULL : hex);
    um_json_name(stdout, 1, "known");
    fputs(file->why ? "null" : in ? "true" : "false", stdout);
    um_json_name(stdout, 1, "filters");
    putchar('[');
    for (size_t i = 0; i < c->nfilters; i++)
        if (in >> i & 1) {
            fputs(between, stdout);
            um_json_text(stdout, c->values->filters.item[i]);
            between = ", ";
        }
    putchar(']');
    um_json_field(stdout, 1, "error", file->why);
    puts("}");
}

static void print_text(const scan_ctx *c, const char *path, uint64_t in)
{
    char *shown = strdup(path);

    printf("%-9s", in ? "known" : "unknown");
    if (shown)
        um_disarm(shown);
    fputs(shown ? shown : "?", stdout);
    for (size_t i = 0; c->nfilters > 1 && i < c->nfilters; i++)
        if (in >> i & 1)
            printf("\t%s", c->values->filters.item[i]);
    putchar('\n');
    free(shown);
}

static void print_file(const scan_ctx *c, const um_file_digest *file,
                       const char *hex, uint64_t in)
{
    if (c->args->common.quiet)
        return;
    if (c->args->common.json)
        print_json(c, file, hex, in);
    else if (c->values->print0)
        fwrite(file->path, 1, strlen(file->path) + 1, stdout);
    else
        print_text(c, file->path, in);
}

static void each(void *ctx, const um_file_digest *file)
{
    scan_ctx *c = ctx;
    char hex[2 * UM_FILE_DIGEST_LEN + 1], asked[sizeof hex];
    uint64_t in = 0;

    um_hex_write(file->digest, um_file_digest_len(c->hash), hex);
    for (size_t i = 0; !file->why && !c->status && i < c->nfilters; i++) {
        bool known = false;
        memcpy(asked, hex, sizeof asked);
        c->status = ask(c, c->filter[i], asked, &known, &c->err);
        in |= (uint64_t)known << i;
    }
    c->files++;
    c->known += in != 0;
    c->unread += file->why != NULL;
    um_progress_steps("hashing files", c->files, 0, "files");
    um_progress_pause();
    if (file->why) {
        um_warn(c->args, "%s%s was not read: %s", um_path_dots(file->path),
                um_path_tail(file->path), file->why);
        if (c->args->common.json)
            print_file(c, file, hex, 0);
    } else if (!c->status && !(in && c->values->unknown_only)) {
        print_file(c, file, hex, in);
    }
    um_progress_resume();
}

/* --- filters -------------------------------------------------------------- */

/* Determines the hash of the digests in a filter. */
static umbel_status hash_of(const scan_args *a, const umbel_filter *f,
                            const char *name, um_file_hash *out,
                            umbel_error *err)
{
    const char *form = um_form_option(umbel_key_form_of(f));

    for (int i = 0; hash_choices[i]; i++)
        if (strcmp(form, hash_choices[i]) == 0) {
            *out = (um_file_hash)i;
            if (a->hash.name && a->hash.index != (size_t)i)
                return um_fail(err, UMBEL_E_MISMATCH,
                               "%s holds digests of %s: leave out --hash", name,
                               form);
            return UMBEL_OK;
        }
    if (!um_has_word("hex text folded", form, strlen(form)))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "%s holds keys of form %s, not digests of files", name,
                       form);
    if (!a->hash.name)
        return um_fail(err, UMBEL_E_MISMATCH,
                       "%s does not record of which hash its digests are: add "
                       "--hash sha1, md5 or sha256",
                       name);
    *out = (um_file_hash)a->hash.index;
    return UMBEL_OK;
}

static umbel_status open_filters(scan_ctx *c, umbel_error *err)
{
    const scan_args *a = c->values;

    for (size_t i = 0; i < a->filters.n; i++) {
        um_file_hash hash;
        const char *name = a->filters.item[i];
        UM_TRY(um_open_filter(&a->open, name, &c->filter[i], err));
        c->nfilters++;
        UM_TRY(hash_of(a, c->filter[i], name, &hash, err));
        if (i && hash != c->hash)
            return um_fail(err, UMBEL_E_MISMATCH,
                           "%s holds digests of %s and %s of %s: scan with "
                           "each of them",
                           a->filters.item[0], um_file_hash_name(c->hash), name,
                           um_file_hash_name(hash));
        c->hash = hash;
    }
    return UMBEL_OK;
}

/* --- the command ---------------------------------------------------------- */

static void print_summary(const scan_ctx *c, const um_file_scan *job)
{
    uint64_t unknown = c->files - c->known - c->unread;

    if (c->args->common.quiet)
        return;
    fprintf(stderr, "%s: %s known, %s unknown",
            um_counted(c->files, "file", "files").text,
            um_grouped(c->known).text, um_grouped(unknown).text);
    if (c->unread)
        fprintf(stderr, ", %s not read", um_grouped(c->unread).text);
    if (job->recorded)
        fprintf(stderr, "; %s had not changed", um_grouped(job->recorded).text);
    if (job->links)
        fprintf(stderr, "; %s not followed",
                um_counted(job->links, "link", "links").text);
    if (job->special)
        fprintf(stderr, "; %s not opened",
                um_counted(job->special, "special file", "special files").text);
    putc('\n', stderr);
}

static umbel_status scan(scan_ctx *c, umbel_error *err)
{
    const scan_args *a = c->values;
    um_file_scan job = {.paths = a->paths.item,
                        .npaths = a->paths.n,
                        .threads = (unsigned)a->threads.threads.n,
                        .record = a->resume,
                        .each = each,
                        .ctx = c};

    UM_TRY(open_filters(c, err));
    job.hash = c->hash;
    c->question.digests = true;
    um_progress_begin(c->args);
    umbel_status status = um_scan_files(&job, err);
    um_progress_end();
    if (!status && c->status) {
        *err = c->err;
        status = c->status;
    }
    if (!status)
        print_summary(c, &job);
    return status;
}

static int run(const um_args *args)
{
    scan_ctx c = {.args = args, .values = args->values};
    umbel_error err;

    if (c.values->filters.n > MAX_FILTERS)
        return um_misuse(args, "at most %d filters can be given with -F",
                         MAX_FILTERS);
    umbel_status status = scan(&c, &err);
    um_question_fini(&c.question);
    for (size_t i = 0; i < c.nfilters; i++)
        umbel_close(c.filter[i]);
    if (status)
        return um_trouble(args, &err);
    if (c.unread)
        return UM_EXIT_TROUBLE;
    return c.known == c.files ? UM_EXIT_FINE : UM_EXIT_NO;
}

const um_command um_cmd_scan = {
    .name = "scan",
    .summary = "hash files, and print which of them are known",
    .section = UM_EVERYDAY,
    .values_len = sizeof(scan_args),
    .operands = {{"PATH", UM_LIST, offsetof(scan_args, paths), .min = 1}},
    .options = {{.rows = options},
                {.rows = um_thread_options,
                 .base = offsetof(scan_args, threads)},
                {.rows = um_open_options, .base = offsetof(scan_args, open)}},
    .run = run,
    .example = "-F known.umb docs",
    .details =
        "Hashes all regular files below PATH, as the filters record their "
        "digests (build --key-form sha1). Links are not followed. Exit codes: "
        "0 if all files are known, 1 if some are not, 2 if something could not "
        "be read. A file that is not in the list is called known with the "
        "filter's error rate.",
};
