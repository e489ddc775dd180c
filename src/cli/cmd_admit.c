/*
 * cmd_admit.c - umbel admit: may a filter from elsewhere be used?
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/files.h"
#include "cli/report.h"
#include "cli/sniff.h"
#include "cli/table.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const um_option options[] = {
    {"max-error", 0, "P", "most error allowed: 0.001 or 0.1% (default 50%)"},
    {"max-bytes", 0, "N", "most bytes of the file: 5e6, 64MiB"},
    {"kind", 0, "K", "it must be of this kind"},
    {"addressing", 0, "A", "it must have this addressing"},
    {"hash", 0, "H", "it must have this hash"},
    {"key-id", 0, "K", "it must be made with this secret (secret_id of info)"},
    {"claimed", 0, "N", "different keys that it should hold"},
    {0}};

/* Sixteen hexadecimal digits, as umbel info and keygen print them. */
static umbel_status take_key_id(const um_args *args, uint64_t *out,
                                umbel_error *err)
{
    const char *text = um_value(args, "key-id");

    if (!text)
        return UMBEL_OK;
    if (strlen(text) != 16 ||
        strspn(text, "0123456789abcdefABCDEF") != strlen(text))
        return um_fail(err, UMBEL_E_RANGE,
                       "--key-id wants the 16 hexadecimal digits that umbel "
                       "info and keygen print, got \"%s\"",
                       text);
    *out = strtoull(text, NULL, 16);
    return UMBEL_OK;
}

/* A demand of 0 would be none, which nobody means who writes it down. */
static umbel_status want_some(const um_args *args, const umbel_admission *w,
                              umbel_error *err)
{
    const struct {
        const char *name;
        bool zero;
    } demands[] = {{"max-error", w->max_error == 0},
                   {"max-bytes", w->max_bytes == 0},
                   {"key-id", w->secret_id == 0},
                   {"claimed", w->claimed == 0}};

    for (size_t i = 0; i < UM_COUNT(demands); i++)
        if (um_has(args, demands[i].name) && demands[i].zero)
            return um_fail(err, UMBEL_E_RANGE, "--%s must be more than 0",
                           demands[i].name);
    return UMBEL_OK;
}

static umbel_status take_demands(const um_args *args, umbel_admission *out,
                                 umbel_error *err)
{
    *out = (umbel_admission)UMBEL_ADMISSION_INIT;
    out->kind = um_value(args, "kind");
    out->addressing = um_value(args, "addressing");
    out->hash = um_value(args, "hash");
    umbel_status status =
        um_value_share(args, "max-error", &out->max_error, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "max-bytes", &out->max_bytes, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "claimed", &out->claimed, err);
    if (status == UMBEL_OK)
        status = take_key_id(args, &out->secret_id, err);
    return status == UMBEL_OK ? want_some(args, out, err) : status;
}

static umbel_status open_file(const char *path, int *fd, umbel_error *err)
{
    struct stat st;

    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return um_fail_path(err, path);
    if (fstat(*fd, &st) != 0 || !S_ISDIR(st.st_mode))
        return UMBEL_OK;
    close(*fd);
    return um_fail(err, UMBEL_E_IO, "%s%s: it is a directory",
                   um_path_dots(path), um_path_tail(path));
}

/* Beside what is wrong with it, what it is, and what to do. */
static void explain(int fd, umbel_ruling *r)
{
    const char *why = um_why_no_filter(fd);
    char *text = r->reason[0].text;
    size_t room = sizeof r->reason[0].text, len;

    if (r->n != 1)
        return;
    if (why && r->reason[0].code == UMBEL_REFUSED_ENCODING)
        snprintf(text, room, "%s", why);
    len = strlen(text);
    if (strncmp(text, "decoded,", 8) == 0) /* a raw one has --max-bytes */
        snprintf(text + len, room - len, "%s", um_memory_advice(text));
}

/* By copy: whoever may change the file must not change what was judged. */
static umbel_status judge(const char *path, const umbel_admission *wants,
                          const umbel_source *source, umbel_ruling *out,
                          umbel_error *err)
{
    int fd = STDIN_FILENO;
    bool standard = strcmp(path, "-") == 0;

    umbel_status status = standard ? UMBEL_OK : open_file(path, &fd, err);
    if (status != UMBEL_OK)
        return status;
    status = umbel_admit_read(fd, source, wants, NULL, out, err);
    if (status == UMBEL_OK)
        explain(fd, out);
    if (!standard)
        close(fd);
    return status;
}

static void print_json(const umbel_ruling *r)
{
    const char *texts[UMBEL_MAX_REASONS];
    umbel_info info = {0};

    for (size_t i = 0; i < r->n; i++)
        texts[i] = r->reason[i].text;
    um_info_flag(&info, "admitted", r->admitted);
    um_info_count(&info, "bytes", r->bytes);
    um_info_real(&info, "fill", r->fill);
    um_info_real(&info, "error", r->error);
    um_info_real(&info, "max_error", r->max_error);
    um_info_count(&info, "claimed", r->claimed);
    um_info_flag(&info, "claim_held", r->held);
    um_info_flag(&info, "may_deny", r->may_deny);
    um_info_count(&info, "denied_members", r->denied);
    um_print_json_list(stdout, &info, "reasons", texts, r->n);
}

static void print_admitted(const umbel_ruling *r)
{
    printf("admitted: %s bytes, error %s", um_grouped(r->bytes).text,
           um_percent(r->error).text);
    if (!isnan(r->fill))
        printf(", fill %.4g", r->fill);
    if (r->held)
        printf(", %s keys as claimed", um_grouped(r->claimed).text);
    else
        fputs("; its cells do not tell how many keys it has", stdout);
    putchar('\n');
}

/* Good for its error, and yet not what a reader of a filter expects. */
static void print_denials(const char *name, const umbel_ruling *r)
{
    if (!r->may_deny)
        return;
    um_print_path(stdout, name);
    if (r->denied)
        printf("retouched: it says that it denies up to %s of its members\n",
               um_grouped(r->denied).text);
    else
        puts("it may deny keys that were added, and says so");
}

static void print_text(const char *path, const umbel_ruling *r)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;

    for (size_t i = 0; i < r->n; i++) {
        um_print_path(stdout, name);
        printf("refused: %s\n", r->reason[i].text);
    }
    if (r->n == 0) {
        um_print_path(stdout, name);
        print_admitted(r);
        print_denials(name, r);
    }
}

static int run(const um_args *args)
{
    umbel_admission wants;
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_ruling ruling;
    umbel_error err;

    if (args->noperands != 1)
        return um_misuse(args, "give one filter");
    umbel_status status = take_demands(args, &wants, &err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "max-memory", &source.memory_limit, &err);
    if (status == UMBEL_OK)
        status = judge(args->operands[0], &wants, &source, &ruling, &err);
    if (status != UMBEL_OK)
        return um_trouble(args, &err);
    if (um_has(args, "json"))
        print_json(&ruling);
    else if (!um_has(args, "quiet"))
        print_text(args->operands[0], &ruling);
    return ruling.admitted ? UM_EXIT_FINE : UM_EXIT_NO;
}

const um_command um_cmd_admit = {
    .name = "admit",
    .args = "FILE [--max-error P] [--max-bytes N] ...",
    .summary = "may a filter from elsewhere be used? each reason against it",
    .options = {options, um_memory_options},
    .run = run,
    .example = "words.umb --max-error 1% --max-bytes 5MB",
    .details = "Exit code 0: admitted; 1: refused, a line for each reason; 2: "
               "trouble. The keys in its head are held against its cells, too. "
               "An honest filter is refused with a chance of 1e-9 at most.",
};
