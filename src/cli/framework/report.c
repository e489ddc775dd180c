/*
 * report.c - reports: collects values, and prints them as JSON and as text.
 */
#include "cli/framework/report.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/framework/progress.h"
#include "filter/handle.h"
#include "query/query.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <umbel/counting.h>

/* --- adding values -------------------------------------------------------- */

static um_value *append(um_report *r, const char *name, const char *label,
                        um_value_type type)
{
    um_value *v = &r->value[r->n < UM_MAX_REPORT ? r->n++ : UM_MAX_REPORT - 1];

    *v = (um_value){.name = name, .label = label, .type = type};
    return v;
}

void um_report_fini(um_report *r)
{
    for (size_t i = 0; i < r->nmemory; i++)
        free(r->memory[i]);
    r->n = r->nmemory = r->nnotes = 0;
}

/* Copies a text. If memory runs out, the text is missing, which the report
 * prints. */
static const char *retain_text(um_report *r, const char *text)
{
    char *copy = r->nmemory < UM_MAX_REPORT ? strdup(text) : NULL;

    if (!copy)
        return "(no memory)";
    r->memory[r->nmemory++] = copy;
    return copy;
}

void um_report_text(um_report *r, const char *name, const char *label,
                    const char *text)
{
    append(r, name, label, UM_VALUE_TEXT)->text = retain_text(r, text);
}

void um_report_file(um_report *r, const char *name, const char *label,
                    const char *path)
{
    um_report_text(r, name, label, path);
    r->value[r->n - 1].is_file = true;
}

void um_report_count(um_report *r, const char *name, const char *label,
                     const char *unit, uint64_t n)
{
    um_value *v = append(r, name, label, UM_VALUE_COUNT);

    v->count = n;
    v->unit = unit;
}

void um_report_real(um_report *r, const char *name, const char *label,
                    const char *unit, double x)
{
    um_value *v =
        append(r, name, label, isfinite(x) ? UM_VALUE_REAL : UM_VALUE_NONE);

    v->real = x;
    v->unit = unit;
}

void um_report_rate(um_report *r, const char *name, const char *label,
                    double share)
{
    append(r, name, label, isfinite(share) ? UM_VALUE_RATE : UM_VALUE_NONE)
        ->real = share;
}

void um_report_hex(um_report *r, const char *name, const char *label,
                   uint64_t n)
{
    append(r, name, label, UM_VALUE_HEX)->count = n;
}

void um_report_time(um_report *r, const char *name, const char *label,
                    uint64_t seconds)
{
    append(r, name, label, UM_VALUE_TIME)->count = seconds;
}

void um_report_flag(um_report *r, const char *name, const char *label,
                    bool flag)
{
    append(r, name, label, UM_VALUE_FLAG)->count = flag;
}

void um_report_texts(um_report *r, const char *name, const char *label,
                     const char *const *texts, size_t n)
{
    um_value *v = append(r, name, label, UM_VALUE_TEXTS);

    v->texts = texts;
    v->count = n;
}

static void report_end(um_report *r, const char *name, double x,
                       um_interval_of what)
{
    if (what == UM_OF_RATE)
        um_report_rate(r, name, NULL, x);
    else if (what == UM_OF_WHOLE && isfinite(x) && x < 1e18)
        um_report_count(r, name, NULL, NULL, (uint64_t)x);
    else
        um_report_real(r, name, NULL, NULL, x);
}

void um_report_interval(um_report *r, const char *const names[3],
                        const char *label, const umbel_interval *i,
                        um_interval_of what)
{
    bool whole = what == UM_OF_WHOLE;
    size_t at = r->n;

    report_end(r, names[0], whole ? round(i->value) : i->value, what);
    report_end(r, names[1], whole ? floor(i->low) : i->low, what);
    report_end(r, names[2], whole ? ceil(i->high) : i->high, what);
    r->value[at].label = label;
    r->value[at].interval = true;
}

/* Returns true for fields of a description that are shares. */
static bool is_rate(const char *name)
{
    static const char *const rates[] = {"fpr", "error", "predicted_error",
                                        "fill", "target_error"};

    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (strcmp(name, rates[i]) == 0)
            return true;
    return false;
}

/* Returns the label of a field, as in other reports. */
static const char *label_of(const umbel_info *info, const char *name)
{
    static const char *const labels[][2] = {
        {"has_false_negatives", "may miss members"},
        {"known_false_negatives", "recorded missing"}};

    for (size_t i = 0; i < UM_COUNT(labels); i++)
        if (strcmp(name, labels[i][0]) == 0)
            return labels[i][1];
    for (size_t i = 0; strcmp(name, "bits") == 0 && i < info->n; i++)
        if (strcmp(info->field[i].name, "cell_bits") == 0)
            return "cells";
    return NULL;
}

/* Reports a setting; one with named values is reported as its option takes
 * it. */
static void report_setting(um_report *r, const char *name, const char *label,
                           uint64_t n)
{
    static const char *const updates[] = {"plain", "refined"};

    if (strcmp(name, "update") == 0 && n < UM_COUNT(updates))
        um_report_text(r, name, label, updates[n]);
    else
        um_report_count(r, name, label, NULL, n);
}

void um_report_info(um_report *r, const umbel_info *info)
{
    for (size_t i = 0; i < info->n; i++) {
        const umbel_field *f = &info->field[i];
        const char *name = retain_text(r, f->name),
                   *label = label_of(info, name);
        switch (f->type) {
        case UMBEL_FIELD_TEXT:
            um_report_text(r, name, NULL, f->value.text);
            break;
        case UMBEL_FIELD_COUNT:
            report_setting(r, name, label, f->value.count);
            break;
        case UMBEL_FIELD_REAL:
            (is_rate(name)
                 ? um_report_rate(r, name, NULL, f->value.real)
                 : um_report_real(r, name, NULL, NULL, f->value.real));
            break;
        case UMBEL_FIELD_HEX:
            um_report_hex(r, name, NULL, f->value.count);
            break;
        case UMBEL_FIELD_FLAG:
            um_report_flag(r, name, label, f->value.count != 0);
            break;
        }
    }
}

void um_report_note(um_report *r, const char *format, ...)
{
    va_list list;

    if (r->nnotes == UM_MAX_NOTES)
        return;
    char *note = r->notes[r->nnotes++];
    va_start(list, format);
    vsnprintf(note, UM_REPORT_NOTE_LEN, format, list);
    va_end(list);
    um_disarm(note);
}

/* --- JSON ----------------------------------------------------------------- */

static void print_json_texts(FILE *out, const um_value *v)
{
    putc('[', out);
    for (size_t i = 0; i < v->count; i++) {
        fputs(i ? ", " : "", out);
        um_json_text(out, v->texts[i]);
    }
    putc(']', out);
}

static void print_json_value(FILE *out, const um_value *v)
{
    switch (v->type) {
    case UM_VALUE_TEXT:
        um_json_text(out, v->text);
        break;
    case UM_VALUE_COUNT:
    case UM_VALUE_TIME:
        fprintf(out, "%" PRIu64, v->count);
        break;
    case UM_VALUE_REAL:
    case UM_VALUE_RATE:
        um_json_real(out, v->real);
        break;
    case UM_VALUE_HEX:
        fprintf(out, "\"%016" PRIx64 "\"", v->count);
        break;
    case UM_VALUE_FLAG:
        fputs(v->count ? "true" : "false", out);
        break;
    case UM_VALUE_TEXTS:
        print_json_texts(out, v);
        break;
    case UM_VALUE_NONE:
        fputs("null", out);
        break;
    }
}

void um_report_to_json(FILE *out, const um_report *r)
{
    putc('{', out);
    for (size_t i = 0; i < r->n; i++) {
        fprintf(out, "%s\"%s\": ", i ? ", " : "", r->value[i].name);
        print_json_value(out, &r->value[i]);
    }
    for (size_t i = 0; i < r->nnotes; i++) {
        fputs(i ? ", " : r->n ? ", \"notes\": [" : "\"notes\": [", out);
        um_json_text(out, r->notes[i]);
    }
    fputs(r->nnotes ? "]}\n" : "}\n", out);
}

/*
 * Prints reports for people: a line per value, or a table.
 */

enum { LABEL_WIDTH = 18 };

/* A cell of text, cut if it is too long. */
typedef struct shown {
    char text[512];
} shown;

static shown shown_label(const um_value *v)
{
    shown s;

    snprintf(s.text, sizeof s.text, "%s", v->label ? v->label : v->name);
    for (char *p = s.text; *p && !v->label; p++)
        if (*p == '_')
            *p = ' ';
    return s;
}

/* Formats with four digits, or all digits of a large number. */
static um_text shown_real(double x)
{
    um_text t = {{0}};

    if (x >= 1e3 && x < 1e18)
        return um_grouped((uint64_t)(x + 0.5));
    snprintf(t.text, sizeof t.text, "%.4g", x);
    return t;
}

static void show_time(char *to, size_t cap, uint64_t seconds)
{
    time_t at = (time_t)seconds;
    struct tm tm;

    if (seconds == 0 || !gmtime_r(&at, &tm) ||
        strftime(to, cap, "%Y-%m-%d %H:%M UTC", &tm) == 0)
        snprintf(to, cap, "%s", seconds ? "far away" : "never");
}

/* Returns the length of a unit, without the plural s if n is 1. */
static int unit_len(const char *unit, uint64_t n)
{
    size_t len = strlen(unit);

    return (int)(n == 1 && len > 0 ? len - 1 : len);
}

static shown shown_value(const um_value *v)
{
    shown s = {{0}};
    char *to = s.text;
    const size_t cap = sizeof s.text;
    const char *gap = v->unit ? " " : "", *unit = v->unit ? v->unit : "";

    switch (v->type) {
    case UM_VALUE_TEXT:
        snprintf(to, cap, "%s",
                 v->is_file && strcmp(v->text, "-") == 0 ? "standard output"
                                                         : v->text);
        um_disarm(to);
        break;
    case UM_VALUE_COUNT:
        snprintf(to, cap, "%s%s%.*s", um_grouped(v->count).text, gap,
                 unit_len(unit, v->count), unit);
        break;
    case UM_VALUE_REAL:
        snprintf(to, cap, "%s%s%s", shown_real(v->real).text, gap, unit);
        break;
    case UM_VALUE_RATE:
        snprintf(to, cap, "%s", um_rate(v->real).text);
        break;
    case UM_VALUE_HEX:
        snprintf(to, cap, "%016" PRIx64, v->count);
        break;
    case UM_VALUE_FLAG:
        snprintf(to, cap, "%s", v->count ? "yes" : "no");
        break;
    case UM_VALUE_TIME:
        show_time(to, cap, v->count);
        break;
    case UM_VALUE_TEXTS:
    case UM_VALUE_NONE:
        snprintf(to, cap, "%s", v->type == UM_VALUE_NONE ? "not known" : "");
        break;
    }
    return s;
}

static void print_texts(FILE *out, const um_value *v)
{
    for (size_t i = 0; i < v->count; i++) {
        shown s;
        snprintf(s.text, sizeof s.text, "%s", v->texts[i]);
        um_disarm(s.text);
        fprintf(out, "%-*s %s\n", LABEL_WIDTH, shown_label(v).text, s.text);
    }
}

/* Prints a text of any length, such as a command to type. */
static void print_long(FILE *out, const char *text)
{
    char *copy = strdup(text);

    if (copy)
        um_disarm(copy);
    fprintf(out, "%s\n", copy ? copy : "(no memory)");
    free(copy);
}

static bool is_long(const um_value *v)
{
    return v->type == UM_VALUE_TEXT && strlen(v->text) >= sizeof(shown);
}

/* Formats a value of an interval. Rates use the notation of its upper end. */
static shown shown_end(const um_value *v, size_t i)
{
    shown s = shown_value(&v[i]);

    if (v[i].type == UM_VALUE_RATE && v[2].type == UM_VALUE_RATE)
        snprintf(s.text, sizeof s.text, "%s",
                 um_rate_like(v[i].real, v[2].real).text);
    return s;
}

static void print_line(FILE *out, const um_value *v)
{
    if (v->type == UM_VALUE_TEXTS) {
        print_texts(out, v);
        return;
    }
    if (is_long(v)) {
        fprintf(out, "%-*s ", LABEL_WIDTH, shown_label(v).text);
        print_long(out, v->text);
        return;
    }
    fprintf(out, "%-*s ", LABEL_WIDTH, shown_label(v).text);
    if (v->interval &&
        (v[1].type != UM_VALUE_NONE || v[2].type != UM_VALUE_NONE))
        fprintf(out, "%s (99 %% interval %s to %s)\n", shown_end(v, 0).text,
                shown_end(v, 1).text, shown_end(v, 2).text);
    else
        fprintf(out, "%s\n", shown_value(v).text);
}

static void print_notes(FILE *out, const um_report *r)
{
    for (size_t i = 0; i < r->nnotes; i++)
        fprintf(out, "%s\n", r->notes[i]);
}

void um_report_to_text(FILE *out, const um_report *r)
{
    for (size_t i = 0; i < r->n; i += r->value[i].interval ? 3 : 1)
        print_line(out, &r->value[i]);
    print_notes(out, r);
}

FILE *um_report_stream(const um_args *args)
{
    return args->stdout_taken ? stderr : stdout;
}

void um_report_print(const um_args *args, const um_report *r)
{
    FILE *out = um_report_stream(args);

    um_progress_pause();
    if (args->common.json)
        um_report_to_json(out, r);
    else if (!args->common.quiet)
        um_report_to_text(out, r);
    um_progress_resume();
}

/* --- tables --------------------------------------------------------------- */

static bool is_number(const um_value *v)
{
    return v->type != UM_VALUE_TEXT && v->type != UM_VALUE_FLAG;
}

static size_t column_width(const um_report *rows, size_t n, size_t column)
{
    size_t width = strlen(shown_label(&rows[0].value[column]).text);

    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(shown_value(&rows[i].value[column]).text);
        width = len > width ? len : width;
    }
    return width;
}

static bool is_empty(const um_report *rows, size_t n, size_t column)
{
    for (size_t i = 0; i < n; i++)
        if (*shown_value(&rows[i].value[column]).text)
            return false;
    return true;
}

/* Returns true if a column has texts too long for a table, or is empty. */
static bool is_wide(const um_report *rows, size_t n, size_t column)
{
    return column > 0 && (is_empty(rows, n, column) ||
                          (rows[0].value[column].type == UM_VALUE_TEXT &&
                           column_width(rows, n, column) > UM_TABLE_TEXT));
}

static size_t last_column(const um_report *rows, size_t n)
{
    size_t last = rows[0].n - 1;

    while (is_wide(rows, n, last))
        last--;
    return last;
}

static void print_cell(FILE *out, const um_value *v, const char *text,
                       int width, bool last)
{
    if (is_number(v))
        fprintf(out, "%*s%s", width, text, last ? "\n" : "  ");
    else if (last)
        fprintf(out, "%s\n", text);
    else
        fprintf(out, "%-*s  ", width, text);
}

/* Prints a row, or the line of labels. */
static void print_row(FILE *out, const um_report *rows, size_t n,
                      const um_report *row)
{
    size_t last = last_column(rows, n);

    for (size_t c = 0; c <= last; c++) {
        const um_value *v = row ? &row->value[c] : &rows[0].value[c];
        if (!is_wide(rows, n, c))
            print_cell(out, v, row ? shown_value(v).text : shown_label(v).text,
                       (int)column_width(rows, n, c), c == last);
    }
}

/* Prints "command of ribbon: umbel build ...", below the table. */
static void print_below(FILE *out, const um_report *row, const um_value *v)
{
    const char *const one[] = {v->text};
    const char *const *texts = v->type == UM_VALUE_TEXTS ? v->texts : one;
    size_t n = v->type == UM_VALUE_TEXTS              ? (size_t)v->count
               : v->type == UM_VALUE_TEXT && *v->text ? 1
                                                      : 0;

    for (size_t i = 0; i < n; i++) {
        fprintf(out, "%s of %s: ", shown_label(v).text,
                shown_value(&row->value[0]).text);
        print_long(out, texts[i]);
    }
}

void um_report_print_table(const um_args *args, const um_report *rows, size_t n)
{
    FILE *out = um_report_stream(args);

    um_progress_pause();
    for (size_t i = 0; args->common.json && i < n; i++)
        um_report_to_json(out, &rows[i]);
    if (!args->common.json && !args->common.quiet && n > 0)
        um_report_to_table(out, rows, n);
    um_progress_resume();
}

void um_report_to_table(FILE *out, const um_report *rows, size_t n)
{
    print_row(out, rows, n, NULL);
    for (size_t i = 0; i < n; i++)
        print_row(out, rows, n, &rows[i]);
    for (size_t c = 0; c < rows[0].n; c++)
        for (size_t i = 0; is_wide(rows, n, c) && i < n; i++)
            print_below(out, &rows[i], &rows[i].value[c]);
    for (size_t i = 0; i < n; i++)
        print_notes(out, &rows[i]);
}

/* --- notes on filters ----------------------------------------------------- */

static void note_saturated(um_report *r, const umbel_filter *f, uint64_t stuck)
{
    if (stuck <= umbel_cells(f) / 10000)
        return;
    um_report_note(r,
                   "%s of %s cells are at their limit, %s: counts that reach "
                   "it may have been larger. Build with more --cell-bits.",
                   um_grouped(stuck).text, um_grouped(umbel_cells(f)).text,
                   um_grouped(umbel_count_limit(f)).text);
}

static void note_uncounted(um_report *r, const umbel_filter *f, uint64_t missed)
{
    if (missed)
        um_report_note(r,
                       "The table of frequent keys is full, so %s of them are "
                       "not counted beyond %s: build the filter with a larger "
                       "--param heavy=N.",
                       um_grouped(missed).text,
                       um_grouped(umbel_count_limit(f)).text);
}

/* What counts have missed. */
typedef struct limits {
    uint64_t stuck, missed;
} limits;

/* Adds the limits of a filter. It is described only once, because that reads
 * all its cells. */
static void sum_limits(void *ctx, const umbel_filter *f, double share)
{
    limits *sum = ctx;
    umbel_info info = {.n = 0};

    (void)share;
    umbel_describe(f, &info);
    for (size_t i = 0; i < info.n; i++) {
        const umbel_field *field = &info.field[i];
        if (strcmp(field->name, "cells_at_limit") == 0)
            sum->stuck += field->value.count;
        if (strcmp(field->name, "not_counted") == 0)
            sum->missed += field->value.count;
    }
}

void um_note_counts(um_report *r, const umbel_filter *f)
{
    limits sum = {0, 0};

    if (!umbel_count_limit(f) || um_each_slice(f, sum_limits, &sum, NULL))
        return;
    note_saturated(r, f, sum.stuck);
    note_uncounted(r, f, sum.missed);
}

void um_note_retouched(um_report *r, const umbel_filter *f, const char *what)
{
    uint64_t denied = umbel_known_false_negatives(f);

    if (denied)
        um_report_note(r,
                       "This filter is retouched: up to %s of its members do "
                       "not match; %s.",
                       um_grouped(denied).text, what);
}

void um_note_rounding(um_report *r, uint64_t asked, uint64_t got)
{
    if (asked && asked != got)
        um_report_note(r,
                       "The size of %s cells was rounded to %s, whole blocks.",
                       um_grouped(asked).text, um_grouped(got).text);
}

/* --- quoting -------------------------------------------------------------- */

void um_print_quoted(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:=,-";

    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (const char *p = word; *p; p++)
        if (*p == '\'')
            fputs("'\\''", out);
        else
            putc((unsigned char)*p < ' ' || *p == 127 ? '?' : *p, out);
    putc('\'', out);
}

void um_print_used(FILE *out, const um_args *args, const um_option *rows,
                   const char *except)
{
    for (size_t i = 0; i < args->nused; i++)
        for (const um_option *o = rows; o->name; o++) {
            if (args->used[i].option != o ||
                um_has_word(except, o->name, strlen(o->name)))
                continue;
            fprintf(out, " --%s", o->name);
            if (!o->arg)
                continue;
            putc(' ', out);
            um_print_quoted(out, args->used[i].value);
        }
}

void um_report_question(um_report *r, umbel_key_form form, unsigned lookups,
                        double key_error)
{
    if (!um_form_asks_several(form))
        return;
    um_report_count(r, "question_keys", "keys of a question", NULL, lookups);
    um_report_rate(r, "question_error", NULL,
                   um_question_error(key_error, lookups));
}
