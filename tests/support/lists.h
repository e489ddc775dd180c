/*
 * lists.h - files of keys, and filters built from them.
 */
#ifndef UM_TEST_LISTS_H
#define UM_TEST_LISTS_H

#include "support/test.h"

#include "build/build.h"

/* Creates and removes the directory for a test's lists: setup and teardown. */
int test_lists_make(void **state);
int test_lists_remove(void **state);

/*
 * Writes a file there with the keys from .. from+n-1, one per line, or with
 * this text. Returns its path, which is valid until the teardown.
 */
const char *test_list(const char *name, uint64_t from, size_t n);
const char *test_text_list(const char *name, const char *text);

/* Returns a source of one file; path must outlive it. NULL: no file. */
um_key_source test_source(const char *const *path);

/*
 * Opens a file as standard input: a source that cannot be read twice. Returns
 * "-".
 */
const char *test_pipe(const char *path);

/* Builds a filter; fails the test if that fails. */
um_build_result test_build_lists(const um_build_job *job);

#endif
