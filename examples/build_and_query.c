/*
 * build_and_query.c - the main job: a list of words becomes a file, and the
 * file answers "is this word in the list?".
 *
 *   cc build_and_query.c $(pkg-config --cflags --libs umbel) -o build_and_query
 *   ./build_and_query words.umb apple quince
 */
#include <umbel/umbel.h>

#include <stdio.h>
#include <string.h>

static int fail(const umbel_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 2;
}

int main(int argc, char **argv)
{
    static const char *const words[] = {"apple", "pear", "plum", "cherry"};
    umbel_params params = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    umbel_error err;

    if (argc < 2)
        return 2;
    params.capacity = 4; /* keys */
    params.fpr = 0.0001; /* 1 false positive in 10,000 other words */
    if (umbel_create("bloom", &params, &f, &err))
        return fail(&err);
    for (size_t i = 0; i < 4; i++)
        if (umbel_add(f, words[i], strlen(words[i]), NULL, &err))
            return fail(&err);
    if (umbel_save(f, argv[1], &err))
        return fail(&err);
    umbel_close(f);

    /* A reader needs only the file. */
    if (umbel_load(argv[1], NULL, &f, &err))
        return fail(&err);
    for (int i = 2; i < argc; i++) {
        bool hit;
        if (umbel_query(f, argv[i], strlen(argv[i]), &hit, &err))
            return fail(&err);
        printf("%s: %s\n", argv[i], hit ? "probably in" : "not in");
    }
    umbel_close(f);
    return 0;
}
