/*
 * csv.h - figures and tables as comma-separated values.
 */
#ifndef UM_DRAW_CSV_H
#define UM_DRAW_CSV_H

#include "draw/figure.h"

#include <stdio.h>

/* Writes a line for each point, because series need not share their x. */
void um_csv_figure(FILE *out, const um_figure *f);
void um_csv_sheet(FILE *out, const um_sheet *s);

#endif
