/*
 * top.c - the keys of a stream with the largest counts.
 */
#include "keylist/top.h"

#include "base/buffer.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

void um_top_fini(um_top *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->key[i].text);
    t->n = 0;
}

/* Orders by count, the largest first, then by arrival. */
static int compare_keys(const void *a, const void *b)
{
    const um_top_key *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

static bool has_digest(const um_top *t, const umbel_digest *d)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->key[i].digest.lo == d->lo && t->key[i].digest.hi == d->hi)
            return true;
    return false;
}

static void find_weakest(um_top *t)
{
    t->weakest = 0;
    for (size_t i = 1; i < t->n; i++)
        if (compare_keys(&t->key[i], &t->key[t->weakest]) > 0)
            t->weakest = i;
}

umbel_status um_top_parse(um_top *t, const umbel_filter *f,
                          const umbel_slice *key, const umbel_slice *text,
                          uint64_t count, umbel_error *err)
{
    um_top_key new = {.count = count, .order = t->seen++, .len = text->len};

    if (t->n == t->room && count <= t->key[t->weakest].count)
        return UMBEL_OK;
    UM_TRY(umbel_digest_many(f, key, 1, &new.digest, err));
    if (has_digest(t, &new.digest))
        return UMBEL_OK;
    um_top_key *slot = &t->key[t->n < t->room ? t->n : t->weakest];
    char *copy = t->n < t->room ? NULL : slot->text;
    if (!um_array_resize(&copy, text->len + 1, 1))
        return um_no_memory(err, text->len);
    memcpy(copy, text->data, text->len);
    *slot = new;
    slot->text = copy;
    t->n += t->n < t->room;
    if (t->n == t->room)
        find_weakest(t);
    return UMBEL_OK;
}

void um_top_sort(um_top *t)
{
    qsort(t->key, t->n, sizeof *t->key, compare_keys);
}
