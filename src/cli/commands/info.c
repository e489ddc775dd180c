/*
 * info.c - umbel info: describes one filter, or compares two.
 */
#include "base/error.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/report.h"
#include "draw/document.h"
#include "draw/svg.h"
#include "publish/manifest.h"
#include "query/query.h"
#include "sync/directory.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

typedef struct info_args {
    const char *file, *other, *svg, *html;
    bool data, cpu;
    um_open_args open;
} info_args;

enum { DESCRIBE, DATA, COMPARE };

static const um_option options[] = {
    {"data", 0, NULL, "print the bytes that the filter carries, as they are",
     UM_TARGET(info_args, data), .excludes = "json"},
    {"cpu", 0, NULL, "also print which instructions serve it here",
     UM_TARGET(info_args, cpu), .modes = UM_MODE(DESCRIBE)},
    {"svg", 0, "FILE", "also draw it: error, fill and capacity, as a picture",
     UM_TARGET(info_args, svg), UM_OTHER_OUTPUT, .modes = UM_MODE(DESCRIBE)},
    {"html", 0, "FILE", "the same as a page, with the description",
     UM_TARGET(info_args, html), UM_OTHER_OUTPUT, .modes = UM_MODE(DESCRIBE)},
    {0}};

static unsigned mode(const void *values)
{
    const info_args *a = values;

    if (a->data)
        return UM_MODE(DATA);
    return a->other ? UM_MODE(COMPARE) : UM_MODE(DESCRIBE);
}

/* Formats how full the filter is. */
static void write_capacity(const um_filter_picture *p, char *out, size_t cap)
{
    um_text keys = um_counted((uint64_t)p->keys, "key", "keys"),
            error = um_rate(p->error);

    if (isnan(p->capacity))
        snprintf(out, cap, "%s. Error: %s.", keys.text, error.text);
    else if (p->keys <= p->capacity)
        snprintf(out, cap, "%s, %s more fit. Error now: %s.", keys.text,
                 um_grouped((uint64_t)(p->capacity - p->keys)).text,
                 error.text);
    else
        snprintf(out, cap,
                 "%s, %s more than it was sized for. Error: %s instead of %s.",
                 keys.text, um_grouped((uint64_t)(p->keys - p->capacity)).text,
                 error.text, um_rate_like(p->fpr, p->error).text);
}

/* Writes a page: the figures, and the description as text. */
static void write_page(FILE *out, const um_filter_picture *p, const char *title,
                       const char *line, const char *description)
{
    um_html_begin(out, "umbel info", title);
    um_html_text(out, "p", "", line);
    for (size_t i = 0; i < p->n; i++) {
        fputs("<figure>\n", out);
        um_svg_figure(out, &p->figure[i]);
        fputs("</figure>\n", out);
    }
    um_html_text(out, "pre", "", description);
    um_html_end(out);
}

static umbel_status save_picture(const info_args *a, const um_filter_picture *p,
                                 const char *description, umbel_error *err)
{
    char line[384];
    um_draft draft;

    write_capacity(p, line, sizeof line);
    if (a->svg) {
        if (!um_draft_open(&draft, err))
            return UMBEL_E_NOMEM;
        um_filter_picture_svg(draft.out, p, a->file, line);
        UM_TRY(um_draft_save(&draft, a->svg, err));
    }
    if (a->html) {
        if (!um_draft_open(&draft, err))
            return UMBEL_E_NOMEM;
        write_page(draft.out, p, a->file, line, description);
        UM_TRY(um_draft_save(&draft, a->html, err));
    }
    return UMBEL_OK;
}

/* Writes the files of --svg and --html. */
static umbel_status draw(const info_args *a, const umbel_filter *f,
                         const um_report *report, umbel_error *err)
{
    um_filter_picture p;
    char *description = NULL;
    size_t len;

    if (!a->svg && !a->html)
        return UMBEL_OK;
    UM_TRY(um_filter_picture_init(&p, f, err));
    FILE *text = open_memstream(&description, &len);
    if (text)
        um_report_to_text(text, report);
    umbel_status status;
    if (text && fclose(text) == 0)
        status = save_picture(a, &p, description, err);
    else
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for the description");
    free(description);
    um_filter_picture_fini(&p);
    return status;
}

static umbel_status describe(const um_args *args, umbel_error *err)
{
    static const char *const keys[] = {"keys", "keys_low", "keys_high"};
    const info_args *a = args->values;
    um_report report = {0};
    umbel_interval interval;
    umbel_info info;
    umbel_filter *f;

    UM_TRY(um_open_filter(&a->open, a->file, &f, err));
    umbel_describe(f, &info);
    um_report_info(&report, &info);
    if (umbel_estimate_keys(f, &interval, NULL) == UMBEL_OK)
        um_report_interval(&report, keys, NULL, &interval, UM_OF_WHOLE);
    um_report_question(&report, umbel_key_form_of(f), um_form_lookups(f),
                       umbel_predict(f));
    if (a->cpu)
        um_report_text(&report, "fast_path", NULL, umbel_fast_path(f));
    um_note_retouched(&report, f, "its cells do not show how many keys it has");
    umbel_status status = draw(a, f, &report, err);
    if (!status)
        um_report_print(args, &report);
    um_report_fini(&report);
    umbel_close(f);
    return status;
}

/* Describes a directory of 'umbel sync'. */
static umbel_status describe_directory(const um_args *args, umbel_error *err)
{
    const info_args *a = args->values;
    char origin[UM_DIGEST_HEX];
    um_report report = {0};
    uint64_t copies = 0, keys = 0, own = 0;
    umbel_sync_replica c;
    um_sync_dir dir;

    if (a->svg || a->html)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "%s has a filter of each origin: merge them first "
                       "(umbel merge %s -o FILE), and draw that",
                       a->file, a->file);
    UM_TRY(um_open_dir(&a->open, a->file, &dir, err));
    for (size_t at = 0; umbel_sync_next_replica(dir.machine, &at, &c);) {
        copies++;
        keys += c.keys;
        own += c.own ? c.keys : 0;
    }
    um_digest_text(umbel_sync_origin(dir.machine), origin);
    um_report_text(&report, "name", NULL, dir.name);
    um_report_text(&report, "origin", NULL, origin);
    um_report_text(&report, "kind", NULL, umbel_kind(dir.shape));
    um_report_count(&report, "filters", NULL, NULL, copies);
    um_report_count(&report, "keys", "keys in all", NULL, keys);
    um_report_count(&report, "own_keys", "keys of our own", NULL, own);
    um_report_hex(&report, "agreement", NULL,
                  umbel_sync_agreement(dir.machine, 0));
    um_report_count(&report, "kept", "kept", "files",
                    um_sync_dir_count_kept(&dir));
    if (um_sync_dir_count_kept(&dir))
        um_report_note(&report,
                       "Files kept-ORIGIN-* are of origins that were dropped "
                       "or banned: umbel sync DIR --restore ORIGIN uses them "
                       "again.");
    um_report_print(args, &report);
    um_report_fini(&report);
    um_sync_dir_close(&dir);
    return UMBEL_OK;
}

static umbel_status print_data(const info_args *a, umbel_error *err)
{
    umbel_filter *f;

    UM_TRY(um_open_filter(&a->open, a->file, &f, err));
    umbel_slice data = umbel_data(f);
    fwrite(data.data, 1, data.len, stdout);
    umbel_close(f);
    return UMBEL_OK;
}

static umbel_status compare(const um_args *args, const umbel_filter *a,
                            const umbel_filter *b, umbel_error *err)
{
    static const char *const names[][3] = {
        {"union", "union_low", "union_high"},
        {"intersection", "intersection_low", "intersection_high"},
        {"jaccard", "jaccard_low", "jaccard_high"}};
    umbel_overlap overlap;
    um_report report = {0};

    UM_TRY(umbel_estimate_overlap(a, b, &overlap, err));
    um_report_interval(&report, names[0], NULL, &overlap.both_or_one,
                       UM_OF_WHOLE);
    um_report_interval(&report, names[1], NULL, &overlap.both, UM_OF_WHOLE);
    um_report_interval(&report, names[2], NULL, &overlap.jaccard, UM_OF_REAL);
    um_report_print(args, &report);
    um_report_fini(&report);
    return UMBEL_OK;
}

static umbel_status compare_files(const um_args *args, umbel_error *err)
{
    const info_args *a = args->values;
    umbel_filter *first = NULL, *second = NULL;
    umbel_status status;

    status = um_open_filter(&a->open, a->file, &first, err);
    if (status)
        goto done;
    status = um_open_filter(&a->open, a->other, &second, err);
    if (status)
        goto done;
    status = compare(args, first, second, err);
done:
    umbel_close(second);
    umbel_close(first);
    return status;
}

static int run(const um_args *args)
{
    const info_args *a = args->values;
    umbel_error err;
    umbel_status status = a->data    ? print_data(a, &err)
                          : a->other ? compare_files(args, &err)
                          : um_is_sync_dir(a->file)
                              ? describe_directory(args, &err)
                              : describe(args, &err);

    return status ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command um_cmd_info = {
    .name = "info",
    .summary = "describe a filter, or compare two",
    .section = UM_EVERYDAY,
    .values_len = sizeof(info_args),
    .operands = {{"FILE", UM_TEXT, offsetof(info_args, file), UM_INPUT,
                  .min = 1},
                 {"FILE", UM_TEXT, offsetof(info_args, other), .role = UM_INPUT,
                  .modes = UM_MODE(DESCRIBE) | UM_MODE(COMPARE)}},
    .options = {{.rows = options},
                {.rows = um_open_options, .base = offsetof(info_args, open)}},
    .modes = {[DESCRIBE] = {"to describe one filter", ""},
              [DATA] = {"with --data", "--data"},
              [COMPARE] = {"to compare two filters", "FILE FILE"}},
    .mode = mode,
    .run = run,
    .example = "words.umb",
    .details = "Of two filters it estimates union, intersection and Jaccard "
               "similarity. All intervals are 99 %. --data prints nothing for "
               "a filter "
               "that carries no data; 'umbel convert --data FILE' gives it "
               "some.",
};
