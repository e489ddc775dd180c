/*
 * document.h - the parts of an HTML page, figures and tables as CSV, and
 * escaped text and numbers for them and for SVG.
 */
#ifndef UM_DRAW_DOCUMENT_H
#define UM_DRAW_DOCUMENT_H

#include "draw/figure.h"

#include <stdio.h>

/* --- text and numbers ----------------------------------------------------- */

/* Writes text for an element or a quoted attribute of SVG or HTML. Control
 * characters that XML forbids are left out. */
void um_write_escaped(FILE *out, const char *text);

/* Writes a field of CSV, in quotes if it needs them. */
void um_write_csv(FILE *out, const char *text);

/* Writes a number for CSV with nine digits; nothing if it is not finite. */
void um_write_csv_number(FILE *out, double x);

typedef struct um_shown {
    char text[48];
} um_shown;

/* Returns a number as people read it: whole numbers in full, others with five
 * digits, "" for a NaN. */
um_shown um_show(double x);

/* --- pages ---------------------------------------------------------------- */

/* Writes the head of a self-contained page, light or dark as the reader
 * prefers. generator names the program, so that its pages can be recognised. */
void um_html_begin(FILE *out, const char *generator, const char *heading);
void um_html_end(FILE *out);

/* Writes text in a tag: "p", "h3". attributes: "", or " class=\"pass\"". */
void um_html_text(FILE *out, const char *tag, const char *attributes,
                  const char *text);
/* Writes a table under its title; nothing if it has no columns. */
void um_html_sheet(FILE *out, const um_sheet *s);
/* Writes the image stem.svg, described by text, with a link to stem.csv. */
void um_html_image(FILE *out, const char *stem, const char *text);

/* --- comma-separated values ----------------------------------------------- */

/* Writes a line for each point, because series need not share their x. */
void um_csv_figure(FILE *out, const um_figure *f);
void um_csv_sheet(FILE *out, const um_sheet *s);

#endif
