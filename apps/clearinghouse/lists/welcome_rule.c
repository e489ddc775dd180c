/*
 * welcome_rule.c - one rule: a row for each word that a line may begin with.
 */
#include "base/error.h"
#include "clearinghouse/lists/welcome.h"
#include "clearinghouse/runtime/digest_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { DOMAIN_MAX = 253, LABEL_MAX = 63 };

/* What a value looks like. */
#define SENDERS "news@example.org, @example.org or @.example.org"
#define DOMAINS "example.org or .example.org"

/* --- values --------------------------------------------------------------- */

/* Letters of any script: names are compared, never looked up. */
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

/* A domain, or "." and one: with those below it. */
static bool is_domain_rule(const char *text)
{
    return is_domain(text + (*text == '.'));
}

/* Takes off <> around a value. */
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

/* There are no patterns. Says what to write, if that can be guessed. */
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
