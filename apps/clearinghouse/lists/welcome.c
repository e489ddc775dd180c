/*
 * welcome.c - rules in a hash table, by type and value.
 *
 * A mail is looked up by its own values: the sender, its domain and the domains
 * above it, the client's network of each length that some rule has. So the cost
 * does not grow with the number of rules.
 */
#include "clearinghouse/lists/welcome.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NETWORK_LEN = 16, /* bytes of a network, before its text */
    LENGTHS = 129,
    OF_DOMAIN = 1 /* bits of a sender rule "@domain" */
};

typedef struct entry {
    uint32_t text; /* where its value begins in the arena */
    uint32_t line;
    uint16_t len;
    uint8_t type;
    uint8_t bits;
} entry;

struct um_welcome {
    char *arena; /* values with their NUL; a network stands before its text */
    size_t used, cap;
    entry *entry;
    size_t n, room;
    uint32_t *slot; /* number of an entry, from 1 on; 0: free */
    size_t nslots;  /* a power of two */
    size_t ntype[UM_WELCOME_TYPES];
    bool has_length[LENGTHS]; /* of networks */
};

/* --- the table ------------------------------------------------------------ */

typedef struct key {
    const void *data;
    size_t len;
    um_welcome_type type;
    unsigned bits;
} key;

static key key_of(const um_welcome *w, const entry *e)
{
    const char *text = w->arena + e->text;
    key k = {text, e->len, (um_welcome_type)e->type, e->bits};

    if (e->type == UM_WELCOME_CLIENT) {
        k.data = text - NETWORK_LEN;
        k.len = NETWORK_LEN;
    } else if (e->bits == OF_DOMAIN) {
        k.data = text + 1;
        k.len--;
    }
    return k;
}

static size_t home_of(const um_welcome *w, const key *k)
{
    uint64_t hash = um_checksum(k->data, k->len);

    return um_remix(hash ^ ((uint64_t)k->type << 8 | k->bits)) &
           (w->nslots - 1);
}

static bool is_key(const um_welcome *w, const entry *e, const key *k)
{
    key other = key_of(w, e);

    return other.type == k->type && other.bits == k->bits &&
           other.len == k->len && memcmp(other.data, k->data, k->len) == 0;
}

/* The slot of a key, or the free one where it belongs. */
static size_t find_slot(const um_welcome *w, const key *k)
{
    size_t i = home_of(w, k);

    while (w->slot[i] && !is_key(w, &w->entry[w->slot[i] - 1], k))
        i = (i + 1) & (w->nslots - 1);
    return i;
}

static const entry *find_entry(const um_welcome *w, const key *k)
{
    uint32_t number = w->n ? w->slot[find_slot(w, k)] : 0;

    return number ? &w->entry[number - 1] : NULL;
}

static umbel_status grow_slots(um_welcome *w, umbel_error *err)
{
    size_t nslots = w->nslots ? 2 * w->nslots : 64;

    if (2 * w->n < w->nslots)
        return UMBEL_OK;
    uint32_t *slot = calloc(nslots, sizeof *slot);
    if (!slot)
        return um_no_memory(err, nslots * sizeof *slot);
    free(w->slot);
    w->slot = slot;
    w->nslots = nslots;
    for (size_t i = 0; i < w->n; i++) {
        key k = key_of(w, &w->entry[i]);
        slot[find_slot(w, &k)] = (uint32_t)(i + 1);
    }
    return UMBEL_OK;
}

static umbel_status grow_entries(um_welcome *w, umbel_error *err)
{
    return um_array_reserve(&w->entry, &w->room, w->n + 1, sizeof *w->entry)
               ? UMBEL_OK
               : um_no_memory(err, (w->n + 1) * sizeof *w->entry);
}

static umbel_status grow_arena(um_welcome *w, umbel_error *err)
{
    size_t want = w->used + NETWORK_LEN + UM_WELCOME_VALUE;

    return um_array_reserve(&w->arena, &w->cap, want, 1)
               ? UMBEL_OK
               : um_no_memory(err, want);
}

static void write_network(char *out, um_network n)
{
    memcpy(out, &n.hi, sizeof n.hi);
    memcpy(out + sizeof n.hi, &n.lo, sizeof n.lo);
}

/* Copies a rule behind the last one; there is room. */
static entry create_entry(um_welcome *w, const um_welcome_rule *r)
{
    size_t len = strlen(r->value);
    bool of_domain = r->type == UM_WELCOME_SENDER && r->value[0] == '@';

    if (r->type == UM_WELCOME_CLIENT) {
        write_network(w->arena + w->used, r->network);
        w->used += NETWORK_LEN;
    }
    entry e = {.text = (uint32_t)w->used,
               .line = (uint32_t)r->line,
               .len = (uint16_t)len,
               .type = (uint8_t)r->type,
               .bits = of_domain ? OF_DOMAIN : (uint8_t)r->bits};
    memcpy(w->arena + w->used, r->value, len + 1);
    w->used += len + 1;
    return e;
}

/* Adds a rule; *earlier is the line of the same rule, or 0. */
static umbel_status add_rule(um_welcome *w, const um_welcome_rule *r,
                             size_t *earlier, umbel_error *err)
{
    UM_TRY(grow_arena(w, err));
    UM_TRY(grow_entries(w, err));
    UM_TRY(grow_slots(w, err));
    size_t used = w->used;
    entry e = create_entry(w, r);
    key k = key_of(w, &e);
    size_t place = find_slot(w, &k);
    *earlier = w->slot[place] ? w->entry[w->slot[place] - 1].line : 0;
    if (w->slot[place]) {
        w->used = used;
        return UMBEL_OK;
    }
    w->entry[w->n++] = e;
    w->slot[place] = (uint32_t)w->n;
    w->ntype[r->type]++;
    if (r->type == UM_WELCOME_CLIENT)
        w->has_length[r->bits] = true;
    return UMBEL_OK;
}

/* --- files ---------------------------------------------------------------- */

typedef struct parsing {
    um_welcome *w;
    const char *path;
    um_warn_line *warn;
    void *ctx;
    size_t warnings;
} parsing;

static void warn_line(parsing *p, size_t line, const char *what)
{
    if (p->warn && p->warnings++ < UM_WELCOME_WARNINGS)
        p->warn(p->ctx, p->path, line, what);
}

static void warn_left_out(parsing *p)
{
    char what[64];

    if (!p->warn || p->warnings <= UM_WELCOME_WARNINGS)
        return;
    snprintf(what, sizeof what, "%zu more rules like these",
             p->warnings - UM_WELCOME_WARNINGS);
    p->warn(p->ctx, p->path, 0, what);
}

static umbel_status consume_line(parsing *p, umbel_slice line, size_t number,
                                 umbel_error *err)
{
    um_welcome_rule r;
    size_t earlier;
    char what[64];
    bool given;

    UM_TRY(um_welcome_rule_read(line, &r, &given, err));
    if (!given)
        return UMBEL_OK;
    if (p->w->n == UM_WELCOME_MAX)
        return um_fail(err, UMBEL_E_LIMIT, "more than %d rules",
                       UM_WELCOME_MAX);
    r.line = number;
    UM_TRY(add_rule(p->w, &r, &earlier, err));
    if (earlier) {
        snprintf(what, sizeof what, "repeats line %zu", earlier);
        warn_line(p, number, what);
    } else if (um_welcome_too_wide(&r)) {
        warn_line(p, number, um_welcome_too_wide(&r));
    }
    return UMBEL_OK;
}

static umbel_status consume_lines(parsing *p, umbel_slice text,
                                  umbel_error *err)
{
    umbel_slice line;
    umbel_error why;

    for (size_t number = 1; um_next_line(&text, &line); number++) {
        umbel_status status = consume_line(p, line, number, &why);
        if (status != UMBEL_OK)
            return um_fail(err, status, "%s%s:%zu: %s", um_path_dots(p->path),
                           um_path_tail(p->path), number, why.text);
    }
    warn_left_out(p);
    return UMBEL_OK;
}

umbel_status um_welcome_parse(umbel_slice text, const char *path,
                              um_warn_line *warn, void *ctx, um_welcome **out,
                              umbel_error *err)
{
    parsing p = {calloc(1, sizeof *p.w), path, warn, ctx, 0};

    if (!p.w)
        return um_no_memory(err, sizeof *p.w);
    umbel_status status = consume_lines(&p, text, err);
    if (status == UMBEL_OK)
        *out = p.w;
    else
        um_welcome_close(p.w);
    return status;
}

umbel_status um_welcome_read(const char *path, um_warn_line *warn, void *ctx,
                             um_welcome **out, umbel_error *err)
{
    um_file_text text = {NULL, 0};

    if (path)
        UM_TRY(um_file_text_read(&text, path, err));
    if (path && !text.data && warn)
        warn(ctx, path, 0, "no such file: no mail is welcome");
    umbel_status status = um_welcome_parse((umbel_slice){text.data, text.len},
                                           path, warn, ctx, out, err);
    free(text.data);
    return status;
}

void um_welcome_close(um_welcome *w)
{
    if (!w)
        return;
    free(w->arena);
    free(w->entry);
    free(w->slot);
    free(w);
}

size_t um_welcome_rules(const um_welcome *w)
{
    return w ? w->n : 0;
}

bool um_welcome_has(const um_welcome *w, um_welcome_type type)
{
    return w && w->ntype[type];
}

uint64_t um_welcome_bytes(const um_welcome *w)
{
    return sizeof *w + w->cap + w->room * sizeof *w->entry +
           w->nslots * sizeof *w->slot;
}

/* --- matching ------------------------------------------------------------- */

/* A value of a mail in lower case; "" if it is longer than any rule. */
typedef struct lowered {
    char text[UM_WELCOME_VALUE + 1]; /* begins with a dot */
    size_t len;                      /* without the dot */
} lowered;

static lowered lower(umbel_slice s)
{
    const char *from = s.data;
    lowered l = {.text = "."};

    if (s.len >= 2 && from[0] == '<' && from[s.len - 1] == '>') {
        from++;
        s.len -= 2;
    }
    if (s.len >= UM_WELCOME_VALUE)
        return l;
    for (; l.len < s.len; l.len++)
        l.text[1 + l.len] = (char)tolower((unsigned char)from[l.len]);
    return l;
}

/* Looks for a name, then for a rule ".domain" on it or above it. dotted begins
 * with a dot. */
static const entry *match_domain(const um_welcome *w, um_welcome_type type,
                                 unsigned bits, const char *dotted, size_t len)
{
    key k = {dotted + 1, len - 1, type, bits};
    const entry *e = find_entry(w, &k);

    for (const char *dot = dotted, *end = dotted + len; dot && !e;
         dot = memchr(dot + 1, '.', (size_t)(end - dot - 1))) {
        k.data = dot;
        k.len = (size_t)(end - dot);
        e = find_entry(w, &k);
    }
    return e;
}

static const entry *match_sender(const um_welcome *w, const um_welcome_mail *m)
{
    lowered l = lower(m->sender);
    char *at = strrchr(l.text, '@');

    if (!at)
        return NULL;
    const entry *e =
        find_entry(w, &(key){l.text + 1, l.len, UM_WELCOME_SENDER, .bits = 0});
    if (e)
        return e;
    *at = '.';
    return match_domain(w, UM_WELCOME_SENDER, OF_DOMAIN, at,
                        (size_t)(l.text + 1 + l.len - at));
}

static const entry *match_from(const um_welcome *w, const um_welcome_mail *m)
{
    lowered l = lower(m->from_domain);

    return l.len ? match_domain(w, UM_WELCOME_FROM, 0, l.text, l.len + 1)
                 : NULL;
}

static const entry *match_list_id(const um_welcome *w, const um_welcome_mail *m)
{
    lowered l = lower(m->list_id);

    return l.len ? match_domain(w, UM_WELCOME_LIST_ID, 0, l.text, l.len + 1)
                 : NULL;
}

static const entry *match_client(const um_welcome *w, const um_welcome_mail *m)
{
    lowered l = lower(m->client);
    char bytes[NETWORK_LEN];
    um_network n;
    unsigned bits;

    if (um_network_parse(l.text + 1, &n, &bits, NULL) != UMBEL_OK)
        return NULL;
    for (unsigned len = bits + 1; len-- > 0;) {
        if (!w->has_length[len])
            continue;
        write_network(bytes, um_network_mask(n, len));
        const entry *e =
            find_entry(w, &(key){bytes, sizeof bytes, UM_WELCOME_CLIENT, len});
        if (e)
            return e;
    }
    return NULL;
}

static const entry *match_digest(const um_welcome *w, const um_welcome_mail *m)
{
    const entry *e = NULL;

    for (size_t i = 0; i < m->ndigests && !e; i++) {
        lowered l = lower(m->digest[i]);
        e = find_entry(w,
                       &(key){l.text + 1, l.len, UM_WELCOME_DIGEST, .bits = 0});
    }
    return e;
}

static void describe_rule(const um_welcome *w, const entry *e,
                          um_welcome_rule *out)
{
    *out = (um_welcome_rule){.type = (um_welcome_type)e->type, .line = e->line};
    memcpy(out->value, w->arena + e->text, e->len + 1U);
}

bool um_welcome_match(const um_welcome *w, const um_welcome_mail *m,
                      um_welcome_rule *which)
{
    static const entry *(*const match[UM_WELCOME_TYPES])(
        const um_welcome *, const um_welcome_mail *) = {
        match_sender, match_from, match_list_id, match_client, match_digest};
    const entry *e = NULL;

    for (unsigned i = 0; i < UM_WELCOME_TYPES && !e; i++)
        if (um_welcome_has(w, (um_welcome_type)i))
            e = match[i](w, m);
    if (e && which)
        describe_rule(w, e, which);
    return e;
}
