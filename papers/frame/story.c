/*
 * story.c - the front page of all reproductions: each paper on one screen, with
 * its claim, one of its figures, the verdict, and what to do with it today.
 *
 * The figure is that of a study of this run, with the axes of the paper. Values
 * that the paper prints are rings over our curves.
 */
#include "base/error.h"
#include "draw/document.h"
#include "draw/folder.h"
#include "draw/svg.h"
#include "papers/frame/publish.h"
#include "papers/frame/sources.h"

#include <math.h>
#include <string.h>

enum { MAX_PRINTED = 24 };

/* A value that the paper prints, over a curve of ours. */
typedef struct printed {
    const char *curve; /* NULL ends */
    double x, y;
} printed;

typedef struct story {
    const char *prefix; /* of the source */
    const char *id;     /* stem of its files */
    const char *claim, *today;
    const char *study, *figure; /* shown, if they are in this run */
    const char *caption;
    printed point[MAX_PRINTED + 1];
} story;

/* Commands are in backticks. */
static const story stories[] = {
    {"rbf-",
     "front-rbf",
     "Some false positives hurt more than others. Clearing chosen bits removes "
     "them and loses few members: a stop set for route tracing as a retouched "
     "filter of 60,000 bits works nearly as well as a list of four times the "
     "size.",
     "If you can rebuild the filter, list the keys that must not match with "
     "`umbel build --never`: no member is lost. If you cannot, `umbel retouch` "
     "loses about half as many members as Ratio Selection. For "
     "stop sets, `umbel stopset build --key hop+prefix --form exact` has no "
     "false stop on routes that it knows.",
     "rbf-case-study",
     "fig13",
     "Fig. 13 of 2006: rates of a retouched stop set of 60,000 bits against "
     "the share beta of false positives that are removed. Our routes are "
     "generated, because those of the paper are not public",
     {{"success", 0.1, 0.7015},
      {"success", 0.24, 0.642},
      {"success", 0.3, 0.7218},
      {"success", 1, 0.4575},
      {"stopping short", 0, 0.6842},
      {"stopping short", 0.1, 0.2355},
      {"stopping short", 0.3, 0.1168},
      {"stopping short", 1, 0},
      {"collision", 0, 0.0081},
      {"collision", 0.1, 0.1073},
      {"collision", 0.3, 0.1987},
      {"collision", 1, 0.5387}}},
    {"rbf-2010",
     "front-2010",
     "Algorithms that track, at each step, which false positives are gone and "
     "which members are lost remove false positives at a lower price: 10 to 20 "
     "% better on average.",
     "`umbel retouch --method ratio-tracked` is our reading of their best "
     "algorithm. The default of `umbel retouch` also restores members whose "
     "loss turned out to be unnecessary, and reaches a chi of 3.2 instead of "
     "2.6 when all false positives are removed.",
     "rbf-2010",
     "gains",
     "Gain in chi against the share beta of false positives that are removed. "
     "The pages that we have print no figure, only the range of the average",
     {{NULL, 0, 0}}},
    {"spam-",
     "front-spam",
     "A Bloom filter of counters can tell how often a message was reported. If "
     "an insertion raises only the smallest counters of a message (the refined "
     "extension), wrong counts become 4 to 15 times rarer at the same size.",
     "`umbel clearinghouse` counts mail for unmodified clients of Razor, DCC, "
     "Pyzor and rspamd. Use refined counts (`umbel build --kind counting "
     "--update refined`) where nothing is deleted, exchange them with `umbel "
     "sync`, and let `umbel plan --threshold` predict false alarms.",
     "spam-table3",
     "rates",
     "Fig. 3 and Table III: error rate of counts against the number of "
     "counters, 10,000 messages that come 20 times each",
     {{"intuitive, k = 4", 80000, 2.390e-2},
      {"intuitive, k = 4", 160000, 2.372e-3},
      {"intuitive, k = 4", 320000, 1.860e-4},
      {"intuitive, k = 6", 80000, 2.154e-2},
      {"intuitive, k = 6", 160000, 9.446e-4},
      {"intuitive, k = 6", 320000, 2.570e-5},
      {"intuitive, k = 8", 80000, 2.548e-2},
      {"intuitive, k = 8", 160000, 5.686e-4},
      {"intuitive, k = 8", 320000, 4.500e-6},
      {"refined, k = 4", 80000, 5.840e-3},
      {"refined, k = 4", 160000, 5.107e-4},
      {"refined, k = 4", 320000, 3.450e-5},
      {"refined, k = 6", 80000, 4.167e-3},
      {"refined, k = 6", 160000, 1.591e-4},
      {"refined, k = 6", 320000, 3.100e-6},
      {"refined, k = 8", 80000, 4.316e-3},
      {"refined, k = 8", 160000, 7.720e-5},
      {"refined, k = 8", 320000, 3.000e-7}}},
    {"gbf-",
     "front-gbf",
     "A standard filter from a stranger may have all bits set, and match "
     "everything. If insertions also clear bits, no initial content makes more "
     "than a bounded share of keys match: 6.3 % with two functions of each "
     "sort.",
     "`umbel admit` refuses a standard filter that is too full. That gives the "
     "same bound in a fraction of the space, and loses no member. `umbel build "
     "--kind generalized` is for places where nobody can refuse, such as a "
     "filter in a packet. Neither bounds claims about keys that the sender "
     "chose.",
     "gbf-fig11",
     "curves",
     "Fig. 11: false positive rate against the share of ones at first, two "
     "functions that reset and two that set",
     {{"m/n = 32", 0, 0.003},
      {"m/n = 32", 0.75, 0.041},
      {"m/n = 128", 0.5, 0.063},
      {"m/n = 128", 0.75, 0.037},
      {"m/n = 128", 1, 0.0002}}},
    {"survey-",
     "front-survey",
     "Wherever a list is used and space is at a premium, consider a Bloom "
     "filter. One example of many: if bytes on the wire matter and memory does "
     "not, a larger and sparser filter, compressed to the same 16 bits for "
     "each key, has half the error.",
     "`umbel plan --wire` plans such a filter, `umbel build --coded` writes "
     "it, "
     "and `umbel publish` sends only what changed. For a list that does not "
     "change, `umbel build --kind ribbon` is smaller still, within 1 % of the "
     "limit.",
     "survey-table1",
     "error",
     "Table 1: false positive rate of filters that are sent with at most 16 "
     "bits for each key, against their size in memory",
     {{"measured by queries", 16, 0.000459},
      {"measured by queries", 28, 0.000314},
      {"measured by queries", 48, 0.000222}}},
    {"",
     "front-ours",
     "The papers call some filters safe. These two studies attack them, and "
     "umbel's own checks: what does an attacker achieve who chooses the "
     "content, the keys that are inserted, or both?",
     "Check every filter from elsewhere with `umbel admit` before you use it. "
     "Where an attacker chooses the keys, hash with a secret: `umbel keygen`, "
     "`umbel build --hash sip`.",
     "attacks",
     "contents",
     "Random keys that match, against the share of ones that an attacker "
     "chose",
     {{NULL, 0, 0}}},
};

/* --- the figure ----------------------------------------------------------- */

static const um_study *find_study(const um_study *s, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(s[i].paper->name, name) == 0)
            return &s[i];
    return NULL;
}

static const um_figure *find_figure(const um_study *s, const char *id)
{
    for (size_t i = 0; s && i < s->record.nfigures; i++)
        if (strcmp(s->record.figure[i].id, id) == 0)
            return &s->record.figure[i];
    return NULL;
}

static void copy_series(um_figure *to, const um_series *from)
{
    um_series *c = um_figure_series(to, from->name);

    for (size_t i = 0; i < from->n; i++)
        um_series_point(c, from->point[i].x, from->point[i].y,
                        from->point[i].error);
    if (c) {
        c->faint = from->faint;
        c->dots = from->dots;
        c->named = from->named;
    }
}

static um_series *add_rings(um_figure *to, const char *name, bool unlisted)
{
    um_series *c = um_figure_series(to, name);

    if (c) {
        c->dots = c->rings = true;
        c->unlisted = unlisted;
    }
    return c;
}

/* Adds the printed values of a curve, in its colour. */
static void add_printed(um_figure *to, const story *t, const char *curve)
{
    char name[UM_TEXT_LEN];
    um_series *c = NULL;

    snprintf(name, sizeof name, "%.80s, printed", curve);
    for (const printed *p = t->point; p->curve; p++)
        if (strcmp(p->curve, curve) == 0) {
            c = c ? c : add_rings(to, name, true);
            um_series_point(c, p->x, p->y, NAN);
        }
}

/* Copies a figure, with the printed values over it. */
static void compose(um_figure *to, const story *t, const um_figure *from)
{
    um_figure_init(to, t->id, from->title, from->x, from->y);
    to->log_x = from->log_x;
    to->log_y = from->log_y;
    for (size_t i = 0; i < from->n; i++) {
        copy_series(to, &from->series[i]);
        add_printed(to, t, from->series[i].name);
    }
    if (t->point[0].curve)
        add_rings(to, "printed in the paper", false); /* for the legend */
}

static void figure_svg(FILE *out, const void *what)
{
    um_svg_figure(out, what);
}

static void figure_csv(FILE *out, const void *what)
{
    um_csv_figure(out, what);
}

umbel_status um_publish_front_figures(const char *dir, const um_study *s,
                                      size_t n, umbel_error *err)
{
    umbel_status status = UMBEL_OK;

    for (size_t i = 0; status == UMBEL_OK && i < UM_COUNT(stories); i++) {
        const story *t = &stories[i];
        const um_figure *from =
            find_figure(find_study(s, n, t->study), t->figure);
        char svg[UM_TEXT_LEN], csv[UM_TEXT_LEN];
        um_figure f;
        if (!from)
            continue;
        compose(&f, t, from);
        snprintf(svg, sizeof svg, "%s.svg", t->id);
        snprintf(csv, sizeof csv, "%s.csv", t->id);
        if (um_figure_bad(&f))
            status = um_fail(err, UMBEL_E_NOMEM, "no memory for a figure");
        if (status == UMBEL_OK)
            status = um_folder_write(dir, svg,
                                     &(um_folder_page){&f, figure_svg}, err);
        if (status == UMBEL_OK)
            status = um_folder_write(dir, csv,
                                     &(um_folder_page){&f, figure_csv}, err);
        um_figure_fini(&f);
    }
    return status;
}

/* --- the page ------------------------------------------------------------- */

/* Writes a command; a line does not break inside its words, after "--". */
static void write_command(FILE *out, char *text)
{
    char *rest = NULL;

    for (char *word = strtok_r(text, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        fputs(word == text ? "<span>" : " <span>", out);
        um_write_escaped(out, word);
        fputs("</span>", out);
    }
}

/* Writes text whose parts in backticks are commands, shorter than UM_TEXT_LEN.
 */
static void write_words(FILE *out, const char *text)
{
    bool code = false;

    while (*text) {
        char part[UM_TEXT_LEN];
        int len =
            snprintf(part, sizeof part, "%.*s", (int)strcspn(text, "`"), text);
        if (code)
            write_command(out, part);
        else
            um_write_escaped(out, part);
        text += len < (int)sizeof part ? (size_t)len : sizeof part - 1;
        if (*text == '`') {
            fputs(code ? "</code>" : "<code>", out);
            code = !code;
            text++;
        }
    }
}

static void write_paragraph(FILE *out, const char *head, const char *text)
{
    fprintf(out, "<h3>%s</h3>\n<p>", head);
    write_words(out, text);
    fputs("</p>\n", out);
}

static bool is_of(const um_study *s, const story *t)
{
    return strcmp(um_source_of(s->paper->name)->prefix, t->prefix) == 0;
}

/* Writes how many studies of the paper came out in this run, and the one that
 * is shown. */
static void write_verdict(FILE *out, const story *t, const um_study *s,
                          size_t n)
{
    static const um_outcome order[] = {UM_HOLDS, UM_HOLDS_WITH_REMARKS,
                                       UM_DOES_NOT_COME_OUT, UM_NOT_CHECKED};
    const um_study *shown = find_study(s, n, t->study);
    const char *between = "";

    fputs("<h3>Verdict</h3>\n<p>", out);
    for (size_t i = 0; i < UM_COUNT(order); i++) {
        size_t of = 0;
        for (size_t j = 0; j < n; j++)
            of +=
                is_of(&s[j], t) && um_record_outcome(&s[j].record) == order[i];
        if (!of)
            continue;
        fprintf(out, "%s<span class=\"%s\">%s: %zu</span>", between,
                order[i] == UM_DOES_NOT_COME_OUT ? "fail" : "pass",
                um_outcome_name(order[i]), of);
        between = ", ";
    }
    fprintf(out, " (<a href=\"all.html#paper-%s\">all of them</a>).", t->id);
    if (shown) {
        fprintf(out, " Shown: <a href=\"%s.html\">%s</a>, ", t->study,
                t->study);
        um_write_verdicts(out, &shown->record);
        putc('.', out);
    }
    fputs("</p>\n", out);
}

static void write_story(FILE *out, const story *t, const um_study *s, size_t n)
{
    const um_source *source = NULL;

    for (size_t i = 0; i < n && !source; i++)
        if (is_of(&s[i], t))
            source = um_source_of(s[i].paper->name);
    if (!source)
        return;
    fprintf(out, "<section class=\"story\" id=\"%s\">\n", t->id);
    um_html_text(out, "h2", "", source->title);
    fputs("<div>\n", out);
    if (find_figure(find_study(s, n, t->study), t->figure))
        um_html_image(out, t->id, t->caption);
    fputs("</div>\n<div>\n", out);
    write_paragraph(out, "Claim", t->claim);
    write_verdict(out, t, s, n);
    write_paragraph(out, "What to do with it today", t->today);
    fputs("</div>\n</section>\n", out);
}

const char *um_story_id(const um_source *source)
{
    size_t i = 0;

    while (strcmp(stories[i].prefix, source->prefix) != 0)
        i++;
    return stories[i].id;
}

void um_html_front(FILE *out, const um_study *s, size_t n)
{
    fputs("<p>Five papers on Bloom filters, run again with umbel. Lines are "
          "ours; rings are values that a paper prints. ",
          out);
    fputs("<a href=\"all.html\">All reproductions</a> with their pictures, "
          "claims and verdicts.</p>\n",
          out);
    for (size_t i = 0; i < UM_COUNT(stories); i++)
        write_story(out, &stories[i], s, n);
}
