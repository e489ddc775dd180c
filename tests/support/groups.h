/*
 * groups.h - the groups of tests that are linked into one program.
 */
#ifndef UM_TEST_GROUPS_H
#define UM_TEST_GROUPS_H

/* Runs the group as a main does, and returns its exit status. */
typedef int test_group(int argc, char **argv);

typedef struct test_row {
    const char *name;
    test_group *run;
} test_row;

/* CMake writes them from the names of the files; the last one has no name. */
extern const test_row test_rows[];

#endif
