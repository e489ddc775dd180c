/*
 * setting.c - tables of settings, and their types.
 */
#include "clearinghouse/config/config.h"

#include "base/buffer.h"
#include "base/error.h"
#include "net/server/address.h"
#include "net/server/http.h"

#include <umbel/counting.h>
#include <umbel/describe.h>
#include <umbel/filter.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#if defined(__GNUC__) && !defined(__clang__)
/* The analyzer loses track of arrays that base/buffer.h resizes. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

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

/* --- numbers -------------------------------------------------------------- */

/* A unit that may follow a number. Tables end with a NULL name. */
typedef struct unit {
    const char *name;
    double factor;
} unit;

static bool parse_with_unit(const char *text, const unit *units, double *out)
{
    char *end;
    double x = strtod(text, &end);

    if (end == text || strpbrk(text, "xX") || !isfinite(x) || x < 0)
        return false;
    end += strspn(end, " ");
    for (; units->name; units++)
        if (strcasecmp(units->name, end) == 0) {
            *out = x * units->factor;
            return true;
        }
    return false;
}

/* Parses a whole number within the limits of the row. */
static bool parse_whole(const um_setting *s, const char *text,
                        const unit *units, uint64_t *out)
{
    double x;

    if (!parse_with_unit(text, units, &x) || x >= 9e15 || x != floor(x))
        return false;
    if ((s->low < 0 || s->high > 0) && (x < s->low || x > s->high))
        return false;
    *out = (uint64_t)x;
    return true;
}

static void allow_range(const um_setting *s, const char *what, char *out)
{
    int len = snprintf(out, UM_ALLOWED_LEN, "%s", what);

    if (s->low < 0 || s->high > 0)
        snprintf(out + len, (size_t)(UM_ALLOWED_LEN - len),
                 ", from %.15g to %.15g", s->low, s->high);
}

static bool equal_u64(const void *a, const void *b)
{
    return *(const uint64_t *)a == *(const uint64_t *)b;
}

/* --- text ----------------------------------------------------------------- */

static bool parse_text(const um_setting *s, const char *text, void *target)
{
    char **to = target;

    (void)s;
    if (text[0] == '\0')
        return false;
    char *copy = strdup(text);
    if (!copy)
        return false;
    free(*to);
    *to = copy;
    return true;
}

static void allow_text(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    (void)s;
    snprintf(out, UM_ALLOWED_LEN, "a text that is not empty");
}

static bool equal_text(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;

    return x && y ? strcmp(x, y) == 0 : x == y;
}

static void fini_text(void *target)
{
    free(*(char **)target);
    *(char **)target = NULL;
}

const um_setting_type um_type_text = {"text",     false,      parse_text,
                                      allow_text, equal_text, fini_text};

enum { MAX_KINDS = 64 };

/* Lists the counting kinds; returns their number. */
static size_t counting_kinds(const char *names[MAX_KINDS])
{
    const char *name, *summary;
    size_t n = 0;

    for (size_t i = 0; n < MAX_KINDS && umbel_kind_at(i, &name, &summary); i++)
        if (umbel_is_counting(name))
            names[n++] = name;
    return n;
}

static bool parse_kind(const um_setting *s, const char *text, void *target)
{
    const char *names[MAX_KINDS];
    size_t n = counting_kinds(names);

    while (n && strcmp(names[n - 1], text) != 0)
        n--;
    return n && parse_text(s, text, target);
}

static void allow_kind(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    const char *names[MAX_KINDS];
    size_t n = counting_kinds(names);

    (void)s;
    um_join_or(names, n, out, UM_ALLOWED_LEN);
}

const um_setting_type um_type_kind = {"kind",     false,      parse_kind,
                                      allow_kind, equal_text, fini_text};

/* --- numbers with units --------------------------------------------------- */

static const unit sizes[] = {{"", 1},
                             {"B", 1},
                             {"k", 1e3},
                             {"kB", 1e3},
                             {"M", 1e6},
                             {"MB", 1e6},
                             {"G", 1e9},
                             {"GB", 1e9},
                             {"KiB", 1024.0},
                             {"MiB", 1048576.0},
                             {"GiB", 1073741824.0},
                             {NULL, 0}};

static bool parse_size(const um_setting *s, const char *text, void *target)
{
    return parse_whole(s, text, sizes, target);
}

static void allow_size(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    allow_range(s, "bytes such as 64MB or 1GiB", out);
}

const um_setting_type um_type_size = {"size",     false,     parse_size,
                                      allow_size, equal_u64, NULL};

static const unit durations[] = {{"ms", 1},   {"s", 1e3},   {"min", 6e4},
                                 {"h", 36e5}, {"d", 864e5}, {NULL, 0}};

static bool parse_duration(const um_setting *s, const char *text, void *target)
{
    return parse_whole(s, text, durations, target);
}

/* Returns the largest unit of which the duration is a multiple. */
static const unit *unit_of(double ms)
{
    const unit *u = durations;

    while (u[1].name && fmod(ms, u[1].factor) == 0)
        u++;
    return u;
}

static void allow_duration(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    const unit *low = unit_of(s->low), *high = unit_of(s->high);

    snprintf(out, UM_ALLOWED_LEN,
             "a time such as 500ms, 10s, 5min, 2h or 30d, from %.15g%s to "
             "%.15g%s",
             s->low / low->factor, low->name, s->high / high->factor,
             high->name);
}

const um_setting_type um_type_duration = {
    "time", false, parse_duration, allow_duration, equal_u64, NULL};

static const unit counts[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {NULL, 0}};

static bool parse_count(const um_setting *s, const char *text, void *target)
{
    return parse_whole(s, text, counts, target);
}

static void allow_count(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    allow_range(s, "a whole number such as 5000 or 1e6", out);
}

const um_setting_type um_type_count = {"number",    false,     parse_count,
                                       allow_count, equal_u64, NULL};

static bool parse_share(const um_setting *s, const char *text, void *target)
{
    static const unit units[] = {{"", 1}, {"%", 0.01}, {NULL, 0}};
    double x;

    if (!parse_with_unit(text, units, &x) ||
        !(s->high > 0 ? x >= s->low && x <= s->high : x > 0 && x < 1))
        return false;
    *(double *)target = x;
    return true;
}

static void allow_share(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    if (s->high > 0)
        snprintf(out, UM_ALLOWED_LEN,
                 "a share from %g to %g such as 0.25 or 25%%", s->low, s->high);
    else
        snprintf(out, UM_ALLOWED_LEN,
                 "a share between 0 and 1 such as 1e-5 or 0.1%%");
}

static bool equal_share(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return !(x < y) && !(y < x);
}

const um_setting_type um_type_share = {"share",     false,       parse_share,
                                       allow_share, equal_share, NULL};

/* --- weights -------------------------------------------------------------- */

static bool parse_weight(const um_setting *s, const char *text, void *target)
{
    char *end;
    double x = strtod(text, &end);

    if (end == text || *end || !(x >= s->low && x <= s->high))
        return false;
    *(uint64_t *)target = (uint64_t)lround(x * 100);
    return x == 0 || *(uint64_t *)target; /* 0.001 would mute the account */
}

static void allow_weight(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    allow_range(s, "a number such as 5 or 0.25", out);
}

const um_setting_type um_type_weight = {"weight",     false,     parse_weight,
                                        allow_weight, equal_u64, NULL};

/* --- choices -------------------------------------------------------------- */

static bool parse_choice(const um_setting *s, const char *text, void *target)
{
    for (unsigned i = 0; s->choices[i]; i++)
        if (strcmp(s->choices[i], text) == 0) {
            *(unsigned *)target = i;
            return true;
        }
    return false;
}

static void allow_choice(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    size_t n = 0;

    while (s->choices[n])
        n++;
    um_join_or(s->choices, n, out, UM_ALLOWED_LEN);
}

static bool equal_choice(const void *a, const void *b)
{
    return *(const unsigned *)a == *(const unsigned *)b;
}

const um_setting_type um_type_choice = {
    "choice", false, parse_choice, allow_choice, equal_choice, NULL};

static bool parse_flag(const um_setting *s, const char *text, void *target)
{
    static const char *const words[] = {"false", "true", "no",
                                        "yes",   "off",  "on"};

    (void)s;
    for (size_t i = 0; i < UM_COUNT(words); i++)
        if (strcmp(words[i], text) == 0) {
            *(bool *)target = i % 2;
            return true;
        }
    return false;
}

static void allow_flag(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    (void)s;
    snprintf(out, UM_ALLOWED_LEN, "true or false");
}

static bool equal_flag(const void *a, const void *b)
{
    return *(const bool *)a == *(const bool *)b;
}

const um_setting_type um_type_flag = {"flag",     false,      parse_flag,
                                      allow_flag, equal_flag, NULL};

/* --- addresses ------------------------------------------------------------ */

static bool parse_addresses(const um_setting *s, const char *text, void *target)
{
    um_address a;

    (void)s;
    return um_address_parse(text, &a, NULL) == UMBEL_OK &&
           um_texts_add(target, text);
}

/* Parses an address with a port; paths are refused, because datagrams need a
 * port. */
static bool parse_ports(const um_setting *s, const char *text, void *target)
{
    return text[0] != '/' && parse_addresses(s, text, target);
}

static void allow_ports(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    (void)s;
    snprintf(out, UM_ALLOWED_LEN,
             "addresses such as {\"127.0.0.1:24441\", \"[::1]:24441\"}, or {} "
             "for none; names of hosts are not");
}

static void allow_addresses(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    snprintf(
        out, UM_ALLOWED_LEN,
        "addresses and absolute paths of unix sockets (at most %zu bytes), "
        "such as {\"%s\", \"/run/x\"}, or {}; names of hosts are not",
        sizeof((struct sockaddr_un *)0)->sun_path - 1,
        s->initial ? s->initial : "127.0.0.1:24450");
}

static bool parse_address(const um_setting *s, const char *text, void *target)
{
    um_address a;

    return um_address_parse(text, &a, NULL) == UMBEL_OK &&
           (a.path || um_address_port(&a)) && parse_text(s, text, target);
}

static void allow_address(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    (void)s;
    snprintf(out, UM_ALLOWED_LEN,
             "an address such as \"192.0.2.1:24450\" or "
             "\"[2001:db8::1]:24450\", or the absolute path of a unix socket; "
             "names of hosts are not");
}

static bool parse_hosts(const um_setting *s, const char *text, void *target)
{
    (void)s;
    return um_host_is_name(text) && um_texts_add(target, text);
}

static void allow_hosts(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    (void)s;
    snprintf(out, UM_ALLOWED_LEN,
             "names of hosts without a port, such as {\"mail.example.org\"}, "
             "or {} for none");
}

static bool parse_networks(const um_setting *s, const char *text, void *target)
{
    um_network n;
    unsigned bits;

    (void)s;
    return um_network_parse(text, &n, &bits, NULL) == UMBEL_OK &&
           um_texts_add(target, text);
}

static void allow_networks(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    (void)s;
    snprintf(out, UM_ALLOWED_LEN,
             "networks and addresses, such as {\"192.0.2.0/24\", \"::1\"}, or "
             "{} for none");
}

static bool equal_texts(const void *a, const void *b)
{
    const um_texts *x = a, *y = b;

    if (x->n != y->n)
        return false;
    for (size_t i = 0; i < x->n; i++)
        if (strcmp(x->item[i], y->item[i]) != 0)
            return false;
    return true;
}

static void fini_texts(void *target)
{
    um_texts_fini(target);
}

const um_setting_type um_type_address = {
    "address", false, parse_address, allow_address, equal_text, fini_text};

const um_setting_type um_type_addresses = {"addresses",     true,
                                           parse_addresses, allow_addresses,
                                           equal_texts,     fini_texts};

const um_setting_type um_type_ports = {"addresses", true,        parse_ports,
                                       allow_ports, equal_texts, fini_texts};

const um_setting_type um_type_hosts = {"names",     true,        parse_hosts,
                                       allow_hosts, equal_texts, fini_texts};

const um_setting_type um_type_networks = {
    "networks", true, parse_networks, allow_networks, equal_texts, fini_texts};

/* --- Razor ---------------------------------------------------------------- */

/* Parses "HOST:PORT". Razor's clients require a dot in the name. */
static bool parse_places(const um_setting *s, const char *text, void *target)
{
    char host[256], rest;
    unsigned port;

    (void)s;
    return sscanf(text, "%255[A-Za-z0-9.-]:%5u%c", host, &port, &rest) == 2 &&
           strchr(host, '.') && port >= 1 && port <= 65535 &&
           um_texts_add(target, text);
}

static void allow_places(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    (void)s;
    snprintf(out, UM_ALLOWED_LEN,
             "names with a dot, or IPv4 addresses, and a port, such as "
             "{\"razor.example.org:2703\"}, or {} for none");
}

static bool parse_seed(const um_setting *s, const char *text, void *target)
{
    unsigned seed, separator;
    char rest;

    return sscanf(text, "%6u-%6u%c", &seed, &separator, &rest) == 2 &&
           strspn(text, "0123456789-") == strlen(text) &&
           parse_text(s, text, target);
}

static void allow_seed(const um_setting *s, char out[UM_ALLOWED_LEN])
{
    (void)s;
    snprintf(out, UM_ALLOWED_LEN, "two numbers such as 7542-10");
}

const um_setting_type um_type_host_ports = {
    "names", true, parse_places, allow_places, equal_texts, fini_texts};

const um_setting_type um_type_seed = {"text",     false,      parse_seed,
                                      allow_seed, equal_text, fini_text};
