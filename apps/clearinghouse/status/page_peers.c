/*
 * status_page_peers.c - peers and origins on the page.
 */
#include "clearinghouse/status/table.h"

#include "draw/text.h"

/* A line below the first of a cell. */
static void write_small(FILE *out, const char *before, const char *text)
{
    fprintf(out, "<small>%s", before);
    um_write_escaped(out, text);
    fputs("</small>", out);
}

static void write_who(FILE *out, const um_origin *o)
{
    char key[20];

    snprintf(key, sizeof key, "%.12s", o->key);
    um_page_begin_cell(out);
    um_write_escaped(out, o->name ? o->name : o->own ? "this server" : key);
    if (o->name || o->own)
        write_small(out, "", key);
    if (o->address)
        write_small(out, "", o->address);
    if (o->error[0])
        write_small(out, "", o->error);
    fputs("</td>", out);
}

static void write_state(FILE *out, const um_status *s, const um_origin *o)
{
    um_page_begin_cell(out);
    um_write_escaped(out, o->state);
    if (o->since)
        write_small(
            out, "for ",
            um_format_about(s->now > o->since ? s->now - o->since : 0).text);
    if (o->held)
        write_small(out, "", "held at its capacity");
    fputs("</td>", out);
}

/* Only a peer has a link. */
static void write_of_link(FILE *out, const um_origin *o, um_formatted words)
{
    um_page_append_cell(out, o->name ? words.text : "-");
}

static void write_refused(FILE *out, const um_origin *o)
{
    if (!o->name) {
        um_page_append_cell(out, "-");
        return;
    }
    um_page_begin_cell(out);
    fputs(um_format_count(um_origin_refusals(o)).text, out);
    for (unsigned i = 0; i < UMBEL_SYNC_REASONS; i++)
        if (o->refused[i])
            write_small(out, "", umbel_sync_reason_name((umbel_sync_reason)i));
    fputs("</td>", out);
}

static void write_origin(FILE *out, const um_status *s, const um_origin *o)
{
    um_page_begin_row(out);
    write_who(out, o);
    write_state(out, s, o);
    um_page_begin_cell(out);
    fputs(um_format_count(o->digests).text, out);
    write_small(out, "version ", um_format_count(o->version).text);
    fputs("</td>", out);
    um_page_append_cell(out, um_format_unit(UM_UNIT_SHARE, o->fill).text);
    write_of_link(out, o, um_format_unit(UM_UNIT_SECONDS, o->lag));
    write_of_link(out, o, um_format_bytes(o->bytes_in));
    write_of_link(out, o, um_format_bytes(o->bytes_out));
    write_refused(out, o);
    um_page_end_row(out);
}

void um_page_append_peers(FILE *out, const um_status *s)
{
    static const char *const heads[] = {"peer", "state",   "digests",
                                        "full", "lag",     "in",
                                        "out",  "refused", NULL};

    if (!s->peers)
        return;
    fputs("<section aria-labelledby=\"peers-title\">\n"
          "<h2 id=\"peers-title\">Peers</h2>\n",
          out);
    um_page_begin_table(out, "peers", heads);
    for (size_t i = 0; i < s->peers->n; i++)
        write_origin(out, s, &s->peers->item[i]);
    um_page_end_table(out);
    fputs("<p class=\"soft note\">Lag: the age of the oldest report that the "
          "peer lacks. Two servers whose lists have the same agreement word "
          "give the same answers.</p>\n</section>\n",
          out);
}
