/*
 * why.c - explains why a mail is a hit: the counts of its signatures in all
 * lists, as text and as JSON.
 */
#include "clearinghouse/admin/internal.h"

#include "base/error.h"
#include "base/text.h"
#include "clearinghouse/lists/exceptions.h"
#include "clearinghouse/lists/lists.h"
#include "clearinghouse/lists/mails.h"
#include "clearinghouse/peering/peers.h"
#include "clearinghouse/runtime/format.h"
#include "cli/framework/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <umbel/counting.h>

/* --- signatures ----------------------------------------------------------- */

static void look_up(const um_environment *env, um_why_signature *s)
{
    umbel_slice key = {s->digest, strlen(s->digest)};
    umbel_digest d;

    um_store_digest(env->store, &key, 1, &d);
    s->hashed = d;
    for (unsigned i = 0; i < UM_LISTS; i++) {
        um_why_counts *c = &s->list[i];
        c->epochs =
            um_list_count_epochs(um_store_list(env->store, i), &d, c->count);
        c->forgotten = um_forgotten(env->lists, i, &d);
        um_lists_count(env->lists, i, &d, 1, &c->total);
    }
}

static void add_facts(um_why *w)
{
    um_mail_keys keys;

    um_mail_keys_read(&keys, w->facts);
    for (size_t i = 0; i < keys.n; i++) {
        um_why_signature *to = &w->signature[w->n++];
        to->name = um_mail_key_name(keys.kind[i]);
        memcpy(to->digest, keys.text[i], sizeof to->digest);
    }
}

static umbel_status add_digests(um_why *w, const um_why_question *q,
                                umbel_error *err)
{
    if (q->n > UM_WHY_SIGNATURES)
        return um_fail(err, UMBEL_E_LIMIT, "at most %d digests at once",
                       UM_WHY_SIGNATURES);
    for (size_t i = 0; i < q->n; i++) {
        um_why_signature *to = &w->signature[w->n++];
        to->name = "digest";
        UM_TRY(um_signature_read(q->digest[i], to->digest, err));
    }
    return UMBEL_OK;
}

/* --- the verdict ---------------------------------------------------------- */

static umbel_slice text_of(const char *text)
{
    return (umbel_slice){text, text ? strlen(text) : 0};
}

/* Returns true for a digest of the kind that Pyzor clients send. */
static bool is_pyzor(const um_why_signature *s)
{
    return strcmp(s->name, "pyzor") == 0 || strcmp(s->name, "digest") == 0;
}

static void match_welcome(um_why *w)
{
    umbel_slice key[UM_WHY_SIGNATURES], pyzor[UM_WHY_SIGNATURES];
    um_welcome_mail m = {.sender = text_of(w->sender),
                         .client = text_of(w->client),
                         .digest = key,
                         .ndigests = w->n};
    um_welcome_mail only = {.digest = pyzor};

    for (size_t i = 0; i < w->n; i++) {
        key[i] = text_of(w->signature[i].digest);
        if (is_pyzor(&w->signature[i]))
            pyzor[only.ndigests++] = key[i];
    }
    if (w->facts) {
        m.from_domain = text_of(w->facts->from_domain);
        m.list_id = text_of(w->facts->list_id);
    }
    w->welcome =
        um_welcome_match(um_lists_welcome(w->env->lists), &m, &w->rule);
    w->pyzor_welcome =
        um_welcome_match(um_lists_welcome(w->env->lists), &only, NULL);
}

/* Returns the smallest count that is a hit in a list. */
static uint64_t threshold_of(const um_environment *env, unsigned list)
{
    unsigned threshold = um_list_threshold(env->opened, list);

    return threshold ? threshold : 1;
}

/* Returns the count of a mail in a list: the largest of its signatures, but the
 * second largest of its super-shingles. */
static uint64_t count_in(const um_why *w, unsigned list)
{
    uint64_t first = 0, second = 0, most = 0;

    for (size_t i = 0; i < w->n; i++) {
        uint64_t n = w->signature[i].list[list].total;
        if (strcmp(w->signature[i].name, "shingle") != 0) {
            most = n > most ? n : most;
        } else if (n > first) {
            second = first;
            first = n;
        } else if (n > second) {
            second = n;
        }
    }
    return second > most ? second : most;
}

static bool is_hit_by(const um_why *w, unsigned list)
{
    if (!w->count || w->count < w->threshold)
        return false;
    return um_list_rows[list].clients ? !w->pyzor_welcome && !w->revoked
                                      : !w->welcome;
}

/* Returns the count in a list of revocations; 0 if it is below the
 * threshold. */
static uint64_t revocations(const um_why *w, unsigned list)
{
    uint64_t n = list ? count_in(w, list) : 0;

    return n < um_list_report(w->env->store, list) ? 0 : n;
}

static void find_hit(um_why *w)
{
    for (unsigned i = 0; i < UM_LISTS && !w->hit; i++) {
        w->list = i;
        w->revoked = um_list_rows[i].revokes ||
                     revocations(w, um_list_rows[i].revoked_by);
        w->count = count_in(w, i);
        w->threshold = threshold_of(w->env, i);
        w->hit = is_hit_by(w, i);
    }
}

/* Returns true if it is a hit for clients that send only digests. */
static bool hits_digest(const um_why *w)
{
    return w->hit && um_list_rows[w->list].clients;
}

/* Returns how often clients whitelisted or revoked the mail, and sets *list; 0
 * if they did not. */
static uint64_t find_revocations(const um_why *w, unsigned *list)
{
    uint64_t n = 0;

    for (*list = 0; um_list_name(*list); ++*list)
        if (um_list_rows[*list].revokes && (n = revocations(w, *list)))
            break;
    return n;
}

umbel_status um_why_init(um_why *w, const um_environment *env,
                         const um_why_question *q, umbel_error *err)
{
    *w = (um_why){.env = env,
                  .facts = q->facts,
                  .sender = q->sender,
                  .client = q->client,
                  .config = q->config};
    if (q->facts && !q->client)
        w->client = q->facts->received;
    w->signature = calloc(UM_WHY_SIGNATURES, sizeof *w->signature);
    if (!w->signature)
        return um_no_memory(err, UM_WHY_SIGNATURES * sizeof *w->signature);
    umbel_status status = UMBEL_OK;
    if (q->facts)
        add_facts(w);
    else
        status = add_digests(w, q, err);
    if (status != UMBEL_OK) {
        um_why_fini(w);
        return status;
    }
    for (size_t i = 0; i < w->n; i++)
        look_up(env, &w->signature[i]);
    match_welcome(w);
    find_hit(w);
    return UMBEL_OK;
}

void um_why_fini(um_why *w)
{
    free(w->signature);
    w->signature = NULL;
}

/* Writes a text; returns false if there is nothing to write. */
typedef bool printer(FILE *out, const um_why *w);

/* Returns the text that print writes, to be freed by the caller; NULL if there
 * is none. */
static char *printed(const um_why *w, printer *print)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    bool any = out && print(out, w);

    if (out && fclose(out) == 0 && any)
        return text;
    free(text);
    return NULL;
}

/* --- sentences and commands ----------------------------------------------- */

static bool is_counted(const um_why_signature *s)
{
    for (size_t i = 0; i < UM_LISTS; i++)
        if (s->list[i].total)
            return true;
    return false;
}

static bool is_forgotten(const um_why_signature *s)
{
    for (size_t i = 0; i < UM_LISTS; i++)
        if (s->list[i].forgotten)
            return true;
    return false;
}

static bool has_forgotten(const um_why *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (is_forgotten(&w->signature[i]))
            return true;
    return false;
}

/* Returns the largest count that an epoch can hold. */
static uint64_t count_limit(const um_why *w, unsigned list)
{
    um_list_stats stats;

    um_list_stats_get(um_store_list(w->env->store, list), &stats);
    return stats.count_limit;
}

static void write_clients(FILE *out, const um_why *w)
{
    fprintf(out, " for %s clients, which send only digests",
            um_list_rows[w->list].clients);
}

static void write_hit(FILE *out, const um_why *w)
{
    fputs("a hit", out);
    if (w->welcome)
        write_clients(out, w);
    fprintf(out, ": list %s counts it %s time%s%s, and %s is enough",
            um_list_name(w->list), um_format_count(w->count).text,
            w->count == 1 ? "" : "s",
            w->count >= count_limit(w, w->list) ? " or more" : "",
            um_format_count(w->threshold).text);
}

static bool print_reason(FILE *out, const um_why *w)
{
    unsigned list;
    uint64_t revoked;

    if (w->hit)
        write_hit(out, w);
    else if (w->welcome)
        fprintf(out, "no hit: the rule \"%s %s\" welcomes it",
                um_welcome_type_name(w->rule.type), w->rule.value);
    else if ((revoked = find_revocations(w, &list)))
        fprintf(out, "no hit: list %s counts it %s time%s", um_list_name(list),
                um_format_count(revoked).text, revoked == 1 ? "" : "s");
    else if (w->facts && w->n == 0)
        fputs("no hit: its text is too short to mean anything", out);
    else if (has_forgotten(w))
        fputs("no hit: it was forgotten", out);
    else
        fputs("no hit: no list counts it often enough", out);
    return true;
}

static void write_command(FILE *out, const um_why *w, const char *words)
{
    fprintf(out, "umbel-clearinghouse %s", words);
    if (w->config) {
        fputs(" --config ", out);
        um_print_quoted(out, w->config);
    }
}

/* Returns true if an earlier signature has the same digest: for a short mail
 * the exact signature equals Pyzor's. */
static bool is_repeated(const um_why *w, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(w->signature[k].digest, w->signature[i].digest) == 0)
            return true;
    return false;
}

/* Prints a command with the digests of the signatures that is_wanted selects;
 * false if there are none. */
static bool write_digests(FILE *out, const um_why *w, const char *words,
                          bool (*is_wanted)(const um_why_signature *s))
{
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++)
        if (is_wanted(&w->signature[i]) && !is_repeated(w, i)) {
            if (n++ == 0)
                write_command(out, w, words);
            fprintf(out, " %s", w->signature[i].digest);
        }
    return n;
}

static bool print_forget(FILE *out, const um_why *w)
{
    return (w->hit || !w->welcome) &&
           write_digests(out, w, "forget", is_counted);
}

static bool print_undo(FILE *out, const um_why *w)
{
    return write_digests(out, w, "forget --undo", is_forgotten);
}

/* Writes the rule that would welcome the mail, or "". */
static void suggest_rule(const um_why *w, char line[UM_WELCOME_LINE])
{
    line[0] = '\0';
    for (size_t i = 0; i < w->n && (!w->facts || hits_digest(w)); i++)
        if (w->signature[i].list[w->list].total) {
            snprintf(line, UM_WELCOME_LINE, "digest %s",
                     w->signature[i].digest);
            return;
        }
    if (w->facts && w->facts->list_id[0])
        snprintf(line, UM_WELCOME_LINE, "list-id %s", w->facts->list_id);
    else if (w->facts && w->facts->from_domain[0])
        snprintf(line, UM_WELCOME_LINE, "from %s", w->facts->from_domain);
}

static bool print_welcome(FILE *out, const um_why *w)
{
    um_welcome_rule r;
    char line[UM_WELCOME_LINE];
    bool found;

    if ((w->welcome && !w->hit) || !w->env->config->welcome)
        return false;
    suggest_rule(w, line);
    umbel_slice text = {line, strlen(line)};
    if (um_welcome_rule_read(text, &r, &found, NULL) != UMBEL_OK || !found)
        return false;
    write_command(out, w, "welcome add");
    fprintf(out, " %s ", um_welcome_type_name(r.type));
    um_print_quoted(out, r.value);
    return true;
}

/* --- text ----------------------------------------------------------------- */

/* Finds the next replica of another server in which a signature has a count. */
static bool next_other(const um_why *w, const um_why_signature *s,
                       unsigned list, size_t *at, umbel_sync_replica *copy,
                       uint64_t *count)
{
    while (um_lists_next_replica(w->env->lists, list, at, copy))
        if (umbel_count_digests(copy->filter, &s->hashed, 1, count, NULL) ==
                UMBEL_OK &&
            *count)
            return true;
    return false;
}

/* Prints the counts of other servers; returns false if there are none. */
static bool print_others(FILE *out, const um_why *w, const um_why_signature *s,
                         unsigned list)
{
    char name[UM_ORIGIN_NAME];
    umbel_sync_replica copy;
    uint64_t count;
    bool any = false;

    for (size_t at = 0; next_other(w, s, list, &at, &copy, &count);
         any = true) {
        um_peers_origin_name(w->env->peers, copy.origin, name);
        fprintf(out, "    %-16s %s in the epoch from %s, by %s\n",
                um_list_name(list), um_format_count(count).text,
                um_format_time(copy.begin).text, name);
    }
    return any;
}

static void print_counts(FILE *out, const um_why *w, const um_why_signature *s,
                         unsigned list)
{
    const um_why_counts *c = &s->list[list];
    um_list_stats stats;
    bool any = false;

    um_list_stats_get(um_store_list(w->env->store, list), &stats);
    for (unsigned e = 0; e < c->epochs; e++) {
        if (!c->count[e])
            continue;
        any = true;
        fprintf(out, "    %-16s %s%s in the epoch from %s\n",
                um_list_name(list), um_format_count(c->count[e]).text,
                c->count[e] >= stats.count_limit ? " or more" : "",
                um_format_time(stats.epoch[e].begin).text);
    }
    any = print_others(out, w, s, list) || any;
    if (any && c->forgotten)
        fprintf(out,
                "    %-16s forgotten until these epochs are gone: "
                "clients get 0\n",
                um_list_name(list));
}

static void print_signature(FILE *out, const um_why *w,
                            const um_why_signature *s)
{
    fprintf(out, "%-8s %s%s\n", s->name, s->digest,
            is_counted(s) ? "" : "  not counted");
    for (unsigned i = 0; i < UM_LISTS; i++)
        print_counts(out, w, s, i);
}

/* Prints untrusted text, wrapped and without control characters. */
static void print_foreign(FILE *out, const char *name, const char *foreign)
{
    char text[UM_MAIL_SAMPLE];

    if (!foreign[0])
        return;
    snprintf(text, sizeof text, "%s", foreign);
    for (char *at = text; *at; at++)
        if (*at == '\n' || *at == '\r' || *at == '\t')
            *at = ' ';
    um_disarm(text);
    um_print_words(out, text, fprintf(out, "%-8s ", name), 9);
}

static void print_mail(FILE *out, const um_why *w)
{
    const um_mail_facts *f = w->facts;

    fprintf(out, "mail     %" PRIu32 " part%s, %s bytes of text\n", f->parts,
            f->parts == 1 ? "" : "s", um_format_count(f->text_bytes).text);
    print_foreign(out, "sender", w->sender ? w->sender : "");
    print_foreign(out, "from", f->from_domain);
    print_foreign(out, "list-id", f->list_id);
    print_foreign(out, "client", w->client);
    print_foreign(out, "text", f->sample);
    for (unsigned i = 0; um_mail_note_text(i); i++)
        if (f->notes & 1u << i)
            fprintf(out, "note     %s\n", um_mail_note_text(i));
}

static void print_next(FILE *out, const um_why *w, printer *print,
                       const char *what)
{
    char *command = printed(w, print);

    if (command)
        fprintf(out, "to %s, type:\n  %s\n", what, command);
    free(command);
}

void um_why_print_text(FILE *out, const um_why *w)
{
    fputs("result   ", out);
    print_reason(out, w);
    putc('\n', out);
    if (w->facts)
        print_mail(out, w);
    if (w->welcome)
        fprintf(out, "welcome  %s %s (%s:%zu)\n",
                um_welcome_type_name(w->rule.type), w->rule.value,
                w->env->config->welcome, w->rule.line);
    else
        fputs("welcome  no rule matches\n", out);
    for (size_t i = 0; i < w->n; i++)
        print_signature(out, w, &w->signature[i]);
    print_next(out, w, print_forget, "take it back until its counts expire");
    print_next(out, w, print_undo, "let what was forgotten count again");
    print_next(out, w, print_welcome, "welcome all mail like it from now on");
    if (w->hit && !w->env->config->welcome)
        fputs("to welcome mail like it from now on, add to the settings: "
              "welcome = \"FILE\"\n",
              out);
}

/* --- JSON ----------------------------------------------------------------- */

static void write_count(FILE *out, const char *comma, unsigned list,
                        uint64_t epoch, uint64_t count, bool forgotten,
                        const char *server)
{
    fprintf(out,
            "%s{\"list\": \"%s\", \"epoch\": %" PRIu64 ", \"count\": %" PRIu64
            ", \"forgotten\": %s, \"server\": \"%s\"}",
            comma, um_list_name(list), epoch, count,
            forgotten ? "true" : "false", server);
}

static void write_counts(FILE *out, const um_why *w, const um_why_signature *s)
{
    char name[UM_ORIGIN_NAME];
    umbel_sync_replica copy;
    uint64_t count;
    const char *comma = "";
    um_list_stats stats;

    for (unsigned i = 0; i < UM_LISTS; i++) {
        const um_why_counts *c = &s->list[i];
        um_list_stats_get(um_store_list(w->env->store, i), &stats);
        for (unsigned e = 0; e < c->epochs; e++) {
            if (!c->count[e])
                continue;
            write_count(out, comma, i, stats.epoch[e].begin, c->count[e],
                        c->forgotten, "this server");
            comma = ", ";
        }
        for (size_t at = 0; next_other(w, s, i, &at, &copy, &count);
             comma = ", ") {
            um_peers_origin_name(w->env->peers, copy.origin, name);
            write_count(out, comma, i, copy.begin, count, c->forgotten, name);
        }
    }
}

static void write_signatures(FILE *out, const um_why *w)
{
    fputs("{\"signatures\": [", out);
    for (size_t i = 0; i < w->n; i++) {
        const um_why_signature *s = &w->signature[i];
        fprintf(out, "%s{\"name\": \"%s\", \"digest\": \"%s\", \"counts\": [",
                i ? ", " : "", s->name, s->digest);
        write_counts(out, w, s);
        fputs("]}", out);
    }
    putc(']', out);
}

static void write_printed(FILE *out, const char *name, const um_why *w,
                          printer *print)
{
    char *text = printed(w, print);

    um_json_field(out, 1, name, text);
    free(text);
}

static bool print_rule(FILE *out, const um_why *w)
{
    if (w->welcome)
        fprintf(out, "%s %s", um_welcome_type_name(w->rule.type),
                w->rule.value);
    return w->welcome;
}

void um_why_print_json(FILE *out, const um_why *w)
{
    write_signatures(out, w);
    write_printed(out, "welcome", w, print_rule);
    if (w->facts)
        um_json_field(out, 1, "text", w->facts->sample);
    else
        fputs(", \"text\": null", out);
    fprintf(out, ", \"hit\": %s", w->hit ? "true" : "false");
    write_printed(out, "reason", w, print_reason);
    write_printed(out, "forget_command", w, print_forget);
    write_printed(out, "welcome_command", w, print_welcome);
    fputs("}\n", out);
}
