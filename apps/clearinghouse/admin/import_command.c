/*
 * import_command.c - umbel clearinghouse import: reads the database of another
 * server program, and sends its counts in pieces.
 */
#include "clearinghouse/admin/commands.h"
#include "clearinghouse/admin/import_files.h"
#include "clearinghouse/admin/internal.h"
#include "cli/framework/report.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/hex.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SHOWN = 5,                              /* skipped records to print */
    TEXT = 60000,                           /* bytes of a piece */
    MAIL_TEXT = 128 + 3 + 11 + 10 + 512 + 5 /* and of one mail in it */
};

_Static_assert(UM_IMPORT_LINES * 96 <= TEXT, "a piece of pyzord");
_Static_assert(UM_IMPORT_MAILS *(MAIL_TEXT + 1) <= TEXT, "a piece of rspamd");

typedef struct import_args {
    const char *config, *from, *file;
} import_args;

static const um_option options[] = {UM_SERVER_CONFIG(import_args), {0}};

typedef struct import import;

/* A server program whose database can be imported. */
typedef struct source {
    const char *name;
    const char *request; /* to the control socket */
    const char *list;    /* whose epochs determine which records are too old */
    const char *skipped; /* what the report calls records that it skips */
    umbel_status (*read)(import *im, const char *path, umbel_error *err);
} source;

struct import {
    const um_args *args;
    const source *from;
    um_config config;
    uint64_t checksum; /* of the file */
    uint64_t pieces;
    char text[TEXT];
    size_t len, lines;
    size_t records;  /* in the piece, including those that added no line */
    uint64_t oldest; /* records updated before this time have expired */
    uint64_t read, expired, skipped, again, counted, left_out, saturated;
};

/* Computes the checksum of a file. It names the pieces, so that the same file
 * gives the same names. */
static umbel_status checksum_file(FILE *in, uint64_t *out, umbel_error *err)
{
    char bytes[65536];
    size_t n;

    *out = 0;
    while ((n = fread(bytes, 1, sizeof bytes, in)) > 0)
        *out = um_remix(*out ^ um_checksum(bytes, n));
    if (ferror(in))
        return um_fail(err, UMBEL_E_IO, "%s", strerror(errno));
    if (fseek(in, 0, SEEK_SET) != 0)
        return um_fail(err, UMBEL_E_IO, "the file cannot be read twice");
    return UMBEL_OK;
}

/* Sends the collected lines, and waits until they are committed. */
static umbel_status send_piece(import *im, umbel_error *err)
{
    char line[64], *answer = NULL;
    size_t len = 0;
    unsigned long long again, counted, left_out, saturated;

    uint64_t number = im->pieces++;
    im->records = 0;
    if (!im->lines)
        return UMBEL_OK;
    FILE *out = open_memstream(&answer, &len);
    if (!out)
        return um_no_memory(err, 1);
    snprintf(line, sizeof line, "%s --piece=%016" PRIx64 "/%" PRIu64,
             im->from->request, im->checksum, number);
    umbel_status status = um_admin_query(
        &im->config, line, (umbel_slice){im->text, im->len}, out, err);
    fclose(out);
    if (!status && sscanf(answer, "%llu %llu %llu %llu", &again, &counted,
                          &left_out, &saturated) != 4)
        status = um_fail(err, UMBEL_E_FORMAT,
                         "the server's answer is "
                         "malformed");
    free(answer);
    UM_TRY(status);
    im->again += again ? im->lines : 0;
    im->counted += counted;
    im->left_out += left_out;
    im->saturated += saturated;
    im->len = im->lines = 0;
    return UMBEL_OK;
}

/* Adds a record to the current piece. Its position in the file alone determines
 * the piece: a record that has expired when an import is repeated must not move
 * others to different pieces. */
static umbel_status add_record(import *im, const um_pyzord_record *r,
                               umbel_error *err)
{
    im->read++;
    if (r->updated && r->updated < im->oldest) {
        im->expired++;
    } else {
        im->len +=
            (size_t)snprintf(im->text + im->len, sizeof im->text - im->len,
                             "%s %" PRIu64 " %" PRIu64 "\n", r->digest,
                             r->reports, r->whitelistings);
        im->lines++;
    }
    return ++im->records == UM_IMPORT_LINES ? send_piece(im, err) : UMBEL_OK;
}

static umbel_status import_records(import *im, FILE *in, umbel_error *err)
{
    um_pyzord_dump dump = {.in = in};
    um_pyzord_record r;

    for (;;)
        switch (um_pyzord_dump_next(&dump, &r, err)) {
        case UM_IMPORT_RECORD:
            UM_TRY(add_record(im, &r, err));
            break;
        case UM_IMPORT_SKIPPED:
            if (im->skipped++ < SHOWN)
                um_warn(im->args, "skipped: %s", err->text);
            break;
        case UM_IMPORT_END:
            return send_piece(im, err);
        case UM_IMPORT_BROKEN:
            return UMBEL_E_FORMAT;
        }
}

/* --- rspamd --------------------------------------------------------------- */

static void print_mail(import *im, const um_rspamd_record *r)
{
    char *at = im->text + im->len;

    at += um_hex_write(r->digest, sizeof r->digest, at);
    at += snprintf(at, 32, " %u %d %llu ", r->flag, r->value,
                   (unsigned long long)r->time);
    for (size_t i = 0; i < UM_NEAR_SHINGLES; i++)
        for (size_t k = 0; k < 8; k++)
            at += snprintf(at, 3, r->has >> i & 1 ? "%02x" : "--",
                           (unsigned)(r->shingle[i] >> 8 * k & 0xff));
    *at++ = '\n';
    im->len = (size_t)(at - im->text);
    im->lines++;
}

static umbel_status add_mail(import *im, const um_rspamd_record *r,
                             umbel_error *err)
{
    im->read++;
    if (r->time < im->oldest)
        im->expired++;
    else
        print_mail(im, r);
    return ++im->records == UM_IMPORT_MAILS ? send_piece(im, err) : UMBEL_OK;
}

static umbel_status import_mails(import *im, um_rspamd_db *d, umbel_error *err)
{
    um_rspamd_record r;

    for (;;)
        switch (um_rspamd_read(d, &r, err)) {
        case UM_IMPORT_RECORD:
            UM_TRY(add_mail(im, &r, err));
            break;
        case UM_IMPORT_SKIPPED:
            if (im->skipped++ < SHOWN)
                um_warn(im->args, "skipped: %s", err->text);
            break;
        case UM_IMPORT_END:
            return send_piece(im, err);
        case UM_IMPORT_BROKEN:
            return UMBEL_E_FORMAT;
        }
}

static umbel_status import_rspamd(import *im, const char *path,
                                  umbel_error *err)
{
    um_rspamd_db *d;

    UM_TRY(um_rspamd_open(path, &d, err));
    umbel_status status = import_mails(im, d, err);
    um_rspamd_close(d);
    return status;
}

/* --- the command ---------------------------------------------------------- */

/* Returns the time before which the list would have expired a count. */
static uint64_t oldest_of(const um_config *c, const char *list)
{
    const um_list_settings *l = &c->list[um_list_find(list)];
    uint64_t seconds = l->epoch / 1000 * l->epochs, now = (uint64_t)time(NULL);

    return now > seconds ? now - seconds : 0;
}

static void print_import(const import *im)
{
    um_report r = {0};

    um_report_count(&r, "read", "records read", NULL, im->read);
    um_report_count(&r, "counted", NULL, NULL, im->counted);
    um_report_count(&r, "skipped", im->from->skipped, NULL, im->skipped);
    um_report_count(&r, "expired", "too old", NULL, im->expired);
    um_report_count(&r, "again", "imported before", NULL, im->again);
    um_report_count(&r, "left_out", "left out", NULL, im->left_out);
    um_report_count(&r, "saturated", "count too large", NULL, im->saturated);
    um_report_print(im->args, &r);
    um_report_fini(&r);
}

static umbel_status import_pyzord(import *im, const char *path,
                                  umbel_error *err)
{
    FILE *in = fopen(path, "re");

    if (!in)
        return um_fail_path(err, path);
    umbel_status status = import_records(im, in, err);
    fclose(in);
    return status;
}

static const source sources[] = {
    {"pyzord", "import-pyzor", "pyzor-reports", "not of pyzord", import_pyzord},
    {"rspamd", "import-fuzzy", "fuzzy", "not of rspamd", import_rspamd}};

static const source *find_source(const char *name)
{
    for (size_t i = 0; i < UM_COUNT(sources); i++)
        if (strcmp(sources[i].name, name) == 0)
            return &sources[i];
    return NULL;
}

static umbel_status import_file(import *im, const char *path, umbel_error *err)
{
    FILE *in = fopen(path, "re");

    if (!in)
        return um_fail_path(err, path);
    umbel_status status = checksum_file(in, &im->checksum, err);
    fclose(in);
    if (!status)
        status = im->from->read(im, path, err);
    return um_name_file(status, path, err);
}

static int run(const um_args *args)
{
    const import_args *a = args->values;
    umbel_error err;
    import *im = NULL;
    umbel_status status;

    if (!find_source(a->from)) {
        um_set_error(&err, UMBEL_E_RANGE,
                     "%.32s: only pyzord and rspamd can be imported", a->from);
        return um_trouble(args, &err);
    }
    im = calloc(1, sizeof *im);
    status = um_no_memory(&err, sizeof *im);

    if (im) {
        im->args = args;
        im->from = find_source(a->from);
        status = um_load_config(&im->config, a->config, &err);
    }
    if (!status) {
        im->oldest = oldest_of(&im->config, im->from->list);
        status = import_file(im, a->file, &err);
        if (!status || im->read)
            print_import(im);
        um_config_fini(&im->config);
    }
    free(im);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_clearinghouse_cmd_import = {
    .name = "clearinghouse import",
    .summary = "import the counts of another server",
    .details =
        "Of pyzord, FILE is what gdbm_dump prints of its file. Of rspamd, it "
        "is the file of its fuzzy storage (backend sqlite); stop rspamd "
        "first. Counts and mails are added to those that the running server "
        "has; what was imported once counts once, however often FILE is given.",
    .example = "pyzord pyzord.dump",
    .manual = "8 System Administration",
    .values_len = sizeof(import_args),
    .options = {{options, .base = 0}},
    .operands = {{"pyzord|rspamd", UM_TEXT, offsetof(import_args, from),
                  UM_PLAIN_TEXT, .min = 1, .example = "pyzord"},
                 {"FILE", UM_TEXT, offsetof(import_args, file), UM_INPUT,
                  .min = 1, .example = "pyzord.dump"}},
    .run = run,
};
