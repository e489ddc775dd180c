/*
 * subject.c - the calls of one version of the library.
 *
 * Written for the newest headers; bench/before maps names that have changed
 * with -D. Functions that an older version lacks are left out.
 */
#include "bench/before_race/subject.h"

#include <stdlib.h>

#include <umbel/build.h>
#include <umbel/filter.h>
#include <umbel/umbel.h>

#if __has_include(<umbel/inline.h>)
#include "bench/inlined.h"
#endif

static umbel_params params_of(const subject_shape *s, umbel_setting set[2])
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = s->addressing;
    p.capacity = s->capacity;
    p.cells = s->cells;
    p.fpr = s->fpr;
    p.settings = set;
    for (size_t i = 0; i < 2 && s->name[i]; i++) {
        set[i] = (umbel_setting){s->name[i], s->value[i]};
        p.nsettings++;
    }
    return p;
}

static void *create(const subject_shape *s)
{
    umbel_setting set[2];
    umbel_params p = params_of(s, set);
    umbel_filter *f = NULL;

    umbel_create(s->kind, &p, &f, NULL);
    return f;
}

static void *build(const subject_shape *s, const uint64_t *keys, size_t n)
{
    umbel_setting set[2];
    umbel_params p = params_of(s, set);
    umbel_slice *slices = malloc(n * sizeof *slices);
    umbel_filter *f = NULL;

    for (size_t i = 0; slices && i < n; i++)
        slices[i] = (umbel_slice){keys + i, sizeof *keys};
    if (slices)
        umbel_build_keys(s->kind, &p, slices, NULL, n, &f, NULL);
    free(slices);
    return f;
}

static void *copy_shared(const void *filter)
{
    umbel_filter *f = NULL;

    if (umbel_copy(filter, &f, NULL) == UMBEL_OK &&
        umbel_share(f, NULL) != UMBEL_OK) {
        umbel_close(f);
        f = NULL;
    }
    return f;
}

static bool renew(void *filter, const void *from)
{
    return umbel_clear(filter, NULL) == UMBEL_OK &&
           (!from || umbel_merge(filter, from, UMBEL_OR, NULL) == UMBEL_OK);
}

static void close_filter(void *filter)
{
    umbel_close(filter);
}

static void query(void *filter, const void *keys, size_t width, size_t n,
                  bool *hit)
{
    umbel_query_fixed(filter, keys, width, n, hit, NULL);
}

static void add(void *filter, const void *keys, size_t width, size_t n,
                bool *hit)
{
    (void)hit;
    umbel_add_fixed(filter, keys, width, n, NULL, NULL);
}

/* Queries key by key, with a separate loop for each width, as a user would
 * write it. */
static void query_one(void *filter, const void *keys, size_t width, size_t n,
                      bool *hit)
{
    const uint8_t *key = keys;

    if (width == 8)
        for (size_t i = 0; i < n; i++)
            umbel_query(filter, key + i * 8, 8, hit, NULL);
    else
        for (size_t i = 0; i < n; i++)
            umbel_query(filter, key + i * width, width, hit, NULL);
}

static void add_one(void *filter, const void *keys, size_t width, size_t n,
                    bool *hit)
{
    const uint8_t *key = keys;

    (void)hit;
    if (width == 8)
        for (size_t i = 0; i < n; i++)
            umbel_add(filter, key + i * 8, 8, NULL, NULL);
    else
        for (size_t i = 0; i < n; i++)
            umbel_add(filter, key + i * width, width, NULL, NULL);
}

#ifdef UMBEL_INLINE_H
static void query_inline(void *filter, const void *keys, size_t width, size_t n,
                         bool *hit)
{
    umbel_view view;

    if (umbel_view_init(&view, filter, NULL) == UMBEL_OK)
        um_bench_inlined_loop(view, keys, width, n, hit);
}
#endif

__attribute__((visibility("default"))) const subject subject_table = {
    .create = create,
    .build = build,
    .copy_shared = copy_shared,
    .renew = renew,
    .close = close_filter,
    .work =
        {
            [SUBJECT_QUERY] = query,
            [SUBJECT_ADD] = add,
            [SUBJECT_QUERY_ONE] = query_one,
            [SUBJECT_ADD_ONE] = add_one,
#ifdef UMBEL_INLINE_H
            [SUBJECT_QUERY_INLINE] = query_inline,
#endif
        },
};
