/*
 * publish_never.c - umbel publish --never: remove reported false positives.
 */
#include "base/error.h"
#include "base/hash.h"
#include "cli/publish.h"
#include "keys/clashes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Readers may report members by mistake: these stay, and are named. */
static umbel_status note_members(const umbel_filter *f,
                                 const umbel_key_list *members,
                                 const um_key_list *never, um_report *r,
                                 umbel_error *err)
{
    umbel_error note;
    umbel_status status =
        um_refuse_members(f, members, never, "they still match", &note);

    if (status == UMBEL_E_KEY)
        um_report_note(r, "%s.", note.text);
    else if (status)
        *err = note;
    return status == UMBEL_E_KEY ? UMBEL_OK : status;
}

static umbel_status read_lists(const um_args *args, const umbel_filter *f,
                               um_key_list *members, um_key_list *never,
                               umbel_error *err)
{
    const publish_args *a = args->values;
    um_key_list_params keep = {.filter = f};
    um_key_source source;

    UM_TRY(um_key_source_from_args(args, &a->keys, NULL, a->members, &source,
                                   err));
    UM_TRY(um_obey_key_form(f, &source.format, err));
    UM_TRY(um_key_list_read(members, &source, &keep, err));
    UM_TRY(
        um_key_source_from_args(args, &a->keys, NULL, a->never, &source, err));
    UM_TRY(um_obey_key_form(f, &source.format, err));
    source.format.weights = UM_WEIGHTS_TSV;
    keep.keep_lines = true;
    return um_key_list_read(never, &source, &keep, err);
}

umbel_status um_take_back(const um_args *args, umbel_filter *f,
                          umbel_taken_back *out, um_report *r, umbel_error *err)
{
    um_key_list members = {0}, never = {0};
    umbel_status status = read_lists(args, f, &members, &never, err);

    if (status)
        goto done;
    umbel_key_list all = um_key_list_view(&members);
    umbel_key_list reported = um_key_list_view(&never);
    status = note_members(f, &all, &never, r, err);
    if (status)
        goto done;
    status = umbel_take_back(f, &all, &reported, out, err);
    if (status == UMBEL_E_UNSUPPORTED) {
        umbel_error said = *err;
        um_set_error(err, status,
                     "%.170s; build the filter with --never, where its kind "
                     "can",
                     said.text);
    }
done:
    um_key_list_fini(&members);
    um_key_list_fini(&never);
    return status;
}

/* --- the command that loses no member ---------------------------------------
 */

/* What differs from the defaults of 'umbel build'. */
static void put_shape(FILE *out, const umbel_filter *f)
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

static void put_files(FILE *out, const char *before, const um_list *files)
{
    for (size_t i = 0; i < files->n; i++) {
        fputs(before, out);
        um_print_quoted(out, files->item[i]);
    }
}

static void put_build(FILE *out, const um_args *args, const umbel_filter *f,
                      const umbel_taken_back *t)
{
    const publish_args *a = args->values;

    fputs("umbel build", out);
    put_files(out, " ", &a->members);
    put_files(out, " --never ", &a->never);
    if (t->members)
        fputs(" --allow-members", out);
    um_print_given(out, args, um_key_options);
    um_print_given(out, args, um_secret_options);
    put_shape(out, f);
    put_files(out, " -o ", &a->filters);
}

static void note_build(const um_args *args, const umbel_filter *f,
                       const umbel_taken_back *t, um_report *r)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return;
    put_build(out, args, f, t);
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
    if (t->left)
        um_report_note(r,
                       "%s still match: removing them would lose more than 1 "
                       "%% of the members.",
                       um_counted(t->left, "key", "keys").text);
    if (t->left || t->lost)
        note_build(args, f, t, r);
}
