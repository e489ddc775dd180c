/*
 * csv.c - figures and tables as comma-separated values.
 */
#include "draw/csv.h"

#include "draw/text.h"

static void write_point(FILE *out, const char *series, const um_point *p)
{
    const double number[] = {p->x, p->y, p->error};

    um_write_csv(out, series);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        putc(',', out);
        um_write_csv_number(out, number[i]);
    }
    putc('\n', out);
}

void um_csv_figure(FILE *out, const um_figure *f)
{
    fputs("curve,", out);
    um_write_csv(out, f->x);
    putc(',', out);
    um_write_csv(out, f->y);
    fputs(",standard error\n", out);
    for (size_t i = 0; i < f->n; i++)
        for (size_t j = 0; j < f->series[i].n; j++)
            write_point(out, f->series[i].name, &f->series[i].point[j]);
}

void um_csv_sheet(FILE *out, const um_sheet *s)
{
    for (size_t i = 0; s->columns && i < s->n; i++) {
        um_write_csv(out, s->cell[i].text);
        putc((i + 1) % s->columns ? ',' : '\n', out);
    }
}
