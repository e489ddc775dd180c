/*
 * svg.h - figures as SVG, elements for other pictures, and a filter as a
 * picture (filter_picture.c).
 */
#ifndef UM_DRAW_SVG_H
#define UM_DRAW_SVG_H

#include "draw/figure.h"

#include <umbel/filter.h>

#include <stdio.h>

enum { UM_SVG_WIDTH = 760 };

/* Writes a chart: axes, series with error bars, a legend. Light or dark, as the
 * reader prefers. */
void um_svg_figure(FILE *out, const um_figure *f);
/* Returns the height of its picture; the width is UM_SVG_WIDTH. */
int um_svg_figure_height(const um_figure *f);

/* Begins a picture with our style sheet; its classes are in svg.c. */
void um_svg_begin(FILE *out, int width, int height, const char *title);
void um_svg_end(FILE *out);
void um_svg_text(FILE *out, double x, double y, const char *attributes,
                 const char *text);
/* Returns the estimated width of the text, slightly more than in most fonts. */
double um_svg_text_width(const char *text);
/* Writes text whose letters are about `letter` wide, compressed if it is wider
 * than room. */
void um_svg_fitted_text(FILE *out, double x, double y, const char *attributes,
                        const char *text, double letter, double room);
void um_svg_line(FILE *out, const char *class, double x1, double y1, double x2,
                 double y2);

/* Stacked bars for an HTML page. */
typedef struct um_svg_bars {
    size_t slots;             /* width of the picture, in bars */
    size_t n;                 /* number of bars, in the last of these slots */
    size_t parts;             /* parts per bar */
    const char *const *class; /* of each part, from the bottom up */
    const double *value;      /* parts of the first bar, of the second, ... */
    double top;               /* the value at the upper edge */
} um_svg_bars;

/* Writes the bars as an HTML element that the page scales and colours, with the
 * classes of the parts, "grid", and "before" for slots without a bar. A value
 * above 0 is always visible. */
void um_svg_bars_print(FILE *out, const um_svg_bars *b, const char *label);

/* Writes a share from 0 to 1 as a level in a track. */
void um_svg_level(FILE *out, double share);

/* --- a filter: how full it is, its error, how many keys it still takes ---- */

enum { UM_PICTURE_FIGURES = 2 };

typedef struct um_filter_picture {
    double keys;     /* in it */
    double capacity; /* keys at which the error reaches fpr, or as planned;
                        NAN: it takes no further keys */
    double error, fpr;
    size_t n; /* number of figures */
    um_figure figure[UM_PICTURE_FIGURES];
} um_filter_picture;

/*
 * Reads every cell and computes the figures. If the cells of its keys are
 * random: error against keys, and how many cells of its blocks are in use,
 * beside what chance gives. Otherwise: its error and size beside those of a
 * Bloom filter and the limit. E_UNSUPPORTED when its error is not known.
 */
umbel_status um_filter_picture_init(um_filter_picture *p, const umbel_filter *f,
                                    umbel_error *err);
void um_filter_picture_fini(um_filter_picture *p);

/* Writes one picture: the title, a line below it, and the figures. */
void um_filter_picture_svg(FILE *out, const um_filter_picture *p,
                           const char *title, const char *line);

#endif
