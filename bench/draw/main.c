/*
 * main.c - bench_draw FOLDER ID TITLE X Y: draws a script's measurements.
 *
 * Reads one line per point, "SERIES <tab> x <tab> y", and writes ID.svg and
 * ID.csv. Points of a series need not be adjacent.
 */
#include "base/error.h"
#include "draw/document.h"
#include "draw/folder.h"
#include "draw/svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static um_series *series_of(um_figure *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->series[i].name, name) == 0)
            return &f->series[i];
    return um_figure_series(f, name);
}

static umbel_status read_points(FILE *in, um_figure *f, umbel_error *err)
{
    char line[512], name[UM_TEXT_LEN];
    double x, y;

    for (size_t n = 1; fgets(line, sizeof line, in); n++) {
        if (sscanf(line, "%95[^\t]\t%lf\t%lf", name, &x, &y) != 3)
            return um_fail(err, UMBEL_E_FORMAT,
                           "line %zu is not SERIES <tab> x <tab> y", n);
        um_series_point(series_of(f, name), x, y, 0);
    }
    if (um_figure_bad(f))
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the points");
    return UMBEL_OK;
}

static void write_svg(FILE *out, const void *figure)
{
    um_svg_figure(out, figure);
}

static void write_csv(FILE *out, const void *figure)
{
    um_csv_figure(out, figure);
}

static umbel_status write_figure(const char *dir, const um_figure *f,
                                 umbel_error *err)
{
    char name[UM_TEXT_LEN + 8];

    UM_TRY(um_folder_begin(dir, "umbel bench", err));
    snprintf(name, sizeof name, "%s.svg", f->id);
    UM_TRY(um_folder_write(dir, name, &(um_folder_page){f, write_svg}, err));
    snprintf(name, sizeof name, "%s.csv", f->id);
    return um_folder_write(dir, name, &(um_folder_page){f, write_csv}, err);
}

int main(int argc, char **argv)
{
    um_figure f;
    umbel_error err;

    if (argc != 6) {
        fputs("usage: bench_draw FOLDER ID TITLE X Y < POINTS\n", stderr);
        return 2;
    }
    um_figure_init(&f, argv[2], argv[3], argv[4], argv[5]);
    umbel_status status = read_points(stdin, &f, &err);
    if (status == UMBEL_OK)
        status = write_figure(argv[1], &f, &err);
    um_figure_fini(&f);
    if (status != UMBEL_OK)
        fprintf(stderr, "bench_draw: %s\n", err.text);
    return status == UMBEL_OK ? 0 : 2;
}
