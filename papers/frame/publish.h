/*
 * publish.h - results as files: CSV, SVG and one page that shows them all.
 */
#ifndef UM_PAPERS_PUBLISH_H
#define UM_PAPERS_PUBLISH_H

#include "papers/frame/paper.h"

#include <stdio.h>

/* Text between tags or in an attribute, in HTML or SVG. */
void um_put_escaped(FILE *out, const char *text);
/* A field of CSV, quoted where it must be. */
void um_put_csv(FILE *out, const char *text);

/* A number as people read it; "" for a NAN. */
typedef struct um_shown {
    char text[48];
} um_shown;
um_shown um_show(double x);
/* The bar of a check: "2.48 to 2.72", "at least 3.14", "at most 0.02". */
um_shown um_show_bar(const um_check *c);

/* A chart: axes, curves with error bars, legend. Light and dark. */
void um_svg_figure(FILE *out, const um_figure *f);
/* Each check as a dot in its bar: what is off is off at a glance. */
void um_svg_checks(FILE *out, const um_record *r);

void um_csv_figure(FILE *out, const um_figure *f);
void um_csv_sheet(FILE *out, const um_sheet *s);
void um_csv_checks(FILE *out, const um_record *r);

/* The page, in three steps; its studies' files lie beside it. */
void um_html_begin(FILE *out);
void um_html_study(FILE *out, const um_study *s);
void um_html_end(FILE *out);

/* "umbel reproduce NAME --rounds N --seed S": this again. */
void um_put_command(FILE *out, const um_study *s);

/*
 * A directory to publish in: made when it is not there. Refused when it is no
 * directory, cannot be written to, or has an index.html that we did not write.
 */
umbel_status um_publish_begin(const char *dir, umbel_error *err);
/* The files of one study; then the page of all. Files that are there are
 * replaced. */
umbel_status um_publish_study(const char *dir, const um_study *s,
                              umbel_error *err);
umbel_status um_publish_page(const char *dir, const um_study *s, size_t n,
                             umbel_error *err);

#endif
