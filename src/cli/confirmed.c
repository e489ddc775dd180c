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
#include <stdlib.h>
#include <string.h>

/* What the lists say of members is not believed; but it is told. */
static umbel_status drop_members(const um_args *args, const umbel_filter *f,
                                 const umbel_keyset *members, um_keylist *never,
                                 uint64_t *dropped, umbel_error *err)
{
    umbel_keyset list = um_keylist_set(never);
    umbel_error note;
    size_t n = 0, kept = 0;

    umbel_status status =
        um_refuse_members(f, members, never, "left out", &note);
    if (status != UMBEL_E_KEY)
        return status == UMBEL_OK ? status
                                  : um_fail(err, status, "%s", note.text);
    bool *both = malloc(never->n + 1);
    if (!both)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu keys", never->n);
    status = umbel_in_both(f, members, &list, both, &n, err);
    for (size_t i = 0; status == UMBEL_OK && i < never->n; i++)
        if (!both[i]) {
            never->digests[kept] = never->digests[i];
            never->weights[kept++] = never->weights[i];
        }
    free(both);
    if (status != UMBEL_OK)
        return status;
    um_trouble(args, &note);
    never->n = kept;
    *dropped = n;
    return UMBEL_OK;
}

static umbel_status retouch(umbel_filter *f, const umbel_keyset *members,
                            const um_keylist *never, um_taken_back *out,
                            umbel_error *err)
{
    umbel_retouch_params params = UMBEL_RETOUCH_INIT; /* 1 % may be lost */
    umbel_keyset list = um_keylist_set(never);
    umbel_retouch_result bill;
    umbel_status status =
        umbel_retouch(f, members, &list, &params, &bill, NULL, err);

    if (status == UMBEL_E_UNSUPPORTED && err) {
        umbel_error said = *err;
        um_set_error(err, status,
                     "%.170s; where it can be, build it with --never",
                     said.text);
    }
    if (status != UMBEL_OK)
        return status;
    out->matched = bill.matched;
    out->left = bill.left;
    out->lost = bill.lost;
    return UMBEL_OK;
}

umbel_status um_take_back(const um_args *args, umbel_filter *f,
                          um_taken_back *out, umbel_error *err)
{
    um_keylist members = {0}, never = {0};
    umbel_status status = um_keylist_keys(&members, args, "members", f, err);

    *out = (um_taken_back){0};
    if (status == UMBEL_OK)
        status = um_keylist_read(&never, args, "never", f, true, err);
    umbel_keyset of = um_keylist_set(&members);
    if (status == UMBEL_OK)
        status = drop_members(args, f, &of, &never, &out->members, err);
    if (status == UMBEL_OK)
        status = retouch(f, &of, &never, out, err);
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
                      const um_taken_back *t)
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
                        const umbel_filter *f, const um_taken_back *t)
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
