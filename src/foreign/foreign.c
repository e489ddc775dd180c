/*
 * foreign.c - reads and writes files of other programs: the functions and the
 * table of formats.
 */
#include "foreign/internal.h"

#include "base/error.h"
#include "filter/envelope.h"
#include "filter/save.h"

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
    return um_fail(err, UMBEL_E_UNKNOWN,
                   "there is no format \"%.40s\"; there are %s and %s", name,
                   table[0]->name, table[1]->name);
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
} draft;

static umbel_status prepare(const umbel_filter *f, const char *format,
                            draft *out, umbel_error *err)
{
    const um_foreign *row;

    UM_TRY(find(format, &row, err));
    return row->part(f, out->head, out->parts, &out->n, err);
}

umbel_status umbel_export(const umbel_filter *f, const char *format,
                          const char *path, umbel_error *err)
{
    draft d;

    UM_TRY(prepare(f, format, &d, err));
    return um_save_parts(d.parts, d.n, path, err);
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
    return um_write_parts(fd, d.parts, d.n, err);
}
