/* markup.c - captures what a function writes to a FILE, and checks markup. */
#define _DEFAULT_SOURCE /* for open_memstream besides cmocka */
#include "support/markup.h"

#include <string.h>

void test_stream_open(test_stream *s)
{
    s->file = open_memstream(&s->text, &s->len);
    assert_non_null(s->file);
}

const char *test_stream_text(test_stream *s)
{
    assert_int_equal(fclose(s->file), 0);
    return s->text;
}

void test_assert_well_formed(const char *text)
{
    const char *open[64];
    size_t depth = 0;

    for (const char *p = strchr(text, '<'); p; p = strchr(p, '<')) {
        const char *end = strchr(p, '>');
        assert_non_null(end);
        if (p[1] == '/') {
            assert_true(depth > 0);
            const char *name = open[--depth];
            size_t len = strcspn(name, " >\n");
            assert_true(strncmp(p + 2, name, len) == 0 && p[2 + len] == '>');
        } else if (end[-1] != '/') {
            assert_true(depth < TEST_COUNT(open));
            open[depth++] = p + 1;
        }
        p = end;
    }
    assert_int_equal(depth, 0);
}

size_t test_count_of(const char *text, const char *word)
{
    size_t n = 0;

    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}
