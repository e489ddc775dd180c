/*
 * publish.c - the directory that results are written to.
 */
#include "papers/frame/publish.h"

#include "base/error.h"
#include "draw/csv.h"
#include "draw/html.h"
#include "draw/svg.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Write one file with the function that knows how. */
typedef struct page {
    const void *what;
    void (*write)(FILE *out, const void *what);
} page;

static umbel_status path_of(char out[PATH_MAX], const char *dir,
                            const char *name, umbel_error *err)
{
    if (snprintf(out, PATH_MAX, "%s/%s", dir, name) < PATH_MAX)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE, "the name of the directory is too long");
}

static umbel_status write_file(const char *dir, const char *name, const page *p,
                               umbel_error *err)
{
    char path[PATH_MAX];
    umbel_status status = path_of(path, dir, name, err);

    if (status != UMBEL_OK)
        return status;
    FILE *out = fopen(path, "w");
    if (!out)
        return um_fail_path(err, path);
    p->write(out, p->what);
    bool bad = ferror(out);
    if (fclose(out) != 0 || bad)
        return um_fail_path(err, path);
    return UMBEL_OK;
}

/* An index.html of somebody else is not ours to replace. */
static umbel_status check_page(const char *dir, umbel_error *err)
{
    char path[PATH_MAX], start[512];
    umbel_status status = path_of(path, dir, "index.html", err);

    if (status != UMBEL_OK)
        return status;
    FILE *in = fopen(path, "r");
    if (!in)
        return errno == ENOENT ? UMBEL_OK : um_fail_path(err, path);
    size_t len = fread(start, 1, sizeof start - 1, in);
    start[len] = '\0';
    fclose(in);
    if (len && !strstr(start, "content=\"umbel reproduce\""))
        return um_fail(err, UMBEL_E_IO,
                       "there is an index.html of something else: name "
                       "another directory");
    return UMBEL_OK;
}

umbel_status um_publish_begin(const char *dir, umbel_error *err)
{
    struct stat st;

    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return um_fail_path(err, dir);
    if (stat(dir, &st) != 0)
        return um_fail_path(err, dir);
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        return um_fail_path(err, dir);
    }
    if (access(dir, W_OK | X_OK) != 0)
        return um_fail_path(err, dir);
    return check_page(dir, err);
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

/* NAME-ID.ending */
static umbel_status write_part(const char *dir, const um_study *s,
                               const char *id, const char *ending,
                               const page *p, umbel_error *err)
{
    char name[2 * UM_TEXT_LEN + 8];

    snprintf(name, sizeof name, "%s-%s.%s", s->paper->name, id, ending);
    return write_file(dir, name, p, err);
}

umbel_status um_publish_study(const char *dir, const um_study *s,
                              umbel_error *err)
{
    const um_record *r = &s->record;
    umbel_status status =
        write_part(dir, s, "checks", "csv", &(page){r, checks_csv}, err);

    if (status == UMBEL_OK)
        status =
            write_part(dir, s, "checks", "svg", &(page){r, checks_svg}, err);
    for (size_t i = 0; status == UMBEL_OK && i < r->nfigures; i++) {
        const um_figure *f = &r->figure[i];
        status = write_part(dir, s, f->id, "csv", &(page){f, figure_csv}, err);
        if (status == UMBEL_OK)
            status =
                write_part(dir, s, f->id, "svg", &(page){f, figure_svg}, err);
    }
    for (size_t i = 0; status == UMBEL_OK && i < r->nsheets; i++)
        status = write_part(dir, s, r->sheet[i].id, "csv",
                            &(page){&r->sheet[i], sheet_csv}, err);
    return status;
}

typedef struct studies {
    const um_study *study;
    size_t n;
} studies;

static void whole_page(FILE *out, const void *what)
{
    const studies *all = what;

    um_html_begin(out, "umbel reproduce", "Reproductions");
    for (size_t i = 0; i < all->n; i++)
        um_html_study(out, &all->study[i]);
    um_html_end(out);
}

umbel_status um_publish_page(const char *dir, const um_study *s, size_t n,
                             umbel_error *err)
{
    return write_file(dir, "index.html", &(page){&(studies){s, n}, whole_page},
                      err);
}
