/*
 * internal.h - what the status documents share.
 *
 *     status.c          reads the state, and has the tables of figures: a new
 *                       figure is a row, and all documents show it
 *     problems.c        checks for problems, and gives advice
 *     documents.c       JSON, metrics, text
 *     page.c            the page; page/ has its template, style and script
 *     status_server.c   serves them
 */
#ifndef UM_CLEARINGHOUSE_STATUS_INTERNAL_H
#define UM_CLEARINGHOUSE_STATUS_INTERNAL_H

#include "clearinghouse/status/status.h"

/* --- figures: a row each, with its name in JSON, in metrics, and for people */

/* A value: text, or a number in the unit of its row. */
typedef struct um_figure_value {
    const char *text; /* NULL for an unknown text */
    double number;
} um_figure_value;

/* How a figure is shown. A table of them ends with a NULL name. */
typedef struct um_figure_row {
    const char *name;  /* in JSON; unique in its section */
    const char *label; /* for people; NULL if it is not shown */
    um_unit unit;
    const char *metric, *type, *help; /* metric is NULL if it is not one */
} um_figure_row;

/* A figure of the server, in a section of the documents. */
typedef struct um_server_figure {
    const char *section; /* NULL ends the table */
    um_figure_row row;
    um_figure_value (*value)(const um_status *s);
} um_server_figure;

/* A figure of every list. */
typedef struct um_list_figure {
    um_figure_row row;
    um_figure_value (*value)(const um_list_stats *l, uint64_t now);
} um_list_figure;

extern const um_server_figure um_server_figures[];
extern const um_list_figure um_list_figures[];

/* Returns true if row i is the first of its section. */
bool um_figure_begins_section(size_t i);

um_formatted um_figure_format(const um_figure_row *r, um_figure_value v);
/* Prints a JSON value. */
void um_figure_print_json(FILE *out, const um_figure_row *r, um_figure_value v);

/* --- the page ------------------------------------------------------------- */

/* Draws the last hour of a service: a bar per minute, with hits at the bottom,
 * then requests without a hit, then refused ones. */
void um_status_print_graph(FILE *out, const um_service_stats *f);

/* The files of page/, compiled in by cmake/embed.cmake. */
extern const char um_page_html[]; /* a template of page.c */
extern const char um_page_css[], um_page_js[], um_icon_svg[];

#endif
