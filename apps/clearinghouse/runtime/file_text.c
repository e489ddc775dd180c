/*
 * file_text.c - reads a small text file into memory.
 */
#include "clearinghouse/runtime/file_text.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static umbel_status read_text(FILE *in, const char *path, um_file_text *out,
                              umbel_error *err)
{
    char *data = malloc(UM_FILE_TEXT_MAX + 1);

    if (!data)
        return um_no_memory(err, UM_FILE_TEXT_MAX);
    size_t len = fread(data, 1, UM_FILE_TEXT_MAX + 1, in);
    if (!ferror(in) && len <= UM_FILE_TEXT_MAX) {
        out->data = data;
        out->len = len;
        return UMBEL_OK;
    }
    free(data);
    if (ferror(in))
        return um_fail_path(err, path);
    return um_fail(err, UMBEL_E_LIMIT, "%s: longer than %d bytes", path,
                   UM_FILE_TEXT_MAX);
}

umbel_status um_file_text_read(um_file_text *out, const char *path,
                               umbel_error *err)
{
    FILE *in = fopen(path, "re");

    if (!in && errno == ENOENT) {
        *out = (um_file_text){NULL, 0};
        return UMBEL_OK;
    }
    if (!in)
        return um_fail_path(err, path);
    umbel_status status = read_text(in, path, out, err);
    fclose(in);
    return status;
}

void um_print_warning(void *ctx, const char *file, size_t line,
                      const char *what)
{
    if (line)
        fprintf(ctx, "%s:%zu: %s\n", file, line, what);
    else
        fprintf(ctx, "%s: %s\n", file, what);
}
