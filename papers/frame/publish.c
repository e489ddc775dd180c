/*
 * publish.c - writes results to a directory.
 */
#include "papers/frame/publish.h"

#include "base/error.h"
#include "draw/document.h"
#include "draw/folder.h"
#include "draw/svg.h"
#include "papers/frame/sources.h"

#include <stdlib.h>
#include <string.h>

umbel_status um_publish_begin(const char *dir, umbel_error *err)
{
    return um_folder_begin(dir, "umbel reproduce", err);
}

static void figure_svg(FILE *out, const void *what)
{
    um_svg_figure(out, what);
}

static void figure_csv(FILE *out, const void *what)
{
    um_csv_figure(out, what);
}

static void sheet_csv(FILE *out, const void *what)
{
    um_csv_sheet(out, what);
}

static void checks_svg(FILE *out, const void *what)
{
    um_svg_checks(out, what);
}

static void checks_csv(FILE *out, const void *what)
{
    um_csv_checks(out, what);
}

/* Writes the file NAME-ID.ending. */
static umbel_status write_part(const char *dir, const um_study *s,
                               const char *id, const char *ending,
                               const um_folder_page *p, umbel_error *err)
{
    char name[2 * UM_TEXT_LEN + 8];

    snprintf(name, sizeof name, "%s-%s.%s", s->paper->name, id, ending);
    return um_folder_write(dir, name, p, err);
}

static void study_page(FILE *out, const void *what)
{
    const um_study *s = what;

    um_html_begin(out, "umbel reproduce", "Reproductions");
    fputs("<p><a href=\"index.html\">all reproductions</a></p>\n", out);
    um_html_study(out, s);
    um_html_end(out);
}

umbel_status um_publish_study(const char *dir, const um_study *s,
                              umbel_error *err)
{
    const um_record *r = &s->record;
    umbel_status status = write_part(dir, s, "checks", "csv",
                                     &(um_folder_page){r, checks_csv}, err);

    if (status == UMBEL_OK)
        status = write_part(dir, s, "checks", "svg",
                            &(um_folder_page){r, checks_svg}, err);
    for (size_t i = 0; status == UMBEL_OK && i < r->nfigures; i++) {
        const um_figure *f = &r->figure[i];
        status = write_part(dir, s, f->id, "csv",
                            &(um_folder_page){f, figure_csv}, err);
        if (status == UMBEL_OK)
            status = write_part(dir, s, f->id, "svg",
                                &(um_folder_page){f, figure_svg}, err);
    }
    for (size_t i = 0; status == UMBEL_OK && i < r->nsheets; i++)
        status = write_part(dir, s, r->sheet[i].id, "csv",
                            &(um_folder_page){&r->sheet[i], sheet_csv}, err);
    if (status == UMBEL_OK) {
        char name[UM_TEXT_LEN + 8];
        snprintf(name, sizeof name, "%s.html", s->paper->name);
        status =
            um_folder_write(dir, name, &(um_folder_page){s, study_page}, err);
    }
    return status;
}

typedef struct studies {
    const um_study *study;
    size_t n;
} studies;

/* Writes the studies of one paper, which are adjacent in the table. */
static void write_source(FILE *out, const um_source *source, const studies *all)
{
    size_t from = 0, to;

    while (from < all->n &&
           um_source_of(all->study[from].paper->name) != source)
        from++;
    for (to = from;
         to < all->n && um_source_of(all->study[to].paper->name) == source;)
        to++;
    if (from == to)
        return;
    fprintf(out, "<h2 id=\"paper-%s\">", um_story_id(source));
    um_write_escaped(out, source->title);
    fputs("</h2>\n", out);
    um_html_text(out, "p", "", source->symbols);
    um_html_contents(out, all->study + from, to - from);
    for (size_t i = from; i < to; i++)
        um_html_card(out, &all->study[i]);
}

static void first_page(FILE *out, const void *what)
{
    const studies *all = what;

    um_html_begin(out, "umbel reproduce", "Reproductions");
    if (all->n == 1)
        um_html_study(out, all->study);
    else
        um_html_front(out, all->study, all->n);
    um_html_end(out);
}

static void index_page(FILE *out, const void *what)
{
    const studies *all = what;
    const um_source *source;

    um_html_begin(out, "umbel reproduce", "All reproductions");
    fputs("<p><a href=\"index.html\">front page</a></p>\n", out);
    for (size_t i = 0; (source = um_source_row(i)); i++)
        write_source(out, source, all);
    um_html_end(out);
}

umbel_status um_publish_page(const char *dir, const um_study *s, size_t n,
                             umbel_error *err)
{
    const studies all = {s, n};

    if (n > 1) {
        UM_TRY(um_publish_front_figures(dir, s, n, err));
        UM_TRY(um_folder_write(dir, "all.html",
                               &(um_folder_page){&all, index_page}, err));
    }
    return um_folder_write(dir, "index.html",
                           &(um_folder_page){&all, first_page}, err);
}
