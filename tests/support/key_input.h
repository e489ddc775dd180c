/* key_input.h - reads keys from files and pipes into printable text. */
#ifndef UM_TEST_KEY_INPUT_H
#define UM_TEST_KEY_INPUT_H

#include "support/test.h"

#include "keylist/source.h"

/* What a source returned. Release with test_input_fini. */
typedef struct test_input {
    umbel_status status;
    char reason[sizeof((umbel_error *)0)->text]; /* without the file's name */
    size_t n, nbatches;
    char *keys, *lines; /* each followed by '|'; other bytes as \xNN */
    char *numbers;      /* weight*amount of each, followed by a space */
} test_input;

void test_input_fini(test_input *in);
void test_input_read(const um_key_source *s, test_input *out);

/*
 * Bytes that arrive in a pipe, `step` at a time: the next ones after each read.
 * So no read blocks, and the order is always the same.
 */
typedef struct test_drip {
    const uint8_t *bytes;
    size_t len, step, at;
    size_t first; /* length of the first step; 0: as the others */
    int fds[2];
    char path[32];
    const char *paths[1];
    uint64_t done; /* as last reported */
    bool ended;
} test_drip;

void test_drip_open(test_drip *d, const void *bytes, size_t len, size_t step);
/* Returns the source that reads the pipe. */
um_key_source test_drip_source(test_drip *d, const um_key_format *f);
void test_drip_close(test_drip *d);

/*
 * Reads the bytes from a file, then from pipes in steps of several sizes, with
 * 1 to 4 threads, and asserts that the results are equal.
 */
void test_input_bytes(const um_key_format *f, const void *bytes, size_t len,
                      test_input *out);

#endif
