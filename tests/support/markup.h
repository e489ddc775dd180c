/* markup.h - captures what a function writes to a FILE, and checks markup. */
#ifndef UM_TESTS_MARKUP_H
#define UM_TESTS_MARKUP_H

#include "support/test.h"

#include <stdio.h>

/* A stream that writes to memory. */
typedef struct test_stream {
    FILE *file;
    char *text;
    size_t len;
} test_stream;

void test_stream_open(test_stream *s);
/* Closes the stream and returns its text; free s->text. */
const char *test_stream_text(test_stream *s);

/* Asserts that every opened tag is closed, in the right order. */
void test_assert_well_formed(const char *text);
/* Returns how often word occurs in text. */
size_t test_count_of(const char *text, const char *word);

#endif
