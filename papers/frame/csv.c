/*
 * csv.c - results as comma-separated values, and numbers as text.
 */
#include "papers/frame/publish.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void um_put_csv(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

um_shown um_show(double x)
{
    um_shown s = {""};

    if (isnan(x))
        return s;
    /* Whole numbers as such, others with five digits. */
    bool whole = x == floor(x) && fabs(x) < 1e7;
    snprintf(s.text, sizeof s.text, whole ? "%.0f" : "%.5g", x);
    return s;
}

um_shown um_show_bar(const um_check *c)
{
    um_shown s = {""};
    um_shown low = um_show(c->low), high = um_show(c->high);

    if (isinf(c->low) && isinf(c->high))
        return s;
    if (isinf(c->high))
        snprintf(s.text, sizeof s.text, "at least %.30s", low.text);
    else if (isinf(c->low))
        snprintf(s.text, sizeof s.text, "at most %.30s", high.text);
    else
        snprintf(s.text, sizeof s.text, "%.20s to %.20s", low.text, high.text);
    return s;
}

static void put_number(FILE *out, double x)
{
    if (isfinite(x))
        fprintf(out, "%.9g", x);
}

/* A line a point: curves need not share their x. */
void um_csv_figure(FILE *out, const um_figure *f)
{
    fputs("curve,", out);
    um_put_csv(out, f->x);
    putc(',', out);
    um_put_csv(out, f->y);
    fputs(",standard error\n", out);
    for (size_t i = 0; i < f->n; i++)
        for (size_t j = 0; j < f->curve[i].n; j++) {
            const um_point *p = &f->curve[i].point[j];
            um_put_csv(out, f->curve[i].name);
            putc(',', out);
            put_number(out, p->x);
            putc(',', out);
            put_number(out, p->y);
            putc(',', out);
            put_number(out, p->error);
            putc('\n', out);
        }
}

void um_csv_sheet(FILE *out, const um_sheet *s)
{
    for (size_t i = 0; s->columns && i < s->n; i++) {
        um_put_csv(out, s->cell[i].text);
        putc((i + 1) % s->columns ? ',' : '\n', out);
    }
}

void um_csv_checks(FILE *out, const um_record *r)
{
    fputs("item,paper,ours,standard error,low,high,pass,fitted,note\n", out);
    for (size_t i = 0; i < r->nchecks; i++) {
        const um_check *c = &r->check[i];
        const double number[] = {c->paper, c->ours, c->error, c->low, c->high};
        um_put_csv(out, c->item);
        for (size_t j = 0; j < sizeof number / sizeof *number; j++) {
            putc(',', out);
            put_number(out, number[j]);
        }
        fprintf(out, ",%s,%s,", c->pass ? "yes" : "no",
                c->fitted ? "yes" : "no");
        um_put_csv(out, c->note);
        putc('\n', out);
    }
}

void um_put_command(FILE *out, const um_study *s)
{
    fprintf(out,
            "umbel reproduce %s --rounds %" PRIu64 " --seed %" PRIu64 "%s%s",
            s->paper->name, s->rounds, s->seed, s->timed ? " --timed" : "",
            s->fresh ? " --fresh" : "");
}
