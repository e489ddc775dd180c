/*
 * setting.c - tables of settings.
 */
#include "clearinghouse/config/setting.h"

#include "base/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void um_settings_init(const um_setting *rows, void *target)
{
    for (; rows->name; rows++)
        if (rows->initial)
            rows->type->parse(rows, rows->initial,
                              um_setting_target(rows, target));
}

void um_settings_fini(const um_setting *rows, void *target)
{
    for (; rows->name; rows++)
        if (rows->type->fini)
            rows->type->fini(um_setting_target(rows, target));
}

const um_setting *um_setting_find(const um_setting *rows, const char *name)
{
    for (; rows->name; rows++)
        if (strcmp(rows->name, name) == 0)
            return rows;
    return NULL;
}

void um_join_or(const char *const *names, size_t n, char *out, size_t cap)
{
    size_t len = 0;

    out[0] = '\0';
    for (size_t i = 0; i < n && len < cap; i++)
        len += (size_t)snprintf(out + len, cap - len, "%s%s",
                                i == 0      ? ""
                                : i + 1 < n ? ", "
                                            : " or ",
                                names[i]);
}

bool um_texts_add(um_texts *t, const char *text)
{
    if (!um_array_resize(&t->item, t->n + 1, sizeof *t->item))
        return false;
    t->item[t->n] = strdup(text);
    if (!t->item[t->n])
        return false;
    t->n++;
    return true;
}

void um_texts_fini(um_texts *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->item[i]);
    free(t->item);
    *t = (um_texts){0};
}
