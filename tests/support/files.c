/*
 * files.c - temporary directories and whole files.
 */
#include "support/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *test_dir_make(void)
{
    const char *base = getenv("TMPDIR");
    char *dir = test_path(base && *base ? base : "/tmp", "umbel-test-XXXXXX");

    assert_non_null(mkdtemp(dir));
    return dir;
}

char *test_path(const char *dir, const char *name)
{
    size_t len = strlen(dir) + strlen(name) + 2;
    char *path = malloc(len);

    assert_non_null(path);
    snprintf(path, len, "%s/%s", dir, name);
    return path;
}

static bool is_entry(const struct dirent *d)
{
    return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

/* Removes a directory. Tests create at most one level of subdirectories. */
void test_dir_remove(char *dir)
{
    DIR *d = opendir(dir);

    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (!is_entry(e))
            continue;
        char *path = test_path(dir, e->d_name);
        assert_true(unlink(path) == 0 || rmdir(path) == 0);
        free(path);
    }
    closedir(d);
    assert_int_equal(rmdir(dir), 0);
    free(dir);
}

size_t test_dir_count(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        n += is_entry(e);
    closedir(d);
    return n;
}

void test_write_file(const char *path, const void *data, size_t len)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

uint8_t *test_read_file(const char *path, size_t *len)
{
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(MOST);

    assert_non_null(file);
    assert_non_null(bytes);
    *len = fread(bytes, 1, MOST, file);
    assert_true(*len < MOST);
    fclose(file);
    return bytes;
}
