/*
 * report.c - reports: their values, as JSON and as text.
 */
#include "cli/framework/report.h"

#include "base/error.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- making -----------------------------------------------------------------
 */

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

/* Without memory the text is missing, and shown as such. */
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

/* Fields of descriptions that are shares. */
static bool is_rate(const char *name)
{
    static const char *const rates[] = {"fpr", "error", "predicted_error",
                                        "fill", "target_error"};

    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (strcmp(name, rates[i]) == 0)
            return true;
    return false;
}

/* What fields are called in other reports. */
static const char *label_of(const umbel_info *info, const char *name)
{
    static const char *const labels[][2] = {
        {"may_deny", "may miss members"},
        {"denied_members", "recorded missing"}};

    for (size_t i = 0; i < UM_COUNT(labels); i++)
        if (strcmp(name, labels[i][0]) == 0)
            return labels[i][1];
    for (size_t i = 0; strcmp(name, "bits") == 0 && i < info->n; i++)
        if (strcmp(info->field[i].name, "cell_bits") == 0)
            return "cells";
    return NULL;
}

/* A setting that has names is reported as the option takes it. */
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

/* --- JSON -------------------------------------------------------------------
 */

static void print_character(FILE *out, const uint8_t *s, size_t len)
{
    if (len == 0)
        fputs("\\ufffd", out); /* not UTF-8, and JSON has nothing else */
    else if (len == 1 && (*s == '"' || *s == '\\'))
        fprintf(out, "\\%c", *s);
    else if (len == 1 && (*s < ' ' || *s == 127))
        fprintf(out, "\\u%04x", *s);
    else if (len == 2 && s[0] == 0xC2 && s[1] < 0xA0)
        fprintf(out, "\\u%04x", s[1]); /* steers terminals, too */
    else
        fwrite(s, 1, len, out);
}

void um_print_json_string(FILE *out, const void *text, size_t len)
{
    const uint8_t *s = text;

    putc('"', out);
    for (size_t i = 0; i < len;) {
        size_t some = um_utf8_len(s + i, len - i);
        print_character(out, s + i, some);
        i += some ? some : 1;
    }
    putc('"', out);
}

/* The shortest text that reads back as the same number. */
static void print_real(FILE *out, double x)
{
    char text[40];

    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    fputs(text, out);
}

static void print_json_texts(FILE *out, const um_value *v)
{
    putc('[', out);
    for (size_t i = 0; i < v->count; i++) {
        fputs(i ? ", " : "", out);
        um_print_json_string(out, v->texts[i], strlen(v->texts[i]));
    }
    putc(']', out);
}

static void print_json_value(FILE *out, const um_value *v)
{
    switch (v->type) {
    case UM_VALUE_TEXT:
        um_print_json_string(out, v->text, strlen(v->text));
        break;
    case UM_VALUE_COUNT:
    case UM_VALUE_TIME:
        fprintf(out, "%" PRIu64, v->count);
        break;
    case UM_VALUE_REAL:
    case UM_VALUE_RATE:
        print_real(out, v->real);
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
        um_print_json_string(out, r->notes[i], strlen(r->notes[i]));
    }
    fputs(r->nnotes ? "]}\n" : "}\n", out);
}

static bool is_utf8(const umbel_slice *key)
{
    const uint8_t *s = key->data;

    for (size_t i = 0, len; i < key->len; i += len)
        if (!(len = um_utf8_len(s + i, key->len - i)))
            return false;
    return true;
}

void um_print_json_key(FILE *out, const umbel_slice *key)
{
    const uint8_t *bytes = key->data;

    if (is_utf8(key)) {
        fputs("\"key\": ", out);
        um_print_json_string(out, key->data, key->len);
        return;
    }
    fputs("\"key_hex\": \"", out);
    for (size_t i = 0; i < key->len; i++)
        fprintf(out, "%02x", bytes[i]);
    putc('"', out);
}
