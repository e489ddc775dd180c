/*
 * golden_make.c - write the golden files that are missing.
 *
 * One that exists is never touched: what it holds must decode for ever. Look at
 * the new files, then commit them with the row that they belong to.
 */
#include "support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int make(const test_combo *c)
{
    char *path = golden_path(c);
    int made = 0;

    if (access(path, F_OK) != 0) {
        umbel_filter *f = golden_build(c);
        assert_ok(umbel_save(f, path, &test_refusal));
        umbel_close(f);
        printf("made %s\n", path);
        made = 1;
    }
    free(path);
    return made;
}

int main(void)
{
    test_combo c;
    int made = 0;

    for (size_t i = 0; test_combo_at(i, &c); i++)
        made += make(&c);
    printf("%d golden files were missing\n", made);
    return 0;
}
