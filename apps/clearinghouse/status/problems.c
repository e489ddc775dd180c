/*
 * problems.c - checks for problems, sorted by severity.
 */
#include "clearinghouse/status/internal.h"

#include "base/error.h"
#include "clearinghouse/runtime/format.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum {
    AHEAD_SECONDS = 3600,
    REFUSED_MINUTES = 5,
    REFUSED_REQUESTS = 100, /* with fewer, a share means nothing */
    AWAY_SECONDS = 600,     /* without a link: longer than a restart */
    RECENT_SECONDS = 600,
    NAMES_SHOWN = 3,
    NAMES_LEN = 160,
    EARLY_SECONDS = 7 * 86400 /* that an early end is shown */
};

/* Returns the next problem to fill; the last one again if there is no space. */
static um_status_problem *next_problem(um_problems *out, um_level level)
{
    um_status_problem *p = &out->item[out->n];

    if (out->n + 1 < UM_MAX_PROBLEMS)
        out->n++;
    p->level = level;
    return p;
}

__attribute__((format(printf, 2, 3))) static void
print(char out[UM_PROBLEM_LEN], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(out, UM_PROBLEM_LEN, format, args);
    va_end(args);
}

static void check_store(const um_status *s, um_problems *out)
{
    if (!s->store.failed)
        return;
    um_status_problem *p = next_problem(out, UM_FAILED);
    print(p->what, "Reports are refused: %s. Look-ups are still answered.",
          s->store.failed);
    if (s->store.lacks_space)
        print(p->advice,
              "Free space on the disk of %s: %s is enough to accept reports, "
              "and a snapshot takes about %s. The server tries again by "
              "itself, and no restart is needed.",
              s->data, um_format_bytes(s->store.journal_need).text,
              um_format_bytes(s->store.snapshot_need).text);
    else
        print(p->advice,
              "Free about %s on the disk of %s for a whole snapshot, or repair "
              "it. The server tries again by itself, and no restart is needed.",
              um_format_bytes(s->store.snapshot_need).text, s->data);
}

/* Warns if no worker is ready. A worker that died is replaced at once, so this
 * does not last unless workers cannot start. */
static void check_workers(const um_status *s, um_problems *out)
{
    if (!s->pool.workers || s->pool.ready)
        return;
    um_status_problem *p = next_problem(out, UM_WARNING);
    print(p->what, "No worker is running to read mails: clients of dccifd are "
                   "asked to try again.");
    print(p->advice,
          "The server starts workers again by itself. If this stays, "
          "look whether it may start processes, open files and use "
          "memory (ulimit -a).");
}

static void check_reload(const um_status *s, um_problems *out)
{
    if (!s->not_reloaded || !s->not_reloaded[0])
        return;
    um_status_problem *p = next_problem(out, UM_WARNING);
    print(
        p->what,
        "The last reload was refused: %s. The previous settings are in effect.",
        s->not_reloaded);
    print(p->advice, "Correct it, try it with --check, and send SIGHUP again.");
}

static void check_snapshot(const um_status *s, um_problems *out)
{
    if (!s->store.snapshot_error || s->store.failed)
        return;
    um_status_problem *p = next_problem(out, UM_WARNING);
    print(p->what,
          "The last snapshot could not be written: %s. Reports are accepted "
          "until the journal, now %s, has %s.",
          strerror(s->store.snapshot_error),
          um_format_bytes(s->store.journal_bytes).text,
          um_format_bytes(s->store.journal_max).text);
    print(
        p->advice,
        "Free about %s on the disk of %s, or repair it. The server tries again "
        "by itself.",
        um_format_bytes(s->store.snapshot_need).text, s->data);
}

/* Warns if the clock is far behind the data. A difference of seconds or minutes
 * only means that the clock was corrected. */
static void check_clock(const um_status *s, um_problems *out)
{
    if (s->store.ahead < AHEAD_SECONDS)
        return;
    um_status_problem *p = next_problem(out, UM_WARNING);
    print(p->what,
          "The clock is %s behind the data in %s: until then no "
          "epoch ends, and no count expires.",
          um_format_about(s->store.ahead).text, s->data);
    print(
        p->advice,
        "Set the clock. If it was wrong before, and not now, stop the "
        "server, move snapshot-*, journal-* and peers out of %s, and start it. "
        "Its own counts begin anew; peers send theirs again.",
        s->data);
}

static void check_memory(const um_status *s, um_problems *out)
{
    if (s->memory <= s->memory_limit || !s->memory_limit)
        return;
    um_status_problem *p = next_problem(out, UM_WARNING);
    print(p->what, "The server uses %s of memory, more than its limit of %s.",
          um_format_bytes(s->memory).text,
          um_format_bytes(s->memory_limit).text);
    print(p->advice, "Raise memory in the configuration if the machine has "
                     "it, or lower the capacity of a list.");
}

static void check_errors(const um_status *s, um_problems *out)
{
    for (size_t i = 0; i < s->nlists; i++) {
        const um_list_stats *l = &s->list[i];
        if (l->error <= l->max_error)
            continue;
        um_status_problem *p = next_problem(out, UM_WARNING);
        print(p->what,
              "List %s finds %s of the digests that nobody reported, more than "
              "the %s that is configured.",
              l->name, um_format_chance(l->error).text,
              um_format_chance(l->max_error).text);
        print(p->advice,
              "Raise capacity in list \"%s\" { } and restart; it holds from "
              "the next epoch on.",
              l->name);
    }
}

/* Returns true for a network without an account that reported to the list, by
 * its protocol. */
static bool reports_to(const um_top_reporter *r, const um_list_stats *l)
{
    size_t row = um_list_find(l->name);

    return !r->key.account &&
           (row == UM_LISTS ||
            strcmp(r->key.service->name, um_list_rows[row].section) == 0);
}

/* Writes the networks without an account that reported the most to a list. */
static void name_networks(const um_status *s, const um_list_stats *l,
                          char out[NAMES_LEN])
{
    size_t n = 0, len = 0;

    out[0] = '\0';
    for (size_t i = 0; i < s->nreporters && n < NAMES_SHOWN && len < NAMES_LEN;
         i++)
        if (reports_to(&s->top[i], l))
            len += (size_t)snprintf(
                out + len, NAMES_LEN - len, "%s%s (%s)",
                n++ ? ", " : " Busiest networks: ", s->top[i].name,
                um_format_count(s->top[i].reports).text);
    if (n && len < NAMES_LEN)
        snprintf(out + len, NAMES_LEN - len, ".");
}

static void check_held(const um_status *s, um_problems *out)
{
    char networks[NAMES_LEN];

    for (size_t i = 0; i < s->nlists; i++) {
        const um_list_stats *l = &s->list[i];
        if (!l->held)
            continue;
        name_networks(s, l, networks);
        um_status_problem *p = next_problem(out, UM_FAILED);
        print(
            p->what,
            "List %s is full until %s: it counts the digests that it has, and "
            "refuses new ones.%s",
            l->name,
            l->epoch_end == UINT64_MAX ? "its capacity is raised"
                                       : um_format_time(l->epoch_end).text,
            networks);
        print(p->advice,
              "%sRaise capacity in list \"%s\" { }%s at all servers; it holds "
              "from the next epoch on.",
              l->most_filters
                  ? "The list has as many filters as a list can have. "
                  : "Raise memory and restart: the list then gets another "
                    "filter. ",
              l->name, l->most_filters ? "" : ", too,");
    }
}

static void check_early(const um_status *s, um_problems *out)
{
    char networks[NAMES_LEN];

    for (size_t i = 0; i < s->nlists; i++) {
        const um_list_stats *l = &s->list[i];
        if (!l->ended_early || s->now > l->ended_at + EARLY_SECONDS)
            continue;
        name_networks(s, l, networks);
        um_status_problem *p = next_problem(out, UM_WARNING);
        print(p->what,
              "List %s was full, and its epoch ended early, at %s: its oldest "
              "counts were dropped.%s",
              l->name, um_format_time(l->ended_at).text, networks);
        print(p->advice, "Raise %scapacity in list \"%s\" { }, and restart.",
              l->most_filters ? "" : "memory, or ", l->name);
    }
}

static void check_full(const um_status *s, um_problems *out)
{
    char networks[NAMES_LEN];

    for (size_t i = 0; i < s->nlists; i++) {
        const um_list_stats *l = &s->list[i];
        if (!um_list_is_nearly_full(l) || l->held)
            continue;
        name_networks(s, l, networks);
        um_status_problem *p = next_problem(out, UM_WARNING);
        print(p->what,
              "List %s has used %.0f %% of the %s digests of this epoch%s%s.%s",
              l->name, 100 * l->fill, um_format_count(l->capacity).text,
              l->extra ? ", and has further filters" : "",
              l->extra && s->peers ? ", which are not exchanged with peers"
                                   : "",
              networks);
        print(p->advice,
              "Raise capacity in list \"%s\" { }%s and restart; it holds from "
              "the next epoch on. Until then a full epoch gets further filters "
              "while there is memory.",
              l->name, s->peers ? ", at all servers," : "");
    }
}

static void check_share(const um_status *s, um_problems *out)
{
    char networks[NAMES_LEN];

    for (size_t i = 0; i < s->nlists; i++) {
        const um_list_stats *l = &s->list[i];
        if (!um_list_is_share_full(l, s->anonymous_share[i]))
            continue;
        name_networks(s, l, networks);
        um_status_problem *p = next_problem(out, UM_WARNING);
        print(p->what,
              "The part of list %s for clients without an account is full (%s "
              "digests): new digests are refused until %s, except from a "
              "network that reported the whole list. All others are counted.%s",
              l->name, um_format_count(l->anonymous).text,
              l->epoch_end == UINT64_MAX ? "it is raised"
                                         : um_format_time(l->epoch_end).text,
              networks);
        size_t row = um_list_find(l->name);
        const char *accounts =
            row < UM_LISTS ? um_list_rows[row].accounts : NULL;
        print(p->advice,
              "If these are yours, %s%sraise anonymous_share in list \"%s\" "
              "{ } and send SIGHUP%s. If they flood, block them in the "
              "firewall.",
              accounts ? accounts : "", accounts ? ", or " : "", l->name,
              accounts ? "" : "; clients of this list cannot have accounts");
    }
}

static void check_refusals(const um_status *s, um_problems *out)
{
    for (size_t i = 0; i < s->nservices; i++) {
        um_totals t = um_service_last_minutes(s->service[i], REFUSED_MINUTES);
        if (t.requests < REFUSED_REQUESTS || t.refused <= t.requests / 2)
            continue;
        um_status_problem *p = next_problem(out, UM_WARNING);
        print(p->what, "%s refused %s of %s requests in the last %d minutes.",
              s->service[i]->service->name, um_format_count(t.refused).text,
              um_format_count(t.requests).text, REFUSED_MINUTES);
        print(p->advice, "The reasons are listed in the status; the log names "
                         "the clients.");
    }
}

/* --- peers ---------------------------------------------------------------- */

typedef bool origin_test(const um_origin *o, uint64_t now);

/* Writes the names of origins that pass: "a, b, c and 4 more"; returns their
 * number. */
static size_t name_origins(const um_status *s, origin_test *test,
                           char out[NAMES_LEN], const um_origin **first)
{
    size_t n = 0, len = 0;

    for (size_t i = 0; s->peers && i < s->peers->n; i++) {
        const um_origin *o = &s->peers->item[i];
        if (!test(o, s->now))
            continue;
        if (!n)
            *first = o;
        if (n++ < NAMES_SHOWN)
            len += (size_t)snprintf(out + len, NAMES_LEN - len, "%s%.*s",
                                    len ? ", " : "", o->name ? 32 : 12,
                                    o->name ? o->name : o->key);
    }
    if (n > NAMES_SHOWN)
        snprintf(out + len, NAMES_LEN - len, " and %zu more", n - NAMES_SHOWN);
    return n;
}

/* Returns true for a peer without a link, unless it was dropped. */
static bool is_away(const um_origin *o, uint64_t now)
{
    return o->name && !o->up && strcmp(o->state, "dropped") != 0 &&
           now > o->since + AWAY_SECONDS;
}

static void check_away(const um_status *s, um_problems *out)
{
    char names[NAMES_LEN];
    const um_origin *o = NULL;
    size_t n = name_origins(s, is_away, names, &o);

    if (!n)
        return;
    um_status_problem *p = next_problem(out, UM_WARNING);
    print(p->what,
          "%s %s has no link for %s%s%.200s. What is reported there does not "
          "count here.",
          n > 1 ? "Each of the peers" : "Peer", names,
          um_format_about(s->now - o->since).text, o->error[0] ? ": " : "",
          o->error);
    print(p->advice,
          "Look whether the server runs, and at address and key of peer \"%s\" "
          "{ } there and here. This server keeps calling it.",
          o->name);
}

static bool is_recent(uint64_t then, uint64_t now)
{
    return then && now < then + RECENT_SECONDS;
}

static bool has_other_lists(const um_origin *o, uint64_t now)
{
    return is_recent(o->refused_at[UMBEL_SYNC_SHAPE], now) ||
           is_recent(o->refused_at[UMBEL_SYNC_LIST], now);
}

static void check_shapes(const um_status *s, um_problems *out)
{
    char names[NAMES_LEN];
    const um_origin *o = NULL;

    if (!name_origins(s, has_other_lists, names, &o))
        return;
    um_status_problem *p = next_problem(out, UM_WARNING);
    print(p->what,
          "Lists of %s have another shape, seed or secret than here: they are "
          "not exchanged.",
          names);
    print(p->advice,
          "The log names the field. Give all servers the same secret "
          "and the same list \"...\" { } settings, and restart.");
}

static void check_alone(const um_status *s, um_problems *out)
{
    char names[UM_PROBLEM_LEN / 2] = "";
    size_t len = 0;

    for (size_t i = 0; s->peers && i < s->nlists; i++)
        if (s->peers->alone[i] && len < sizeof names)
            len += (size_t)snprintf(names + len, sizeof names - len, "%s%s",
                                    len ? ", " : "", s->list[i].name);
    if (!len)
        return;
    um_status_problem *p = next_problem(out, UM_WARNING);
    print(p->what,
          "Some epochs have other settings than now, so their counts are not "
          "exchanged with peers: %s.",
          names);
    print(p->advice,
          "They end when they expire. To exchange them until then, set "
          "list \"...\" { } back as it was, and restart.");
}

/* Returns true for reasons that do not indicate a lying or damaged peer. */
static bool is_common(unsigned reason)
{
    return reason == UMBEL_SYNC_SHAPE || reason == UMBEL_SYNC_LIST ||
           reason == UMBEL_SYNC_EPOCH || reason == UMBEL_SYNC_CAPACITY ||
           reason == UMBEL_SYNC_MEMORY;
}

static bool is_refused(const um_origin *o, uint64_t now)
{
    for (unsigned i = 0; i < UMBEL_SYNC_REASONS; i++)
        if (!is_common(i) && is_recent(o->refused_at[i], now))
            return true;
    return false;
}

static void check_refused_peers(const um_status *s, um_problems *out)
{
    char names[NAMES_LEN];
    const um_origin *o = NULL;
    unsigned i = 0;

    if (!name_origins(s, is_refused, names, &o))
        return;
    while (is_common(i) || !is_recent(o->refused_at[i], s->now))
        i++;
    um_status_problem *p = next_problem(out, UM_WARNING);
    print(p->what,
          "Some of what %s sent was refused in the last %d minutes (%s).",
          names, RECENT_SECONDS / 60,
          umbel_sync_reason_name((umbel_sync_reason)i));
    print(p->advice,
          "The log names the origin and the reason. If it lies: umbel "
          "clearinghouse drop ORIGIN.");
}

static bool does_not_fit(const um_origin *o, uint64_t now)
{
    return is_recent(o->refused_at[UMBEL_SYNC_MEMORY], now);
}

static void check_peer_memory(const um_status *s, um_problems *out)
{
    char names[NAMES_LEN];
    const um_origin *o = NULL;

    if (!name_origins(s, does_not_fit, names, &o))
        return;
    um_status_problem *p = next_problem(out, UM_WARNING);
    print(p->what,
          "Some of what %s sent was refused in the last %d minutes: it does "
          "not fit into memory in peers { }. It does not count here.",
          names, RECENT_SECONDS / 60);
    if (s->peers->needs)
        print(p->advice,
              "Write memory = \"%" PRIu64
              "MB\" in peers { }: that is enough when all epochs of the "
              "configured peers are full. --check says whether memory outside "
              "of it must grow, too. Then restart.",
              s->peers->needs / 1000000);
    else
        print(p->advice,
              "Raise memory in peers { } and restart: origins that are not "
              "peers use it as well. umbel clearinghouse peers lists them.");
}

static bool is_held(const um_origin *o, uint64_t now)
{
    (void)now;
    return o->held && !o->own;
}

static void check_held_origins(const um_status *s, um_problems *out)
{
    char names[NAMES_LEN];
    const um_origin *o = NULL;

    if (!name_origins(s, is_held, names, &o))
        return;
    um_status_problem *p = next_problem(out, UM_WARNING);
    print(p->what,
          "%s reported more digests than a list holds: what is above its "
          "capacity does not count here.",
          names);
    print(p->advice,
          "If it floods: umbel clearinghouse drop ORIGIN. Else raise "
          "capacity of the list at all servers, and restart.");
}

static void check_saved(const um_status *s, um_problems *out)
{
    if (s->peers && s->peers->saved.error) {
        um_status_problem *p = next_problem(out, UM_WARNING);
        print(
            p->what,
            "Reports of peers could not be saved: %s. They count, and after a "
            "restart peers send them again.",
            strerror(s->peers->saved.error));
        print(
            p->advice,
            "Make room on the disk of %s, or repair it. The server tries again "
            "by itself.",
            s->data);
    }
    if (s->peers && s->peers->saved.state_lost) {
        um_status_problem *p = next_problem(out, UM_WARNING);
        print(p->what,
              "%s/peers/state was damaged: which origins were dropped "
              "or muted is lost.",
              s->data);
        print(p->advice, "Drop and mute them again (umbel clearinghouse peers "
                         "lists origins). The next restart ends this message.");
    }
}

static void (*const checks[])(const um_status *s, um_problems *out) = {
    check_store,       check_held,         check_workers, check_reload,
    check_clock,       check_early,        check_share,   check_snapshot,
    check_memory,      check_errors,       check_full,    check_refusals,
    check_away,        check_shapes,       check_alone,   check_refused_peers,
    check_peer_memory, check_held_origins, check_saved};

void um_status_problems(const um_status *s, um_problems *out)
{
    *out = (um_problems){.n = 0};
    for (size_t i = 0; i < UM_COUNT(checks); i++)
        checks[i](s, out);
}

um_level um_problems_level(const um_problems *p)
{
    return p->n ? p->item[0].level : UM_WELL;
}

const char *um_level_name(um_level l)
{
    static const char *const names[] = {"well", "warning", "failed"};

    return names[l];
}
