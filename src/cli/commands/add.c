/*
 * add.c - umbel add: adds keys to a filter file.
 *
 * The file is locked, read, and replaced.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/overfull.h"
#include "cli/framework/report.h"
#include "filter/handle.h"
#include "filter/save.h"
#include "sync/directory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

typedef struct add_args {
    const char *file;
    um_list keys;
    bool remove, turn;
    um_amount_args amounts;
    um_key_args key;
    um_open_args open;
    um_strict_args strict;
} add_args;

static const um_option options[] = {
    {"remove", 0, NULL, "counting: remove every key once instead",
     UM_TARGET(add_args, remove), .excludes = "times amount-field"},
    {"turn", 0, NULL,
     "aging: forget the older generation first, and begin a new one",
     UM_TARGET(add_args, turn), .excludes = "remove"},
    {0}};

/* What was done to the filter. */
typedef struct change {
    uint64_t keys;   /* in the input */
    uint64_t before; /* keys of the filter */
    um_report report;
} change;

/* Adds or removes the keys, and checks the error of the result. Refuses more
 * than capacity keys, if it is not 0. */
static umbel_status apply_keys(const um_args *args, um_key_source *source,
                               uint64_t capacity, umbel_filter *f, change *c,
                               umbel_error *err)
{
    const add_args *a = args->values;
    um_new_filter written = {
        .filter = f, .strict = a->strict.strict, .build = "build it again"};

    c->before = umbel_added(f);
    UM_TRY(
        (a->remove ? um_keys_remove : um_keys_add)(source, f, &c->keys, err));
    if (capacity && umbel_added(f) > capacity)
        return um_fail(
            err, UMBEL_E_FULL,
            "no key was added: %s%s would have more than the %" PRIu64
            " keys of its capacity, and others would refuse "
            "its filter. Use a new directory on each machine: umbel "
            "sync --init NEW --name NAME -n %" PRIu64,
            um_path_dots(a->file), um_path_tail(a->file), capacity,
            c->before + c->keys);
    written.keys = a->remove ? umbel_added(f) : c->before + c->keys;
    return um_check_overfull(args, &written, &c->report, err);
}

static void report(const um_args *args, const umbel_filter *f, change *c)
{
    const add_args *a = args->values;
    uint64_t now = umbel_added(f);
    um_report *r = &c->report;

    um_report_file(r, "file", NULL, a->file);
    um_report_count(r, "keys", a->remove ? "keys removed" : NULL, NULL,
                    c->keys);
    if (a->remove)
        um_report_count(r, "gone", "keys gone", NULL, c->before - now);
    else
        um_report_count(r, "new", "new keys", NULL, now - c->before);
    um_report_rate(r, "predicted_error", NULL, umbel_predict(f));
    um_note_counts(r, f);
    um_note_retouched(r, f, "new keys may bring back keys that were removed");
    um_report_print(args, r);
}

static umbel_status change_filter(const um_args *args, um_key_source *source,
                                  umbel_error *err)
{
    const add_args *a = args->values;
    change c = {.keys = 0};
    umbel_filter *f;
    umbel_status status;

    UM_TRY(um_load_filter(&a->open, a->file, &f, err));
    status = um_obey_key_form(f, &source->format, err);
    if (status)
        goto done;
    if (a->turn)
        status = umbel_rotate(f, err);
    if (status)
        goto done;
    status = apply_keys(args, source, 0, f, &c, err);
    if (status)
        goto done;
    status = umbel_save(f, a->file, err);
    if (status)
        goto done;
    report(args, f, &c);
done:
    um_report_fini(&c.report);
    umbel_close(f);
    return status;
}

/* Adds the keys to our own filter of a directory of 'umbel sync', and publishes
 * it. */
static umbel_status change_own(const um_args *args, um_key_source *source,
                               umbel_error *err)
{
    const add_args *a = args->values;
    umbel_filter *f = NULL;
    change c = {.keys = 0};
    um_sync_dir dir;
    umbel_status status;

    if (a->remove)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "others have copies of this filter, which only grow: "
                       "keys cannot be removed");
    UM_TRY(um_open_dir(&a->open, a->file, &dir, err));
    status = um_sync_dir_own(&dir, &f, err);
    if (!status)
        status = um_unlock_filter(&a->open, f, err);
    if (!status)
        status = um_obey_key_form(f, &source->format, err);
    if (status)
        goto done;
    status = apply_keys(args, source, f->capacity, f, &c, err);
    if (!status)
        status = um_sync_dir_publish(&dir, f, err);
    if (!status)
        status = um_sync_dir_save(&dir, err);
    if (!status)
        um_warn_renewed(args, &dir, true);
    if (!status)
        report(args, f, &c);
done:
    um_report_fini(&c.report);
    umbel_close(f);
    um_sync_dir_close(&dir);
    return status;
}

static umbel_status add(const um_args *args, umbel_error *err)
{
    const add_args *a = args->values;
    um_key_source source;
    umbel_status status;
    int fd;

    if (!a->keys.n)
        UM_TRY(um_claim_stdin(args, err));
    UM_TRY(um_key_source_from_args(args, &a->key, NULL, a->keys, &source, err));
    um_set_amounts(&a->amounts, &source.format);
    source.has_fields = true;
    if (um_is_sync_dir(a->file))
        return change_own(args, &source, err);
    UM_TRY(um_lock(a->file, O_RDONLY, &fd, err));
    status = change_filter(args, &source, err);
    close(fd);
    return status;
}

static int run(const um_args *args)
{
    umbel_error err;

    return add(args, &err) ? um_trouble(args, &err) : UM_EXIT_FINE;
}

const um_command um_cmd_add = {
    .name = "add",
    .summary = "add keys to a filter, safely beside other processes",
    .section = UM_EVERYDAY,
    .values_len = sizeof(add_args),
    .operands = {{"FILE", UM_TEXT, offsetof(add_args, file), .role = UM_INPUT,
                  .min = 1},
                 {"KEYS", UM_LIST, offsetof(add_args, keys), .role = UM_INPUT}},
    .options = {{.rows = options},
                {um_amount_options, .base = offsetof(add_args, amounts)},
                {um_key_options, .base = offsetof(add_args, key)},
                {um_open_options, .base = offsetof(add_args, open)},
                {um_strict_options, .base = offsetof(add_args, strict)}},
    .run = run,
    .example = "words.umb more",
    .details = "KEYS are files with one key per line; none, or -, is standard "
               "input. While one process changes the file, others wait.",
};
