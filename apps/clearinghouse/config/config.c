/*
 * config.c - the settings and their defaults, and functions that query a
 * configuration.
 */
#include "clearinghouse/config/config.h"

#include "base/buffer.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY 864e5 /* milliseconds */

const char *const um_durability_names[] = {"always", "interval", "none", NULL};

static const um_setting top_settings[] = {
    {"data", &um_type_text, offsetof(um_config, data), "clearinghouse",
     .help = "directory of the store; it is made if it does not exist"},
    {"secret", &um_type_text, offsetof(um_config, secret), NULL,
     .help = "key file of umbel keygen; default: secret in the data directory, "
             "made "
             "if it does not exist"},
    {"control", &um_type_text, offsetof(um_config, control), NULL,
     .help =
         "socket of umbel-clearinghouse status; default: control in the data "
         "directory"},
    {"control_group", &um_type_text, offsetof(um_config, control_group), NULL,
     .help = "group whose members may use the socket for report, revoke, why, "
             "status and doctor; it needs control"},
    {"welcome", &um_type_text, offsetof(um_config, welcome), NULL,
     .help = "file of rules for mail that is neither counted nor a hit",
     .live = true},
    {"origin", &um_type_text, offsetof(um_config, origin), NULL,
     .help = "key file of umbel keygen --sign: with it the server counts "
             "together with its peers"},
    {"durability", &um_type_choice, offsetof(um_config, durability), "always",
     .help = "when a report is answered: after fdatasync (always), or before",
     .choices = um_durability_names},
    {"memory", &um_type_size, offsetof(um_config, memory), "1GB",
     .help = "bytes that the server may use", .low = 16e6, .high = 1e13},
    {0}};

static const um_setting limit_settings[] = {
    {"requests", &um_type_count, offsetof(um_limit_settings, requests), "5000",
     .help = "requests of a client network in a second; 0: any", .live = true},
    {"reports", &um_type_count, offsetof(um_limit_settings, reports), "500",
     .help = "digests that a client network reports in a second; 0: any",
     .live = true},
    {"new_digests", &um_type_count, offsetof(um_limit_settings, new_digests),
     "1000",
     .help = "new digests that all clients without an account together add to "
             "a list in a second; 0: any",
     .live = true},
    {"burst", &um_type_count, offsetof(um_limit_settings, burst), "2",
     .help = "seconds of a limit that may be used at once", .low = 1,
     .high = 3600, .live = true},
    {"networks", &um_type_count, offsetof(um_limit_settings, networks), "65536",
     .help = "client networks that are remembered", .low = 1, .high = 1e7},
    {"prefix_v4", &um_type_count, offsetof(um_limit_settings, prefix_v4), "24",
     .help = "bits of an IPv4 address that make its network", .low = 1,
     .high = 32, .live = true},
    {"prefix_v6", &um_type_count, offsetof(um_limit_settings, prefix_v6), "56",
     .help = "bits of an IPv6 address that make its network", .low = 1,
     .high = 128, .live = true},
    {"loopback", &um_type_flag, offsetof(um_limit_settings, loopback), "false",
     .help = "limits also hold for clients on loopback", .live = true},
    {0}};

static const um_setting mail_settings[] = {
    {"workers", &um_type_count, offsetof(um_mail_settings, workers), "2",
     .help = "processes that read mails", .low = 1, .high = 64},
    {"time", &um_type_duration, offsetof(um_mail_settings, time), "5s",
     .help = "a worker that takes longer for a mail is killed", .low = 1000,
     .high = 60000},
    {"bytes", &um_type_size, offsetof(um_mail_settings, bytes), "1MB",
     .help = "bytes of a mail that are read; the rest does not count",
     .low = 1e4, .high = 1e8},
    {0}};

static const char *const update_names[] = {"plain", "refined", NULL};

static const um_setting list_settings[] = {
    {"kind", &um_type_kind, offsetof(um_list_settings, kind), "table",
     .help = "a kind of filter that counts"},
    /* A million reports fit one epoch, at less than 20 bytes each with both
     * counts and times. */
    {"capacity", &um_type_count, offsetof(um_list_settings, capacity),
     "1010000", .help = "different digests that an epoch holds", .low = 1,
     .high = 1e10},
    {"error", &um_type_share, offsetof(um_list_settings, error), "5e-6",
     .help = "share of digests never reported that have a count other than 0"},
    {"epoch", &um_type_duration, offsetof(um_list_settings, epoch), "30d",
     .help = "epochs end at multiples of this time, or when they are full",
     .low = 1000, .high = 3650 * DAY},
    {"epochs", &um_type_count, offsetof(um_list_settings, epochs), "4",
     .help = "epochs that are kept", .low = 1, .high = 64},
    {"anonymous_share", &um_type_share,
     offsetof(um_list_settings, anonymous_share), "0.25",
     .help = "part of an epoch that clients without an account may fill",
     .low = 0, .high = 1, .live = true},
    {"cell_bits", &um_type_count, offsetof(um_list_settings, cell_bits), "0",
     .help = "bits of a counter; 0: as the kind chooses", .low = 0, .high = 64},
    {"hashes", &um_type_count, offsetof(um_list_settings, hashes), "0",
     .help = "counters of a digest; 0: as few bytes as error allows", .low = 0,
     .high = 64},
    {"addressing", &um_type_text, offsetof(um_list_settings, addressing), NULL,
     .help = "how a digest finds its counters, such as classic or blocked512; "
             "default: as the kind chooses"},
    {"update", &um_type_choice, offsetof(um_list_settings, update), "plain",
     .help = "kind counting: all counters of a digest grow (plain), or the "
             "least (refined)",
     .choices = update_names},
    {0}};

static const um_setting account_settings[] = {
    {"weight", &um_type_weight, offsetof(um_account_settings, weight), "1",
     .help = "a report of this account counts that many times; 0: not at all; "
             "parts of 1 count for Razor only",
     .low = 0, .high = 10000, .live = true},
    {0}};

/* The defaults fit a server with the default memory limit. */
static const um_setting peers_settings[] = {
    {"listen", &um_type_addresses, offsetof(um_peers_settings, listen), NULL,
     .help = "TCP addresses and unix sockets for peers that call this server"},
    {"quorum", &um_type_count, offsetof(um_peers_settings, quorum), "1",
     .help = "origins that must have reported a digest, else its count is 0",
     .low = 1, .high = 1000, .live = true},
    {"revoke_quorum", &um_type_count,
     offsetof(um_peers_settings, revoke_quorum), "1",
     .help = "origins that must have whitelisted or forgotten a digest",
     .low = 1, .high = 1000, .live = true},
    {"origin_cap", &um_type_count, offsetof(um_peers_settings, origin_cap), "0",
     .help = "the most that one origin adds to a count; 0: any", .live = true},
    {"interval", &um_type_duration, offsetof(um_peers_settings, interval), "5s",
     .help = "how often new reports are sent to peers", .low = 50, .high = 36e5,
     .live = true},
    {"bandwidth", &um_type_size, offsetof(um_peers_settings, bandwidth), "0",
     .help = "bytes that a peer is sent in a second; 0: any", .live = true},
    {"memory", &um_type_size, offsetof(um_peers_settings, memory), "384MB",
     .help = "bytes of all copies of filters that are exchanged", .low = 1e6,
     .high = 1e13},
    {"origins", &um_type_count, offsetof(um_peers_settings, origins), "64",
     .help = "origins whose filters are kept, besides peers", .low = 1,
     .high = 65536},
    {"log_entries", &um_type_count, offsetof(um_peers_settings, log_entries),
     "65536",
     .help = "accounts, forgotten digests and dropped origins that a "
             "server tells its peers",
     .low = 16, .high = 1e6},
    {"save", &um_type_duration, offsetof(um_peers_settings, save), "10min",
     .help = "how often copies of others are written to the data directory",
     .low = 1000, .high = DAY},
    {"strict", &um_type_flag, offsetof(um_peers_settings, strict), "false",
     .help = "only origins that are peers, or were allowed, count"},
    {"drop_quorum", &um_type_count, offsetof(um_peers_settings, drop_quorum),
     "0", .help = "origins whose notices drop another one; 0: none does",
     .low = 0, .high = 1000},
    {0}};

static const um_setting peer_settings[] = {
    {"address", &um_type_address, offsetof(um_peer_settings, address), NULL,
     .help = "where to call it; without it the peer calls", .live = true},
    {"key", &um_type_text, offsetof(um_peer_settings, key), NULL,
     .help = "its public key: 64 digits, or the file that ends in .pub",
     .live = true},
    {0}};

/* --- sections ------------------------------------------------------------- */

static void *top_target(um_config *c, const char *title)
{
    (void)title;
    return c;
}

static void *limits_target(um_config *c, const char *title)
{
    (void)title;
    return &c->limits;
}

static void *mail_target(um_config *c, const char *title)
{
    (void)title;
    return &c->mail;
}

static void *list_target(um_config *c, const char *title)
{
    size_t i = um_list_find(title);

    return um_list_name(i) ? &c->list[i] : NULL;
}

static void *peers_target(um_config *c, const char *title)
{
    (void)title;
    return &c->peers;
}

static void *account_target(um_config *c, const char *title)
{
    if (!um_array_resize(&c->account, c->naccounts + 1, sizeof *c->account))
        return NULL;
    um_account_settings *more = c->account + c->naccounts;
    *more = (um_account_settings){.name = strdup(title)};
    if (!more->name)
        return NULL;
    um_settings_init(account_settings, more);
    c->naccounts++;
    return more;
}

static void *peer_target(um_config *c, const char *title)
{
    if (!um_array_resize(&c->peer, c->npeers + 1, sizeof *c->peer))
        return NULL;
    um_peer_settings *more = c->peer + c->npeers;
    *more = (um_peer_settings){.name = strdup(title)};
    if (!more->name)
        return NULL;
    c->npeers++;
    return more;
}

static void *protocol_target(um_config *c, const char *title)
{
    size_t i = 0;

    while (strcmp(um_protocol_sections[i]->name, title) != 0)
        i++;
    return c->section[i];
}

static const um_section_row sections[] = {
    {"", top_settings, false, top_target, NULL},
    {"limits", limit_settings, false, limits_target, NULL},
    {"mail", mail_settings, false, mail_target, NULL},
    {"list", list_settings, true, list_target, um_list_name},
    {"account", account_settings, true, account_target, NULL},
    {"peers", peers_settings, false, peers_target, NULL},
    {"peer", peer_settings, true, peer_target, NULL},
};

bool um_config_section_at(size_t i, um_section_row *out)
{
    const um_protocol_section *p;

    if (i < UM_COUNT(sections)) {
        *out = sections[i];
        return true;
    }
    p = um_protocol_sections[i - UM_COUNT(sections)];
    if (p)
        *out = (um_section_row){p->name, p->settings, false, protocol_target,
                                NULL};
    return p;
}

/* --- defaults ------------------------------------------------------------- */

/* Applies the defaults of individual lists. */
static void init_lists(um_config *c)
{
    for (size_t i = 0; i < UM_LISTS; i++) {
        const um_list_default *row = um_list_rows[i].defaults;

        for (; row && row->setting; row++) {
            const um_setting *s = um_setting_find(list_settings, row->setting);
            s->type->parse(s, row->value, um_setting_target(s, &c->list[i]));
        }
        if (um_list_rows[i].kind) {
            free(c->list[i].kind);
            c->list[i].kind = NULL;
        }
    }
}

umbel_status um_config_default(um_config *out, umbel_error *err)
{
    um_config c = {0};
    um_section_row s;

    for (size_t i = 0; um_protocol_sections[i]; i++)
        if (!(c.section[i] = calloc(1, um_protocol_sections[i]->len))) {
            um_config_fini(&c);
            return um_no_memory(err, um_protocol_sections[i]->len);
        }
    for (size_t i = 0; um_config_section_at(i, &s); i++)
        if (!s.titled)
            um_settings_init(s.rows, s.target(&c, s.name));
        else
            for (size_t j = 0; s.title && s.title(j); j++)
                um_settings_init(s.rows, s.target(&c, s.title(j)));
    init_lists(&c);
    *out = c;
    return UMBEL_OK;
}

void um_config_fini(um_config *c)
{
    um_section_row s;

    for (size_t i = 0; um_config_section_at(i, &s); i++)
        for (size_t j = 0; s.titled && s.title && s.title(j); j++)
            um_settings_fini(s.rows, s.target(c, s.title(j)));
    for (size_t i = 0; um_config_section_at(i, &s); i++)
        if (!s.titled && s.target(c, s.name))
            um_settings_fini(s.rows, s.target(c, s.name));
    for (size_t i = 0; i < c->naccounts; i++)
        free(c->account[i].name);
    free(c->account);
    for (size_t i = 0; i < c->npeers; i++) {
        free(c->peer[i].name);
        um_settings_fini(peer_settings, &c->peer[i]);
    }
    free(c->peer);
    for (size_t i = 0; i < UM_MAX_PROTOCOLS; i++)
        free(c->section[i]);
    *c = (um_config){0};
}

/* --- queries -------------------------------------------------------------- */

bool um_config_has_account(const um_config *c, const char *account)
{
    for (size_t i = 0; i < c->naccounts; i++)
        if (strcmp(c->account[i].name, account) == 0)
            return true;
    return false;
}

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

size_t um_list_find(const char *name)
{
    size_t i = 0;

    while (i < UM_LISTS && strcmp(um_list_rows[i].name, name) != 0)
        i++;
    return i;
}

const void *um_config_get(const um_config *c, const um_protocol_section *s)
{
    size_t i = 0;

    while (um_protocol_sections[i] != s)
        i++;
    return c->section[i];
}

const void *um_config_find(const um_config *c, const char *section,
                           const char *setting)
{
    for (size_t i = 0; um_protocol_sections[i]; i++)
        if (strcmp(um_protocol_sections[i]->name, section) == 0) {
            const um_setting *s =
                um_setting_find(um_protocol_sections[i]->settings, setting);
            return s ? um_setting_target(s, c->section[i]) : NULL;
        }
    return NULL;
}

umbel_status um_config_check_listens(const um_config *c, umbel_error *err)
{
    for (size_t i = 0; um_protocol_sections[i]; i++)
        for (const um_setting *s = um_protocol_sections[i]->settings; s->name;
             s++)
            if ((s->type == &um_type_addresses || s->type == &um_type_ports) &&
                ((um_texts *)um_setting_target(s, c->section[i]))->n)
                return UMBEL_OK;
    return um_fail(err, UMBEL_E_REFUSED,
                   "no protocol listens: each has listen = {}; give one of "
                   "them an address");
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
    for (size_t i = 0; um_config_section_at(i, &s); i++) {
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
