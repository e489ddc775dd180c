/*
 * text.h - text and numbers that can stand in SVG, HTML and CSV.
 */
#ifndef UM_DRAW_TEXT_H
#define UM_DRAW_TEXT_H

#include <stdio.h>

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

#endif
