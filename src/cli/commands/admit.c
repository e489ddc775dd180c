/*
 * admit.c - umbel admit: checks whether a filter from elsewhere may be used.
 */
#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "cli/commands/files.h"
#include "cli/commands/internal.h"
#include "cli/framework/report.h"
#include "filter/handle.h"
#include "keylist/sniff.h"

#include <umbel/admit.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct admit_args {
    const char *file;
    um_share max_error;
    um_whole max_bytes, claimed;
    const char *kind, *addressing, *hash, *key_id;
    um_memory_args memory;
} admit_args;

static const um_option options[] = {
    {"max-error", 0, "P", "largest error: 0.001 or 0.1% (default 50%)",
     UM_TARGET(admit_args, max_error)},
    {"max-bytes", 0, "N", "largest file: 5e6, 64MiB",
     UM_TARGET(admit_args, max_bytes), .low = 1},
    {"kind", 0, "K", "require this kind", UM_TARGET(admit_args, kind),
     .names = "kinds"},
    {"addressing", 0, "A", "require this addressing",
     UM_TARGET(admit_args, addressing), .names = "addressings"},
    {"hash", 0, "H", "require this hash", UM_TARGET(admit_args, hash),
     .names = "hashes"},
    {"key-id", 0, "ID", "require this secret (secret_id of umbel info)",
     UM_TARGET(admit_args, key_id)},
    {"claimed", 0, "N", "require this number of different keys",
     UM_TARGET(admit_args, claimed), .low = 1},
    {0}};

/* Parses sixteen hexadecimal digits, as umbel info and keygen print them. */
static umbel_status parse_key_id(const char *text, uint64_t *out,
                                 umbel_error *err)
{
    if (!text)
        return UMBEL_OK;
    if (strlen(text) != 16 || !um_hex_number(text, out))
        return um_fail(err, UMBEL_E_RANGE,
                       "--key-id needs the 16 hexadecimal digits that umbel "
                       "info and keygen print, got \"%s\"",
                       text);
    return *out ? UMBEL_OK
                : um_fail(err, UMBEL_E_RANGE, "--key-id must not be 0");
}

static umbel_status admission_from_args(const admit_args *a,
                                        umbel_admission *out, umbel_error *err)
{
    *out = (umbel_admission)UMBEL_ADMISSION_INIT;
    out->kind = a->kind;
    out->addressing = a->addressing;
    out->hash = a->hash;
    out->max_error = a->max_error.x;
    out->max_bytes = a->max_bytes.n;
    out->claimed = a->claimed.n;
    return parse_key_id(a->key_id, &out->secret_id, err);
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

/* Replaces the reason for a file that is not a filter by what it is instead. */
static void explain(int fd, umbel_ruling *r)
{
    const char *why = um_why_not_filter(fd);

    if (why && r->n == 1 && r->reason[0].code == UMBEL_REFUSED_ENCODING)
        snprintf(r->reason[0].text, sizeof r->reason[0].text, "%s", why);
}

/* Admits a copy of the file, so that another process cannot change the bytes
 * meanwhile. *f is the filter if it was admitted, otherwise NULL. */
static umbel_status judge(const admit_args *a, umbel_filter **f,
                          umbel_ruling *out, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    bool standard = strcmp(a->file, "-") == 0;
    umbel_admission wants;
    int fd = STDIN_FILENO;

    UM_TRY(admission_from_args(a, &wants, err));
    if (!standard)
        UM_TRY(open_file(a->file, &fd, err));
    source.memory_limit = a->memory.max_memory.n;
    umbel_status status =
        umbel_admit_read(fd, UMBEL_TO_END, &source, &wants, f, out, err);
    if (status == UMBEL_OK)
        explain(fd, out);
    if (!standard)
        close(fd);
    return status;
}

static void note_false_negatives(um_report *r, const umbel_ruling *ruling)
{
    if (ruling->known_false_negatives)
        um_report_note(r,
                       "This filter is retouched: it says that up to %s of its "
                       "members do not match.",
                       um_grouped(ruling->known_false_negatives).text);
    else if (ruling->has_false_negatives)
        um_report_note(r, "This filter says that it may miss keys that were "
                          "added.");
}

static void note_partitions(um_report *r, const umbel_filter *f)
{
    if (f && f->hasher.row->part)
        um_report_note(r, "Its keys are in partitions, and its maker can let "
                          "all keys of chosen partitions match. If you expect "
                          "no partitions, require --hash " UM_DEFAULT_HASH ".");
}

/* Fills the report; texts must outlive it. */
static void fill_report(const admit_args *a, const umbel_ruling *u,
                        const char **texts, um_report *r)
{
    for (size_t i = 0; i < u->n; i++)
        texts[i] = u->reason[i].text;
    um_report_flag(r, "admitted", NULL, u->admitted);
    um_report_count(r, "bytes", NULL, NULL, u->bytes);
    um_report_rate(r, "fill", NULL, u->fill);
    um_report_rate(r, "error", NULL, u->error);
    um_report_rate(r, "max_error", "largest error", u->max_error);
    um_report_count(r, "claimed", "keys claimed", NULL, u->claimed);
    um_report_flag(r, "claim_held", "claim checked", u->claim_checked);
    um_report_flag(r, "has_false_negatives", "may miss members",
                   u->has_false_negatives);
    um_report_count(r, "known_false_negatives", "recorded missing", NULL,
                    u->known_false_negatives);
    um_report_texts(r, "reasons", "refused", texts, u->n);
    if (!u->admitted && !a->max_bytes.given && !a->memory.max_memory.given &&
        u->reason[0].code == UMBEL_REFUSED_BYTES)
        um_report_note(r, "Allow more memory with --max-memory, if you trust "
                          "the file.");
    if (u->admitted && !u->claim_checked)
        um_report_note(r, "Its cells do not show how many keys it has.");
    if (u->admitted)
        note_false_negatives(r, u);
}

static int run(const um_args *args)
{
    const char *texts[UMBEL_MAX_REASONS];
    um_report report = {0};
    umbel_filter *f = NULL;
    umbel_ruling ruling;
    umbel_error err;

    if (judge(args->values, &f, &ruling, &err) != UMBEL_OK)
        return um_trouble(args, &err);
    fill_report(args->values, &ruling, texts, &report);
    note_partitions(&report, f);
    umbel_close(f);
    um_report_print(args, &report);
    um_report_fini(&report);
    return ruling.admitted ? UM_EXIT_FINE : UM_EXIT_NO;
}

const um_command um_cmd_admit = {
    .name = "admit",
    .summary = "decide whether a filter from elsewhere can be used",
    .section = UM_EXCHANGE,
    .values_len = sizeof(admit_args),
    .operands = {{"FILE", UM_TEXT, offsetof(admit_args, file), UM_INPUT,
                  .min = 1}},
    .options = {{.rows = options},
                {.rows = um_memory_options,
                 .base = offsetof(admit_args, memory)}},
    .run = run,
    .example = "words.umb --max-error 1% --max-bytes 5MB",
    .details = "The exit code is 0 if it is admitted, 1 if it is refused, with "
               "a line for each reason, and 2 for an error. The number of keys "
               "that it claims is checked against its cells. An honest filter "
               "is refused with probability at most 1e-9. Admission cannot "
               "tell whether the keys themselves are right.",
};
