/*
 * status_figures.h - figures of the server and of its lists: a row each, with
 * its name in JSON, in metrics, and for people.
 */
#ifndef UM_CLEARINGHOUSE_STATUS_FIGURES_H
#define UM_CLEARINGHOUSE_STATUS_FIGURES_H

#include "clearinghouse/runtime/format.h"
#include "clearinghouse/status/status.h"

/* A value: text, or a number in the unit of its row. */
typedef struct um_figure_value {
    const char *text; /* NULL if the unit is UM_UNIT_TEXT: none */
    double number;
} um_figure_value;

/* How a figure is shown. A table of them ends with a NULL name. */
typedef struct um_figure_row {
    const char *name;  /* in JSON; unique in its section */
    const char *label; /* for people; NULL: not shown */
    um_unit unit;
    const char *metric, *type, *help; /* metric NULL: not among the metrics */
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

um_formatted um_figure_words(const um_figure_row *r, um_figure_value v);
/* A JSON value. */
void um_figure_print_json(FILE *out, const um_figure_row *r, um_figure_value v);

#endif
