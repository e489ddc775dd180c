/*
 * build_set.c - builds stop sets from a table, in any form.
 */
#include "stopset/sets/build_set.h"

#include "base/bits.h"
#include "base/buffer.h"
#include "base/error.h"

#include <umbel/describe.h>
#include <umbel/experimental.h>
#include <umbel/file.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- stop sets in their forms: one row each ------------------------------ */

/*
 *     list       the members as text
 *     bloom      a plain Bloom filter: it can be merged
 *     retouched  the same, with bits cleared where false positives stop more
 *                traces short than members stop in the right place (2006)
 *     groups     members go where known negatives do not match; none is lost
 *     exact      static; no known negative matches and no member is lost;
 *                nodes that the table does not have match at a rate that is
 *                limited, because they are most of the nodes that another
 *                monitor meets
 */

static umbel_key_list list_members(const ss_task *t)
{
    umbel_key_list k = UMBEL_KEY_LIST(t->member, t->nmembers);

    k.weights = t->ending;
    return k;
}

static umbel_key_list list_never(const ss_task *t)
{
    umbel_key_list k = UMBEL_KEY_LIST(t->never, t->nnever);

    k.weights = t->through;
    return k;
}

/* --- filters -------------------------------------------------------------- */

static umbel_status create(const ss_task *t, const ss_build_params *p,
                           uint64_t bits, uint32_t groups, umbel_filter **out,
                           umbel_error *err)
{
    umbel_setting setting = {"groups", groups};
    umbel_params params = UMBEL_PARAMS_INIT;

    params.addressing = "classic";
    params.cells = bits;
    params.capacity = p->hashes ? 0 : t->nmembers;
    params.hashes = p->hashes;
    params.seed = p->seed;
    params.settings = &setting;
    params.nsettings = groups > 1;
    return umbel_create("bloom", &params, out, err);
}

/* Fills a filter of this many bits by the method of a form. */
typedef umbel_status fill(const ss_task *t, const ss_build_params *p,
                          uint64_t bits, umbel_filter **out, umbel_error *err);

static umbel_status fill_bloom(const ss_task *t, const ss_build_params *p,
                               uint64_t bits, umbel_filter **out,
                               umbel_error *err)
{
    umbel_filter *f;

    UM_TRY(create(t, p, bits, 1, &f, err));
    umbel_status status =
        umbel_add_digests(f, t->member, t->nmembers, NULL, err);
    if (status != UMBEL_OK)
        umbel_close(f);
    else
        *out = f;
    return status;
}

static umbel_status fill_retouched(const ss_task *t, const ss_build_params *p,
                                   uint64_t bits, umbel_filter **out,
                                   umbel_error *err)
{
    umbel_key_list members = list_members(t), never = list_never(t);
    umbel_retouch_params how = UMBEL_RETOUCH_INIT;
    umbel_retouch_result result;
    umbel_filter *f;

    how.method = p->method;
    how.max_fn = 1;
    how.cost = p->method || p->beta > 0 ? 0 : 1;
    how.beta = p->beta > 0 ? p->beta : 1;
    how.heaviest = true;
    how.count_outside = true;
    how.seed = p->seed;
    UM_TRY(fill_bloom(t, p, bits, &f, err));
    umbel_status status =
        umbel_retouch(f, &members, &never, &how, &result, NULL, err);
    if (status != UMBEL_OK)
        umbel_close(f);
    else
        *out = f;
    return status;
}

static umbel_status fill_groups(const ss_task *t, const ss_build_params *p,
                                uint64_t bits, umbel_filter **out,
                                umbel_error *err)
{
    umbel_key_list members = list_members(t), never = list_never(t);
    umbel_choose_result result;
    umbel_filter *f;

    UM_TRY(create(t, p, bits, 2, &f, err));
    umbel_status status = umbel_choose(f, &members, &never, NULL, &result, err);
    if (status != UMBEL_OK)
        umbel_close(f);
    else
        *out = f;
    return status;
}

static umbel_status fill_exact(const ss_task *t, const ss_build_params *p,
                               uint64_t bits, umbel_filter **out,
                               umbel_error *err)
{
    umbel_key_list members = list_members(t), never = list_never(t);
    umbel_params params = UMBEL_PARAMS_INIT;
    umbel_exact_result result;
    umbel_exact *x;

    params.cells = bits;
    if (!bits)
        params.fpr = p->fpr > 0 ? p->fpr : SS_DEFAULT_FPR;
    params.seed = p->seed;
    UM_TRY(umbel_exact_open(&params, &members, NULL, t->nnever, &x, err));
    umbel_status status = umbel_exact_never(x, &never, NULL, err);
    if (status == UMBEL_OK)
        status = umbel_exact_finish(x, out, &result, err);
    umbel_exact_close(x);
    return status;
}

static const struct form {
    fill *fill;           /* NULL for the list */
    bool needs_size;      /* cannot choose its own size */
    bool needs_negatives; /* useless without negatives */
} forms[SS_FORMS] = {[SS_LIST] = {NULL, false, false},
                     [SS_BLOOM] = {fill_bloom, true, false},
                     [SS_RETOUCHED] = {fill_retouched, true, true},
                     [SS_GROUPS] = {fill_groups, true, true},
                     [SS_EXACT] = {fill_exact, false, true}};

/* --- queries -------------------------------------------------------------- */

/* Queries a list of keys; adds the number of answers equal to `counted`, and
 * their weight. */
static umbel_status tally(const umbel_filter *f, const umbel_key_list *keys,
                          bool counted, uint64_t *n, double *weight,
                          umbel_error *err)
{
    bool *hit = calloc(keys->n + 1, sizeof *hit);

    if (!hit)
        return um_no_memory(err, keys->n);
    umbel_status status =
        umbel_query_digests(f, keys->digests, keys->n, hit, err);
    for (size_t i = 0; status == UMBEL_OK && i < keys->n; i++)
        if (hit[i] == counted) {
            ++*n;
            *weight += keys->weights[i];
        }
    free(hit);
    return status;
}

/* Returns the number of known negatives that match; all of them if they cannot
 * be queried. */
static uint64_t count_matches(const ss_task *t, const umbel_filter *f)
{
    umbel_key_list never = list_never(t);
    uint64_t n = 0;
    double weight = 0;

    return tally(f, &never, true, &n, &weight, NULL) ? t->nnever : n;
}

/* --- files ---------------------------------------------------------------- */

static umbel_status describe(const ss_task *t, ss_form form, umbel_filter *f,
                             umbel_error *err)
{
    ss_set_info info = t->info;
    char text[SS_INFO_TEXT];

    info.form = form;
    return umbel_set_data(f, text, ss_info_format(&info, text), err);
}

/* Returns how many bits are left for the cells if the file is excess bytes too
 * long. */
static uint64_t fewer_bits(uint64_t bits, uint64_t excess)
{
    uint64_t over = (excess + UM_LINE - 1) / UM_LINE * UM_LINE * 8;

    return over < bits ? bits - over : bits / 2;
}

/*
 * Builds a file of at most p->bytes bytes. Header and description take some of
 * them, and their length is known only when the filter exists. Payloads are
 * whole lines, so the second try succeeds for a filter, and one of the next few
 * for a static set, unless that would be smaller than its members allow.
 */
static umbel_status fill_bytes(const ss_task *t, ss_form form,
                               const ss_build_params *p, umbel_filter **out,
                               umbel_error *err)
{
    uint64_t bits = 8 * p->bytes, least = 0;

    while (bits > 0) {
        umbel_filter *f;
        umbel_status status = forms[form].fill(t, p, bits, &f, err);
        if (status == UMBEL_E_RANGE && least)
            break;
        UM_TRY(status);
        status = describe(t, form, f, err);
        uint64_t len = umbel_encoded_len(f);
        if (status == UMBEL_OK && len <= p->bytes) {
            *out = f;
            return UMBEL_OK;
        }
        umbel_close(f);
        UM_TRY(status);
        least = least && least < len ? least : len;
        bits = fewer_bits(bits, len - p->bytes);
    }
    return um_fail(err, UMBEL_E_RANGE,
                   "%s does not fit into %llu bytes: with its description and "
                   "%zu members it takes %llu",
                   ss_form_names[form], (unsigned long long)p->bytes,
                   t->nmembers, (unsigned long long)least);
}

/*
 * Replaces a static set by one that fills the last line of its payload, which
 * the file has anyway, if that lowers the error noticeably.
 */
static void fill_line(const ss_task *t, const ss_build_params *p,
                      umbel_filter **f)
{
    uint64_t cells = umbel_cells(*f), line = UINT64_C(8) * UM_LINE;
    uint64_t whole = (cells + line - 1) / line * line;
    umbel_filter *g;

    if ((whole - cells) * 8 < t->nmembers ||
        fill_exact(t, p, whole, &g, NULL) != UMBEL_OK)
        return;
    bool better = describe(t, SS_EXACT, g, NULL) == UMBEL_OK &&
                  umbel_encoded_len(g) <= umbel_encoded_len(*f) &&
                  umbel_predict(g) < umbel_predict(*f) &&
                  count_matches(t, g) == 0;
    umbel_close(better ? *f : g);
    if (better)
        *f = g;
}

static umbel_status create_filter(const ss_task *t, ss_form form,
                                  const ss_build_params *p, umbel_filter **out,
                                  umbel_error *err)
{
    umbel_filter *f;

    if (forms[form].needs_negatives && !t->nnever && t->info.kind == SS_GLOBAL)
        return um_fail(err, UMBEL_E_RANGE,
                       "%s needs pairs that were not seen, and there are none, "
                       "or more than 16 million: use bloom",
                       ss_form_names[form]);
    if (forms[form].needs_size && !p->bytes && !p->bits)
        return um_fail(err, UMBEL_E_RANGE,
                       "%s needs a size: --bytes, --bits or --success",
                       ss_form_names[form]);
    if (p->bytes)
        return fill_bytes(t, form, p, out, err);
    UM_TRY(forms[form].fill(t, p, p->bits, &f, err));
    umbel_status status = describe(t, form, f, err);
    if (status != UMBEL_OK) {
        umbel_close(f);
        return status;
    }
    if (form == SS_EXACT && !p->bits)
        fill_line(t, p, &f);
    *out = f;
    return UMBEL_OK;
}

static int compare_keys(const void *a, const void *b)
{
    const ss_question *x = a, *y = b;
    int order = ss_addr_compare(&x->hop, &y->hop);

    return order ? order : ss_addr_compare(&x->dst, &y->dst);
}

static ss_question *sort_members(const ss_task *t)
{
    ss_question *list = calloc(t->nmembers + 1, sizeof *list);
    size_t n = 0;

    for (uint32_t i = 0; list && i < t->seen.n; i++)
        if (ss_task_is_member(t, i))
            list[n++] = (ss_question){t->hops.key[t->seen.key[i].hi],
                                      t->targets.key[t->seen.key[i].lo]};
    if (list)
        qsort(list, n, sizeof *list, compare_keys);
    return list;
}

static umbel_status write_list(const ss_task *t, char **bytes, size_t *len,
                               umbel_error *err)
{
    ss_set_info info = t->info;
    char text[SS_INFO_TEXT];
    ss_question *list = sort_members(t);
    FILE *out = list ? open_memstream(bytes, len) : NULL;

    info.form = SS_LIST;
    if (out) {
        size_t head = ss_info_format(&info, text);
        fwrite(text, 1, head, out);
        for (size_t i = 0; i < t->nmembers; i++) {
            size_t n = ss_key_format(&info, list[i].hop, list[i].dst, text);
            text[n++] = '\n';
            fwrite(text, 1, n, out);
        }
    }
    free(list);
    if (out && fclose(out) == 0)
        return UMBEL_OK;
    if (out)
        free(*bytes);
    *bytes = NULL;
    return um_fail(err, UMBEL_E_NOMEM, "no memory for the list");
}

static umbel_status encode(const umbel_filter *f, char **bytes, size_t *len,
                           umbel_error *err)
{
    *len = umbel_encoded_len(f);
    *bytes = malloc(*len);
    if (!*bytes)
        return um_no_memory(err, *len);
    umbel_status status = umbel_encode(f, *bytes, *len, len, err);
    if (status != UMBEL_OK) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}

/* --- results -------------------------------------------------------------- */

/* Returns a lower bound of the success: a trace that passes two matching nodes
 * is counted twice. */
static double least_success(const ss_task *t, const ss_build_result *m)
{
    double short_of =
        m->lost_weight + m->matched_weight + t->passed_members + t->left_out;

    return t->info.kind == SS_RED ? fmax(0, 1 - short_of / t->reached) : NAN;
}

static umbel_status measure(const ss_task *t, const umbel_filter *f,
                            ss_build_result *out, umbel_error *err)
{
    umbel_key_list members = list_members(t), never = list_never(t);

    out->unknown_error = umbel_predict(f);
    UM_TRY(tally(f, &members, false, &out->lost, &out->lost_weight, err));
    return tally(f, &never, true, &out->matched, &out->matched_weight, err);
}

static umbel_status check_error(const ss_build_params *p, double error,
                                umbel_error *err)
{
    if (!(p->fpr > 0) || error <= p->fpr)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "at this size %.3g %% of the unknown nodes match, and --fpr "
                   "allows %.3g %%: leave out the size, or allow more bytes",
                   100 * error, 100 * p->fpr);
}

umbel_status ss_build_set(const ss_task *t, ss_form form,
                          const ss_build_params *p, char **bytes, size_t *len,
                          ss_build_result *out, umbel_error *err)
{
    umbel_filter *f = NULL;
    umbel_status status;
    ss_build_result made = {0};

    if (form == SS_LIST) {
        status = write_list(t, bytes, len, err);
    } else {
        UM_TRY(create_filter(t, form, p, &f, err));
        status = measure(t, f, &made, err);
        if (status == UMBEL_OK)
            status = check_error(p, made.unknown_error, err);
        if (status == UMBEL_OK)
            status = encode(f, bytes, len, err);
        umbel_close(f);
    }
    if (status == UMBEL_OK) {
        made.bytes = *len;
        made.success = least_success(t, &made);
        *out = made;
    }
    return status;
}

/* --- by success ----------------------------------------------------------- */

static umbel_status check_possible(const ss_task *t, double success,
                                   umbel_error *err)
{
    double best = least_success(t, &(ss_build_result){0});

    if (t->info.kind != SS_RED)
        return um_fail(err, UMBEL_E_RANGE,
                       "--success is for red sets: give --bytes");
    if (success <= best)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_RANGE,
                   "even a list promises a success of %.4f only, because "
                   "traces pass penultimate nodes of others: --key hop+prefix "
                   "or hop+destination tells them apart",
                   best);
}

/* Doubles the size until it succeeds, then narrows it down to about 1 % above
 * the smallest. */
umbel_status ss_build_set_for(const ss_task *t, ss_form form, double success,
                              const ss_build_params *p, char **bytes,
                              size_t *len, ss_build_result *out,
                              umbel_error *err)
{
    ss_build_params try = *p;
    uint64_t low = 0, high = 0;

    if (form == SS_LIST)
        return ss_build_set(t, form, p, bytes, len, out, err);
    UM_TRY(check_possible(t, success, err));
    if (form == SS_EXACT && !(p->fpr > 0))
        try.fpr = SS_DEFAULT_FPR;
    *bytes = NULL;
    try.bytes = 512;
    while (!high || high - low > 8 + high / 100) {
        char *got = NULL;
        size_t got_len;
        ss_build_result made;
        umbel_status status =
            ss_build_set(t, form, &try, &got, &got_len, &made, err);
        if (status != UMBEL_OK && status != UMBEL_E_RANGE) {
            free(*bytes);
            return status;
        }
        if (status == UMBEL_OK && made.success >= success) {
            free(*bytes);
            *bytes = got;
            *len = got_len;
            *out = made;
            high = try.bytes;
        } else {
            free(got);
            low = try.bytes;
        }
        if (!high && low > UINT64_C(1) << 32)
            return um_fail(err, UMBEL_E_RANGE,
                           "no size gives a success of %.4f", success);
        try.bytes = high ? low + (high - low) / 2 : 2 * low;
    }
    return UMBEL_OK;
}

/* --- members and negatives of a stop set, from a table ------------------- */

enum { MAX_NEGATIVES = 1 << 24, BATCH = 256 };

static umbel_status no_room(umbel_error *err)
{
    return um_fail(err, UMBEL_E_NOMEM, "no memory for the keys of the set");
}

/* --- by the set's key ----------------------------------------------------- */

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

/* --- digests -------------------------------------------------------------- */

/* A batch of keys to be hashed together. */
typedef struct hashing {
    const ss_task *task;
    umbel_filter *hasher;
    char text[BATCH][SS_KEY_TEXT];
    umbel_slice key[BATCH];
    size_t n;
    umbel_digest *out; /* where the first digest is stored */
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

bool ss_task_is_member(const ss_task *t, uint32_t number)
{
    const ss_use *u = &t->use[number];

    return t->info.kind == SS_GLOBAL ||
           (u->ending > 0 &&
            (!t->info.without_passed || u->through <= u->ending));
}

uint32_t ss_task_find(const ss_task *t, const ss_question *q)
{
    uint32_t a = ss_index_find(&t->hops, q->hop);
    uint32_t b = ss_index_find(&t->targets, ss_key_target(&t->info, q->dst));

    return a == SS_NO_NUMBER || b == SS_NO_NUMBER
               ? SS_NO_NUMBER
               : ss_index_find(&t->seen, ss_pair(a, b));
}

static umbel_status hash_members(ss_task *t, hashing *h, umbel_error *err)
{
    h->out = t->member;
    for (uint32_t i = 0; i < t->seen.n; i++)
        if (ss_task_is_member(t, i)) {
            const ss_use *u = &t->use[i];
            t->ending[t->nmembers++] =
                (double)(t->info.kind == SS_RED ? u->ending
                                                : u->ending + u->through);
            t->passed_members += (double)u->through;
            UM_TRY(hash_seen(h, i, err));
        }
    return hash_waiting(h, err);
}

/* Hashes the negatives of a red set: the other nodes that traces passed. */
static umbel_status hash_passed(ss_task *t, hashing *h, umbel_error *err)
{
    h->out = t->never;
    for (uint32_t i = 0; i < t->seen.n; i++)
        if (!ss_task_is_member(t, i) && t->use[i].through) {
            t->through[t->nnever++] = (double)t->use[i].through;
            t->left_out += (double)t->use[i].ending;
            UM_TRY(hash_seen(h, i, err));
        }
    return hash_waiting(h, err);
}

/* Hashes the negatives of a global set: nodes and targets that were not seen
 * together. */
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
        never = 0; /* too many to use; form bloom needs none */
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

umbel_status ss_task_gather(ss_task *t, const ss_table *table,
                            const ss_set_info *info, umbel_error *err)
{
    *t = (ss_task){.info = *info, .reached = (double)table->reached};
    UM_TRY(check_prefix(info, table, err));
    t->info.monitors = table->monitors.n;
    ss_table_times(table, &t->info.first, &t->info.last);
    return gather(t, table, err);
}

umbel_status ss_task_init(ss_task *t, const ss_table *table,
                          const ss_set_info *info, uint64_t seed,
                          umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *hasher = NULL;

    UM_TRY(ss_task_gather(t, table, info, err));
    p.addressing = "classic";
    p.cells = 64;
    p.seed = seed;
    UM_TRY(umbel_create("bloom", &p, &hasher, err));
    umbel_status status = reserve(t, err);
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
