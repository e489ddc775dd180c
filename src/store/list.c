/*
 * list.c - counts that expire: epochs, each a filter that counts.
 *
 * The error of a sum is at most the sum of the errors, so an epoch is made for
 * error / epochs. It is made for UM_LIST_BATCH digests more than its capacity,
 * because um_list_due is asked between batches, and not between digests.
 *
 * A list as bytes:
 *
 *   u32 version | u32 epochs | for each, newest first:
 *     u64 begin | u64 end | u32 threshold | threshold x u64: digests that came
 *     1, 2, ... times, threshold times or more | u64 len | len bytes: the
 *     filter's file (FORMAT.md)
 */
#include "store/list.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "filter/coded.h"
#include "ops/plan_counts.h"

#include <umbel/counting.h>

#include <inttypes.h>
#include <stdio.h>

enum {
    VERSION = 2,
    HEAD_LEN = 8,
    EPOCH_LEN = 20,
    TIMES_LEN = 8 * UM_LIST_MAX_THRESHOLD
};
/* Kinds fetch ahead by themselves within a batch of more than that. */
enum { FEW = 16 };

typedef struct epoch {
    umbel_filter *filter;
    uint64_t begin, end; /* the newest has not ended: 0 */
    unsigned threshold;  /* as it was when the epoch began; 0: none */
    uint64_t times[UM_LIST_MAX_THRESHOLD + 1]; /* [j]: digests that came j
                                                  times; the last: or more */
} epoch;

struct um_list {
    um_list_config config; /* its name points to name */
    umbel_alloc alloc;
    char name[UM_LIST_MAX_NAME];
    char kind[UM_LIST_MAX_NAME];
    uint8_t secret[UMBEL_SECRET_LEN];
    unsigned n;
    epoch epoch[UM_LIST_MAX_EPOCHS]; /* newest first */
};

/* --- open and close ------------------------------------------------------ */

static umbel_status check_config(const um_list_config *c, umbel_error *err)
{
    if (!umbel_is_counting(c->kind))
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "list %.32s: there is no kind \"%.32s\" that counts",
                       c->name, c->kind);
    if (c->epochs < 1 || c->epochs > UM_LIST_MAX_EPOCHS)
        return um_fail(err, UMBEL_E_RANGE,
                       "list %.32s: epochs must be 1..%d, got %u", c->name,
                       UM_LIST_MAX_EPOCHS, c->epochs);
    if (c->capacity < 1 || c->capacity > UM_MAX_CELLS - UM_LIST_BATCH)
        return um_fail(err, UMBEL_E_RANGE,
                       "list %.32s: capacity must be 1..2^48, got %" PRIu64,
                       c->name, c->capacity);
    if (!(c->error > 0 && c->error < 1))
        return um_fail(err, UMBEL_E_RANGE,
                       "list %.32s: error must lie between 0 and 1, got %g",
                       c->name, c->error);
    if (c->threshold > UM_LIST_MAX_THRESHOLD)
        return um_fail(err, UMBEL_E_RANGE,
                       "list %.32s: the threshold must be at most %d, got %u",
                       c->name, UM_LIST_MAX_THRESHOLD, c->threshold);
    return UMBEL_OK;
}

static umbel_status make_filter(const um_list *l, umbel_filter **out,
                                umbel_error *err)
{
    const um_list_config *c = &l->config;
    umbel_setting settings[2];
    umbel_params p = {.size = sizeof p,
                      .addressing = c->addressing,
                      .hash = "sip",
                      .secret = l->secret,
                      .capacity = c->capacity + UM_LIST_BATCH,
                      .fpr = c->error / c->epochs,
                      .settings = settings,
                      .exact_size = true,
                      .alloc = &l->alloc};

    if (c->cell_bits)
        settings[p.nsettings++] = (umbel_setting){"cell_bits", c->cell_bits};
    if (c->refined)
        settings[p.nsettings++] = (umbel_setting){"update", 1};
    return umbel_create(c->kind, &p, out, err);
}

static umbel_status make_list(const um_list_config *c, const uint8_t *secret,
                              um_list **out, umbel_error *err)
{
    umbel_alloc alloc = um_alloc_or_default(c->alloc);

    UM_TRY(check_config(c, err));
    um_list *l = um_get(&alloc, sizeof *l);
    if (!l)
        return um_no_memory(err, sizeof *l);
    l->config = *c;
    l->alloc = alloc;
    snprintf(l->name, sizeof l->name, "%s", c->name);
    snprintf(l->kind, sizeof l->kind, "%s", c->kind);
    l->config.name = l->name;
    l->config.kind = l->kind;
    memcpy(l->secret, secret, sizeof l->secret);
    *out = l;
    return UMBEL_OK;
}

umbel_status um_list_open(const um_list_config *c, const uint8_t *secret,
                          uint64_t now, um_list **out, umbel_error *err)
{
    um_list *l;

    UM_TRY(make_list(c, secret, &l, err));
    umbel_status status = um_list_turn(l, now, err);
    if (status == UMBEL_OK)
        *out = l;
    else
        um_list_close(l);
    return status;
}

/* Closes all epochs from number `from` on. */
static void drop_epochs(um_list *l, unsigned from)
{
    while (l->n > from)
        umbel_close(l->epoch[--l->n].filter);
}

void um_list_close(um_list *l)
{
    if (!l)
        return;
    drop_epochs(l, 0);
    umbel_alloc alloc = l->alloc;
    um_put(&alloc, l, sizeof *l);
}

/* --- digests ------------------------------------------------------------- */

void um_list_digest(const um_list *l, const umbel_slice *keys, size_t n,
                    umbel_digest *out)
{
    umbel_digest_many(l->epoch[0].filter, keys, n, out, NULL);
}

/* Notes that a digest came more often: from so many times to so many. */
static void move_times(epoch *e, uint64_t from, uint64_t to)
{
    from = from < e->threshold ? from : e->threshold;
    to = to < e->threshold ? to : e->threshold;
    if (e->times[from] && from)
        e->times[from]--;
    e->times[to]++;
}

/* Counts go in one by one, since a digest may be among them twice. */
static umbel_status add_noted(epoch *e, const umbel_digest *d,
                              const uint64_t *amount, size_t n,
                              umbel_error *err)
{
    um_fetch_counts(e->filter, d, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t before, after;
        umbel_count_digests(e->filter, d + i, 1, &before, NULL);
        UM_TRY(umbel_add_digest_amounts(e->filter, d + i, amount + i, 1, NULL,
                                        err));
        after = before + amount[i];
        if (after > before)
            move_times(e, before, after);
    }
    return UMBEL_OK;
}

umbel_status um_list_add(um_list *l, const umbel_digest *d,
                         const uint32_t *amount, size_t n, umbel_error *err)
{
    epoch *newest = &l->epoch[0];
    uint64_t wide[UM_LIST_BATCH];

    if (n > UM_LIST_BATCH)
        return um_fail(err, UMBEL_E_RANGE, "at most %d digests, got %zu",
                       UM_LIST_BATCH, n);
    for (size_t i = 0; i < n; i++)
        wide[i] = amount[i];
    if (newest->threshold)
        return add_noted(newest, d, wide, n, err);
    return umbel_add_digest_amounts(newest->filter, d, wide, n, NULL, err);
}

void um_list_fetch(const um_list *l, const umbel_digest *d, size_t n)
{
    for (unsigned e = 0; e < l->n; e++)
        um_fetch_counts(l->epoch[e].filter, d, n);
}

static void count_batch(const um_list *l, const umbel_digest *d, size_t n,
                        uint64_t *count)
{
    uint64_t some[UM_LIST_BATCH];

    if (n <= FEW)
        um_list_fetch(l, d, n);
    umbel_count_digests(l->epoch[0].filter, d, n, count, NULL);
    for (unsigned e = 1; e < l->n; e++) {
        umbel_count_digests(l->epoch[e].filter, d, n, some, NULL);
        for (size_t i = 0; i < n; i++)
            count[i] += some[i];
    }
}

void um_list_count(const um_list *l, const umbel_digest *d, size_t n,
                   uint64_t *count)
{
    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < UM_LIST_BATCH ? n - i : UM_LIST_BATCH;
        count_batch(l, d + i, some, count + i);
    }
}

unsigned um_list_count_epochs(const um_list *l, const umbel_digest *d,
                              uint64_t count[UM_LIST_MAX_EPOCHS])
{
    for (unsigned e = 0; e < l->n; e++)
        umbel_count_digests(l->epoch[e].filter, d, 1, &count[e], NULL);
    return l->n;
}

uint64_t um_list_oldest(const um_list *l)
{
    return l->epoch[l->n - 1].begin;
}

bool um_list_times(const um_list *l, const umbel_digest *d, uint64_t now,
                   uint64_t *entered, uint64_t *updated)
{
    bool found = false;
    uint64_t count[UM_LIST_MAX_EPOCHS];
    unsigned n = um_list_count_epochs(l, d, count);

    for (unsigned e = 0; e < n; e++) {
        if (!count[e])
            continue;
        if (!found)
            *updated = e ? l->epoch[e].end : now;
        *entered = l->epoch[e].begin;
        found = true;
    }
    return found;
}

/* --- epochs -------------------------------------------------------------- */

/* Digests that it was made for, without the room of a batch. */
static uint64_t capacity_of(const umbel_filter *f)
{
    return f->shape.capacity - UM_LIST_BATCH;
}

/* When an epoch that began then is over; never, without a length. */
static uint64_t over_at(const um_list *l, uint64_t begin)
{
    uint64_t length = l->config.epoch_seconds;
    return length && begin <= UINT64_MAX - length ? begin + length : UINT64_MAX;
}

bool um_list_due(const um_list *l, uint64_t now)
{
    const epoch *newest = &l->epoch[0];

    return now >= over_at(l, newest->begin) ||
           umbel_added(newest->filter) >= capacity_of(newest->filter);
}

bool um_list_has_room(const um_list *l, size_t n)
{
    const umbel_filter *f = l->epoch[0].filter;
    return umbel_added(f) + n <= f->shape.capacity;
}

/*
 * Returns the number of epochs that stay beside a new one. One that ended goes
 * after the time of the others, even if nobody turned the list meanwhile.
 */
static unsigned count_kept(const um_list *l, uint64_t now)
{
    unsigned most = l->config.epochs - 1, kept = 0;
    uint64_t length = l->config.epoch_seconds;

    while (kept < l->n && kept < most) {
        uint64_t end = l->epoch[kept].end;
        if (length && now > end && (now - end) / length >= most)
            break;
        kept++;
    }
    return kept;
}

/* An epoch's end, seen at its turn: when it was over, or now if it is full. */
static uint64_t end_of(const um_list *l, uint64_t now)
{
    uint64_t begin = l->epoch[0].begin, over = over_at(l, begin);

    if (now > over)
        return over;
    return now > begin ? now : begin;
}

umbel_status um_list_turn(um_list *l, uint64_t now, umbel_error *err)
{
    umbel_filter *fresh;

    UM_TRY(make_filter(l, &fresh, err));
    if (l->n)
        l->epoch[0].end = end_of(l, now);
    drop_epochs(l, count_kept(l, now));
    memmove(l->epoch + 1, l->epoch, l->n * sizeof *l->epoch);
    l->epoch[0] = (epoch){
        .filter = fresh, .begin = now, .threshold = l->config.threshold};
    l->n++;
    return UMBEL_OK;
}

/* --- statistics ---------------------------------------------------------- */

static void epoch_stats(const epoch *e, um_epoch_stats *out)
{
    uint64_t digests = umbel_added(e->filter);
    umbel_count_plan plan = {0};

    if (e->threshold)
        um_plan_times(&e->filter->shape, e->threshold, e->times, &plan, NULL);

    *out = (um_epoch_stats){.begin = e->begin,
                            .end = e->end,
                            .digests = digests,
                            .capacity = capacity_of(e->filter),
                            .error = umbel_fpr_at(e->filter, (double)digests),
                            .f_compound = plan.f_compound,
                            .f_paper = plan.f_paper};
}

void um_list_stats_get(const um_list *l, um_list_stats *out)
{
    *out = (um_list_stats){.name = l->name,
                           .kind = l->kind,
                           .max_error = l->config.error,
                           .count_limit = UINT64_MAX,
                           .bytes = sizeof *l,
                           .threshold = l->config.threshold,
                           .n = l->n};
    for (unsigned i = 0; i < l->n; i++) {
        const umbel_filter *f = l->epoch[i].filter;
        uint64_t limit = umbel_count_limit(f);
        epoch_stats(&l->epoch[i], &out->epoch[i]);
        out->digests += out->epoch[i].digests;
        out->error += out->epoch[i].error;
        out->f_compound += out->epoch[i].f_compound;
        out->f_paper += out->epoch[i].f_paper;
        out->bytes += f->payload_len + sizeof *f;
        if (limit < out->count_limit)
            out->count_limit = limit;
    }
    out->fill = (double)out->epoch[0].digests / (double)out->epoch[0].capacity;
}

/* --- bytes --------------------------------------------------------------- */

static umbel_status put_epoch(const epoch *e, const um_sink *to,
                              umbel_error *err)
{
    um_parts parts;
    uint8_t head[EPOCH_LEN + TIMES_LEN + 8];
    um_writer w = {head, head + sizeof head, false};

    UM_TRY(um_parts_init(&parts, e->filter, err));
    um_put_u64(&w, e->begin);
    um_put_u64(&w, e->end);
    um_put_u32(&w, e->threshold);
    for (unsigned j = 1; j <= e->threshold; j++)
        um_put_u64(&w, e->times[j]);
    um_put_u64(&w, parts.part[0].len + parts.part[1].len);
    umbel_status status = um_sink_put(to, head, (size_t)(w.at - head), err);
    for (int i = 0; i < 2 && status == UMBEL_OK; i++)
        status = um_sink_put(to, parts.part[i].data, parts.part[i].len, err);
    um_parts_fini(&parts, e->filter);
    return status;
}

umbel_status um_list_encode(const um_list *l, const um_sink *to,
                            umbel_error *err)
{
    uint8_t head[HEAD_LEN];
    um_writer w = {head, head + sizeof head, false};

    um_put_u32(&w, VERSION);
    um_put_u32(&w, l->n);
    UM_TRY(um_sink_put(to, head, sizeof head, err));
    for (unsigned i = 0; i < l->n; i++)
        UM_TRY(put_epoch(&l->epoch[i], to, err));
    return UMBEL_OK;
}

static umbel_status get_head(um_feed *from, uint64_t len, um_head *head,
                             umbel_error *err)
{
    uint8_t bytes[UM_HEAD_MAX];
    size_t want;

    UM_TRY(um_feed_get(from, bytes, UM_HEAD_START, err));
    UM_TRY(um_head_len(bytes, UM_HEAD_START, &want, err));
    UM_TRY(um_feed_get(from, bytes + UM_HEAD_START, want - UM_HEAD_START, err));
    UM_TRY(um_head_decode(bytes, want, head, err));
    return um_check_len(head, len, err);
}

/* Only what um_list_encode writes: raw, counts, made for a capacity. */
static umbel_status check_epoch(const um_list *l, const um_shape *s,
                                umbel_error *err)
{
    if (s->coded || !s->kind->counting || s->capacity <= UM_LIST_BATCH)
        return um_fail(err, UMBEL_E_FORMAT,
                       "list %s: a filter of kind %s is no epoch of a list",
                       l->name, s->kind->name);
    if (strcmp(s->hash->name, "sip") != 0 || s->seed)
        return um_fail(err, UMBEL_E_FORMAT,
                       "list %s: an epoch with hash %s and seed %" PRIu64,
                       l->name, s->hash->name, s->seed);
    return UMBEL_OK;
}

static umbel_status get_filter(um_list *l, um_feed *from, uint64_t len,
                               umbel_filter **out, umbel_error *err)
{
    umbel_source source = {.size = sizeof source,
                           .verify = !from->checked,
                           .secret = l->secret,
                           .alloc = &l->alloc};
    um_head head;

    UM_TRY(get_head(from, len, &head, err));
    UM_TRY(check_epoch(l, &head.shape, err));
    if (head.stored_len > from->left)
        return um_fail(err, UMBEL_E_FORMAT, "list %s is cut short", l->name);
    um_memory memory = {um_get(&l->alloc, head.stored_len), head.stored_len,
                        false};
    if (!memory.base)
        return um_no_memory(err, memory.len);
    umbel_status status = um_feed_get(from, memory.base, memory.len, err);
    if (status != UMBEL_OK) {
        um_memory_free(&memory, &l->alloc);
        return status;
    }
    return um_filter_from_payload(&head, memory.base, memory, &source, out,
                                  err);
}

/* Reads how often digests came, and the length of what follows. */
static umbel_status get_times(um_feed *from, epoch *e, uint64_t *len,
                              umbel_error *err)
{
    uint8_t bytes[TIMES_LEN + 8];
    size_t want = 8 * ((size_t)e->threshold + 1);
    um_reader r = {bytes, bytes + want, false};

    UM_TRY(um_feed_get(from, bytes, want, err));
    for (unsigned j = 1; j <= e->threshold; j++)
        e->times[j] = um_get_u64(&r);
    *len = um_get_u64(&r);
    return UMBEL_OK;
}

static umbel_status get_epoch(um_list *l, um_feed *from, umbel_error *err)
{
    uint8_t head[EPOCH_LEN];
    um_reader r = {head, head + sizeof head, false};
    epoch e = {0};
    uint64_t len;

    UM_TRY(um_feed_get(from, head, sizeof head, err));
    e.begin = um_get_u64(&r);
    e.end = um_get_u64(&r);
    e.threshold = um_get_u32(&r);
    if (e.threshold > UM_LIST_MAX_THRESHOLD)
        return um_fail(err, UMBEL_E_FORMAT, "list %s: a threshold of %u",
                       l->name, e.threshold);
    if (l->n ? e.end < e.begin : e.end != 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "list %s: an epoch from %" PRIu64 " to %" PRIu64,
                       l->name, e.begin, e.end);
    UM_TRY(get_times(from, &e, &len, err));
    UM_TRY(get_filter(l, from, len, &e.filter, err));
    l->epoch[l->n++] = e;
    return UMBEL_OK;
}

static umbel_status get_epochs(um_list *l, um_feed *from, umbel_error *err)
{
    uint8_t head[HEAD_LEN];
    um_reader r = {head, head + sizeof head, false};

    UM_TRY(um_feed_get(from, head, sizeof head, err));
    uint32_t version = um_get_u32(&r), n = um_get_u32(&r);
    if (version != VERSION)
        return um_fail(err, UMBEL_E_VERSION,
                       "list %s was written in version %" PRIu32
                       "; this program reads version %d",
                       l->name, version, VERSION);
    if (n < 1 || n > UM_LIST_MAX_EPOCHS)
        return um_fail(err, UMBEL_E_FORMAT,
                       "list %s cannot have %" PRIu32 " epochs", l->name, n);
    while (n--)
        UM_TRY(get_epoch(l, from, err));
    drop_epochs(l, l->config.epochs);
    return UMBEL_OK;
}

umbel_status um_list_decode(const um_list_config *c, const uint8_t *secret,
                            um_feed *from, um_list **out, umbel_error *err)
{
    um_list *l;

    UM_TRY(make_list(c, secret, &l, err));
    umbel_status status = get_epochs(l, from, err);
    if (status == UMBEL_OK)
        *out = l;
    else
        um_list_close(l);
    return status;
}
