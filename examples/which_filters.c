/*
 * which_filters.c - print which of some filter files contain a key, through an
 * index of them, which is made or brought up to date first.
 *
 *   cc which_filters.c $(pkg-config --cflags --libs umbel) -o which_filters
 *   ./which_filters peers.idx alpha berlin.umb paris.umb
 */
#include <umbel/experimental/index.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 100 };

static int fail(const umbel_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 2;
}

/* Adds the files; those that did not change cost nothing. */
static umbel_status update(const char *dir, char **files, size_t n,
                           umbel_error *err)
{
    umbel_index_entry entry[MAX_FILES];
    umbel_filter *f[MAX_FILES];
    umbel_status status = UMBEL_OK;
    size_t loaded = 0;

    for (; !status && loaded < n; loaded += !status) {
        status = umbel_load(files[loaded], NULL, &f[loaded], err);
        if (!status)
            entry[loaded] = (umbel_index_entry){files[loaded], f[loaded]};
    }
    if (!status)
        status = umbel_index_update(dir, 0, entry, n, NULL, 0, NULL, err);
    for (size_t i = 0; i < loaded; i++)
        umbel_close(f[i]);
    return status;
}

int main(int argc, char **argv)
{
    umbel_index *x;
    umbel_index_slot slot;
    umbel_error err;
    int found = 0;

    if (argc < 4 || argc - 3 > MAX_FILES) {
        fprintf(stderr, "usage: which_filters DIR KEY FILE...\n");
        return 2;
    }
    if (update(argv[1], argv + 3, (size_t)argc - 3, &err) ||
        umbel_index_open(argv[1], NULL, &x, &err))
        return fail(&err);
    unsigned char *hits = malloc(UMBEL_INDEX_HITS(umbel_index_slots(x)));
    if (!hits || umbel_index_ask(x, argv[2], strlen(argv[2]), hits, NULL, &err))
        return fail(&err);
    for (size_t i = 0; i < umbel_index_slots(x); i++) {
        if (!(hits[i / 8] >> i % 8 & 1))
            continue;
        if (umbel_index_slot_at(x, i, &slot, &err))
            return fail(&err);
        printf("%s (wrong with probability %.4f)\n", slot.name, slot.error);
        found = 1;
    }
    free(hits);
    umbel_index_close(x);
    return !found;
}
