/*
 * text.c - text for people and programs: UTF-8, lines and words, JSON.
 */
#include "base/text.h"

#include "base/buffer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
/* gcc's analyzer reports a text that a list owns as leaked. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

/* --- bytes that people will read ------------------------------------------ */

enum { TAIL = 120 };

/* Returns the length of the sequence that a first byte announces; 0 if it is
 * not a first byte. */
static size_t announced(uint8_t first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xC0)
        return 0;
    return first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 0;
}

size_t um_utf8_len(const uint8_t *s, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = announced(s[0]);

    if (len <= 1)
        return len;
    if (len > left)
        return 0;
    uint32_t x = s[0] & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        x = x << 6 | (s[i] & 0x3Fu);
    }
    bool fine = x >= least[len] && x < 0x110000 && (x < 0xD800 || x > 0xDFFF);
    return fine ? len : 0;
}

void um_fold_case(const uint8_t *from, size_t len, uint8_t *to)
{
    for (size_t i = 0; i < len; i++)
        to[i] = (uint8_t)(from[i] >= 'A' && from[i] <= 'Z' ? from[i] | 0x20
                                                           : from[i]);
}

/* Returns true for control characters: below space, DEL, U+0080 to U+009F. */
static bool is_control(const uint8_t *s, size_t len)
{
    if (len == 1)
        return s[0] < ' ' || s[0] == 127;
    return len == 2 && s[0] == 0xC2 && s[1] < 0xA0;
}

void um_disarm(char *text)
{
    uint8_t *s = (uint8_t *)text;

    for (size_t left = strlen(text); left;) {
        size_t len = um_utf8_len(s, left), step = len ? len : 1;
        if (len == 0 || is_control(s, len))
            memset(s, '?', step);
        s += step;
        left -= step;
    }
}

const char *um_path_tail(const char *path)
{
    size_t len = strlen(path);
    return len > TAIL ? path + len - TAIL : path;
}

const char *um_path_dots(const char *path)
{
    return um_path_tail(path) == path ? "" : "...";
}

/* --- text cut into lines and words ---------------------------------------- */

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

/* --- lists of texts ------------------------------------------------------- */

bool um_texts_add(um_texts *t, const char *text)
{
    char *copy = strdup(text);

    if (!copy || !um_array_resize(&t->item, t->n + 1, sizeof *t->item)) {
        free(copy);
        return false;
    }
    t->item[t->n++] = copy;
    return true;
}

bool um_texts_has(const um_texts *t, const char *text)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->item[i], text) == 0)
            return true;
    return false;
}

void um_texts_fini(um_texts *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->item[i]);
    free(t->item);
    *t = (um_texts){0};
}

/* --- values of JSON, printed ---------------------------------------------- */

static void print_character(FILE *out, const uint8_t *s, size_t len)
{
    if (len == 0)
        fputs("\\ufffd", out); /* not UTF-8, and JSON can express nothing
                                  else */
    else if (len == 1 && (*s == '"' || *s == '\\'))
        fprintf(out, "\\%c", *s);
    else if (len == 1 && (*s < ' ' || *s == 127))
        fprintf(out, "\\u%04x", *s);
    else if (len == 2 && s[0] == 0xC2 && s[1] < 0xA0)
        fprintf(out, "\\u%04x", s[1]); /* a control character, too */
    else
        fwrite(s, 1, len, out);
}

void um_json_string(FILE *out, const void *text, size_t len)
{
    const uint8_t *s = text;

    putc('"', out);
    for (size_t i = 0; i < len;) {
        size_t some = um_utf8_len(s + i, len - i);
        print_character(out, s + i, some);
        i += some ? some : 1;
    }
    putc('"', out);
}

void um_json_text(FILE *out, const char *text)
{
    if (text)
        um_json_string(out, text, strlen(text));
    else
        fputs("null", out);
}

void um_json_name(FILE *out, size_t i, const char *name)
{
    fputs(i ? ", " : "", out);
    um_json_text(out, name);
    fputs(": ", out);
}

void um_json_field(FILE *out, size_t i, const char *name, const char *text)
{
    um_json_name(out, i, name);
    um_json_text(out, text);
}

void um_json_real(FILE *out, double x)
{
    char text[40];

    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    fputs(text, out);
}

static bool is_utf8(const umbel_slice *key)
{
    const uint8_t *s = key->data;

    for (size_t i = 0, len; i < key->len; i += len)
        if (!(len = um_utf8_len(s + i, key->len - i)))
            return false;
    return true;
}

void um_json_bytes(FILE *out, const char *name, const umbel_slice *bytes)
{
    if (is_utf8(bytes)) {
        fprintf(out, "\"%s\": ", name);
        um_json_string(out, bytes->data, bytes->len);
        return;
    }
    fprintf(out, "\"%s_hex\": \"", name);
    for (size_t i = 0; i < bytes->len; i++)
        fprintf(out, "%02x", ((const uint8_t *)bytes->data)[i]);
    putc('"', out);
}

void um_json_key(FILE *out, const umbel_slice *key)
{
    um_json_bytes(out, "key", key);
}
