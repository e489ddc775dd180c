/*
 * status_table.c - tables of the page.
 */
#include "clearinghouse/status/table.h"

#include "draw/text.h"

void um_page_begin_cell(FILE *out)
{
    fputs("<td role=\"cell\">", out);
}

void um_page_append_cell(FILE *out, const char *text)
{
    um_page_begin_cell(out);
    um_write_escaped(out, text);
    fputs("</td>", out);
}

/* Roles, because a table whose rows are grids is none for screen readers. */
void um_page_begin_table(FILE *out, const char *class, const char *const *heads)
{
    fprintf(out,
            "<table class=\"%s\" role=\"table\"><thead role=\"rowgroup\">"
            "<tr role=\"row\">",
            class);
    for (; *heads; heads++) {
        fputs("<th role=\"columnheader\" scope=\"col\">", out);
        um_write_escaped(out, *heads);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody role=\"rowgroup\">\n", out);
}

void um_page_begin_row(FILE *out)
{
    fputs("<tr role=\"row\">", out);
}

void um_page_end_row(FILE *out)
{
    fputs("</tr>\n", out);
}

void um_page_end_table(FILE *out)
{
    fputs("</tbody></table>\n", out);
}
