/*
 * seeds.c - write the corpora's named files: fuzz_seeds fuzz/corpus
 *
 * Each seeds_*.c holds the tables for some of the targets.
 */
#include "seeds.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char *top;

_Noreturn void um_seed_fail(const char *what, const umbel_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    exit(EXIT_FAILURE);
}

void um_seed_write(const char *target, const char *name, const void *bytes,
                   size_t len)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", top, target);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        perror(path), exit(EXIT_FAILURE);
    snprintf(path, sizeof path, "%s/%s/%s", top, target, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0)
        perror(path), exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: fuzz_seeds DIRECTORY\n");
        return EXIT_FAILURE;
    }
    top = argv[1];
    um_seed_filters();
    um_seed_patches();
    um_seed_codes();
    um_seed_foreigns();
    um_seed_programs();
    um_seed_syncs();
    return EXIT_SUCCESS;
}
