/*
 * inline_query.c - queries that the compiler inlines into a loop, for programs
 * that look up numbers one at a time.
 *
 *   cc -O2 -mavx2 -mbmi2 inline_query.c $(pkg-config --cflags --libs umbel)
 */
#include <umbel/inline.h>

#include <inttypes.h>
#include <stdio.h>

static int fail(const umbel_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 2;
}

/*
 * Takes the view by value: a copy whose address does not escape stays in
 * registers.
 */
static unsigned count_matches(umbel_view v, uint64_t from, uint64_t to)
{
    unsigned found = 0;

    for (uint64_t key = from; key < to; key++)
        found += umbel_view_query(&v, &key, sizeof key);
    return found;
}

int main(void)
{
    umbel_params params = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;
    umbel_view view;
    umbel_error err;

    params.capacity = 1000;
    params.fpr = 0.01;
    if (umbel_create("bloom", &params, &f, &err))
        return fail(&err);
    for (uint64_t key = 0; key < 1000; key++)
        if (umbel_add(f, &key, sizeof key, NULL, &err))
            return fail(&err);

    /* Create the view after the last key was added. */
    if (umbel_view_init(&view, f, &err))
        return fail(&err);
    printf("%u of 1000 members match\n", count_matches(view, 0, 1000));
    printf("%u of 100000 others match\n", count_matches(view, 1000, 101000));
    umbel_close(f);
    return 0;
}
