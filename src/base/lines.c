/*
 * lines.c - text cut into lines and words.
 */
#include "base/lines.h"

#include <string.h>

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

bool um_line_is_whole(const umbel_slice *text, const umbel_slice *line)
{
    return (const char *)text->data > (const char *)line->data + line->len;
}

bool um_read_line(FILE *in, char *line, size_t cap, bool *whole)
{
    if (!fgets(line, (int)cap, in))
        return false;
    size_t len = strlen(line);
    *whole = len && line[len - 1] == '\n';
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

bool um_slice_text(umbel_slice s, char *out, size_t cap)
{
    if (s.len >= cap)
        return false;
    if (s.len)
        memcpy(out, s.data, s.len);
    out[s.len] = '\0';
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
