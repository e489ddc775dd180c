/*
 * trial.c - sets tried on recorded traces.
 *
 * A corpus asks many sets the same questions, so these are numbered once for
 * each kind of key, and a set answers all of them together.
 */
#include "stopset/replay/trial.h"

#include "base/error.h"
#include "stopset/sets/make.h"

#include <stdlib.h>

umbel_status ss_trials_read(ss_trials *t, const char *const *paths, size_t n,
                            ss_input_counts *counts, umbel_error *err)
{
    UM_TRY(ss_corpus_read(&t->corpus, paths, n, counts, err));
    if (!t->corpus.nroutes)
        return um_fail(err, UMBEL_E_RANGE, "the files hold no trace");
    if (!ss_found_init(&t->all, &t->corpus))
        return um_fail(err, UMBEL_E_NOMEM, "no memory for the traces");
    ss_find_all(&t->corpus, &t->all);
    return UMBEL_OK;
}

void ss_trials_fini(ss_trials *t)
{
    ss_found_fini(&t->all);
    ss_keying_fini(&t->red_keys);
    ss_keying_fini(&t->global_keys);
    free(t->listed);
    t->listed = NULL;
    ss_corpus_fini(&t->corpus);
}

static bool same_keys(const ss_set_info *a, const ss_set_info *b)
{
    return a->kind == b->kind && a->key == b->key &&
           a->prefix.v4 == b->prefix.v4 && a->prefix.v6 == b->prefix.v6;
}

/* Numbers the questions of a set, unless the last one had the same. */
static umbel_status number_keys(ss_trials *t, ss_keying *k,
                                const ss_set_info *info, bool *fresh,
                                umbel_error *err)
{
    *fresh = !k->question || !same_keys(&k->info, info);
    if (!*fresh)
        return UMBEL_OK;
    ss_keying_fini(k);
    umbel_status status = ss_keying_init(k, &t->corpus, info, err);
    if (status != UMBEL_OK)
        ss_keying_fini(k);
    return status;
}

/* Which questions are about members, by the table. A table that does not have
 * the set's key knows nothing. */
static umbel_status find_members(ss_trials *t, umbel_error *err)
{
    ss_task task = {0};
    ss_set list = {0};
    ss_made made;
    char *bytes = NULL;
    size_t len;

    free(t->listed);
    t->listed = NULL;
    umbel_status status =
        ss_task_init(&task, t->table, &t->red_keys.info, 0, err);
    if (status == UMBEL_OK)
        status = ss_make(&task, SS_LIST, &(ss_make_params){0}, &bytes, &len,
                         &made, err);
    if (status == UMBEL_OK)
        status = ss_set_parse(&list, bytes, len, err);
    if (status == UMBEL_OK &&
        !(t->listed = ss_keying_ask(&t->red_keys, &list, err)))
        status = UMBEL_E_NOMEM;
    free(bytes);
    ss_set_fini(&list);
    ss_task_fini(&task);
    return status;
}

static umbel_status ask_red(ss_trials *t, const ss_set *red, ss_answers *out,
                            umbel_error *err)
{
    bool fresh;

    if (!red)
        return UMBEL_OK;
    UM_TRY(number_keys(t, &t->red_keys, &red->info, &fresh, err));
    if (t->table && (fresh || !t->listed))
        UM_TRY(find_members(t, err));
    out->key = t->red_keys.of_step;
    out->hit = ss_keying_ask(&t->red_keys, red, err);
    return out->hit ? UMBEL_OK : UMBEL_E_NOMEM;
}

static umbel_status ask_global(ss_trials *t, const ss_set *global,
                               ss_answers *out, umbel_error *err)
{
    ss_set empty = {0};
    bool fresh;

    if (!global && !t->doubletree)
        return UMBEL_OK;
    if (!global) {
        empty.info = t->growing;
        global = &empty;
    }
    UM_TRY(number_keys(t, &t->global_keys, &global->info, &fresh, err));
    out->key = t->global_keys.of_step;
    out->hit = ss_keying_ask(&t->global_keys, global, err);
    return out->hit ? UMBEL_OK : UMBEL_E_NOMEM;
}

static umbel_status run_replay(ss_trials *t, const ss_replay *r, ss_result *out,
                               umbel_error *err)
{
    const ss_corpus *c = &t->corpus;
    ss_found found = {0};
    umbel_status status;

    if (ss_found_init(&found, c))
        status = ss_replay_run(r, &found, &out->outcome, err);
    else
        status = um_fail(err, UMBEL_E_NOMEM, "no memory for a replay");
    if (status == UMBEL_OK) {
        out->nodes_missed = ss_missed(t->all.node, found.node, c->nnodes);
        out->links_missed = ss_missed(t->all.link, found.link, c->links.n);
    }
    ss_found_fini(&found);
    return status;
}

umbel_status ss_try(ss_trials *t, const ss_set *red, const ss_set *global,
                    ss_result *out, umbel_error *err)
{
    ss_replay r = {.corpus = &t->corpus,
                   .policy = t->policy,
                   .grow = t->doubletree || global,
                   .local = t->local};
    umbel_status status = ask_red(t, red, &r.red, err);

    if (status == UMBEL_OK)
        status = ask_global(t, global, &r.global, err);
    r.listed = red ? t->listed : NULL;
    r.policy.backwards = t->policy.first > 1;
    out->members_known = r.listed != NULL || (red && !red->filter);
    if (status == UMBEL_OK)
        status = run_replay(t, &r, out, err);
    free(r.red.hit);
    free(r.global.hit);
    return status;
}
