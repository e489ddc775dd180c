/*
 * report.c - fields as JSON and as lines.
 */
#include "cli/report.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void print_character(FILE *out, const uint8_t *s, size_t len)
{
    if (len == 0)
        fputs("\\ufffd", out); /* not UTF-8: JSON has no word for it */
    else if (len == 1 && (*s == '"' || *s == '\\'))
        fprintf(out, "\\%c", *s);
    else if (len == 1 && (*s < ' ' || *s == 127))
        fprintf(out, "\\u%04x", *s);
    else
        fwrite(s, 1, len, out);
}

static void print_string(FILE *out, const void *text, size_t len)
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

    if (!isfinite(x)) {
        fputs("null", out);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        double back;
        if (sscanf(text, "%lf", &back) == 1 && back == x)
            break;
    }
    fputs(text, out);
}

static void print_json_value(FILE *out, const umbel_field *f)
{
    switch (f->type) {
    case UMBEL_FIELD_TEXT:
        print_string(out, f->value.text, strlen(f->value.text));
        break;
    case UMBEL_FIELD_COUNT:
        fprintf(out, "%" PRIu64, f->value.count);
        break;
    case UMBEL_FIELD_REAL:
        print_real(out, f->value.real);
        break;
    case UMBEL_FIELD_HEX:
        fprintf(out, "\"%016" PRIx64 "\"", f->value.count);
        break;
    case UMBEL_FIELD_FLAG:
        fputs(f->value.count ? "true" : "false", out);
        break;
    }
}

static void print_json_fields(FILE *out, const umbel_info *info)
{
    for (size_t i = 0; i < info->n; i++) {
        fprintf(out, "%s\"%s\": ", i ? ", " : "{", info->field[i].name);
        print_json_value(out, &info->field[i]);
    }
}

void um_print_json(FILE *out, const umbel_info *info)
{
    print_json_fields(out, info);
    fputs("}\n", out);
}

void um_print_json_list(FILE *out, const umbel_info *info, const char *name,
                        const char *const *texts, size_t n)
{
    print_json_fields(out, info);
    fprintf(out, ", \"%s\": [", name);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", out);
        print_string(out, texts[i], strlen(texts[i]));
    }
    fputs("]}\n", out);
}

static void print_text_value(FILE *out, const umbel_field *f)
{
    switch (f->type) {
    case UMBEL_FIELD_TEXT:
        fputs(f->value.text, out);
        break;
    case UMBEL_FIELD_COUNT:
        fputs(um_grouped(f->value.count).text, out);
        break;
    case UMBEL_FIELD_REAL:
        if (isfinite(f->value.real))
            fprintf(out, "%.4g", f->value.real);
        else
            fputs("not known", out);
        break;
    case UMBEL_FIELD_HEX:
        fprintf(out, "%016" PRIx64, f->value.count);
        break;
    case UMBEL_FIELD_FLAG:
        fputs(f->value.count ? "yes" : "no", out);
        break;
    }
}

void um_print_fields(FILE *out, const umbel_info *info)
{
    for (size_t i = 0; i < info->n; i++) {
        char label[40];
        snprintf(label, sizeof label, "%s", info->field[i].name);
        for (char *p = label; *p; p++)
            if (*p == '_')
                *p = ' ';
        fprintf(out, "%-18s ", label);
        print_text_value(out, &info->field[i]);
        putc('\n', out);
    }
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
        print_string(out, key->data, key->len);
        return;
    }
    fputs("\"key_hex\": \"", out);
    for (size_t i = 0; i < key->len; i++)
        fprintf(out, "%02x", bytes[i]);
    putc('"', out);
}

um_text um_percent(double share)
{
    um_text t = {{0}};
    snprintf(t.text, sizeof t.text, "%.3g %%", share * 100);
    return t;
}

um_text um_grouped(uint64_t n)
{
    char digits[24];
    um_text t = {{0}};
    char *out = t.text;
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n);

    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return t;
}

um_text um_counted(uint64_t n, const char *one, const char *many)
{
    um_text t = um_grouped(n);
    size_t len = strlen(t.text);

    snprintf(t.text + len, sizeof t.text - len, " %s", n == 1 ? one : many);
    return t;
}

/* A path as it may be shown. */
typedef struct shown {
    char text[4096];
} shown;

static shown disarmed(const char *path)
{
    shown s;

    snprintf(s.text, sizeof s.text, "%s", path);
    um_disarm(s.text);
    return s;
}

void um_print_path(FILE *out, const char *path)
{
    bool standard = strcmp(path, "-") == 0;
    fprintf(out, "%s: ", standard ? "standard output" : disarmed(path).text);
}

void um_print_quoted(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:=,-";

    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, out);
        return;
    }
    shown s = disarmed(word);
    putc('\'', out);
    for (const char *p = s.text; *p; p++)
        if (*p == '\'')
            fputs("'\\''", out);
        else
            putc(*p, out);
    putc('\'', out);
}

void um_print_given(FILE *out, const um_args *args, const um_option *group)
{
    for (; group->name; group++) {
        if (!um_has(args, group->name))
            continue;
        fprintf(out, " --%s", group->name);
        if (group->arg) {
            putc(' ', out);
            um_print_quoted(out, um_value(args, group->name));
        }
    }
}

void um_print_values(FILE *out, const um_args *args, const char *option,
                     const char *before)
{
    const char *value;

    for (size_t i = 0; (value = um_value_at(args, option, i)); i++) {
        fprintf(out, " %s", before);
        um_print_quoted(out, value);
    }
}

void um_tell_overfull(FILE *out, const umbel_filter *f)
{
    double asked = umbel_target_fpr(f);

    if (umbel_predict(f) > 1.2 * asked)
        fprintf(out, "that is more than the %s asked for: build a larger one\n",
                um_percent(asked).text);
}

void um_tell_uncounted(FILE *out, const umbel_filter *f)
{
    umbel_info info;

    umbel_describe(f, &info);
    for (size_t i = 0; i < info.n; i++)
        if (strcmp(info.field[i].name, "not_counted") == 0 &&
            info.field[i].value.count)
            fprintf(out,
                    "its table of frequent keys is full, %s not counted: "
                    "counts end at %s; build it with more --set heavy=N\n",
                    um_grouped(info.field[i].value.count).text,
                    um_grouped(umbel_count_limit(f)).text);
}

void um_tell_retouched(FILE *out, const umbel_filter *f, const char *what)
{
    uint64_t denied = umbel_denied(f);

    if (denied)
        fprintf(out, "retouched: it denies up to %s of its members; %s\n",
                um_grouped(denied).text, what);
}

void um_tell_rounding(FILE *out, uint64_t asked, uint64_t got)
{
    if (asked && asked != got)
        fprintf(out, "%s cells were asked for; rounded to %s, in whole parts\n",
                um_grouped(asked).text, um_grouped(got).text);
}

static void whole_or_real(umbel_info *out, const char *name, double x,
                          bool whole)
{
    if (whole && isfinite(x) && x < 1e18)
        um_info_count(out, name, (uint64_t)x);
    else
        um_info_real(out, name, x);
}

void um_info_interval(umbel_info *out, const char *names[3],
                      const umbel_interval *i, bool whole)
{
    whole_or_real(out, names[0], whole ? round(i->value) : i->value, whole);
    whole_or_real(out, names[1], whole ? floor(i->low) : i->low, whole);
    whole_or_real(out, names[2], whole ? ceil(i->high) : i->high, whole);
}
