/*
 * status_text.c - the status for a terminal.
 */
#include "clearinghouse/status.h"

#include "clearinghouse/status_words.h"

static void put_line(FILE *out, const char *name, const char *what,
                     const char *value)
{
    fprintf(out, "%-16s %-12s %s\n", name, what, value);
}

static void put_front(FILE *out, const um_front_stats *f)
{
    const char *name = f->front->name;

    put_line(out, name, "requests", um_words_count(um_front_requests(f)).text);
    put_line(out, name, "hits", um_words_count(f->hits).text);
    put_line(out, name, "refused", um_words_count(um_front_refused(f)).text);
    for (unsigned v = 0; v < um_front_verdicts(f->front); v++)
        if (f->front->verdicts[v].reason && um_front_with_verdict(f, v)) {
            fprintf(out, "%-16s   %-10s %s\n", name,
                    f->front->verdicts[v].reason,
                    um_words_count(um_front_with_verdict(f, v)).text);
        }
}

static void put_list(FILE *out, const um_list_stats *l)
{
    char text[64];

    put_line(out, l->name, "digests", um_words_count(l->digests).text);
    snprintf(text, sizeof text, "%.1f %% of the newest epoch", 100 * l->fill);
    put_line(out, l->name, "fill", text);
    put_line(out, l->name, "error", um_words_chance(l->error).text);
    put_line(out, l->name, "memory", um_words_bytes(l->bytes).text);
}

void um_status_print_text(FILE *out, const um_status *s)
{
    const um_store_stats *store = &s->store;

    put_line(out, "server", "uptime", um_words_duration(s->uptime).text);
    put_line(out, "server", "memory", um_words_bytes(s->memory).text);
    for (size_t i = 0; i < s->nfronts; i++)
        put_front(out, s->front[i]);
    for (size_t i = 0; i < s->nlists; i++)
        put_list(out, &s->list[i]);
    put_line(out, "store", "durability", um_durability_name(store->durability));
    put_line(out, "store", "journal",
             um_words_bytes(store->journal_bytes).text);
    put_line(out, "store", "snapshot",
             um_words_bytes(store->snapshot_bytes).text);
    put_line(out, "store", "failed", store->failed ? store->failed : "no");
}
