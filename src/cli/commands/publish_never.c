/*
 * publish_never.c - umbel publish --never: remove reported false positives.
 */
#include "base/error.h"
#include "base/hash.h"
#include "build/clashes.h"
#include "cli/commands/publish.h"
#include "keylist/digests.h"
#include "publish/shelf.h"
#include "publish/take_back.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Returns the newest edition on the shelf; NULL if it has no such filter. */
static umbel_filter *open_newest(const publish_args *a,
                                 const umbel_store *shelf, const char *name)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_filter *newest = NULL;
    um_manifest last;

    source.memory_limit = a->memory.max_memory.n;
    if (um_shelf_manifest(shelf, name, &last, NULL) || !last.serial ||
        um_shelf_load(shelf, &last.filter, &source, &newest, NULL))
        return NULL;
    return newest;
}

/* Readers may report members by mistake: these stay, and are named. */
static void note_members(const um_key_list *never, const bool *member,
                         um_report *r)
{
    umbel_error note;

    um_fail_marked(never, member, "they still match", &note);
    um_report_note(r, "%s.", note.text);
}

/* The sources of both lists. */
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

static umbel_status parse_back(umbel_filter *f, const um_digest_source *members,
                               const um_key_list *never,
                               const umbel_filter *newest,
                               umbel_taken_back *out, um_report *r,
                               umbel_error *err)
{
    umbel_key_list reported = um_key_list_view(never);
    bool *member = calloc(never->n + 1, sizeof *member);
    umbel_status status;

    if (!member)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", never->n);
    status = um_parse_back(f, members, &reported, newest, member, out, err);
    if (!status && out->members)
        note_members(never, member, r);
    free(member);
    return status;
}

umbel_status um_publish_never(const um_args *args, const umbel_store *shelf,
                              const char *name, umbel_filter *f,
                              umbel_taken_back *out, um_report *r,
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
    newest = open_newest(args->values, shelf, name);
    status = parse_back(f, &source, &never, newest, out, r, err);
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

umbel_status um_check_reports(const um_args *args, const umbel_store *shelf,
                              const char *name, const umbel_filter *f,
                              umbel_error *err)
{
    um_manifest last;

    if (um_shelf_manifest(shelf, name, &last, NULL) || !last.serial ||
        !last.reports || umbel_denied(f))
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
    umbel_filter *newest = open_newest(args->values, shelf, name);
    if (has_groups(newest))
        um_warn(args,
                "%s from the last edition of %s with --never: they match again "
                "unless this filter was built with --never",
                n.text, name);
    umbel_close(newest);
    return UMBEL_OK;
}

/* --- the command that loses no member ---------------------------------------
 */

/* What differs from the defaults of 'umbel build'. */
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
                        const umbel_taken_back *t)
{
    const publish_args *a = args->values;

    fputs("umbel build", out);
    write_files(out, " ", &a->members);
    write_files(out, " --never ", &a->never);
    if (t->members)
        fputs(" --allow-members", out);
    um_print_given(out, args, um_key_options, NULL);
    um_print_given(out, args, um_secret_options, NULL);
    write_shape(out, f);
    write_files(out, " -o ", &a->filters);
}

static void note_build(const um_args *args, const umbel_filter *f,
                       const umbel_taken_back *t, um_report *r)
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

void um_report_taken_back(const um_args *args, const umbel_filter *f,
                          const umbel_taken_back *t, um_report *r)
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
