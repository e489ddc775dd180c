/*
 * task.c - members and negatives of a stop set, from a table.
 */
#include "stopset/sets/make.h"

#include "base/buffer.h"
#include "base/error.h"

#include <string.h>

enum { MAX_NEGATIVES = 1 << 24, BATCH = 256 };

static umbel_status no_room(umbel_error *err)
{
    return um_fail(err, UMBEL_E_NOMEM, "no memory for the keys of the set");
}

/* --- by the set's key ------------------------------------------------------
 */

static ss_use *use_of(ss_task *t, ss_addr hop, ss_addr target)
{
    uint32_t a = ss_index_add(&t->hops, hop);
    uint32_t b = ss_index_add(&t->targets, target);
    uint32_t n = a == SS_NO_NUMBER || b == SS_NO_NUMBER
                     ? SS_NO_NUMBER
                     : ss_index_add(&t->seen, ss_pair(a, b));

    if (n == SS_NO_NUMBER)
        return NULL;
    if (t->use_cap < t->seen.cap) {
        if (!um_array_resize(&t->use, t->seen.cap, sizeof *t->use))
            return NULL;
        memset(t->use + t->use_cap, 0,
               (t->seen.cap - t->use_cap) * sizeof *t->use);
        t->use_cap = t->seen.cap;
    }
    return &t->use[n];
}

static bool add_use(ss_task *t, ss_addr hop, ss_addr target, const ss_use *u)
{
    ss_use *use = use_of(t, hop, target);

    if (use) {
        use->through += u->through;
        use->ending += u->ending;
    }
    return use != NULL;
}

static umbel_status gather(ss_task *t, const ss_table *table, umbel_error *err)
{
    bool fine = true;

    if (t->info.key == SS_HOP)
        for (uint32_t i = 0; fine && i < table->hops.n; i++)
            fine =
                add_use(t, table->hops.key[i], (ss_addr){0, 0}, &table->hop[i]);
    else
        for (uint32_t i = 0; fine && i < table->pairs.n; i++) {
            ss_addr pair = table->pairs.key[i];
            ss_addr prefix = table->prefixes.key[pair.lo];
            fine = add_use(t, table->hops.key[pair.hi],
                           ss_key_target(&t->info, prefix), &table->pair[i]);
        }
    return fine ? UMBEL_OK : no_room(err);
}

static umbel_status check_prefix(const ss_set_info *info, const ss_table *table,
                                 umbel_error *err)
{
    ss_prefix_len have = table->prefix, want = info->prefix;

    if (info->key == SS_HOP)
        return UMBEL_OK;
    if (info->key == SS_HOP_DESTINATION)
        want = (ss_prefix_len){32, 128};
    if (want.v4 <= have.v4 && want.v6 <= have.v6)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_MISMATCH,
                   "the table knows prefixes of /%u and /%u, and the key %s "
                   "needs /%u and /%u: learn again with %s",
                   have.v4, have.v6, ss_key_names[info->key], want.v4, want.v6,
                   info->key == SS_HOP_DESTINATION ? "--destinations"
                                                   : "--prefix and --prefix6");
}

/* --- digests ---------------------------------------------------------------
 */

/* Keys that wait to be hashed together. */
typedef struct hashing {
    const ss_task *task;
    umbel_filter *hasher;
    char text[BATCH][SS_KEY_TEXT];
    umbel_slice key[BATCH];
    size_t n;
    umbel_digest *out; /* where the first of them goes */
} hashing;

static umbel_status hash_waiting(hashing *h, umbel_error *err)
{
    UM_TRY(umbel_digest_many(h->hasher, h->key, h->n, h->out, err));
    h->out += h->n;
    h->n = 0;
    return UMBEL_OK;
}

static umbel_status hash_key(hashing *h, ss_addr hop, ss_addr target,
                             umbel_error *err)
{
    size_t len = ss_key_format(&h->task->info, hop, target, h->text[h->n]);

    h->key[h->n] = (umbel_slice){h->text[h->n], len};
    return ++h->n == BATCH ? hash_waiting(h, err) : UMBEL_OK;
}

static umbel_status hash_seen(hashing *h, uint32_t i, umbel_error *err)
{
    const ss_task *t = h->task;
    ss_addr pair = t->seen.key[i];

    return hash_key(h, t->hops.key[pair.hi], t->targets.key[pair.lo], err);
}

static bool is_member(const ss_task *t, uint32_t i)
{
    return t->info.kind == SS_GLOBAL || t->use[i].ending > 0;
}

static umbel_status hash_members(ss_task *t, hashing *h, umbel_error *err)
{
    h->out = t->member;
    for (uint32_t i = 0; i < t->seen.n; i++)
        if (is_member(t, i)) {
            const ss_use *u = &t->use[i];
            t->ending[t->nmembers++] =
                (double)(t->info.kind == SS_RED ? u->ending
                                                : u->ending + u->through);
            t->passed_members += (double)u->through;
            UM_TRY(hash_seen(h, i, err));
        }
    return hash_waiting(h, err);
}

/* Of a red set: the other nodes that traces passed. */
static umbel_status hash_passed(ss_task *t, hashing *h, umbel_error *err)
{
    h->out = t->never;
    for (uint32_t i = 0; i < t->seen.n; i++)
        if (!is_member(t, i) && t->use[i].through) {
            t->through[t->nnever++] = (double)t->use[i].through;
            UM_TRY(hash_seen(h, i, err));
        }
    return hash_waiting(h, err);
}

/* Of a global set: what was not seen together. */
static umbel_status hash_unseen(ss_task *t, hashing *h, umbel_error *err)
{
    h->out = t->never;
    for (uint32_t a = 0; a < t->hops.n; a++)
        for (uint32_t b = 0; b < t->targets.n; b++)
            if (ss_index_find(&t->seen, ss_pair(a, b)) == SS_NO_NUMBER) {
                t->through[t->nnever++] = 1;
                UM_TRY(hash_key(h, t->hops.key[a], t->targets.key[b], err));
            }
    return hash_waiting(h, err);
}

static umbel_status reserve(ss_task *t, umbel_error *err)
{
    uint64_t never = t->info.kind == SS_RED
                         ? t->seen.n
                         : (uint64_t)t->hops.n * t->targets.n - t->seen.n;

    if (never > MAX_NEGATIVES)
        never = 0; /* too many to know; form bloom needs none */
    t->member = calloc((size_t)t->seen.n + 1, sizeof *t->member);
    t->ending = calloc((size_t)t->seen.n + 1, sizeof *t->ending);
    t->never = calloc((size_t)never + 1, sizeof *t->never);
    t->through = calloc((size_t)never + 1, sizeof *t->through);
    return t->member && t->ending && t->never && t->through ? UMBEL_OK
                                                            : no_room(err);
}

static umbel_status hash_all(ss_task *t, umbel_filter *hasher, umbel_error *err)
{
    hashing h = {.task = t, .hasher = hasher};

    UM_TRY(hash_members(t, &h, err));
    if (t->info.kind == SS_RED)
        return hash_passed(t, &h, err);
    if ((uint64_t)t->hops.n * t->targets.n - t->seen.n > MAX_NEGATIVES)
        return UMBEL_OK;
    return hash_unseen(t, &h, err);
}

umbel_status ss_task_init(ss_task *t, const ss_table *table,
                          const ss_set_info *info, uint64_t seed,
                          umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *hasher = NULL;

    *t = (ss_task){.info = *info, .reached = (double)table->reached};
    p.addressing = "classic";
    p.cells = 64;
    p.seed = seed;
    UM_TRY(check_prefix(info, table, err));
    t->info.monitors = table->monitors.n;
    ss_table_times(table, &t->info.first, &t->info.last);
    UM_TRY(umbel_create("bloom", &p, &hasher, err));
    umbel_status status = gather(t, table, err);
    if (status == UMBEL_OK)
        status = reserve(t, err);
    if (status == UMBEL_OK)
        status = hash_all(t, hasher, err);
    umbel_close(hasher);
    t->info.members = t->nmembers;
    if (status == UMBEL_OK && !t->nmembers)
        status = um_fail(err, UMBEL_E_RANGE,
                         info->kind == SS_RED
                             ? "the set would be empty: no trace of the table "
                               "reached its destination"
                             : "the set would be empty: the table has no hops");
    return status;
}

void ss_task_fini(ss_task *t)
{
    ss_index_fini(&t->hops);
    ss_index_fini(&t->targets);
    ss_index_fini(&t->seen);
    free(t->use);
    free(t->member);
    free(t->never);
    free(t->ending);
    free(t->through);
    *t = (ss_task){0};
}
