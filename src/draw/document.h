/*
 * html.h - the parts of a page: its head, tables, images.
 */
#ifndef UM_DRAW_HTML_H
#define UM_DRAW_HTML_H

#include "draw/figure.h"

#include <stdio.h>

/* Writes the head of a page that is one file, light or dark as the reader
 * prefers. generator names the program, for those who look for its pages. */
void um_html_begin(FILE *out, const char *generator, const char *heading);
void um_html_end(FILE *out);

/* Writes text in a tag: "p", "h3". attributes: "", or " class=\"pass\"". */
void um_html_text(FILE *out, const char *tag, const char *attributes,
                  const char *text);
/* Writes a table under its title; nothing if it has no columns. */
void um_html_sheet(FILE *out, const um_sheet *s);
/* Writes the image stem.svg, described by text, with a link to stem.csv. */
void um_html_image(FILE *out, const char *stem, const char *text);

#endif
