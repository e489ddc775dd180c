/*
 * config_use.c - what others ask of a configuration.
 */
#include "clearinghouse/config/config.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

uint64_t um_config_weight_percent(const um_config *c, const char *account,
                                  uint64_t other)
{
    for (size_t i = 0; i < c->naccounts; i++)
        if (strcmp(c->account[i].name, account) == 0)
            return c->account[i].weight;
    return other;
}

uint32_t um_config_weight(const um_config *c, const char *account)
{
    return (uint32_t)(um_config_weight_percent(c, account, 100) / 100);
}

void *um_config_protocol(const um_config *c, const um_protocol *f)
{
    size_t i = 0;

    while (um_protocol_row(i) != f)
        i++;
    return c->front[i];
}

umbel_status um_config_check_listens(const um_config *c, umbel_error *err)
{
    for (size_t i = 0; um_protocol_row(i); i++)
        for (const um_setting *s = um_protocol_row(i)->settings; s->name; s++)
            if ((s->type == &um_type_addresses || s->type == &um_type_ports) &&
                ((um_texts *)um_setting_target(s, c->front[i]))->n)
                return UMBEL_OK;
    return um_fail(err, UMBEL_E_REFUSED,
                   "no front listens: each has listen = {}; give one of them "
                   "an address");
}

/* The name of a setting, as "pyzor.listen". */
typedef struct place {
    const char *section, *title;
} place;

typedef struct differences {
    char *out;
    size_t cap, len, n;
} differences;

static void add_difference(differences *d, const place *p, const char *name)
{
    const char *parts[] = {p->section, p->title ? "." : "",
                           p->title ? p->title : "", p->section[0] ? "." : "",
                           name};

    if (d->n++ && d->len < d->cap)
        d->len += (size_t)snprintf(d->out + d->len, d->cap - d->len, ", ");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (d->len < d->cap)
            d->len += (size_t)snprintf(d->out + d->len, d->cap - d->len, "%s",
                                       parts[i]);
}

static void compare_section(const um_setting *rows, const void *old,
                            const void *new, const place *p, differences *d)
{
    for (; rows->name; rows++) {
        const char *a = (const char *)old + rows->target;
        const char *b = (const char *)new + rows->target;
        if (!rows->live && !rows->type->equal(a, b))
            add_difference(d, p, rows->name);
    }
}

size_t um_config_fixed_changes(const um_config *old, const um_config *new,
                               char *out, size_t cap)
{
    um_config a = *old, b = *new; /* targets are not const */
    differences d = {out, cap, 0, 0};
    um_section_row s;

    out[0] = '\0';
    for (size_t i = 0; um_config_section(i, &s); i++) {
        if (!s.titled)
            compare_section(s.rows, s.target(&a, s.name), s.target(&b, s.name),
                            &(place){s.name, NULL}, &d);
        for (size_t j = 0; s.titled && s.title && s.title(j); j++)
            compare_section(s.rows, s.target(&a, s.title(j)),
                            s.target(&b, s.title(j)),
                            &(place){s.name, s.title(j)}, &d);
    }
    return d.n;
}
