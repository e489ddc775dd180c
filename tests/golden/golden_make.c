/*
 * golden_make.c - write the golden files that are missing.
 *
 * Existing files are never changed: they must decode for ever. Look at the new
 * files, then commit them with the row that they belong to.
 */
#include "support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Writes the file unless it exists. Frees path and f. */
static int create(char *path, umbel_filter *f)
{
    bool missing = access(path, F_OK) != 0;

    if (missing) {
        assert_ok(umbel_save(f, path, &test_refusal));
        printf("made %s\n", path);
    }
    umbel_close(f);
    free(path);
    return missing;
}

int main(void)
{
    test_combo c;
    umbel_filter *f;
    char *path;
    int made = 0;

    for (size_t i = 0; test_combo_at(i, &c); i++)
        made += create(golden_path(&c), golden_build(&c));
    for (size_t i = 0; golden_row_at(i, &path, &f); i++)
        made += create(path, f);
    printf("%d golden files were missing\n", made);
    return 0;
}
