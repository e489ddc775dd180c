/*
 * foreign.c - reads and writes files of other programs: the functions and the
 * table of formats.
 */
#include "foreign/internal.h"

#include "base/error.h"
#include "filter/envelope.h"
#include "filter/save.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(name) &um_foreign_##name,
static const um_foreign *const table[] = {UM_FOREIGNS(ROW)};

bool umbel_foreign_at(size_t i, const char **name, const char **summary)
{
    if (i >= UM_COUNT(table))
        return false;
    *name = table[i]->name;
    if (summary)
        *summary = table[i]->summary;
    return true;
}

static umbel_status find(const char *name, const um_foreign **out,
                         umbel_error *err)
{
    for (size_t i = 0; i < UM_COUNT(table); i++)
        if (strcmp(table[i]->name, name) == 0) {
            *out = table[i];
            return UMBEL_OK;
        }
    char names[128] = "";
    for (size_t i = 0; i < UM_COUNT(table); i++) {
        size_t len = strlen(names);
        snprintf(names + len, sizeof names - len, "%s%s",
                 i == 0                     ? ""
                 : i + 1 == UM_COUNT(table) ? " and "
                                            : ", ",
                 table[i]->name);
    }
    return um_fail(err, UMBEL_E_UNKNOWN,
                   "there is no format \"%.40s\"; there are %s", name, names);
}

umbel_status umbel_import(const char *format, const void *bytes, size_t len,
                          const umbel_source *source, umbel_filter **out,
                          umbel_error *err)
{
    const um_foreign *row;

    UM_TRY(um_check_source(&source, err));
    UM_TRY(find(format, &row, err));
    return row->import(bytes, len, source, out, err);
}

umbel_status umbel_import_len(const char *format, const void *bytes, size_t len,
                              uint64_t *least, umbel_error *err)
{
    const um_foreign *row;

    UM_TRY(find(format, &row, err));
    return row->least(bytes, len, least, err);
}

/* A foreign file, ready to be written. */
typedef struct draft {
    uint8_t head[UM_FOREIGN_HEAD];
    umbel_slice parts[UM_FOREIGN_PARTS];
    size_t n;
    bool swap;      /* the cells must be in big-endian words */
    uint8_t *words; /* which are here */
} draft;

static umbel_status prepare(const umbel_filter *f, const char *format,
                            draft *out, umbel_error *err)
{
    const um_foreign *row;

    UM_TRY(find(format, &row, err));
    out->words = NULL;
    out->swap = row->big_endian;
    return row->part(f, out->head, out->parts, &out->n, err);
}

/* Converts the cells to the byte order of the format. */
static umbel_status swap_cells(draft *d, umbel_error *err)
{
    umbel_slice *cells = &d->parts[1];

    if (!d->swap)
        return UMBEL_OK;
    d->words = malloc(cells->len);
    if (!d->words)
        return um_no_memory(err, cells->len);
    um_swap_words(d->words, cells->data, cells->len);
    cells->data = d->words;
    return UMBEL_OK;
}

umbel_status umbel_export(const umbel_filter *f, const char *format,
                          const char *path, umbel_error *err)
{
    draft d;

    UM_TRY(prepare(f, format, &d, err));
    umbel_status status = swap_cells(&d, err);
    if (!status)
        status = um_save_parts(d.parts, d.n, path, err);
    free(d.words);
    return status;
}

umbel_status umbel_export_len(const umbel_filter *f, const char *format,
                              uint64_t *len, umbel_error *err)
{
    draft d;

    UM_TRY(prepare(f, format, &d, err));
    *len = 0;
    for (size_t i = 0; i < d.n; i++)
        *len += d.parts[i].len;
    return UMBEL_OK;
}

umbel_status umbel_export_to(const umbel_filter *f, const char *format, int fd,
                             umbel_error *err)
{
    draft d;

    UM_TRY(prepare(f, format, &d, err));
    umbel_status status = swap_cells(&d, err);
    if (!status)
        status = um_write_parts(fd, d.parts, d.n, err);
    free(d.words);
    return status;
}
