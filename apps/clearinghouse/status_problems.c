/*
 * status_problems.c - the checks: a row each, the worst first.
 */
#include "clearinghouse/status_problems.h"

#include "base/error.h"
#include "clearinghouse/status_words.h"

#include <stdarg.h>
#include <string.h>

enum {
    REFUSED_MINUTES = 5,
    REFUSED_REQUESTS = 100 /* fewer say nothing about a share */
};

/* The place of another problem; the last place when all are taken. */
static um_problem *next_problem(um_problems *out, um_level level)
{
    um_problem *p = &out->item[out->n];

    if (out->n + 1 < UM_MAX_PROBLEMS)
        out->n++;
    p->level = level;
    return p;
}

__attribute__((format(printf, 2, 3))) static void say(char out[UM_PROBLEM_LEN],
                                                      const char *format, ...)
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
    um_problem *p = next_problem(out, UM_FAILED);
    say(p->what, "Reports are refused: %s. Look-ups are still answered.",
        s->store.failed);
    say(p->advice,
        "Make room on the disk of %s, or repair it. The server tries again "
        "by itself, and no restart is needed.",
        s->data);
}

/* A worker that has just died is back in a moment; only if it is not, this is
 * seen for longer. */
static void check_workers(const um_status *s, um_problems *out)
{
    if (!s->pool.workers || s->pool.ready)
        return;
    um_problem *p = next_problem(out, UM_WARNING);
    say(p->what, "No worker runs that could read mails: clients of dccifd are "
                 "told to try again.");
    say(p->advice, "The server starts workers again by itself. If this stays, "
                   "look whether it may start processes, open files and use "
                   "memory (ulimit -a).");
}

static void check_reload(const um_status *s, um_problems *out)
{
    if (!s->not_reloaded || !s->not_reloaded[0])
        return;
    um_problem *p = next_problem(out, UM_WARNING);
    say(p->what,
        "The last reload was refused: %s. The settings before it hold.",
        s->not_reloaded);
    say(p->advice, "Correct it, try it with --check, and send SIGHUP again.");
}

static void check_snapshot(const um_status *s, um_problems *out)
{
    if (!s->store.snapshot_error || s->store.failed)
        return;
    um_problem *p = next_problem(out, UM_WARNING);
    say(p->what,
        "The last snapshot could not be written: %s. Reports are accepted "
        "until the journal, now %s, has %s.",
        strerror(s->store.snapshot_error),
        um_words_bytes(s->store.journal_bytes).text,
        um_words_bytes(s->store.journal_most).text);
    say(p->advice,
        "Make room on the disk of %s, or repair it. The server tries again "
        "by itself.",
        s->data);
}

static void check_memory(const um_status *s, um_problems *out)
{
    if (s->memory <= s->memory_limit || !s->memory_limit)
        return;
    um_problem *p = next_problem(out, UM_WARNING);
    say(p->what, "The server uses %s of memory, more than its limit of %s.",
        um_words_bytes(s->memory).text, um_words_bytes(s->memory_limit).text);
    say(p->advice, "Raise memory in the configuration if the machine has "
                   "it, or lower the capacity of a list.");
}

static void check_errors(const um_status *s, um_problems *out)
{
    for (size_t i = 0; i < s->nlists; i++) {
        const um_list_stats *l = &s->list[i];
        if (l->error <= l->max_error)
            continue;
        um_problem *p = next_problem(out, UM_WARNING);
        say(p->what,
            "List %s finds %s of the digests that nobody reported, more than "
            "the %s that is configured.",
            l->name, um_words_chance(l->error).text,
            um_words_chance(l->max_error).text);
        say(p->advice,
            "Raise capacity in list \"%s\" { } and restart; it holds from "
            "the next epoch on.",
            l->name);
    }
}

static void check_held(const um_status *s, um_problems *out)
{
    for (size_t i = 0; i < s->nlists; i++) {
        const um_list_stats *l = &s->list[i];
        if (!l->held)
            continue;
        um_problem *p = next_problem(out, UM_WARNING);
        say(p->what,
            "List %s is full until %s: it counts the digests that it has, and "
            "no new ones.",
            l->name,
            l->over_at == UINT64_MAX ? "its capacity is raised"
                                     : um_words_time(l->over_at).text);
        say(p->advice,
            "Raise capacity in list \"%s\" { } and restart; it holds from "
            "the next epoch on.",
            l->name);
    }
}

static void check_refusals(const um_status *s, um_problems *out)
{
    for (size_t i = 0; i < s->nfronts; i++) {
        um_totals t = um_front_last_minutes(s->front[i], REFUSED_MINUTES);
        if (t.requests < REFUSED_REQUESTS || t.refused <= t.requests / 2)
            continue;
        um_problem *p = next_problem(out, UM_WARNING);
        say(p->what, "%s refused %s of %s requests in the last %d minutes.",
            s->front[i]->front->name, um_words_count(t.refused).text,
            um_words_count(t.requests).text, REFUSED_MINUTES);
        say(p->advice, "The reasons are listed in the status; the log names "
                       "the clients.");
    }
}

static void (*const checks[])(const um_status *s, um_problems *out) = {
    check_store,  check_workers, check_reload, check_snapshot,
    check_memory, check_errors,  check_held,   check_refusals};

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
