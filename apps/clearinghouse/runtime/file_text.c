/*
 * file_text.c - a small text file, whole, in memory.
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

static umbel_slice from_to(const char *from, const char *to)
{
    return (umbel_slice){from, (size_t)(to - from)};
}

bool um_next_line(umbel_slice *text, umbel_slice *line)
{
    const char *at = text->data, *end = at + text->len;

    if (text->len == 0)
        return false;
    const char *lf = memchr(at, '\n', text->len);
    *line = from_to(at, lf ? lf : end);
    *text = from_to(lf ? lf + 1 : end, end);
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

umbel_slice um_trim(umbel_slice s)
{
    const char *at = s.data, *end = at + s.len;

    while (at < end && is_space(*at))
        at++;
    while (end > at && is_space(end[-1]))
        end--;
    return from_to(at, end);
}

bool um_next_word(umbel_slice *text, umbel_slice *word)
{
    umbel_slice rest = um_trim(*text);
    const char *at = rest.data, *end = at + rest.len, *stop = at;

    while (stop < end && !is_space(*stop))
        stop++;
    *word = from_to(at, stop);
    *text = from_to(stop, end);
    return word->len > 0;
}

bool um_split_colons(umbel_slice line, umbel_slice *part, size_t n)
{
    const char *at = line.data, *end = at + line.len;

    for (size_t i = 0; i < n; i++) {
        const char *colon = memchr(at, ':', (size_t)(end - at));
        if ((i + 1 < n) != (colon != NULL))
            return false;
        part[i] = um_trim(from_to(at, colon ? colon : end));
        at = colon ? colon + 1 : end;
    }
    return true;
}
