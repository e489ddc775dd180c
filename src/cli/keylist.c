/*
 * keylist.c - keys of files kept in memory.
 */
#include "cli/keylist.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

void um_keylist_fini(um_keylist *k)
{
    free(k->digests);
    free(k->weights);
    free(k->text);
    free(k->end);
    *k = (um_keylist){0};
}

/* *array grows to cap elements of size. */
static bool grow(void *array, size_t cap, size_t size)
{
    void *old, *larger;

    memcpy(&old, array, sizeof old);
    larger = cap <= SIZE_MAX / size ? realloc(old, cap * size) : NULL;
    if (larger)
        memcpy(array, &larger, sizeof larger);
    return larger != NULL;
}

static bool make_room(um_keylist *k, size_t more)
{
    size_t cap = k->cap ? k->cap : 4096;

    if (k->cap - k->n >= more)
        return true;
    while (cap - k->n < more)
        cap *= 2;
    if (!grow(&k->digests, cap, sizeof *k->digests) ||
        !grow(&k->weights, cap, sizeof *k->weights) ||
        !grow(&k->end, cap, sizeof *k->end))
        return false;
    k->cap = cap;
    return true;
}

static bool keep_line(um_keylist *k, size_t i, const umbel_slice *line)
{
    if (k->keep_lines && k->text_cap - k->text_len < line->len) {
        size_t cap = 2 * k->text_cap + line->len + 65536;
        if (!grow(&k->text, cap, 1))
            return false;
        k->text_cap = cap;
    }
    if (k->keep_lines && line->len) {
        memcpy(k->text + k->text_len, line->data, line->len);
        k->text_len += line->len;
    }
    k->end[i] = k->text_len;
    return true;
}

static umbel_status take(void *ctx, const um_batch *batch, umbel_error *err)
{
    um_keylist *k = ctx;

    if (!make_room(k, batch->n))
        return um_fail(err, UMBEL_E_NOMEM, "no memory for more than %zu keys",
                       k->n);
    umbel_status status = umbel_digest_many(k->filter, batch->keys, batch->n,
                                            k->digests + k->n, err);
    if (status != UMBEL_OK)
        return status;
    memcpy(k->weights + k->n, batch->weights, batch->n * sizeof *k->weights);
    for (size_t i = 0; i < batch->n; i++)
        if (!keep_line(k, k->n + i, &batch->lines[i]))
            return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu lines", k->n);
    k->n += batch->n;
    return UMBEL_OK;
}

/* How the keys of some files are walked: um_each_weighed or um_each_batch. */
typedef umbel_status each(const um_args *args, const char *const *paths,
                          size_t npaths, um_take_batch *take_it, void *ctx,
                          umbel_error *err);

static umbel_status read_all(um_keylist *out, um_keylist k, each *walk,
                             const um_args *args, const char *option,
                             umbel_error *err)
{
    umbel_status status = UMBEL_OK;
    const char *path;

    for (size_t i = 0;
         status == UMBEL_OK && (path = um_value_at(args, option, i)); i++)
        status = walk(args, &path, 1, take, &k, err);
    if (status == UMBEL_OK)
        *out = k;
    else
        um_keylist_fini(&k);
    return status;
}

umbel_status um_keylist_read(um_keylist *out, const um_args *args,
                             const char *option, const umbel_filter *f,
                             bool keep_lines, umbel_error *err)
{
    um_keylist k = {.filter = f, .keep_lines = keep_lines};
    return read_all(out, k, um_each_weighed, args, option, err);
}

umbel_status um_keylist_keys(um_keylist *out, const um_args *args,
                             const char *option, const umbel_filter *f,
                             umbel_error *err)
{
    um_keylist k = {.filter = f};
    return read_all(out, k, um_each_batch, args, option, err);
}

umbel_keyset um_keylist_set(const um_keylist *k)
{
    return (umbel_keyset){k->digests, k->weights, k->n};
}

umbel_slice um_keylist_line(const um_keylist *k, size_t i)
{
    size_t from = i ? k->end[i - 1] : 0;
    return (umbel_slice){k->text + from, k->end[i] - from};
}
