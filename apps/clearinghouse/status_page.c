/*
 * status_page.c - a page for people at /: plain HTML, no script, light or dark
 * as the reader's system is.
 */
#include "clearinghouse/status.h"

#include "clearinghouse/status_words.h"

#include <inttypes.h>

static const char style[] =
    ":root{color-scheme:light dark;--line:#8883;--soft:#666;--bar:#3a7bd5;"
    "--bad:#c0392b}\n"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;"
    "padding:0 1rem;background:#fdfdfc;color:#1c1c1a}\n"
    "@media(prefers-color-scheme:dark){:root{--soft:#a0a0a0;--bar:#6ea8fe;--"
    "bad:#ff7b6b}"
    "body{background:#16181b;color:#e6e6e3}}\n"
    "h1{font-size:1.4rem;margin:0}h2{font-size:1.05rem;margin:2rem 0 .4rem}\n"
    "p{margin:.3rem 0}.soft{color:var(--soft)}.bad{color:var(--bad)}\n"
    "table{border-collapse:collapse;width:100%;"
    "font-variant-numeric:tabular-nums}\n"
    "th,td{text-align:right;white-space:nowrap;padding:.3rem .6rem;"
    "border-bottom:1px solid var(--line)}\n"
    "th{font-weight:600;color:var(--soft);font-size:.85rem}\n"
    "th:first-child,td:first-child{text-align:left;padding-left:0}\n"
    ".scroll{overflow-x:auto}meter{width:6rem;height:.7rem;"
    "accent-color:var(--bar)}a{color:inherit}\n";

/* Only & and < matter in text; names and failures are ours. */
static void put_html(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else
            putc(*text, out);
}

static void put_state(FILE *out, const um_status *s)
{
    um_words uptime = um_words_duration(s->uptime);

    if (s->store.failed) {
        fputs("<p class=bad><strong>The disk cannot be written. Reports are "
              "refused, look-ups are answered.</strong> ",
              out);
        put_html(out, s->store.failed);
        fputs("</p>\n", out);
    }
    fprintf(out, "<p>Running for %s. umbel %s</p>\n", uptime.text,
            umbel_version());
}

static void put_fronts(FILE *out, const um_status *s)
{
    fputs("<h2>Fronts</h2>\n<div class=scroll><table><tr><th>front<th>requests"
          "<th>hits<th>refused</tr>\n",
          out);
    for (size_t i = 0; i < s->nfronts; i++)
        fprintf(out, "<tr><td>%s<td>%s<td>%s<td>%s</tr>\n",
                s->front[i]->front->name,
                um_words_count(um_front_requests(s->front[i])).text,
                um_words_count(s->front[i]->hits).text,
                um_words_count(um_front_refused(s->front[i])).text);
    fputs("</table></div>\n", out);
}

static void put_refusals(FILE *out, const um_front_stats *f)
{
    if (um_front_refused(f) == 0)
        return;
    fputs("<p class=soft>Refused: ", out);
    for (unsigned v = 0, n = 0; v < um_front_verdicts(f->front); v++)
        if (f->front->verdicts[v].reason && um_front_with_verdict(f, v))
            fprintf(out, "%s%s %s", n++ ? ", " : "",
                    f->front->verdicts[v].reason,
                    um_words_count(um_front_with_verdict(f, v)).text);
    fprintf(out, " (%s)</p>\n", f->front->name);
}

static void put_list(FILE *out, const um_list_stats *l, uint64_t now)
{
    uint64_t begin = l->n ? l->epoch[l->n - 1].begin : now;

    fprintf(out,
            "<tr><td>%s<td>%s<td><meter max=1 value=%.3f></meter> %.0f %%"
            "<td>%s<td>%s<td>%s<td>%s</tr>\n",
            l->name, um_words_count(l->digests).text, l->fill, 100 * l->fill,
            um_words_chance(l->error).text, um_words_chance(l->max_error).text,
            um_words_bytes(l->bytes).text,
            um_words_duration(now > begin ? now - begin : 0).text);
}

static void put_lists(FILE *out, const um_status *s)
{
    fputs("<h2>Lists</h2>\n<div class=scroll><table><tr><th>list<th>digests"
          "<th>newest epoch<th>error now<th>at most<th>memory<th>reaches back"
          "</tr>\n",
          out);
    for (size_t i = 0; i < s->nlists; i++)
        put_list(out, &s->list[i], s->now);
    fputs("</table></div>\n<p class=soft>Error: the chance that a digest "
          "nobody reported has a count.</p>\n",
          out);
}

static void put_store(FILE *out, const um_status *s)
{
    fprintf(out,
            "<h2>Store</h2>\n<div class=scroll><table><tr><th>durability"
            "<th>journal<th>snapshot<th>memory<th>limit</tr>\n"
            "<tr><td>%s<td>%s<td>%s<td>%s<td>%s</tr></table></div>\n",
            um_durability_name(s->store.durability),
            um_words_bytes(s->store.journal_bytes).text,
            um_words_bytes(s->store.snapshot_bytes).text,
            um_words_bytes(s->memory).text,
            um_words_bytes(s->memory_limit).text);
}

void um_status_print_page(FILE *out, const um_status *s)
{
    fprintf(out,
            "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
            "<meta name=viewport content=\"width=device-width\">\n"
            "<meta http-equiv=refresh content=10>\n"
            "<link rel=icon href=\"data:,\">\n"
            "<title>umbel-clearinghouse</title>\n<style>\n%s</style></head>\n"
            "<body><h1>umbel-clearinghouse</h1>\n",
            style);
    put_state(out, s);
    put_fronts(out, s);
    for (size_t i = 0; i < s->nfronts; i++)
        put_refusals(out, s->front[i]);
    put_lists(out, s);
    put_store(out, s);
    fputs("<p class=soft>For programs: <a href=/status.json>status.json</a>, "
          "<a href=/metrics>metrics</a>, <a href=/health>health</a>.</p>\n"
          "</body></html>\n",
          out);
}
