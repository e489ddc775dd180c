/*
 * status_table.h - tables of the page, for status_page.c and
 * status_page_peers.c.
 */
#ifndef UM_CLEARINGHOUSE_STATUS_TABLE_H
#define UM_CLEARINGHOUSE_STATUS_TABLE_H

#include "clearinghouse/status/status.h"

/* heads: up to NULL. */
void um_page_begin_table(FILE *out, const char *class,
                         const char *const *heads);
void um_page_end_table(FILE *out);
void um_page_begin_row(FILE *out);
void um_page_end_row(FILE *out);
/* A cell is closed by </td>. */
void um_page_begin_cell(FILE *out);
/* A whole cell; text is escaped. */
void um_page_append_cell(FILE *out, const char *text);

/* The section of peers; nothing without them. */
void um_page_append_peers(FILE *out, const um_status *s);

#endif
