/*
 * targets.c - the destinations of a run, and those that must not be probed.
 */
#include "stopset/tracer/tracer_run.h"

#include "base/buffer.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_ROOM = 512 };

/* --- prefixes ------------------------------------------------------------ */

/* Parses "/24", the length of a prefix; if it is missing, that of an
 * address. */
static bool parse_len(const char *text, size_t len, bool v4, uint8_t *out)
{
    uint64_t bits, most = v4 ? 32 : 128;

    if (len == 0) {
        *out = (uint8_t)most;
        return true;
    }
    if (text[0] != '/' || !um_decimal_read(text + 1, len - 1, most, &bits))
        return false;
    *out = (uint8_t)bits;
    return true;
}

static umbel_status parse_prefix(const char *text, size_t len, ss_prefix *out,
                                 umbel_error *err)
{
    const char *slash = memchr(text, '/', len);
    size_t address = slash ? (size_t)(slash - text) : len;
    uint8_t bits;

    if (!ss_addr_parse(text, address, &out->base) ||
        !parse_len(text + address, len - address, ss_addr_is_v4(out->base),
                   &bits))
        return um_fail(err, UMBEL_E_RANGE,
                       "\"%.*s\" is no prefix: write 192.0.2.0/24, "
                       "2001:db8::/48 or an address",
                       (int)len, text);
    out->v4 = ss_addr_is_v4(out->base);
    out->len = (ss_prefix_len){bits, bits};
    if (!ss_addr_equal(ss_addr_mask(out->base, out->len), out->base))
        return um_fail(err, UMBEL_E_RANGE,
                       "\"%.*s\": the address has bits behind the prefix: did "
                       "you mean another length?",
                       (int)len, text);
    return UMBEL_OK;
}

umbel_status ss_prefixes_parse(ss_prefixes *p, const char *text,
                               umbel_error *err)
{
    for (;;) {
        size_t len = strcspn(text, ",");
        ss_prefix prefix;
        UM_TRY(parse_prefix(text, len, &prefix, err));
        if (!um_array_resize(&p->item, p->n + 1, sizeof *p->item))
            return um_no_memory(err, (p->n + 1) * sizeof *p->item);
        p->item[p->n++] = prefix;
        if (text[len] == '\0')
            return UMBEL_OK;
        text += len + 1;
    }
}

void ss_prefixes_fini(ss_prefixes *p)
{
    free(p->item);
    *p = (ss_prefixes){0};
}

bool ss_prefixes_have(const ss_prefixes *p, ss_addr a)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->item[i].v4 == ss_addr_is_v4(a) &&
            ss_addr_equal(ss_addr_mask(a, p->item[i].len), p->item[i].base))
            return true;
    return false;
}

bool ss_prefixes_have_all(const ss_prefixes *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->item[i].len.v4 == 0)
            return true;
    return false;
}

/* --- destinations -------------------------------------------------------- */

static umbel_status add_target(ss_targets *t, ss_addr a, umbel_error *err)
{
    if (ss_index_add(&t->set, a) == SS_NO_NUMBER)
        return um_no_memory(err, (size_t)t->set.n * sizeof a);
    *(ss_addr_is_v4(a) ? &t->v4 : &t->v6) = true;
    return UMBEL_OK;
}

static umbel_status add_line(ss_targets *t, char *line, umbel_error *err)
{
    ss_addr a;

    line[strcspn(line, "#\r\n")] = '\0';
    line += strspn(line, " \t");
    size_t len = strlen(line);
    while (len && (line[len - 1] == ' ' || line[len - 1] == '\t'))
        len--;
    if (len == 0)
        return UMBEL_OK;
    if (!ss_addr_parse(line, len, &a))
        return um_fail(err, UMBEL_E_RANGE,
                       "\"%.*s\" is no address; names are not looked up",
                       (int)len, line);
    return add_target(t, a, err);
}

static umbel_status add_lines(ss_targets *t, FILE *in, const char *name,
                              umbel_error *err)
{
    char line[LINE_ROOM];
    bool whole;
    umbel_error why;

    for (size_t number = 1; um_read_line(in, line, sizeof line, &whole);
         number++) {
        if (!whole && !feof(in))
            return um_fail(err, UMBEL_E_RANGE,
                           "%s, line %zu: too long for an address", name,
                           number);
        umbel_status status = add_line(t, line, &why);
        if (status)
            return um_fail(err, status, "%s, line %zu: %s", name, number,
                           why.text);
    }
    return ferror(in) ? um_fail_path(err, name) : UMBEL_OK;
}

umbel_status ss_targets_read(ss_targets *t, const char *operand,
                             umbel_error *err)
{
    ss_addr a;

    if (ss_addr_parse(operand, strlen(operand), &a))
        return add_target(t, a, err);
    if (strcmp(operand, "-") == 0)
        return add_lines(t, stdin, "standard input", err);
    FILE *in = fopen(operand, "re");
    if (!in && errno == ENOENT)
        return um_fail(err, UMBEL_E_IO,
                       "%s%s: neither an address nor a file; names are not "
                       "looked up",
                       um_path_dots(operand), um_path_tail(operand));
    if (!in)
        return um_fail_path(err, operand);
    umbel_status status = add_lines(t, in, operand, err);
    fclose(in);
    return status;
}

void ss_targets_fini(ss_targets *t)
{
    ss_index_fini(&t->set);
}

/* Returns the reason why the address cannot be a host; NULL if it can. */
static const char *not_a_host(ss_addr a)
{
    if (ss_addr_is_v4(a)) {
        uint32_t v4 = (uint32_t)a.lo;
        return v4 == UINT32_MAX  ? "it is the broadcast address"
               : v4 >> 28 == 0xE ? "it is a multicast group"
               : v4 >> 28 == 0xF ? "no host has an address of that range"
               : v4 >> 24 == 0   ? "no host has an address of that range"
                                 : NULL;
    }
    return ss_addr_none(a)      ? "it is no host's address"
           : a.hi >> 56 == 0xFF ? "it is a multicast group"
                                : NULL;
}

umbel_status ss_targets_check(const ss_targets *t, const ss_prefixes *allow,
                              const ss_prefixes *deny, umbel_error *err)
{
    for (uint32_t i = 0; i < t->set.n; i++) {
        char text[SS_ADDR_TEXT];
        const char *why = not_a_host(t->set.key[i]);
        if (!why && !ss_prefixes_have(allow, t->set.key[i]))
            why = "it is not in --allow";
        if (!why && ss_prefixes_have(deny, t->set.key[i]))
            why = "it is in --deny";
        if (why) {
            ss_addr_format(t->set.key[i], text);
            return um_fail(err, UMBEL_E_RANGE,
                           "%s must not be probed: %s; nothing was sent", text,
                           why);
        }
    }
    return UMBEL_OK;
}

/* --- order --------------------------------------------------------------- */

typedef struct placed {
    uint32_t round, prefix; /* number in the prefix; of the prefix */
    ss_addr a;
} placed;

static int compare_placed(const void *a, const void *b)
{
    const placed *x = a, *y = b;

    if (x->round != y->round)
        return (x->round > y->round) - (x->round < y->round);
    return (x->prefix > y->prefix) - (x->prefix < y->prefix);
}

uint32_t ss_targets_spread(ss_targets *t, ss_prefix_len len)
{
    ss_index prefixes = {0}, spread = {0};
    placed *order = calloc(t->set.n + 1, sizeof *order);
    uint32_t *rounds = calloc(t->set.n + 1, sizeof *rounds), n = 0;
    bool ok = order && rounds;

    for (uint32_t i = 0; ok && i < t->set.n; i++) {
        uint32_t prefix =
            ss_index_add(&prefixes, ss_addr_mask(t->set.key[i], len));
        ok = prefix != SS_NO_NUMBER;
        if (ok)
            order[i] = (placed){rounds[prefix]++, prefix, t->set.key[i]};
    }
    if (ok)
        qsort(order, t->set.n, sizeof *order, compare_placed);
    for (uint32_t i = 0; ok && i < t->set.n; i++)
        ok = ss_index_add(&spread, order[i].a) != SS_NO_NUMBER;
    if (ok) {
        n = prefixes.n;
        ss_index_fini(&t->set);
        t->set = spread;
    } else {
        ss_index_fini(&spread);
    }
    ss_index_fini(&prefixes);
    free(order);
    free(rounds);
    return n;
}
