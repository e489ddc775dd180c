/*
 * admission.c - what may be counted, and what is logged about full lists.
 *
 * Strangers may report, but must not be able to push out what others reported.
 * So clients without an account share a part of each epoch of a list, and a
 * rate of new digests. When their part is full, their new digests are refused;
 * digests that the list has are counted, and so is what anybody else reports.
 *
 * A network that reported everything in a list so far is a site that has the
 * list for itself: it is neither held to the part nor to the rate, as long as
 * others could still be counted (um_store_admits).
 */
#include "clearinghouse/lists/internal.h"

#include "clearinghouse/runtime/format.h"

#define NEARLY_FULL 0.8

um_store_admission um_lists_admits(um_lists *l, unsigned list,
                                   const umbel_digest *d, uint16_t reporter)
{
    const um_limit_settings *limits = &l->config->limits;
    um_store_admission a =
        um_store_admits(l->store, list, d, reporter,
                        l->config->list[list].anonymous_share, l->clock->now);

    if (a == UM_REFUSE_SHARE)
        l->share_refused[list] =
            um_list_epoch_end(um_store_list(l->store, list));
    if (a == UM_ADMIT_SHARED &&
        !um_shared_rate_consume(&l->strangers[list], limits->new_digests,
                                limits->burst, um_clock_ms(l->clock)))
        return UM_REFUSE_RATE;
    return a;
}

/* A network may exceed its part as long as it is alone. Once another one was
 * refused, that is over. */
static void note_refused(const um_lists *l, unsigned list, um_list_stats *out)
{
    out->sole = out->sole && l->share_refused[list] != out->epoch_end;
}

void um_lists_stats(const um_lists *l, unsigned list, um_list_stats *out)
{
    um_store_list_stats(l->store, list, out);
    note_refused(l, list, out);
}

bool um_list_is_nearly_full(const um_list_stats *s)
{
    return s->fill > NEARLY_FULL;
}

bool um_list_is_share_full(const um_list_stats *s, double share)
{
    return !s->sole && share > 0 && share < 1 &&
           (double)s->anonymous >= share * (double)s->capacity;
}

/* --- the log -------------------------------------------------------------- */

/* Returns true if something begins: it is, and was not. */
static bool begins(bool *was, bool is)
{
    bool result = is && !*was;

    *was = is;
    return result;
}

static const char *why_no_filter(const um_list_stats *s)
{
    return s->most_filters ? "it has as many filters as a list can have"
                           : "no memory for another filter";
}

static void log_fill(um_log *log, const um_list_stats *s, um_list_watch *w)
{
    if (begins(&w->nearly_full, um_list_is_nearly_full(s)))
        um_log_event(log,
                     "list %s: %.0f %% of the %s digests of this epoch are "
                     "used; raise its capacity",
                     s->name, 100 * s->fill, um_format_count(s->capacity).text);
    if (s->extra > w->extra)
        um_log_event(log,
                     "list %s: the epoch was full and got another filter (%u); "
                     "raise its capacity",
                     s->name, s->extra);
    w->extra = s->extra;
    if (begins(&w->held, s->held))
        um_log_event(log,
                     "list %s: full, and %s; refusing new digests until %s; "
                     "raise %s",
                     s->name, why_no_filter(s),
                     s->epoch_end == UINT64_MAX
                         ? "its capacity is raised"
                         : um_format_time(s->epoch_end).text,
                     s->most_filters ? "its capacity" : "memory");
}

static void log_strangers(um_log *log, const um_list_stats *s, double share,
                          um_list_watch *w)
{
    if (begins(&w->share_full, um_list_is_share_full(s, share)))
        um_log_event(log,
                     "list %s: the part of clients without an account is full "
                     "(%s digests); refusing their new digests",
                     s->name, um_format_count(s->anonymous).text);
    if (s->ended_early > w->ended_early)
        um_log_event(log,
                     "list %s: full, and %s: its epoch ended early, and the "
                     "oldest counts were dropped; raise %sits capacity",
                     s->name, why_no_filter(s),
                     s->most_filters ? "" : "memory, or ");
    w->ended_early = s->ended_early;
}

void um_lists_watch(um_lists *l)
{
    for (unsigned i = 0; i < UM_LISTS && um_store_list(l->store, i); i++) {
        um_list_stats s;

        um_store_list_fullness(l->store, i, &s);
        l->watch[i] =
            (um_list_watch){.extra = s.extra, .ended_early = s.ended_early};
    }
}

void um_lists_tick(um_lists *l)
{
    for (unsigned i = 0; i < UM_LISTS; i++) {
        um_list_stats s;

        um_store_list_fullness(l->store, i, &s);
        note_refused(l, i, &s);
        log_fill(l->log, &s, &l->watch[i]);
        log_strangers(l->log, &s, l->config->list[i].anonymous_share,
                      &l->watch[i]);
    }
}
