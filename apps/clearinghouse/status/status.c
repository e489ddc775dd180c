/*
 * status.c - reads the state of the server, and the tables of figures.
 */
#include "clearinghouse/status/internal.h"

#include "base/text.h"
#include "clearinghouse/lists/exceptions.h"
#include "cli/framework/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- the state ------------------------------------------------------------ */

/* Returns the resident memory of the process, in bytes; 0 if it is
 * unknown. */
static uint64_t resident_memory(void)
{
    FILE *in = fopen("/proc/self/statm", "re");
    unsigned long long size, resident = 0;

    if (!in)
        return 0;
    if (fscanf(in, "%llu %llu", &size, &resident) != 2)
        resident = 0;
    fclose(in);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

void um_status_get(const um_status_source *s, um_status *out)
{
    const um_environment *env = s->env;
    const um_service_stats *service;

    *out = (um_status){.now = env->clock->now,
                       .uptime = um_clock_uptime(env->clock),
                       .data = env->opened->data,
                       .not_reloaded = s->not_reloaded->text,
                       .memory = resident_memory(),
                       .memory_limit = env->opened->memory};
    if (gethostname(out->host, sizeof out->host) != 0 || !out->host[0])
        snprintf(out->host, sizeof out->host, "localhost");
    out->host[sizeof out->host - 1] = '\0';
    out->address = um_addresses_all(env->addresses, &out->naddresses);
    while ((service = um_statistics_at(env->statistics, out->nservices)))
        out->service[out->nservices++] = service;
    um_razor_get_lookups(um_running_state(s->running, &um_protocol_razor),
                         &out->razor);
    for (unsigned i = 0; i < UM_LISTS; i++) {
        out->anonymous_share[i] = env->config->list[i].anonymous_share;
        um_lists_stats(env->lists, i, &out->list[out->nlists++]);
    }
    um_store_stats_get(env->store, &out->store);
    um_mail_pool_stats_get(env->pool, &out->pool);
    out->welcome_rules = um_welcome_rules(um_lists_welcome(env->lists));
    out->forgotten = um_forget_count(env->lists);
    out->peers = um_origins_look(env->origins);
    out->memory += out->pool.resident;
    out->nreporters =
        um_top_reporters_read(env->reporters, out->top, UM_TOP_COUNTED);
    out->ntop = out->nreporters < UM_TOP_SHOWN ? out->nreporters : UM_TOP_SHOWN;
    for (size_t i = 0; i < out->nreporters; i++) /* as a time ago */
        out->top[i].last = (um_clock_ms(env->clock) - out->top[i].last) / 1000;
}

/* --- values --------------------------------------------------------------- */

um_formatted um_figure_format(const um_figure_row *r, um_figure_value v)
{
    um_formatted w = {""};

    if (r->unit != UM_UNIT_TEXT)
        return um_format_unit(r->unit, v.number);
    snprintf(w.text, sizeof w.text, "%s", v.text ? v.text : "none");
    return w;
}

void um_figure_print_json(FILE *out, const um_figure_row *r, um_figure_value v)
{
    if (r->unit == UM_UNIT_TEXT && v.text)
        um_json_text(out, v.text);
    else if (r->unit == UM_UNIT_TEXT || !isfinite(v.number))
        fputs("null", out);
    else if (r->unit == UM_UNIT_FLAG)
        fputs(v.number != 0 ? "true" : "false", out);
    else if (v.number == floor(v.number))
        fprintf(out, "%.0f", v.number);
    else
        fprintf(out, "%.6g", v.number);
}

um_formatted um_status_agreement(const um_status *s, size_t list)
{
    um_formatted w = {""};

    if (s->peers)
        snprintf(w.text, sizeof w.text, "%016" PRIx64,
                 s->peers->agreement[list]);
    return w;
}

bool um_figure_begins_section(size_t i)
{
    return i == 0 || strcmp(um_server_figures[i].section,
                            um_server_figures[i - 1].section) != 0;
}

/* --- the server ----------------------------------------------------------- */

#define SERVER_NUMBER(name, expression)                                        \
    static um_figure_value name(const um_status *s)                            \
    {                                                                          \
        return (um_figure_value){.number = (double)(expression)};              \
    }
#define SERVER_TEXT(name, expression)                                          \
    static um_figure_value name(const um_status *s)                            \
    {                                                                          \
        return (um_figure_value){.text = (expression)};                        \
    }

SERVER_TEXT(durability, um_durability_name(s->store.durability))
SERVER_NUMBER(journal_bytes, s->store.journal_bytes)
SERVER_NUMBER(snapshot_bytes, s->store.snapshot_bytes)
SERVER_NUMBER(snapshot_time, s->store.snapshot_time)
SERVER_NUMBER(snapshots, s->store.snapshots)
SERVER_NUMBER(snapshot_failed, s->store.snapshot_error != 0)
SERVER_NUMBER(syncs, s->store.syncs)
SERVER_NUMBER(recent_bytes, s->store.recent_bytes)
SERVER_NUMBER(failed, s->store.failed != NULL)
SERVER_TEXT(failure, s->store.failed)
SERVER_NUMBER(failures, s->store.failures)
SERVER_NUMBER(memory, s->memory)
SERVER_NUMBER(memory_limit, s->memory_limit)

SERVER_NUMBER(workers, s->pool.workers)
SERVER_NUMBER(workers_ready, s->pool.ready)
SERVER_NUMBER(workers_died, s->pool.died)
SERVER_NUMBER(mails_read, s->pool.read)
SERVER_NUMBER(mails_waiting, s->pool.waiting)
SERVER_NUMBER(worker_bytes, s->pool.resident)

SERVER_NUMBER(welcome_rules, s->welcome_rules)
SERVER_NUMBER(forgotten, s->forgotten)

SERVER_NUMBER(razor_accounts, s->razor.accounts)
SERVER_NUMBER(razor_shared, s->razor.shared)
SERVER_NUMBER(razor_signatures, s->razor.signatures)
SERVER_NUMBER(razor_lookups, s->razor.done)
SERVER_NUMBER(razor_sampled, s->razor.sampled)

/* Returns the look-ups that a sampled signature costs; 0 without a sample. */
static double order_cost(const um_razor_lookups *l, um_razor_order order)
{
    return l->sampled ? (double)l->cost[order] / (double)l->sampled : 0;
}

SERVER_NUMBER(razor_spam_first, order_cost(&s->razor, UM_RAZOR_SPAM_FIRST))
SERVER_NUMBER(razor_revoked_first,
              order_cost(&s->razor, UM_RAZOR_REVOKED_FIRST))

const um_server_figure um_server_figures[] = {
    {"store",
     {"durability", "durability", UM_UNIT_TEXT, .metric = NULL},
     durability},
    {"store",
     {"journal_bytes", "journal", UM_UNIT_BYTES, "umbel_journal_bytes", "gauge",
      "Bytes of journals that a restart would read."},
     journal_bytes},
    {"store",
     {"snapshot_bytes", "last snapshot", UM_UNIT_BYTES, "umbel_snapshot_bytes",
      "gauge", "Bytes of the last snapshot."},
     snapshot_bytes},
    {"store",
     {"snapshot_time", NULL, UM_UNIT_COUNT, "umbel_snapshot_time_seconds",
      "gauge", "When the last snapshot was taken, in seconds since 1970."},
     snapshot_time},
    {"store",
     {"snapshots", "snapshots since start", UM_UNIT_COUNT,
      "umbel_snapshots_total", "counter", "Snapshots since the start."},
     snapshots},
    {"store",
     {"snapshot_failed", NULL, UM_UNIT_FLAG, "umbel_snapshot_failed", "gauge",
      "1 if the last snapshot could not be written."},
     snapshot_failed},
    {"store",
     {"syncs", "calls of fdatasync", UM_UNIT_COUNT, "umbel_syncs_total",
      "counter", "Calls of fdatasync for the journal."},
     syncs},
    {"store",
     {"recent_bytes", NULL, UM_UNIT_BYTES, "umbel_recent_bytes", "gauge",
      "Memory for the times of digests of the last hour."},
     recent_bytes},
    {"store",
     {"failed", NULL, UM_UNIT_FLAG, "umbel_store_failed", "gauge",
      "1 while the disk cannot be written and reports are refused."},
     failed},
    {"store", {"failure", NULL, UM_UNIT_TEXT, .metric = NULL}, failure},
    {"store",
     {"failures", "failures since start", UM_UNIT_COUNT,
      "umbel_store_failures_total", "counter",
      "Failures of the disk since the start."},
     failures},
    {"mail",
     {"workers", "workers", UM_UNIT_COUNT, "umbel_workers", "gauge",
      "Processes that read mails, as configured."},
     workers},
    {"mail",
     {"ready", "ready", UM_UNIT_COUNT, "umbel_workers_ready", "gauge",
      "Workers that can read a mail now."},
     workers_ready},
    {"mail",
     {"died", "died since start", UM_UNIT_COUNT, "umbel_workers_died_total",
      "counter", "Workers that died or were ended, since the start."},
     workers_died},
    {"mail",
     {"read", "mails read", UM_UNIT_COUNT, "umbel_mails_read_total", "counter",
      "Mails that workers have read."},
     mails_read},
    {"mail",
     {"waiting", "mails waiting", UM_UNIT_COUNT, "umbel_mails_waiting", "gauge",
      "Mails that wait for a worker, or are being read."},
     mails_waiting},
    {"mail",
     {"worker_bytes", "memory of workers", UM_UNIT_BYTES, "umbel_worker_bytes",
      "gauge", "Resident memory of all workers."},
     worker_bytes},
    {"trust",
     {"welcome_rules", "welcome rules", UM_UNIT_COUNT, "umbel_welcome_rules",
      "gauge", "Rules of the welcome file."},
     welcome_rules},
    {"trust",
     {"forgotten", "forgotten digests", UM_UNIT_COUNT, "umbel_forgotten",
      "gauge", "Exceptions for forgotten digests, one for each list."},
     forgotten},
    {"razor",
     {"accounts", "accounts", UM_UNIT_COUNT, "umbel_razor_accounts", "gauge",
      "Accounts that Razor clients have registered."},
     razor_accounts},
    {"razor",
     {"shared_accounts", "accounts of peers", UM_UNIT_COUNT,
      "umbel_razor_shared_accounts", "gauge",
      "Accounts that were registered at peers, with accounts = shared."},
     razor_shared},
    {"razor",
     {"signatures", "signatures checked", UM_UNIT_COUNT,
      "umbel_razor_signatures_total", "counter",
      "Signatures that Razor clients have checked."},
     razor_signatures},
    {"razor",
     {"lookups", "look-ups for them", UM_UNIT_COUNT,
      "umbel_razor_lookups_total", "counter",
      "Look-ups in one of the two lists, for signatures that were checked."},
     razor_lookups},
    {"razor",
     {"sampled", NULL, UM_UNIT_COUNT, "umbel_razor_sampled_total", "counter",
      "Signatures that both lists were asked for, to compare the orders."},
     razor_sampled},
    {"razor",
     {"spam_first", "each, spam first", UM_UNIT_NUMBER,
      "umbel_razor_spam_first", "gauge",
      "Look-ups that a sampled signature costs if spam is asked first."},
     razor_spam_first},
    {"razor",
     {"revoked_first", "each, revoked first", UM_UNIT_NUMBER,
      "umbel_razor_revoked_first", "gauge",
      "Look-ups that a sampled signature costs if the revoked list is asked "
      "first."},
     razor_revoked_first},
    {"memory",
     {"bytes", "in use", UM_UNIT_BYTES, "umbel_memory_bytes", "gauge",
      "Resident memory of the server and its workers."},
     memory},
    {"memory",
     {"limit", "may use", UM_UNIT_BYTES, "umbel_memory_limit_bytes", "gauge",
      "Memory that the server may use."},
     memory_limit},
    {.section = NULL}};

/* --- lists ---------------------------------------------------------------- */

#define LIST_NUMBER(name, expression)                                          \
    static um_figure_value name(const um_list_stats *l, uint64_t now)          \
    {                                                                          \
        (void)now;                                                             \
        return (um_figure_value){.number = (double)(expression)};              \
    }

static uint64_t oldest(const um_list_stats *l)
{
    return l->n ? l->epoch[l->n - 1].begin : 0;
}

static um_figure_value list_kind(const um_list_stats *l, uint64_t now)
{
    (void)now;
    return (um_figure_value){.text = l->kind};
}

static um_figure_value list_age(const um_list_stats *l, uint64_t now)
{
    uint64_t since = oldest(l);

    return (um_figure_value){
        .number = since && now > since ? (double)(now - since) : 0};
}

LIST_NUMBER(list_digests, l->digests)
LIST_NUMBER(list_fill, l->fill)
LIST_NUMBER(list_anonymous, l->anonymous)
LIST_NUMBER(list_early, l->ended_early)
LIST_NUMBER(list_error, l->error)
LIST_NUMBER(list_max_error, l->max_error)
LIST_NUMBER(list_bytes, l->bytes)
/* NaN before the first report. */
LIST_NUMBER(list_bytes_each,
            l->digests ? (double)l->bytes / (double)l->digests : NAN)
LIST_NUMBER(list_epochs, l->n)
LIST_NUMBER(list_since, oldest(l))
LIST_NUMBER(list_threshold, l->threshold ? (double)l->threshold : (double)NAN)
LIST_NUMBER(list_compound, l->threshold ? l->f_compound : (double)NAN)
LIST_NUMBER(list_paper, l->threshold ? l->f_paper : (double)NAN)

const um_list_figure um_list_figures[] = {
    {{"digests", "digests", UM_UNIT_COUNT, "umbel_list_digests", "gauge",
      "Different digests in live epochs."},
     list_digests},
    {{"fill", "newest epoch full", UM_UNIT_SHARE, "umbel_list_fill", "gauge",
      "Share of the newest epoch that is used; above 1 if it got further "
      "filters."},
     list_fill},
    {{"error", "error now", UM_UNIT_CHANCE, "umbel_list_error", "gauge",
      "Chance that a digest never reported has a count, predicted now."},
     list_error},
    {{"max_error", "error at most", UM_UNIT_CHANCE, "umbel_list_max_error",
      "gauge", "The same, as configured."},
     list_max_error},
    {{"threshold", "many from", UM_UNIT_COUNT, .metric = NULL,
      .help = "Count from which on clients get many."},
     list_threshold},
    {{"f_compound", "wrong many now", UM_UNIT_CHANCE,
      "umbel_list_wrong_verdict", "gauge",
      "Chance that a digest never reported is many, by the counts of those "
      "that were."},
     list_compound},
    {{"f_paper", "wrong many (paper)", UM_UNIT_CHANCE, .metric = NULL,
      .help = "The same by equation (4) of Yan and Cho 2006, which lets each "
              "digest come once: far too small."},
     list_paper},
    {{"bytes_per_digest", "bytes per digest", UM_UNIT_NUMBER,
      "umbel_list_bytes_per_digest", "gauge",
      "Memory of the list for each digest that it holds now."},
     list_bytes_each},
    {{"bytes", "memory", UM_UNIT_BYTES, "umbel_list_bytes", "gauge",
      "Memory of the list."},
     list_bytes},
    {{"epochs", NULL, UM_UNIT_COUNT, "umbel_list_epochs", "gauge",
      "Live epochs."},
     list_epochs},
    {{"since", NULL, UM_UNIT_COUNT, .metric = NULL}, list_since},
    {{"age", "reaches back", UM_UNIT_SECONDS, "umbel_list_age_seconds", "gauge",
      "Time since the oldest live epoch began."},
     list_age},
    {{"kind", NULL, UM_UNIT_TEXT, .metric = NULL}, list_kind},
    {{"list_fill", NULL, UM_UNIT_SHARE, "umbel_list_fill_ratio", "gauge",
      "The same as umbel_list_fill."},
     list_fill},
    {{"anonymous_new", "without account", UM_UNIT_COUNT,
      "umbel_list_anonymous_new", "gauge",
      "Digests of the newest epoch that clients without an account reported "
      "first."},
     list_anonymous},
    {{"epochs_ended_early", NULL, UM_UNIT_COUNT, "umbel_epochs_early_total",
      "counter", "Epochs that ended before their time, for lack of memory."},
     list_early},
    {{.name = NULL}, NULL}};
