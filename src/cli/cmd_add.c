/*
 * cmd_add.c - umbel add: more keys into a filter file.
 *
 * The file is locked, read, and replaced.
 */
#include "base/error.h"
#include "cli/amounts.h"
#include "cli/files.h"
#include "filter/lock.h"
#include "cli/report.h"
#include "cli/table.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

static const um_option options[] = {
    {"remove", 0, NULL, "counting: take the keys back, once each"}, {0}};

static void report(const um_args *args, const umbel_filter *f, uint64_t n,
                   uint64_t before)
{
    bool back = um_has(args, "remove");
    uint64_t now = umbel_added(f), moved = back ? before - now : now - before;
    const char *path = args->operands[0];
    double error = umbel_predict(f);
    umbel_info info = {0};

    if (um_has(args, "json")) {
        um_info_text(&info, "file", path);
        um_info_count(&info, "keys", n);
        um_info_count(&info, back ? "gone" : "new", moved);
        um_info_real(&info, "predicted_error", error);
        um_print_json(stdout, &info);
    } else if (!um_has(args, "quiet")) {
        um_print_path(stdout, path);
        printf("%s%s, %s %s, predicted error now %s\n",
               um_counted(n, "key", "keys").text, back ? " taken back" : "",
               um_grouped(moved).text, back ? "gone" : "new",
               um_percent(error).text);
        um_tell_overfull(stdout, f);
        um_tell_uncounted(stdout, f);
        um_tell_retouched(stdout, f,
                          "new keys may bring back keys that were removed");
    }
}

static umbel_status add(const um_args *args, umbel_error *err)
{
    const char *path = args->operands[0];
    umbel_filter *f;
    uint64_t n = 0;

    umbel_status status = um_load_filter(args, path, &f, err);
    if (status != UMBEL_OK)
        return status;
    uint64_t before = umbel_added(f);
    status = (um_has(args, "remove") ? um_remove_all : um_add_amounts)(
        args, args->operands + 1, args->noperands - 1, f, &n, err);
    if (status == UMBEL_OK)
        status = umbel_save(f, path, err);
    if (status == UMBEL_OK)
        report(args, f, n, before);
    umbel_close(f);
    return status;
}

static int run(const um_args *args)
{
    umbel_error err;
    int fd;

    if (args->noperands < 1)
        return um_misuse(args, "say which filter: umbel add FILE [KEYS...]");
    if (um_has(args, "remove") && um_has_amounts(args))
        return um_misuse(args, "--remove takes each key back once: list it as "
                               "often as it is to go");
    if (um_stdin_among(args->operands, args->noperands) > 1)
        return um_misuse(args, "standard input can be read only once");
    umbel_status status = um_lock(args->operands[0], O_RDONLY, &fd, &err);
    if (status == UMBEL_OK) {
        status = add(args, &err);
        close(fd);
    }
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_add = {
    .name = "add",
    .args = "FILE [KEYS...]",
    .summary = "put more keys into a filter, safely beside others",
    .options = {options, um_amount_options, um_keys_options, um_filter_options},
    .run = run,
    .example = "words.umb more",
    .details = "KEYS are files with a key a line; none, or -, is standard "
               "input. Two at once lose nothing: the second waits.",
};
