/*
 * expected.c - parses rows of expected.csv, and computes their intervals.
 */
#include "papers/frame/expected.h"

#include "base/error.h"
#include "papers/frame/numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 10 };

const char *um_expected_text(const char *name)
{
    for (const um_expected_file *f = um_expected_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f->text;
    return NULL;
}

void um_expected_verdict(const char *name, char out[UM_TEXT_LEN])
{
    static const char head[] = "# verdict: ";
    const char *text = um_expected_text(name);
    const char *at = text ? strstr(text, head) : NULL;

    *out = '\0';
    if (at) {
        at += sizeof head - 1;
        snprintf(out, UM_TEXT_LEN, "%.*s", (int)strcspn(at, "\n"), at);
    }
}

/* Parses a field, quoted or not; returns the text after it. */
static const char *parse_field(const char *p, char out[UM_NOTE_LEN])
{
    size_t len = 0;
    bool quoted = *p == '"';

    for (p += quoted; *p && *p != '\n' && (quoted || *p != ','); p++) {
        if (quoted && *p == '"') {
            if (p[1] != '"') {
                p++;
                break;
            }
            p++;
        }
        if (len + 1 < UM_NOTE_LEN)
            out[len++] = *p;
    }
    out[len] = '\0';
    return p;
}

/* Converts a field; NAN if it is empty. Returns false if it is neither empty
 * nor a number. */
static bool to_number(const char *text, double *out)
{
    char *end;

    *out = NAN;
    if (!*text)
        return true;
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out);
}

double um_half_unit(const char *printed)
{
    size_t whole = strspn(printed, "+-0123456789");
    const char *p = printed + whole;
    double decimals = 0, exponent = 0;

    if (*p == '.') {
        decimals = (double)strspn(++p, "0123456789");
        p += (size_t)decimals;
    }
    if (*p == 'e' || *p == 'E')
        exponent = strtod(p + 1, NULL);
    return 0.5 * pow(10, exponent - decimals);
}

/* Sets the slack to the paper's rounding, for a mean that it prints with its
 * standard deviation. */
static void add_rounding(const char *printed, um_expected *e)
{
    if (isnan(e->slack) && isnan(e->reference) && !isnan(e->paper) &&
        !isnan(e->sd) && !isnan(e->rounds))
        e->slack = um_half_unit(printed);
}

/* Sets a flag for each word of the mark; returns false for an unknown word. */
static bool to_marks(const char *mark, um_expected *out)
{
    const struct {
        const char *word;
        bool *flag;
    } marks[] = {{"fitted", &out->fitted},   {"timed", &out->timed},
                 {"spread", &out->spread},   {"shown", &out->shown},
                 {"errata", &out->errata},   {"share", &out->share},
                 {"percent", &out->percent}, {"ratio", &out->ratio},
                 {"signed", &out->is_signed}};

    while (*mark) {
        size_t len = strcspn(mark, " "), i = 0;
        while (i < UM_COUNT(marks) && (strlen(marks[i].word) != len ||
                                       strncmp(marks[i].word, mark, len) != 0))
            i++;
        if (i == UM_COUNT(marks))
            return false;
        *marks[i].flag = true;
        mark += len + (mark[len] == ' ');
    }
    return true;
}

static bool to_row(char field[FIELDS][UM_NOTE_LEN], um_expected *out)
{
    double *number[] = {&out->paper, &out->reference, &out->sd,  &out->rounds,
                        &out->slack, &out->low,       &out->high};
    bool fine = true;

    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        fine &= to_number(field[1 + i], number[i]);
    fine &= to_marks(field[8], out);
    add_rounding(field[1], out);
    out->sd_slack = um_half_unit(field[3]);
    snprintf(out->item, sizeof out->item, "%.*s", UM_TEXT_LEN - 1, field[0]);
    memcpy(out->note, field[9], sizeof out->note);
    return fine;
}

static const char *next_line(const char *p)
{
    p += strcspn(p, "\n");
    return *p ? p + 1 : p;
}

/* Returns false for comments, empty lines and the header line. */
static bool is_row(const char *line)
{
    return *line != '#' && *line != '\n' && strncmp(line, "item,", 5) != 0;
}

bool um_expected_next(const char **text, um_expected *out)
{
    char field[FIELDS][UM_NOTE_LEN];
    const char *p = *text;

    while (*p && !is_row(p))
        p = next_line(p);
    if (!*p)
        return false;
    memset(field, 0, sizeof field);
    *text = next_line(p);
    const char *line = p;
    size_t n = 0;
    for (; n < FIELDS; n++) {
        p = parse_field(p, field[n]);
        if (*p != ',')
            break;
        p++;
    }
    memset(out, 0, sizeof *out);
    bool whole = n == FIELDS - 1 && (*p == '\n' || !*p);
    if (!to_row(field, out) || !whole) {
        out->paper = out->reference = out->low = out->high = NAN;
        snprintf(out->item, sizeof out->item, "line %.*s",
                 (int)strcspn(line, "\n"), line);
    }
    return true;
}

bool um_expected_find(const char *text, const char *item, um_expected *out)
{
    while (text && um_expected_next(&text, out))
        if (strcmp(out->item, item) == 0)
            return true;
    return false;
}

/* Returns the standard error of the difference between the reference and
 * ours. */
static double joint_error(const um_expected *e, double error, double rounds)
{
    double reference =
        isnan(e->sd) || !(e->rounds > 0) ? 0 : e->sd / sqrt(e->rounds);
    double ours = isnan(e->sd) ? error : e->sd / sqrt(rounds);

    return hypot(reference, isnan(ours) ? 0 : ours);
}

double um_expected_centre(const um_expected *e)
{
    return isnan(e->reference) ? e->paper : e->reference;
}

void um_expected_bar(const um_expected *e, double error, double rounds,
                     double other, double *low, double *high)
{
    double around = um_expected_centre(e);
    double width = isnan(e->slack) ? 0 : e->slack;

    if (!isnan(e->low) || !isnan(e->high)) {
        *low = isnan(e->low) ? -INFINITY : e->low;
        *high = isnan(e->high) ? INFINITY : e->high;
        return;
    }
    double chance = UM_Z_LIMIT * hypot(joint_error(e, error, rounds), other);
    *low = around - width - chance;
    *high = around + width + chance;
    if (chance == 0) /* an interval of rounding ends where values end */
        um_expected_clip(e, low, high);
}

void um_expected_clip(const um_expected *e, double *low, double *high)
{
    if (!e->is_signed)
        *low = fmax(*low, 0);
    if (e->share || e->percent)
        *high = fmin(*high, e->share ? 1 : 100);
}
