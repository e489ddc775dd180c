/*
 * build.c - umbel build: builds a filter from lists of keys.
 */
#include "build/build.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/overfull.h"
#include "cli/framework/report.h"
#include "filter/handle.h"
#include "filter/kind.h"
#include "filter/sizing.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct build_args {
    um_list keys;
    const char *output;
    um_whole capacity, max_memory, value_bits, bytes, partition, prefix;
    um_list never, universe;
    const char *like;
    bool weights, allow_members, coded;
    um_amount_args amounts;
    um_thread_args threads;
    um_shape_args shape;
    um_key_args key;
    um_secret_args secret;
    um_strict_args strict;
} build_args;

/* --- options -------------------------------------------------------------- */

/* Modes by kind, since kinds use different options. */
enum { GROUPS, PLAIN, COUNTS, STATIC };

/* Returns the mode of the kind; the library refuses unknown kinds. */
static unsigned mode_of_kind(const void *values)
{
    const char *kind = ((const build_args *)values)->shape.kind;

    if (!kind || !um_kind_find(kind))
        return UM_MODE(GROUPS);
    if (umbel_is_static(kind))
        return UM_MODE(STATIC);
    if (umbel_is_counting(kind))
        return UM_MODE(COUNTS);
    return um_kind_has(kind, "groups") ? UM_MODE(GROUPS) : UM_MODE(PLAIN);
}

static const um_option options[] = {
    {"output", 'o', "FILE", "write the filter to FILE; - is standard output",
     UM_TARGET(build_args, output), .role = UM_UMBEL_OUTPUT, .required = true},
    {"capacity", 'n', "N", "room for N keys (default: as many as there are)",
     UM_TARGET(build_args, capacity), .low = 1,
     .modes = UM_MODE(GROUPS) | UM_MODE(PLAIN) | UM_MODE(COUNTS),
     .formerly = "keys"},
    {"max-memory", 0, "N",
     "use at most N bytes of memory, and temporary files beside FILE, or in "
     "TMPDIR, for what needs more",
     UM_TARGET(build_args, max_memory), .low = 1024, .formerly = "memory"},
    {"never", 0, "FILE", "keys that must not match; may be repeated",
     UM_TARGET(build_args, never), .role = UM_INPUT, .excludes = "value-bits",
     .modes = UM_MODE(GROUPS) | UM_MODE(STATIC)},
    {"weights", 0, NULL, "lines of --never end in a weight (as in files *.tsv)",
     UM_TARGET(build_args, weights), .needs = "never",
     .modes = UM_MODE(GROUPS) | UM_MODE(STATIC)},
    {"allow-members", 0, NULL, "let keys of --never that are members match",
     UM_TARGET(build_args, allow_members), .needs = "never",
     .modes = UM_MODE(GROUPS) | UM_MODE(STATIC)},
    {"like", 0, "OLD",
     "with --never: the shape of filter OLD, and its choices where they still "
     "hold, so that the difference is small",
     UM_TARGET(build_args, like), .role = UM_REPLACEABLE, .needs = "never",
     .excludes = "capacity kind addressing hash seed fpr bits cells hashes "
                 "groups param",
     .modes = UM_MODE(GROUPS)},
    {"universe", 0, "FILE",
     "static kinds: of all these keys only members match; may be repeated",
     UM_TARGET(build_args, universe), .role = UM_INPUT,
     .excludes = "value-bits", .modes = UM_MODE(STATIC)},
    {"partition", 0, "N",
     "with --universe: keys with the same field N (1 to 9; fields end at tabs) "
     "are a partition",
     UM_TARGET(build_args, partition), .low = 1, .high = 9, .needs = "universe",
     .excludes = "never hash fpr bits cells bytes "
                 "partition-prefix",
     .modes = UM_MODE(STATIC)},
    {"partition-prefix", 0, "L",
     "with --universe: keys with the same first L bytes are a partition",
     UM_TARGET(build_args, prefix), .low = 1, .high = 64, .needs = "universe",
     .excludes = "never hash fpr bits cells bytes", .modes = UM_MODE(STATIC)},
    {"value-bits", 0, "W", "static kinds: lines are key, tab, value of W bits",
     UM_TARGET(build_args, value_bits), .low = 1, .high = 32,
     .modes = UM_MODE(STATIC), .formerly = "values"},
    {"bytes", 0, "N", "static kinds: the file has at most N bytes",
     UM_TARGET(build_args, bytes), .low = 1,
     .excludes = "bits cells value-bits", .modes = UM_MODE(STATIC)},
    {"coded", 0, NULL, "compress the file; it is decoded when it is opened",
     UM_TARGET(build_args, coded)},
    {0}};

static bool has_size(const build_args *a)
{
    return um_size_asked(&a->shape).given || a->bytes.given;
}

static bool has_lists(const build_args *a)
{
    return a->never.n || a->universe.n;
}

/* Returns true if the default error applies to keys that are in no list. (The
 * smallest exact file would let half of them match.) With a universe there are
 * no such keys. */
static bool has_default_fpr(const build_args *a)
{
    return umbel_is_static(a->shape.kind) && a->never.n && !a->universe.n &&
           !has_size(a) && !a->shape.fpr.given;
}

/* Refuses a size together with --fpr for a static kind, unless there is a list
 * of negatives: then both are needed. */
static umbel_status check_size(const build_args *a, umbel_error *err)
{
    if (!umbel_is_static(a->shape.kind) || has_lists(a) || !has_size(a) ||
        !a->shape.fpr.given)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "for static kinds give --fpr or the size, not both: one "
                   "follows from the other");
}

/* --- building ------------------------------------------------------------- */

static umbel_status set_sources(const um_args *args, um_build_job *job,
                                umbel_error *err)
{
    static const char *const standard_input[] = {"-"};
    const build_args *a = args->values;
    um_list keys =
        a->keys.n ? a->keys : (um_list){.item = standard_input, .n = 1};

    if (!a->keys.n)
        UM_TRY(um_claim_stdin(args, err));
    UM_TRY(um_key_source_from_args(args, &a->key, &a->threads, keys,
                                   &job->members, err));
    UM_TRY(um_key_source_from_args(args, &a->key, &a->threads, a->never,
                                   &job->never, err));
    UM_TRY(um_key_source_from_args(args, &a->key, &a->threads, a->universe,
                                   &job->universe, err));
    job->members.pass = "reading members";
    job->members.suggest_hex =
        !a->key.hex && !a->key.fold_case && !a->key.form.name;
    /* Other lists may have fields, and share the options. */
    job->members.has_fields = !has_lists(a);
    job->never.pass = "reading keys of --never";
    um_set_amounts(&a->amounts, &job->members.format);
    job->never.format.weights = a->weights ? UM_WEIGHTS_ALL : UM_WEIGHTS_TSV;
    return UMBEL_OK;
}

static umbel_status set_partition(const build_args *a, um_build_job *job,
                                  umbel_error *err)
{
    job->partition = a->prefix.given ? -(int)a->prefix.n : (int)a->partition.n;
    if (!job->partition)
        return UMBEL_OK;
    const um_hash *hash = um_hash_of_part(job->partition);
    if (!hash)
        return um_fail(err, UMBEL_E_RANGE,
                       "a prefix has 1 to 16, 20, 24, 32, 40 or 64 bytes");
    job->params.hash = hash->name;
    return UMBEL_OK;
}

/* Returns the directory for temporary files: $TMPDIR or that of the output,
 * which has space for it. */
static const char *find_temp_dir(const char *output, char dir[PATH_MAX])
{
    const char *given = getenv("TMPDIR"), *slash = strrchr(output, '/');
    struct stat st;

    if (given && *given)
        return given;
    if (strcmp(output, "-") == 0 ||
        (stat(output, &st) == 0 && !S_ISREG(st.st_mode)))
        return "/var/tmp";
    if (!slash)
        return ".";
    int len = slash == output ? 1 : (int)(slash - output);
    return snprintf(dir, PATH_MAX, "%.*s", len, output) < PATH_MAX ? dir : ".";
}

static umbel_status build_filter(const um_args *args, um_filter_params *params,
                                 const umbel_filter *like, um_build_result *out,
                                 umbel_error *err)
{
    const build_args *a = args->values;
    um_build_job job = {.kind = params->kind,
                        .like = like,
                        .allow_members = a->allow_members,
                        .max_bytes = a->bytes.n,
                        .max_memory = a->max_memory.n,
                        .coded = a->coded};
    char dir[PATH_MAX];

    job.temp_dir = find_temp_dir(a->output, dir);
    UM_TRY(set_sources(args, &job, err));
    if (has_default_fpr(a))
        params->params.fpr = UM_DEFAULT_FPR;
    if (a->value_bits.given)
        UM_TRY(um_params_add(params, "value_bits", a->value_bits.n, err));
    job.params = params->params;
    UM_TRY(set_partition(a, &job, err));
    job.params.capacity = a->capacity.n;
    umbel_key_form form;
    UM_TRY(um_key_form_from_args(&a->key, &form, err));
    job.params.key_form = form;
    return um_build(&job, out, err);
}

/* Opens OLD, which must have groups and the same key form. */
static umbel_status open_like(const build_args *a, const um_open_args *open,
                              umbel_filter **out, umbel_error *err)
{
    umbel_key_form form;
    umbel_field groups;

    UM_TRY(um_key_form_from_args(&a->key, &form, err));
    UM_TRY(um_open_filter(open, a->like, out, err));
    if (umbel_info_get(*out, "groups", &groups, NULL) != UMBEL_OK)
        return um_fail(err, UMBEL_E_RANGE,
                       "%.200s is of kind %s, which has no groups of hash "
                       "functions: give a filter of kind bloom that was built "
                       "with --never, or build without --like",
                       a->like, umbel_kind(*out));
    if (groups.value.count == 1)
        return um_fail(err, UMBEL_E_RANGE,
                       "%.200s has one group of hash functions, which leaves "
                       "no choice: build the first edition with --never, and "
                       "without --like",
                       a->like);
    if (umbel_key_form_of(*out) == form ||
        umbel_key_form_of(*out) == UMBEL_KEYS_UNRECORDED)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_MISMATCH,
                   "the keys of %.200s are %s: give the options that it was "
                   "built with",
                   a->like, umbel_key_form_name(umbel_key_form_of(*out)));
}

static umbel_status build(const um_args *args, um_build_result *out,
                          umbel_error *err)
{
    const build_args *a = args->values;
    um_open_args open = {.key_file = a->secret.key_file};
    um_filter_params params = {0};
    umbel_filter *like = NULL;
    umbel_status status;

    UM_TRY(check_size(a, err));
    status = um_params_from_args(&a->shape, a->secret.key_file, &params, err);
    if (status)
        goto done;
    if (a->like)
        status = open_like(a, &open, &like, err);
    if (status)
        goto done;
    status = build_filter(args, &params, like, out, err);
done:
    umbel_close(like);
    um_filter_params_fini(&params);
    return status;
}

/* Smallest share of bytes saved that is worth a hint. */
static const double WORTH_SAYING = 0.15;

/* --- reporting ------------------------------------------------------------ */

static void report_choice(um_report *r, const build_args *a,
                          const umbel_choose_result *b)
{
    double before = b->weight > 0 ? b->weight_before / b->weight : 0;

    um_report_count(r, "never", NULL, "keys", b->never);
    um_report_count(r, "never_members", "members among them", NULL,
                    b->never_members);
    um_report_count(r, "matched_before", "match, one group", NULL,
                    b->matched_before);
    um_report_count(r, "matched", "match", NULL, b->matched);
    um_report_rate(r, "share_before", "weight, one group", before);
    um_report_rate(r, "share_left", "weight matching", b->share_left);
    um_report_count(r, "lost", "members lost", NULL, b->lost);
    um_report_rate(r, "error_before", "error, one group", b->error_before);
    um_report_count(r, "moved", "members moved", NULL, b->moved);
    if (a->like)
        um_report_count(r, "kept", "members as before", NULL, b->kept);
}

static void report_exclusion(um_report *r, const build_args *a,
                             const umbel_exact_result *b)
{
    um_report_count(r, "never", NULL, "keys", b->listed);
    if (b->partitions)
        um_report_count(r, "partitions", NULL, NULL, b->partitions);
    um_report_count(r, "passed", "pass first level", NULL, b->passed);
    um_report_count(r, "matched", "match", NULL, b->matched);
    um_report_real(r, "weight", NULL, NULL, b->weight);
    um_report_real(r, "weight_left", "weight matching", NULL, b->weight_left);
    um_report_count(r, "lost", "members lost", NULL, b->lost);
    if (b->matched)
        um_report_note(r, "The size does not suffice to exclude all keys: "
                          "allow more bits or bytes.");
    if (!a->shape.fpr.given && has_size(a) && !a->universe.n)
        um_report_note(r, "The predicted error is that of keys in none of the "
                          "lists: choose another with --fpr.");
}

/* Reports the bits or cells per key, for filters that contain all keys added.
 */
static void report_cost(um_report *r, const build_args *a,
                        const umbel_filter *f)
{
    bool in_cells = umbel_count_limit(f) && !umbel_coded(f);
    double size = umbel_coded(f) ? 8 * (double)umbel_encoded_len(f)
                                 : (double)umbel_cells(f);

    if (umbel_added(f) && !umbel_has_false_negatives(f))
        um_report_real(r, in_cells ? "cells_per_key" : "bits_per_key", NULL,
                       NULL, size / (double)umbel_added(f));
    if (!umbel_value_bits(f))
        return;
    um_report_count(r, "value_bits", NULL, NULL, umbel_value_bits(f));
    if (!a->shape.fpr.given)
        um_report_note(r, "Every key matches, and gets some value: give --fpr "
                          "to deny keys that are not in the list.");
}

/* Returns true if a filter like f for fewer keys has fewer cells. */
static bool is_smaller_for(const umbel_filter *f, uint64_t keys)
{
    um_shape shape = *um_shape_of(f);
    uint64_t cells = shape.cells;

    shape.capacity = keys;
    shape.cells = 0;
    shape.hashes = 0;
    return um_solve_size(&shape, NULL) == UMBEL_OK && shape.cells < cells;
}

/* Notes that the filter was sized for repeated lines, and is larger than
 * necessary. */
static void note_repeated(um_report *r, const build_args *a,
                          const um_build_result *b)
{
    um_key_source members = {.paths = a->keys.item, .npaths = a->keys.n};
    uint64_t fresh = umbel_added(b->filter);

    if (a->capacity.given || b->distinct || b->chosen || has_size(a) ||
        !um_keys_rereadable(&members) ||
        (double)fresh > 0.8 * (double)b->keys ||
        umbel_is_growing(a->shape.kind) || !is_smaller_for(b->filter, fresh))
        return;
    um_report_note(r,
                   "Only %s of the %s keys are different: --capacity %" PRIu64
                   " gives a smaller file.",
                   um_grouped(fresh).text, um_grouped(b->keys).text, fresh);
}

/* Returns true if other kinds or addressings could have been used for the same
 * keys. */
static bool is_plain_set(const build_args *a)
{
    return (!a->shape.kind || strcmp(a->shape.kind, "bloom") == 0) &&
           !a->shape.addressing && !a->shape.groups.given &&
           !a->shape.param.n && !has_lists(a) && !has_size(a) &&
           !a->capacity.given && !a->coded;
}

/* Returns true if the filter was built for an error, not for a size. */
static bool has_target(const build_args *a, const um_build_result *b)
{
    return a->shape.fpr.given || has_default_fpr(a) ||
           !(has_size(a) || b->exact || umbel_value_bits(b->filter));
}

static void report_target(um_report *r, const build_args *a,
                          const um_build_result *b)
{
    const umbel_filter *f = b->filter;

    if (!has_target(a, b))
        return;
    um_report_rate(r, "target_error", NULL, umbel_target_fpr(f));
    if (is_plain_set(a))
        um_note_smaller(r, b->keys, umbel_target_fpr(f), umbel_encoded_len(f),
                        WORTH_SAYING);
    note_repeated(r, a, b);
}

/* Prints the next command to type, with the options that determine how lines
 * become keys, except those that the file records. */
static void print_next(FILE *out, const um_args *args, bool again)
{
    const build_args *a = args->values;

    fputs(again ? "next: umbel verify " : "next: umbel check ", out);
    um_print_quoted(out, a->output);
    /* The file records these, but not that a list has digests already. */
    umbel_key_form form = UMBEL_KEYS_HEX;
    bool recorded =
        um_key_form_from_args(&a->key, &form, NULL) || form == UMBEL_KEYS_HEX;
    um_print_used(out, args, um_key_options,
                  recorded ? "hex fold-case" : "fold-case");
    if ((a->value_bits.given || a->amounts.amount_field.given) &&
        !a->key.field.given)
        fputs(" --field 1", out);
    um_print_used(out, args, um_secret_options, NULL);
    fputs(again ? " --members " : " -f KEYS", out);
    if (again)
        um_print_quoted(out, a->keys.item[0]);
}

static void note_next(um_report *r, const um_args *args)
{
    const build_args *a = args->values;
    um_key_source members = {.paths = a->keys.item, .npaths = a->keys.n};
    char *text = NULL;
    size_t len;
    FILE *out = args->stdout_taken ? NULL : open_memstream(&text, &len);

    if (!out)
        return;
    print_next(out, args, um_keys_rereadable(&members));
    if (fclose(out) == 0)
        um_report_note(r, "%s", text);
    free(text);
}

/* Warns about keys that still match if --quiet suppresses the report, which has
 * their number. */
static void warn_matching(const um_args *args, const um_build_result *b)
{
    uint64_t left = b->chosen  ? b->choice.matched
                    : b->exact ? b->exclusion.matched
                               : 0;

    if (left && args->common.quiet)
        um_warn(args, "%s of the keys that must not match do: allow more bits",
                um_grouped(left).text);
}

/*
 * Keys of --never that match by a key above them. A question about a domain
 * asks its parents, too, and one about an address the networks around it; a
 * filter can exclude only the key itself.
 */
typedef struct below {
    const umbel_filter *filter;
    uint64_t n;
    char name[64], above[UMBEL_MATCHED_LEN]; /* the first one */
} below;

static umbel_status ask_below(void *ctx, const um_key_batch *batch,
                              umbel_error *err)
{
    below *b = ctx;
    char above[UMBEL_MATCHED_LEN];

    for (size_t i = 0; i < batch->n; i++) {
        const umbel_slice *key = &batch->keys[i], *text = &batch->texts[i];
        bool itself, hit;
        UM_TRY(umbel_query_many(b->filter, key, 1, &itself, err));
        UM_TRY(umbel_ask(b->filter, text->data, text->len, &hit, above, err));
        if (itself || !hit)
            continue;
        if (b->n++ == 0) {
            memcpy(b->above, above, sizeof b->above);
            snprintf(b->name, sizeof b->name, "%.*s",
                     text->len < sizeof b->name ? (int)text->len
                                                : (int)sizeof b->name - 1,
                     (const char *)text->data);
            um_disarm(b->name);
        }
    }
    return UMBEL_OK;
}

/* Warns about such keys, also if --quiet suppresses the report. */
static umbel_status warn_below(const um_args *args, const umbel_filter *f,
                               umbel_error *err)
{
    const build_args *a = args->values;
    bool domains = umbel_key_form_of(f) == UMBEL_KEYS_DOMAIN;
    below b = {.filter = f};
    um_key_source never;

    if (!a->never.n || (!domains && umbel_key_form_of(f) != UMBEL_KEYS_NETWORK))
        return UMBEL_OK;
    UM_TRY(um_key_source_from_args(args, &a->key, NULL, a->never, &never, err));
    if (!um_keys_rereadable(&never)) {
        um_warn(args,
                "keys of --never that are below a member match, and a pipe "
                "cannot be read again to count them: use a second filter: "
                "check --unless");
        return UMBEL_OK;
    }
    never.pass = "reading keys of --never";
    never.warn = NULL; /* it was warned of */
    never.format.weights = a->weights ? UM_WEIGHTS_ALL : UM_WEIGHTS_TSV;
    UM_TRY(um_keys_each_batch(&never, ask_below, &b, err));
    if (b.n)
        um_warn(args,
                "%s of --never %s below a %s that matches, and %s, too (%s: "
                "%s); use a second filter: check --unless",
                domains ? um_counted(b.n, "name", "names").text
                        : um_counted(b.n, "network", "networks").text,
                b.n == 1 ? "is" : "are", domains ? "domain" : "network",
                b.n == 1 ? "matches" : "match", b.name, b.above);
    return UMBEL_OK;
}

/* Warns that names do not match their subdomains, unless a form of keys was
 * chosen. */
static void warn_names(const um_args *args)
{
    const build_args *a = args->values;

    if (a->key.list_format.index > UM_LIST_HIBP && !a->key.form.name &&
        !a->key.fold_case && !args->common.quiet)
        um_warn(args, "names are taken as text; with --key-form domain "
                      "subdomains match, too");
}

static void report(const um_args *args, const um_build_result *b, um_report *r)
{
    const build_args *a = args->values;
    const umbel_filter *f = b->filter;

    um_report_file(r, "file", NULL, a->output);
    um_report_count(r, "keys", NULL, NULL, b->keys);
    um_report_count(r, "new", "new keys", NULL, umbel_added(f));
    um_report_count(r, "bits", umbel_count_limit(f) ? "cells" : NULL, NULL,
                    umbel_cells(f));
    um_report_count(r, "hashes", NULL, NULL, umbel_hashes(f));
    um_report_count(r, "bytes", NULL, NULL, umbel_encoded_len(f));
    um_report_rate(r, "predicted_error", NULL, umbel_predict(f));
    um_report_hex(r, "payload_checksum", NULL, umbel_payload_checksum(f));
    if (b->chosen)
        report_choice(r, a, &b->choice);
    if (b->exact)
        report_exclusion(r, a, &b->exclusion);
    report_cost(r, a, f);
    if (b->distinct && b->distinct < b->keys)
        um_report_note(r, "Sized for the different keys, about %s.",
                       um_grouped(b->distinct).text);
    report_target(r, a, b);
    um_note_counts(r, f);
    if (!umbel_is_static(a->shape.kind))
        um_note_rounding(r, um_size_asked(&a->shape).n, umbel_cells(f));
    note_next(r, args);
    um_report_print(args, r);
    warn_matching(args, b);
}

/* Checks the error of the filter. That of a static kind whose size was
 * requested follows from the lists. */
static umbel_status check_error(const um_args *args, const um_build_result *b,
                                um_report *r, umbel_error *err)
{
    const build_args *a = args->values;
    const um_new_filter written = {.filter = b->filter,
                                   .strict = a->strict.strict,
                                   .sized = !has_target(a, b),
                                   .keys = b->distinct ? b->distinct : b->keys,
                                   .counted = true,
                                   .build = a->like ? "build it without --like,"
                                                    : "build it"};

    if (umbel_is_static(a->shape.kind) && written.sized)
        return UMBEL_OK;
    return um_check_overfull(args, &written, r, err);
}

static int run(const um_args *args)
{
    const build_args *a = args->values;
    um_build_result b = {0};
    um_report r = {0};
    umbel_error err;
    umbel_status status;

    status = build(args, &b, &err);
    if (status)
        goto done;
    status = check_error(args, &b, &r, &err);
    if (status)
        goto done;
    umbel_set_coded(b.filter, a->coded || umbel_coded(b.filter));
    status = um_save_filter(b.filter, a->output, &err);
    if (status)
        goto done;
    report(args, &b, &r);
    warn_names(args);
    status = warn_below(args, b.filter, &err);
done:
    um_report_fini(&r);
    umbel_close(b.filter);
    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command um_cmd_build = {
    .name = "build",
    .summary = "make a filter from lists of keys",
    .section = UM_EVERYDAY,
    .values_len = sizeof(build_args),
    .operands = {{"KEYS", UM_LIST, offsetof(build_args, keys),
                  .role = UM_INPUT}},
    .options = {{.rows = options},
                {um_amount_options, .base = offsetof(build_args, amounts),
                 .modes = UM_MODE(COUNTS)},
                {um_thread_options, .base = offsetof(build_args, threads)},
                {um_shape_options, .base = offsetof(build_args, shape)},
                {um_form_options, .base = offsetof(build_args, key)},
                {um_key_options, .base = offsetof(build_args, key)},
                {um_secret_options, .base = offsetof(build_args, secret)},
                {um_strict_options, .base = offsetof(build_args, strict)}},
    .modes = {[GROUPS] = {"for kinds with groups such as bloom", ""},
              [PLAIN] = {"for other sets such as aging", "--kind aging"},
              [COUNTS] = {"for kinds that count", "--kind counting"},
              [STATIC] = {"for static kinds such as ribbon", "--kind ribbon"}},
    .mode = mode_of_kind,
    .run = run,
    .example = "words -o words.umb",
    .details =
        "KEYS are files with one key per line; none, or -, is standard input. "
        "Files are read twice, to count the keys first; a pipe is read once, "
        "into a filter of 256MB that is folded to size. --max-memory holds for "
        "the whole command: what needs more goes to temporary files, and the "
        "bytes stay the same; keys of a pipe wait there until they are "
        "counted. --never uses 2 "
        "groups of hash functions, unless --groups or --param say otherwise. "
        "Kind ribbon excludes all keys of --never, in the smallest file, or as "
        "many as fit into --bits or --bytes.",
};
