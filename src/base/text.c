/*
 * text.c - bytes that people will read.
 */
#include "base/text.h"

#include <stdbool.h>
#include <string.h>

enum { TAIL = 120 };

/* How many bytes the first one announces; 0: no first byte. */
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

/* Control characters: below space, DEL, and U+0080 to U+009F. */
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
