/*
 * join.c - umbel join: the rows of one list whose key is in another, which may
 * be on another host.
 *
 * src/reconcile/join.c has the messages. One side speaks at a time, so that
 * pipes never fill up in both directions. The list of rows is read twice: for
 * the keys that match the filter, and for the rows whose key is in the set.
 */
#if defined(__GNUC__) && !defined(__clang__)
/* gcc's analyzer does not follow the buffers of a connection, which wire_fini
 * releases. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

#include "reconcile/internal.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/commands/internal.h"
#include "cli/framework/progress.h"
#include "cli/framework/report.h"

#include <umbel/estimate.h>

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct join_args {
    const char *rows, *set;
    bool stdio, anti, estimate;
    um_key_args keys;
    um_thread_args threads;
} join_args;

enum { WITH_SET = UM_MODE(0), AT_STDIO = UM_MODE(1) };
#define MAX_FRAME (UINT64_C(1) << 30)

static const um_option options[] = {
    {"anti", 0, NULL, "print the rows whose key is not in B",
     UM_TARGET(join_args, anti), .modes = WITH_SET},
    {"estimate", 0, NULL,
     "only estimate how many rows there are, and print no row",
     UM_TARGET(join_args, estimate), .modes = WITH_SET},
    {"stdio", 0, NULL,
     "the other side is at standard input and output (used by exec: and ssh:)",
     UM_TARGET(join_args, stdio)},
    {0}};

static unsigned mode(const void *values)
{
    return ((const join_args *)values)->stdio ? AT_STDIO : WITH_SET;
}

/* --- frames over a connection ----------------------------------------------
 */

/* A connection, with the bytes that have come and those that will be sent. */
typedef struct wire {
    um_remote remote;
    um_buffer in, out;
    size_t used; /* of in */
    uint64_t bytes_in, bytes_out;
} wire;

static umbel_status flush_wire(wire *w, umbel_error *err)
{
    if (w->out.failed)
        return um_no_memory(err, w->out.len);
    umbel_status status =
        um_remote_send(&w->remote, (umbel_slice){w->out.data, w->out.len}, err);
    w->bytes_out += w->out.len;
    w->out.len = 0;
    return status;
}

/* Waits for the next frame. It is valid until the next call. */
static umbel_status next_frame(wire *w, um_frame *out, umbel_error *err)
{
    size_t n;

    um_buffer_discard(&w->in, w->used);
    w->used = 0;
    for (;;) {
        umbel_slice bytes = {w->in.data, w->in.len};
        UM_TRY(um_frame_read(bytes, MAX_FRAME, out, err));
        if (out->len) {
            w->used = out->len;
            return UMBEL_OK;
        }
        uint8_t *at = um_buffer_reserve(&w->in, UM_FRAME_PIECE);
        if (!at)
            return um_no_memory(err, w->in.len);
        UM_TRY(um_remote_read(&w->remote, at, UM_FRAME_PIECE, &n, err));
        w->in.len += n;
        w->bytes_in += n;
    }
}

static umbel_status out_of_order(umbel_error *err)
{
    return um_fail(err, UMBEL_E_FORMAT,
                   "the other side sent a message out of order, or is not "
                   "umbel join --stdio");
}

static umbel_status expect_frame(wire *w, enum um_join_message type,
                                 um_frame *out, umbel_error *err)
{
    UM_TRY(next_frame(w, out, err));
    return out->type == type ? UMBEL_OK : out_of_order(err);
}

static void wire_fini(wire *w)
{
    um_buffer_fini(&w->in);
    um_buffer_fini(&w->out);
}

/* --- a join ----------------------------------------------------------------
 */

typedef struct join {
    const um_args *args;
    unsigned flags;
    uint8_t secret[UMBEL_SECRET_LEN];
    wire *wire; /* NULL: both lists are here */
    um_key_source rows;
    struct stat was; /* of the list of rows */
    um_join_seeker seeker;
    um_loaded_keys set;
    um_join_holder holder;
    FILE *out;       /* for rows; NULL: they are sent */
    um_buffer batch; /* of rows to send */
    bool to_wire;
    um_join_totals totals;
    uint64_t filter_bytes, other_bytes; /* of the filter, of the other list */
} join;

static uint64_t size_of(const char *path, struct stat *st)
{
    return stat(path, st) == 0 && S_ISREG(st->st_mode) ? (uint64_t)st->st_size
                                                       : 0;
}

static umbel_status look_for(void *ctx, const um_key_batch *batch,
                             const umbel_digest *digests, umbel_error *err)
{
    join *j = ctx;

    return um_join_seeker_add(&j->seeker, batch->keys, digests, batch->n,
                              j->flags & UM_JOIN_ESTIMATE, err);
}

static umbel_status count_rows(void *ctx, const um_key_batch *batch,
                               umbel_error *err)
{
    return look_for(ctx, batch, NULL, err);
}

/* Reads the rows for the first time. */
static umbel_status find_candidates(join *j, umbel_error *err)
{
    j->rows.pass = "looking for keys";
    return j->seeker.filter ? um_keys_each_digest(&j->rows, j->seeker.filter,
                                                  look_for, j, err)
                            : um_keys_each_batch(&j->rows, count_rows, j, err);
}

static umbel_status write_row(join *j, umbel_slice row, umbel_error *err)
{
    char end = um_format_end(&j->rows.format);

    if (!j->to_wire) {
        if (j->out) {
            fwrite(row.data, 1, row.len, j->out);
            putc(end, j->out);
        }
        return UMBEL_OK;
    }
    um_buffer_append(&j->batch, row.data, row.len);
    um_buffer_append(&j->batch, &end, 1);
    if (j->batch.len < UM_FRAME_PIECE)
        return UMBEL_OK;
    um_frame_write(&j->wire->out, UM_JOIN_ROWS, j->batch.data, j->batch.len);
    j->batch.len = 0;
    return flush_wire(j->wire, err);
}

static umbel_status select_rows(void *ctx, const um_key_batch *batch,
                                const umbel_digest *digests, umbel_error *err)
{
    enum { PIECE = 1024 };
    join *j = ctx;
    bool in[PIECE], anti = j->flags & UM_JOIN_ANTI;

    for (size_t i = 0; i < batch->n; i += PIECE) {
        size_t n = batch->n - i < PIECE ? batch->n - i : PIECE;
        UM_TRY(um_join_seeker_look_up(&j->seeker, digests ? digests + i : NULL,
                                      n, in, err));
        for (size_t k = 0; k < n; k++)
            if (in[k] != anti) {
                j->totals.matches++;
                UM_TRY(write_row(j, batch->lines[i + k], err));
            }
    }
    j->totals.rows += batch->n;
    return UMBEL_OK;
}

static umbel_status select_all(void *ctx, const um_key_batch *batch,
                               umbel_error *err)
{
    return select_rows(ctx, batch, NULL, err);
}

/* Reads the rows for the second time, and writes those that belong to the
 * join. */
static umbel_status print_rows(join *j, umbel_error *err)
{
    j->rows.pass = "writing rows";
    umbel_status status =
        j->seeker.filter ? um_keys_each_digest(&j->rows, j->seeker.filter,
                                               select_rows, j, err)
                         : um_keys_each_batch(&j->rows, select_all, j, err);
    UM_TRY(status);
    UM_TRY(um_check_unchanged(j->rows.paths[0], &j->was, err));
    if (j->totals.rows != j->seeker.rows)
        return um_fail(err, UMBEL_E_IO, "%.2000s changed while it was read",
                       j->rows.paths[0]);
    if (j->to_wire && j->batch.len)
        um_frame_write(&j->wire->out, UM_JOIN_ROWS, j->batch.data,
                       j->batch.len);
    return UMBEL_OK;
}

/* --- the roles -------------------------------------------------------------
 */

/* Takes the filter, asks for the keys that match it, and writes rows. */
static umbel_status seek(join *j, umbel_error *err)
{
    um_frame f;

    UM_TRY(expect_frame(j->wire, UM_JOIN_FILTER, &f, err));
    j->filter_bytes = f.len;
    UM_TRY(
        um_join_seeker_filter(&j->seeker, f.body, j->secret, MAX_FRAME, err));
    UM_TRY(find_candidates(j, err));
    for (size_t at = 0; um_join_seeker_keys(&j->seeker, &at, &j->wire->out);)
        UM_TRY(flush_wire(j->wire, err));
    um_frame_write(&j->wire->out, UM_JOIN_END, "", 0);
    UM_TRY(flush_wire(j->wire, err));
    UM_TRY(expect_frame(j->wire, UM_JOIN_REPLY, &f, err));
    UM_TRY(um_join_seeker_reply(&j->seeker, f.body, err));
    if (j->flags & UM_JOIN_ESTIMATE)
        j->totals = (um_join_totals){j->seeker.rows, j->seeker.matching};
    else
        UM_TRY(print_rows(j, err));
    if (!j->to_wire)
        return UMBEL_OK;
    um_join_done_write(&j->wire->out, j->totals);
    return flush_wire(j->wire, err);
}

/* Sends the filter and answers for keys, then writes the rows that come. */
static umbel_status hold(join *j, uint64_t bytes, bool wants_rows,
                         umbel_error *err)
{
    um_frame f;

    UM_TRY(um_join_holder_filter(&j->holder, bytes, j->flags & UM_JOIN_ESTIMATE,
                                 &j->wire->out, err));
    j->filter_bytes = j->wire->out.len;
    UM_TRY(flush_wire(j->wire, err));
    for (;;) {
        UM_TRY(next_frame(j->wire, &f, err));
        if (f.type != UM_JOIN_KEYS)
            break;
        UM_TRY(um_join_holder_keys(&j->holder, f.body, err));
    }
    if (f.type != UM_JOIN_END || f.body.len)
        return out_of_order(err);
    um_join_holder_reply(&j->holder, &j->wire->out);
    UM_TRY(flush_wire(j->wire, err));
    while (wants_rows) {
        UM_TRY(next_frame(j->wire, &f, err));
        if (f.type == UM_JOIN_DONE)
            return um_join_done_read(f.body, &j->totals, err);
        if (f.type != UM_JOIN_ROWS)
            break;
        if (j->out)
            fwrite(f.body.data, 1, f.body.len, j->out);
    }
    return wants_rows ? out_of_order(err) : UMBEL_OK;
}

/* --- lists -----------------------------------------------------------------
 */

static umbel_status open_rows(join *j, const um_key_args *keys,
                              const um_thread_args *threads,
                              const char *const *path, umbel_error *err)
{
    UM_TRY(um_key_source_from_args(j->args, keys, threads,
                                   (um_list){.item = path, .n = 1}, &j->rows,
                                   err));
    if (!um_keys_rereadable(&j->rows) || stat(*path, &j->was) != 0)
        return um_fail(err, UMBEL_E_RANGE,
                       "%s%s: the rows are read twice: give a file, not a pipe",
                       um_path_dots(*path), um_path_tail(*path));
    return UMBEL_OK;
}

/* Loads the set: keys of the same form, one in each line. */
static umbel_status open_set(join *j, const um_key_args *keys,
                             const char *const *path, umbel_error *err)
{
    um_key_args lines = {.form = keys->form,
                         .null = keys->null,
                         .hex = keys->hex,
                         .fold_case = keys->fold_case};
    um_key_source source;

    UM_TRY(um_key_source_from_args(
        j->args, &lines, NULL, (um_list){.item = path, .n = 1}, &source, err));
    source.pass = "reading the set";
    UM_TRY(um_load_keys(&j->set, &source, err));
    return um_join_holder_init(&j->holder, j->set.keys, j->set.n, j->secret,
                               err);
}

/* --- how lists are read, for the other side --------------------------------
 */

static umbel_slice slice_of(const char *text)
{
    return text ? (umbel_slice){text, strlen(text)} : (umbel_slice){"", 0};
}

static void write_format(const um_key_args *k, char number[32],
                         um_join_hello *out)
{
    const char *yes = "1";
    umbel_slice text[UM_JOIN_TEXTS] = {slice_of(k->form.name),
                                       slice_of(k->list_format.name),
                                       slice_of(k->csv ? yes : ""),
                                       slice_of(k->column),
                                       slice_of(k->json_field),
                                       slice_of(k->null ? yes : ""),
                                       slice_of(k->hex ? yes : ""),
                                       slice_of(k->fold_case ? yes : ""),
                                       slice_of(""),
                                       slice_of(k->delimiter)};

    number[0] = '\0';
    if (k->field.given)
        snprintf(number, 32, "%" PRIu64, k->field.n);
    text[8] = slice_of(number);
    memcpy(out->text, text, sizeof text);
}

/* A format that has come over the wire, with its texts. */
typedef struct received_format {
    um_key_args keys;
    char *text[UM_JOIN_TEXTS];
} received_format;

static void format_fini(received_format *f)
{
    for (size_t i = 0; i < UM_JOIN_TEXTS; i++)
        free(f->text[i]);
}

static bool find_choice(const char *option, const char *name, um_choice *out)
{
    for (const um_option *o = um_key_options; o->name; o++)
        for (size_t i = 0; strcmp(o->name, option) == 0 && o->choices[i]; i++)
            if (strcmp(o->choices[i], name) == 0) {
                *out = (um_choice){i, o->choices[i]};
                return true;
            }
    return !*name;
}

static umbel_status read_format(const um_join_hello *h, received_format *out,
                                umbel_error *err)
{
    um_key_args *k = &out->keys;

    for (size_t i = 0; i < UM_JOIN_TEXTS; i++) {
        out->text[i] = strndup(h->text[i].data, h->text[i].len);
        if (!out->text[i])
            return um_no_memory(err, h->text[i].len);
    }
    k->csv = *out->text[2];
    k->column = *out->text[3] ? out->text[3] : NULL;
    k->json_field = *out->text[4] ? out->text[4] : NULL;
    k->null = *out->text[5];
    k->hex = *out->text[6];
    k->fold_case = *out->text[7];
    k->field.given = *out->text[8];
    k->field.n = strtoull(out->text[8], NULL, 10);
    k->delimiter = *out->text[9] ? out->text[9] : NULL;
    if (find_choice("key-form", out->text[0], &k->form) &&
        find_choice("list-format", out->text[1], &k->list_format))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_FORMAT,
                   "the other side names a format of lists that this version "
                   "does not know");
}

/* --- the command -----------------------------------------------------------
 */

/* With --stdio: the other side says which role is left, and how to read. */
static umbel_status serve_other(join *j, umbel_error *err)
{
    const join_args *a = j->args->values;
    received_format format = {.text = {NULL}};
    um_join_hello theirs, ours = {.seeks = false};
    um_frame f;
    struct stat st;

    UM_TRY(expect_frame(j->wire, UM_JOIN_HELLO, &f, err));
    UM_TRY(um_join_hello_read(f.body, &theirs, err));
    memcpy(j->secret, theirs.secret, sizeof j->secret);
    j->flags = theirs.flags;
    j->to_wire = !theirs.seeks;
    ours.seeks = !theirs.seeks;
    ours.bytes = size_of(a->rows, &st);
    umbel_status status = read_format(&theirs, &format, err);
    if (!status)
        status = ours.seeks
                     ? open_rows(j, &format.keys, &a->threads, &a->rows, err)
                     : open_set(j, &format.keys, &a->rows, err);
    if (!status) {
        um_join_hello_write(&j->wire->out, &ours);
        status = flush_wire(j->wire, err);
    }
    if (!status)
        status = ours.seeks ? seek(j, err) : hold(j, theirs.bytes, false, err);
    format_fini(&format);
    return status;
}

/* The rows, or the set, are at the other side. */
static umbel_status join_remote(join *j, const char *target, bool rows_there,
                                umbel_error *err)
{
    const join_args *a = j->args->values;
    um_join_hello ours = {.seeks = !rows_there, .flags = j->flags}, theirs;
    char number[32];
    um_frame f;

    memcpy(ours.secret, j->secret, sizeof ours.secret);
    write_format(&a->keys, number, &ours);
    UM_TRY(rows_there ? open_set(j, &a->keys, &a->set, err)
                      : open_rows(j, &a->keys, &a->threads, &a->rows, err));
    ours.bytes = rows_there ? 0 : (uint64_t)j->was.st_size;
    UM_TRY(um_remote_open(&j->wire->remote, target, "join --stdio", err));
    um_join_hello_write(&j->wire->out, &ours);
    umbel_status status = flush_wire(j->wire, err);
    if (!status)
        status = expect_frame(j->wire, UM_JOIN_HELLO, &f, err);
    if (!status)
        status = um_join_hello_read(f.body, &theirs, err);
    j->other_bytes = status ? 0 : theirs.bytes;
    if (!status)
        status = rows_there ? hold(j, theirs.bytes, true, err) : seek(j, err);
    int code = um_remote_close(&j->wire->remote);
    if (!status && code)
        status = um_fail(err, UMBEL_E_IO,
                         "the other side failed, after all was exchanged");
    return status;
}

/* Both lists are here: the same steps without a connection. */
static umbel_status join_here(join *j, umbel_error *err)
{
    const join_args *a = j->args->values;
    um_buffer frame = {.len = 0};
    um_frame f;
    size_t at = 0;

    UM_TRY(open_rows(j, &a->keys, &a->threads, &a->rows, err));
    UM_TRY(open_set(j, &a->keys, &a->set, err));
    umbel_status status =
        um_join_holder_filter(&j->holder, (uint64_t)j->was.st_size,
                              j->flags & UM_JOIN_ESTIMATE, &frame, err);
    for (bool first = true; !status; first = false) {
        status = um_frame_read((umbel_slice){frame.data, frame.len}, UINT32_MAX,
                               &f, err);
        if (status)
            break;
        status = first ? um_join_seeker_filter(&j->seeker, f.body, j->secret,
                                               MAX_FRAME, err)
                       : um_join_holder_keys(&j->holder, f.body, err);
        if (first && !status)
            status = find_candidates(j, err);
        frame.len = 0;
        if (!um_join_seeker_keys(&j->seeker, &at, &frame))
            break;
    }
    um_buffer_fini(&frame);
    UM_TRY(status);
    UM_TRY(um_join_seeker_reply(
        &j->seeker, (umbel_slice){j->holder.bits.data, j->holder.bits.len},
        err));
    j->totals = (um_join_totals){j->seeker.rows, j->seeker.matching};
    if (j->flags & UM_JOIN_ESTIMATE)
        return UMBEL_OK;
    j->totals = (um_join_totals){0, 0};
    return print_rows(j, err);
}

/* Estimates the rows of the join from those that match a filter with this
 * error: those that do are members, or false positives. */
static umbel_interval estimate_rows(const join *j, double error)
{
    double n = (double)j->totals.rows;
    umbel_interval x = umbel_rate_interval(j->totals.matches, j->totals.rows);
    double *part[3] = {&x.value, &x.low, &x.high};
    double rate = n > 0 ? (double)j->totals.matches / n : 0;
    /* Only the false positives among the others are random. */
    double others = fmax(n * (1 - rate) / (1 - error), 0);
    double spread = 2.576 * sqrt(others * error * (1 - error)) / (1 - error);
    double value = fmax(n * (rate - error) / (1 - error), 0);

    *part[0] = value;
    *part[1] = fmax(value - spread - 1, 0);
    *part[2] = fmin(value + spread + 1, (double)j->totals.matches);
    if (j->flags & UM_JOIN_ANTI)
        x = (umbel_interval){n - x.value, n - x.high, n - x.low};
    return x;
}

static void print_report(const join *j, const wire *w)
{
    static const char *const names[3] = {"matches", "matches_low",
                                         "matches_high"};
    const join_args *a = j->args->values;
    um_report r = {0};
    uint64_t moved = w->bytes_in + w->bytes_out;

    um_report_count(&r, "rows", NULL, NULL, j->totals.rows);
    if (a->estimate) {
        umbel_interval x = estimate_rows(j, ldexp(1, -10));
        um_report_interval(&r, names, "matches", &x, UM_OF_WHOLE);
    } else {
        um_report_count(&r, "matches", NULL, NULL, j->totals.matches);
    }
    um_report_count(&r, "bytes_in", NULL, "bytes", w->bytes_in);
    um_report_count(&r, "bytes_out", NULL, "bytes", w->bytes_out);
    um_report_count(&r, "filter_bytes", NULL, "bytes", j->filter_bytes);
    um_report_count(&r, "bytes_saved", NULL, "bytes",
                    j->other_bytes > moved ? j->other_bytes - moved : 0);
    if (j->args->common.json || a->estimate)
        um_report_print(j->args, &r);
    else if (!j->args->common.quiet)
        um_report_to_text(stderr, &r);
    um_report_fini(&r);
}

static umbel_status run_join(join *j, umbel_error *err)
{
    const join_args *a = j->args->values;

    if (a->stdio) {
        um_remote_stdio(&j->wire->remote);
        umbel_status status = serve_other(j, err);
        um_remote_close(&j->wire->remote);
        return status;
    }
    randombytes_buf(j->secret, sizeof j->secret);
    if (um_is_remote(a->rows) && um_is_remote(a->set))
        return um_fail(err, UMBEL_E_RANGE,
                       "one of the two lists must be here: run the command on "
                       "one of the hosts");
    if (um_is_remote(a->rows))
        return join_remote(j, a->rows, true, err);
    return um_is_remote(a->set) ? join_remote(j, a->set, false, err)
                                : join_here(j, err);
}

static int run(const um_args *args)
{
    const join_args *a = args->values;
    wire w = {.used = 0};
    join j = {.args = args,
              .wire = &w,
              .flags = (a->anti ? UM_JOIN_ANTI : 0) |
                       (a->estimate ? UM_JOIN_ESTIMATE : 0)};
    umbel_error err;

    if (!a->stdio && !a->set)
        return um_misuse(args, "name B, the list of keys: a file, exec:COMMAND "
                               "or ssh://HOST/PATH");
    if (!a->stdio && !args->common.json && !args->common.quiet && !a->estimate)
        j.out = stdout;
    umbel_status status = run_join(&j, &err);
    um_progress_end();
    if (!status && !a->stdio) {
        fflush(stdout);
        print_report(&j, &w);
    }
    um_join_seeker_fini(&j.seeker);
    um_join_holder_fini(&j.holder);
    um_loaded_keys_fini(&j.set);
    um_buffer_fini(&j.batch);
    wire_fini(&w);
    sodium_memzero(j.secret, sizeof j.secret);
    if (!status)
        return UM_EXIT_FINE;
    um_trouble(args, &err);
    return UM_EXIT_TROUBLE;
}

const um_command um_cmd_join = {
    .name = "join",
    .summary = "print the rows of a list whose key is in another one",
    .section = UM_EXCHANGE,
    .values_len = sizeof(join_args),
    .operands = {{"A", UM_TEXT, offsetof(join_args, rows), UM_PLAIN_TEXT,
                  .min = 1},
                 {"B", UM_TEXT, offsetof(join_args, set), UM_PLAIN_TEXT,
                  .modes = WITH_SET}},
    .options = {{.rows = options},
                {um_key_options, offsetof(join_args, keys), WITH_SET, NULL},
                {um_thread_options, offsetof(join_args, threads), 0, NULL}},
    .modes = {{"to join", "A B"}, {"with --stdio", "--stdio"}},
    .mode = mode,
    .run = run,
    .example = "access.csv ssh://host/blocked --csv --column ip",
    .details =
        "A has rows, B a key in each line. One of them may be exec:COMMAND "
        "that runs 'umbel join --stdio LIST', or ssh://HOST/PATH. A filter of "
        "B goes one way, keys that match it the other way, so the answer is "
        "exact. Options say how A is read. The figures go to standard error; "
        "--json prints them instead of the rows.",
};
