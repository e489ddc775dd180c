/*
 * welcome.c - the welcome file: parsing, the table of rules, and changes to the
 * file.
 *
 * Rules are in a hash table, by type and value. A mail is looked up by its own
 * values: the sender, its domain and the domains above it, and the client's
 * network of each prefix length that a rule uses. So the cost does not grow
 * with the number of rules.
 */
#include "clearinghouse/lists/welcome.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "clearinghouse/runtime/digest_text.h"
#include "filter/save.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { DOMAIN_MAX = 253, LABEL_MAX = 63 };

/* The formats of values, for error messages. */
#define SENDERS "news@example.org, @example.org or @.example.org"
#define DOMAINS "example.org or .example.org"

/* --- values --------------------------------------------------------------- */

/* Returns true for letters of any script as well: names are compared, never
 * resolved. */
static bool is_domain_char(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool is_domain(const char *text)
{
    size_t label = 0, len = strlen(text);

    for (const char *at = text; *at; at++) {
        label = *at == '.' ? 0 : label + 1;
        if (*at == '.' ? at == text || at[-1] == '.' : !is_domain_char(*at))
            return false;
        if (label > LABEL_MAX)
            return false;
    }
    return label && len <= DOMAIN_MAX;
}

/* Returns true for a domain, or for "." and a domain, which matches the domains
 * below it, too. */
static bool is_domain_rule(const char *text)
{
    return is_domain(text + (*text == '.'));
}

/* Removes <> around a value. */
static void unwrap(char *value)
{
    size_t len = strlen(value);

    if (len >= 2 && value[0] == '<' && value[len - 1] == '>') {
        memmove(value, value + 1, len - 2);
        value[len - 2] = '\0';
    }
}

static umbel_status read_sender(um_welcome_rule *r, umbel_error *err)
{
    unwrap(r->value);
    const char *at = strrchr(r->value, '@');
    bool any = r->value[0] == '@';
    if (at && any == (at == r->value) &&
        (any ? is_domain_rule(at + 1) : is_domain(at + 1)))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "\"%.80s\" is no sender; allowed: " SENDERS, r->value);
}

static umbel_status read_from(um_welcome_rule *r, umbel_error *err)
{
    if (is_domain_rule(r->value))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "\"%.80s\" is no domain; allowed: " DOMAINS, r->value);
}

static umbel_status read_list_id(um_welcome_rule *r, umbel_error *err)
{
    unwrap(r->value);
    if (r->value[r->value[0] == '.'] && !strpbrk(r->value, "<>@"))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "\"%.80s\" is no List-Id: give what stands between < and >",
                   r->value);
}

static umbel_status read_client(um_welcome_rule *r, umbel_error *err)
{
    return um_network_parse(r->value, &r->network, &r->bits, err);
}

static umbel_status read_digest(um_welcome_rule *r, umbel_error *err)
{
    char text[UM_DIGEST_TEXT];

    return um_signature_read((umbel_slice){r->value, strlen(r->value)}, text,
                             err);
}

static const struct {
    const char *name;
    umbel_status (*read)(um_welcome_rule *r, umbel_error *err);
    const char *allowed;
} rows[UM_WELCOME_TYPES] = {
    {"sender", read_sender, SENDERS},
    {"from", read_from, DOMAINS},
    {"list-id", read_list_id, "news.example.org or .example.org"},
    {"client", read_client, "192.0.2.0/24, 2001:db8::/32 or 192.0.2.7"},
    {"digest", read_digest, "40 hexadecimal digits, as why prints them"},
};

const char *um_welcome_type_name(size_t type)
{
    return type < UM_WELCOME_TYPES ? rows[type].name : NULL;
}

/* --- lines ---------------------------------------------------------------- */

/* Refuses a star, as there are no patterns, and suggests what to write if that
 * can be guessed. */
static umbel_status refuse_star(const um_welcome_rule *r, umbel_error *err)
{
    um_welcome_rule meant = *r;
    char *to = meant.value;

    for (const char *from = r->value; *from; from++)
        if (*from != '*')
            *to++ = *from;
    *to = '\0';
    if (rows[r->type].read(&meant, NULL) == UMBEL_OK)
        return um_fail(err, UMBEL_E_RANGE,
                       "\"%.80s\": a star is no pattern here: write \"%s "
                       "%.80s\"",
                       r->value, rows[r->type].name, meant.value);
    return um_fail(err, UMBEL_E_RANGE,
                   "\"%.80s\": a star is no pattern here; allowed: %s",
                   r->value, rows[r->type].allowed);
}

static umbel_status read_type(umbel_slice word, um_welcome_rule *r,
                              umbel_error *err)
{
    unsigned i = 0;

    while (i < UM_WELCOME_TYPES &&
           (strlen(rows[i].name) != word.len ||
            memcmp(rows[i].name, word.data, word.len) != 0))
        i++;
    if (i == UM_WELCOME_TYPES)
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "a rule begins with sender, from, list-id, client or "
                       "digest, not \"%.*s\"",
                       (int)(word.len < 40 ? word.len : 40),
                       (const char *)word.data);
    r->type = (um_welcome_type)i;
    return UMBEL_OK;
}

static umbel_status read_value(umbel_slice word, um_welcome_rule *r,
                               umbel_error *err)
{
    const char *text = word.data;

    if (word.len == 0 || *text == '#')
        return um_fail(err, UMBEL_E_RANGE, "%s has no value; allowed: %s",
                       rows[r->type].name, rows[r->type].allowed);
    if (word.len >= sizeof r->value)
        return um_fail(err, UMBEL_E_LIMIT,
                       "a value has at most %zu bytes, not %zu",
                       sizeof r->value - 1, word.len);
    for (size_t i = 0; i < word.len; i++)
        r->value[i] = (char)tolower((unsigned char)text[i]);
    r->value[word.len] = '\0';
    if (memchr(text, '*', word.len))
        return refuse_star(r, err);
    return rows[r->type].read(r, err);
}

static umbel_status check_bytes(umbel_slice line, umbel_error *err)
{
    const char *text = line.data;

    if (line.len > UM_WELCOME_LINE)
        return um_fail(err, UMBEL_E_LIMIT,
                       "a line has at most %d bytes, not %zu", UM_WELCOME_LINE,
                       line.len);
    for (size_t i = 0; i < line.len; i++)
        if (iscntrl((unsigned char)text[i]) && !isspace((unsigned char)text[i]))
            return um_fail(err, UMBEL_E_FORMAT,
                           "byte %zu is a control character (%#x)", i + 1,
                           (unsigned)(unsigned char)text[i]);
    return UMBEL_OK;
}

umbel_status um_welcome_rule_read(umbel_slice line, um_welcome_rule *out,
                                  bool *given, umbel_error *err)
{
    um_welcome_rule r = {.line = 0};
    umbel_slice type, value, more;

    UM_TRY(check_bytes(line, err));
    *given = um_next_word(&line, &type) && *(const char *)type.data != '#';
    if (!*given)
        return UMBEL_OK;
    UM_TRY(read_type(type, &r, err));
    um_next_word(&line, &value);
    UM_TRY(read_value(value, &r, err));
    if (um_next_word(&line, &more) && *(const char *)more.data != '#')
        return um_fail(
            err, UMBEL_E_FORMAT, "one rule a line: \"%.*s\" is too much",
            (int)(more.len < 40 ? more.len : 40), (const char *)more.data);
    *out = r;
    return UMBEL_OK;
}

/* --- rules ---------------------------------------------------------------- */

const char *um_welcome_too_wide(const um_welcome_rule *r)
{
    enum { V4 = 96, WIDE_V4 = V4 + 8, WIDE_V6 = 16 };
    bool v4 = r->network.hi == 0 && r->network.lo >> 32 == 0xffff;
    const char *dot = strchr(r->value, '.');

    if (r->type == UM_WELCOME_CLIENT && (r->bits == 0 || (v4 && r->bits == V4)))
        return "welcomes every client";
    if (r->type == UM_WELCOME_CLIENT)
        return r->bits < (v4 ? WIDE_V4 : WIDE_V6)
                   ? "welcomes a large part of the Internet"
                   : NULL;
    if (r->type == UM_WELCOME_DIGEST || !dot || strchr(dot + 1, '.'))
        return NULL;
    return dot == r->value || dot[-1] == '@'
               ? "welcomes everything below a top-level domain"
               : NULL;
}

bool um_welcome_rule_equal(const um_welcome_rule *a, const um_welcome_rule *b)
{
    if (a->type != b->type)
        return false;
    if (a->type == UM_WELCOME_CLIENT)
        return a->bits == b->bits && um_network_equal(a->network, b->network);
    return strcmp(a->value, b->value) == 0;
}

/* --- the table ------------------------------------------------------------ */

enum {
    NETWORK_LEN = 16, /* bytes of a network, stored before its text */
    LENGTHS = 129,
    OF_DOMAIN = 1 /* value of bits in a sender rule "@domain" */
};

typedef struct entry {
    uint32_t text; /* offset of its value in the arena */
    uint32_t line;
    uint16_t len;
    uint8_t type;
    uint8_t bits;
} entry;

struct um_welcome {
    char *arena; /* values with their NUL; a network precedes its text */
    size_t used, cap;
    entry *entry;
    size_t n, entry_cap;
    uint32_t *slot; /* index of an entry plus 1; 0 if free */
    size_t nslots;  /* a power of two */
    size_t ntype[UM_WELCOME_TYPES];
    bool has_length[LENGTHS]; /* prefix lengths of networks that rules use */
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

static uint64_t hash_key(const key *k)
{
    uint64_t hash = um_checksum(k->data, k->len);

    return um_remix(hash ^ ((uint64_t)k->type << 8 | k->bits));
}

static bool is_free(const void *slot)
{
    return *(const uint32_t *)slot == 0;
}

static key key_of_slot(const um_welcome *w, const uint32_t *slot)
{
    return key_of(w, &w->entry[*slot - 1]);
}

static bool has_key(const void *ctx, const void *slot, const void *wanted)
{
    key other = key_of_slot(ctx, slot);
    const key *k = wanted;

    return other.type == k->type && other.bits == k->bits &&
           other.len == k->len && memcmp(other.data, k->data, k->len) == 0;
}

static uint64_t hash_slot(const void *ctx, const void *slot)
{
    key k = key_of_slot(ctx, slot);

    return hash_key(&k);
}

static const um_map_rule rule = {sizeof(uint32_t), is_free, has_key, hash_slot};

/* Returns the slot of a key, or the free slot for it. */
static uint32_t *find_slot(const um_welcome *w, const key *k)
{
    return um_map_find(&rule, w, w->slot, w->nslots, hash_key(k), k);
}

static const entry *find_entry(const um_welcome *w, const key *k)
{
    uint32_t number = w->n ? *find_slot(w, k) : 0;

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
    um_map_move(&rule, w, w->slot, w->nslots, slot, nslots);
    free(w->slot);
    w->slot = slot;
    w->nslots = nslots;
    return UMBEL_OK;
}

static umbel_status grow_entries(um_welcome *w, umbel_error *err)
{
    return um_array_reserve(&w->entry, &w->entry_cap, w->n + 1,
                            sizeof *w->entry)
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

/* Appends a rule to the arena, which has space for it. */
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

/* Adds a rule; *earlier is the line of an equal rule, or 0. */
static umbel_status add_rule(um_welcome *w, const um_welcome_rule *r,
                             size_t *earlier, umbel_error *err)
{
    UM_TRY(grow_arena(w, err));
    UM_TRY(grow_entries(w, err));
    UM_TRY(grow_slots(w, err));
    size_t used = w->used;
    entry e = create_entry(w, r);
    key k = key_of(w, &e);
    uint32_t *slot = find_slot(w, &k);
    *earlier = *slot ? w->entry[*slot - 1].line : 0;
    if (*slot) {
        w->used = used;
        return UMBEL_OK;
    }
    w->entry[w->n++] = e;
    *slot = (uint32_t)w->n;
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

static umbel_status parse_line(parsing *p, umbel_slice line, size_t number,
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

static umbel_status parse_lines(parsing *p, umbel_slice text, umbel_error *err)
{
    umbel_slice line;
    umbel_error why;

    for (size_t number = 1; um_next_line(&text, &line); number++) {
        umbel_status status = parse_line(p, line, number, &why);
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
    umbel_status status = parse_lines(&p, text, err);
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
    return sizeof *w + w->cap + w->entry_cap * sizeof *w->entry +
           w->nslots * sizeof *w->slot;
}

/* --- matching ------------------------------------------------------------- */

/* A value of a mail in lower case; "" if it is longer than any rule can be. */
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

/* Looks for a rule with that name, then for a rule ".domain" of it or of a
 * domain above it. dotted begins with a dot. */
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

/* --- changes to the file -------------------------------------------------- */

/* The welcome file, locked, and its text. */
typedef struct held_file {
    int fd;
    um_file_text text;
} held_file;

static void release_file(held_file *f)
{
    free(f->text.data);
    close(f->fd);
}

/* Opens and locks the file at path. Tries again if another program replaced it
 * meanwhile. */
static umbel_status lock_file(const char *path, int *fd, umbel_error *err)
{
    for (;;) {
        *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (*fd < 0)
            return um_fail_path(err, path);
        if (flock(*fd, LOCK_EX) != 0) {
            close(*fd);
            return um_fail_path(err, path);
        }
        if (um_is_at(*fd, path))
            return UMBEL_OK;
        close(*fd);
    }
}

static umbel_status hold_file(const char *path, held_file *out,
                              umbel_error *err)
{
    UM_TRY(lock_file(path, &out->fd, err));
    umbel_status status = um_file_text_read(&out->text, path, err);
    if (status != UMBEL_OK)
        close(out->fd);
    return status;
}

/* Finds the next line with a rule and its number; returns false after the last.
 */
static bool find_rule(umbel_slice *text, const um_welcome_rule *r,
                      umbel_slice *line, size_t *number)
{
    um_welcome_rule other;
    bool given;

    for (; um_next_line(text, line); ++*number)
        if (um_welcome_rule_read(*line, &other, &given, NULL) == UMBEL_OK &&
            given && um_welcome_rule_equal(&other, r)) {
            ++*number;
            return true;
        }
    return false;
}

/* Refuses a text that the server would refuse. */
static umbel_status check_text(umbel_slice text, const char *path,
                               umbel_error *err)
{
    um_welcome *w;

    UM_TRY(um_welcome_parse(text, path, NULL, NULL, &w, err));
    um_welcome_close(w);
    return UMBEL_OK;
}

static umbel_status add_to(const held_file *f, const char *path,
                           const um_welcome_rule *r, umbel_error *err)
{
    umbel_slice text = {f->text.data, f->text.len}, line;
    size_t number = 0, cap = f->text.len + UM_WELCOME_LINE;
    bool open_line = f->text.len && f->text.data[f->text.len - 1] != '\n';

    if (find_rule(&text, r, &line, &number))
        return um_fail(err, UMBEL_E_REFUSED, "%s:%zu has this rule already",
                       path, number);
    char *fresh = malloc(cap);
    if (!fresh)
        return um_no_memory(err, cap);
    memcpy(fresh, f->text.data, f->text.len);
    int len = snprintf(fresh + f->text.len, UM_WELCOME_LINE, "%s%s %s\n",
                       open_line ? "\n" : "", um_welcome_type_name(r->type),
                       r->value);
    text = (umbel_slice){fresh, f->text.len + (size_t)len};
    umbel_status status = check_text(text, path, err);
    if (status == UMBEL_OK)
        status = um_save_parts(&text, 1, path, err);
    free(fresh);
    return status;
}

/* Removes every line with the rule. The text is checked first, so that an error
 * names a line of the unchanged file. */
static umbel_status remove_from(held_file *f, const char *path,
                                const um_welcome_rule *r, umbel_error *err)
{
    umbel_slice text = {f->text.data, f->text.len}, line;
    size_t number = 0, removed = 0;

    UM_TRY(check_text(text, path, err));
    while (find_rule(&text, r, &line, &number)) {
        char *to = f->text.data + ((const char *)line.data - f->text.data);
        size_t gone = (size_t)((const char *)text.data - to);
        memmove(to, text.data, text.len);
        f->text.len -= gone;
        text.data = to;
        removed++;
    }
    if (!removed)
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "%s has no rule \"%s %s\"; welcome list prints its "
                       "rules",
                       path, um_welcome_type_name(r->type), r->value);
    text = (umbel_slice){f->text.data, f->text.len};
    return um_save_parts(&text, 1, path, err);
}

umbel_status um_welcome_add(const char *path, const um_welcome_rule *r,
                            umbel_error *err)
{
    held_file f;

    UM_TRY(hold_file(path, &f, err));
    umbel_status status = add_to(&f, path, r, err);
    release_file(&f);
    return status;
}

umbel_status um_welcome_remove(const char *path, const um_welcome_rule *r,
                               umbel_error *err)
{
    held_file f;

    UM_TRY(hold_file(path, &f, err));
    umbel_status status = remove_from(&f, path, r, err);
    release_file(&f);
    return status;
}

umbel_status um_welcome_each(const char *path,
                             void (*each)(void *ctx, const um_welcome_rule *r),
                             void *ctx, umbel_error *err)
{
    um_file_text whole;
    umbel_status status = UMBEL_OK;
    um_welcome_rule r;
    bool given;

    UM_TRY(um_file_text_read(&whole, path, err));
    umbel_slice text = {whole.data, whole.len}, line;
    umbel_error why;
    for (size_t n = 1; um_next_line(&text, &line); n++) {
        status = um_welcome_rule_read(line, &r, &given, &why);
        if (status != UMBEL_OK) {
            um_set_error(err, status, "%s:%zu: %s", path, n, why.text);
            break;
        }
        r.line = n;
        if (given)
            each(ctx, &r);
    }
    free(whole.data);
    return status;
}
