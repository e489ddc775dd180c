/*
 * lists.c - files of keys, and filters built from them.
 */
#include "support/lists.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LISTS = 32 };

static char *dir;
static char *paths[MAX_LISTS];
static size_t npaths;

int test_lists_make(void **state)
{
    (void)state;
    dir = test_dir_make();
    return 0;
}

int test_lists_remove(void **state)
{
    (void)state;
    while (npaths)
        free(paths[--npaths]);
    test_dir_remove(dir);
    return 0;
}

static const char *write_list(const char *name, const void *data, size_t len)
{
    assert_true(npaths < MAX_LISTS);
    paths[npaths] = test_path(dir, name);
    test_write_file(paths[npaths], data, len);
    return paths[npaths++];
}

const char *test_text_list(const char *name, const char *text)
{
    return write_list(name, text, strlen(text));
}

const char *test_list(const char *name, uint64_t from, size_t n)
{
    enum { LINE = TEST_KEY_LEN + 1 };
    char *text = malloc(n * LINE + 1);

    assert_non_null(text);
    for (size_t i = 0; i < n; i++) {
        test_key(from + i, text + i * LINE);
        text[i * LINE + TEST_KEY_LEN] = '\n';
    }
    const char *path = write_list(name, text, n * LINE);
    free(text);
    return path;
}

um_key_source test_source(const char *const *path)
{
    return (um_key_source){
        .paths = path, .npaths = *path != NULL, .threads = 1};
}

const char *test_pipe(const char *path)
{
    int fd = open(path, O_RDONLY);

    assert_true(fd > 0);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    close(fd);
    return "-";
}

um_build_result test_build_lists(const um_build_job *job)
{
    um_build_result result = {0};

    assert_ok(um_build(job, &result, &test_refusal));
    return result;
}
