/*
 * status_page_peers.c - peers and origins on the page.
 */
#include "clearinghouse/status/table.h"

#include "draw/text.h"

/* A line below the first of a cell. */
static void put_small(FILE *out, const char *before, const char *text)
{
    fprintf(out, "<small>%s", before);
    um_put_escaped(out, text);
    fputs("</small>", out);
}

static void put_who(FILE *out, const um_origin *o)
{
    char key[20];

    snprintf(key, sizeof key, "%.12s", o->key);
    um_page_begin_cell(out);
    um_put_escaped(out, o->name ? o->name : o->own ? "this server" : key);
    if (o->name || o->own)
        put_small(out, "", key);
    if (o->address)
        put_small(out, "", o->address);
    if (o->error[0])
        put_small(out, "", o->error);
    fputs("</td>", out);
}

static void put_state(FILE *out, const um_status *s, const um_origin *o)
{
    um_page_begin_cell(out);
    um_put_escaped(out, o->state);
    if (o->since)
        put_small(
            out, "for ",
            um_words_about(s->now > o->since ? s->now - o->since : 0).text);
    if (o->held)
        put_small(out, "", "held at its capacity");
    fputs("</td>", out);
}

/* Only a peer has a link. */
static void put_of_link(FILE *out, const um_origin *o, um_words words)
{
    um_page_put_cell(out, o->name ? words.text : "-");
}

static void put_refused(FILE *out, const um_origin *o)
{
    if (!o->name) {
        um_page_put_cell(out, "-");
        return;
    }
    um_page_begin_cell(out);
    fputs(um_words_count(um_origin_refusals(o)).text, out);
    for (unsigned i = 0; i < UMBEL_SYNC_REASONS; i++)
        if (o->refused[i])
            put_small(out, "", umbel_sync_reason_name((umbel_sync_reason)i));
    fputs("</td>", out);
}

static void put_origin(FILE *out, const um_status *s, const um_origin *o)
{
    um_page_begin_row(out);
    put_who(out, o);
    put_state(out, s, o);
    um_page_begin_cell(out);
    fputs(um_words_count(o->digests).text, out);
    put_small(out, "version ", um_words_count(o->version).text);
    fputs("</td>", out);
    um_page_put_cell(out, um_words_unit(UM_UNIT_SHARE, o->fill).text);
    put_of_link(out, o, um_words_unit(UM_UNIT_SECONDS, o->lag));
    put_of_link(out, o, um_words_bytes(o->bytes_in));
    put_of_link(out, o, um_words_bytes(o->bytes_out));
    put_refused(out, o);
    um_page_end_row(out);
}

void um_page_put_peers(FILE *out, const um_status *s)
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
        put_origin(out, s, &s->peers->item[i]);
    um_page_end_table(out);
    fputs("<p class=\"soft note\">Lag: the age of the oldest report that the "
          "peer lacks. Two servers whose lists have the same agreement word "
          "give the same answers.</p>\n</section>\n",
          out);
}
