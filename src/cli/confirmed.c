/*
 * confirmed.c - publish --never.
 */
#include "cli/confirmed.h"

#include "base/error.h"
#include "cli/choose_groups.h"
#include "cli/files.h"
#include "cli/keylist.h"
#include "cli/keys.h"
#include "cli/report.h"

#include <inttypes.h>
#include <string.h>

/* Names the reported keys that are members, and are left out. */
static umbel_status note_members(const um_args *args, const umbel_filter *f,
                                 const umbel_keyset *members,
                                 const um_keylist *never, umbel_error *err)
{
    umbel_error note;
    umbel_status status =
        um_refuse_members(f, members, never, "left out", &note);

    if (status == UMBEL_E_KEY)
        um_trouble(args, &note);
    else if (status != UMBEL_OK)
        return um_fail(err, status, "%s", note.text);
    return UMBEL_OK;
}

static umbel_status take_back(umbel_filter *f, const umbel_keyset *members,
                              const um_keylist *never, umbel_taken_back *out,
                              umbel_error *err)
{
    umbel_keyset list = um_keylist_set(never);
    umbel_status status = umbel_take_back(f, members, &list, out, err);

    if (status == UMBEL_E_UNSUPPORTED) {
        umbel_error said = *err;
        um_set_error(err, status,
                     "%.170s; where it can be, build it with --never",
                     said.text);
    }
    return status;
}

umbel_status um_take_back(const um_args *args, umbel_filter *f,
                          umbel_taken_back *out, umbel_error *err)
{
    um_keylist members = {0}, never = {0};
    umbel_status status = um_keylist_keys(&members, args, "members", f, err);

    if (status == UMBEL_OK)
        status = um_keylist_read(&never, args, "never", f, true, err);
    umbel_keyset of = um_keylist_set(&members);
    if (status == UMBEL_OK)
        status = note_members(args, f, &of, &never, err);
    if (status == UMBEL_OK)
        status = take_back(f, &of, &never, out, err);
    um_keylist_fini(&members);
    um_keylist_fini(&never);
    return status;
}

/* --- the command that denies nobody ------------------------------------------
 */

/* What the filter was built with, and would not be unless it is said. */
static void put_shape(FILE *out, const umbel_filter *f)
{
    umbel_info info;

    umbel_describe(f, &info);
    for (size_t i = 0; i < info.n; i++) {
        const umbel_field *at = &info.field[i];
        if ((strcmp(at->name, "addressing") == 0 &&
             strcmp(at->value.text, "blocked512") != 0) ||
            (strcmp(at->name, "hash") == 0 &&
             strcmp(at->value.text, "xxh3") != 0))
            fprintf(out, " --%s %s", at->name, at->value.text);
        if (strcmp(at->name, "seed") == 0 && at->value.count)
            fprintf(out, " --seed %" PRIu64, at->value.count);
        if (strcmp(at->name, "capacity") == 0 && at->value.count)
            fprintf(out, " -n %" PRIu64, at->value.count);
        if (strcmp(at->name, "fpr") == 0 && at->value.real > 0)
            fprintf(out, " --fpr %g", at->value.real);
    }
}

static void put_build(FILE *out, const um_args *args, const umbel_filter *f,
                      const umbel_taken_back *t)
{
    fputs("umbel build", out);
    um_print_values(out, args, "members", "");
    um_print_values(out, args, "never", "--never ");
    if (t->members)
        fputs(" --allow-members", out);
    um_print_given(out, args, um_keys_options);
    um_print_given(out, args, um_secret_options);
    put_shape(out, f);
    fputs(" -o ", out);
    um_print_quoted(out, args->operands[1]);
    putc('\n', out);
}

void um_tell_taken_back(FILE *out, const char *name, const um_args *args,
                        const umbel_filter *f, const umbel_taken_back *t)
{
    if (t->matched == 0) {
        fprintf(out, "%s: no confirmed key matches\n", name);
        return;
    }
    fprintf(out, "%s: %s of %s confirmed keys match no more, ", name,
            um_grouped(t->matched - t->left).text, um_grouped(t->matched).text);
    fprintf(out, "%s members are denied for it\n", um_grouped(t->lost).text);
    if (t->left)
        fprintf(out,
                "%s: %s still match: they would cost more than 1 %% of the "
                "members\n",
                name, um_grouped(t->left).text);
    if (t->left || t->lost) {
        fputs("to deny none, publish what this makes: ", out);
        put_build(out, args, f, t);
    }
}
