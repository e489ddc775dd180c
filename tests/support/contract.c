/* contract.c - the subjects of the contract tests: every row, planned once. */
#include "support/contract.h"

#include "filter/kind.h"

#include <umbel/plan.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SUBJECTS = 512, NAME_LEN = 128 };

umbel_filter *subject_open(const subject *s)
{
    umbel_filter *f = NULL;

    if (um_kind_find(s->combo.kind)->built)
        return test_build(s->combo.kind, &s->params, 0, 0);
    assert_ok(umbel_create(s->combo.kind, &s->params, &f, &test_refusal));
    return f;
}

umbel_filter *subject_filled(const subject *s, uint64_t from, size_t n)
{
    if (um_kind_find(s->combo.kind)->built)
        return test_build(s->combo.kind, &s->params, from, n);
    umbel_filter *f = subject_open(s);

    test_add(f, from, n);
    return f;
}

const umbel_field *test_field(const umbel_info *info, const char *name,
                              umbel_field_type type)
{
    for (size_t i = 0; i < info->n; i++)
        if (strcmp(info->field[i].name, name) == 0) {
            assert_int_equal(info->field[i].type, type);
            return &info->field[i];
        }
    fail_msg("the description lacks %s", name);
    return NULL;
}

static unsigned abilities_of(const test_combo *c)
{
    const um_kind *row = um_kind_find(c->kind);

    return (row->add ? ADD : 0u) | (row->add || row->built ? FILL : 0u) |
           (row->query ? QUERY : 0u) | (row->merge ? MERGE : 0u) |
           (row->fold ? FOLD : 0u) | (row->forgets ? 0u : REMEMBERS) |
           (c->keyed ? KEYED : 0u) | (c->seeded ? SEEDED : 0u);
}

/* Returns true if AND works, which may depend on settings. */
static bool intersects(const subject *s)
{
    umbel_filter *f = subject_open(s);
    umbel_status status = umbel_merge(f, f, UMBEL_AND, NULL);

    umbel_close(f);
    return status == UMBEL_OK;
}

/*
 * Returns the unit to which sizes are rounded up, so that folding has a
 * divisor. dcso computes its cells mod 2^64, then mod m: with powers of two in
 * m only the low bits of the hash would count.
 */
static uint64_t unit_of(const test_combo *c, uint32_t hashes)
{
    return strcmp(c->addressing, "dcso") == 0 ? 342 : (uint64_t)1024 * hashes;
}

/*
 * Plans the size once, and rounds it up so that folding has a divisor. Planning
 * it for each of some hundred tests would take most of their time.
 */
static bool create_subject(const test_combo *c, const umbel_setting *setting,
                           subject *out)
{
    umbel_params p = test_combo_params(c);
    umbel_size_plan plan = {0};

    out->setting = *setting;
    p.settings = &out->setting;
    p.nsettings = setting->name != NULL;
    p.capacity = KEYS;
    p.fpr = 0.01;
    out->combo = *c;
    out->params = p;
    out->abilities = abilities_of(c);
    if (um_kind_find(c->kind)->built)
        return true; /* its size follows from the keys */
    umbel_status status = umbel_plan_size(c->kind, &p, 0, &plan, &test_refusal);
    if (status == UMBEL_E_UNSUPPORTED && setting->name)
        return false; /* this addressing lacks the setting */
    if (status != UMBEL_OK)
        print_error("%s on %s: %s\n", c->kind, c->addressing,
                    test_refusal.text);
    p.hashes = plan.hashes;
    p.cells = plan.cells;
    if (plan.hashes)
        p.cells +=
            unit_of(c, plan.hashes) - plan.cells % unit_of(c, plan.hashes);
    out->params = p;
    if (out->abilities & MERGE && intersects(out))
        out->abilities |= INTERSECTS;
    return true;
}

/* The tests to run, and their names. */
typedef struct plan {
    struct CMUnitTest *tests;
    char (*names)[NAME_LEN];
    size_t n;
} plan;

static void add_test(plan *p, subject *s, const test_promise *promise)
{
    snprintf(p->names[p->n], NAME_LEN, "%s/%s/%s%s%s: %s", s->combo.kind,
             s->combo.addressing, s->combo.hash, s->setting.name ? "/" : "",
             s->setting.name ? s->setting.name : "", promise->name);
    p->tests[p->n] = (struct CMUnitTest){
        .name = p->names[p->n], .test_func = promise->run, .initial_state = s};
    p->n++;
}

/* Creates a subject for the combination, and one for each of its settings. */
static size_t create_subjects(const test_combo *c, subject *out)
{
    umbel_setting_info info;
    size_t n = 0;

    create_subject(c, &(umbel_setting){NULL, 0}, &out[n++]);
    if (um_kind_find(c->kind)->built)
        return n; /* so do the effects of its settings */
    for (size_t i = 0; umbel_kind_setting(c->kind, i, &info); i++)
        n += create_subject(c, &(umbel_setting){info.name, info.max}, &out[n]);
    return n;
}

static size_t create_all(subject *out)
{
    size_t n = 0;
    test_combo c;

    for (size_t i = 0;
         n + UM_MAX_SETTINGS < MAX_SUBJECTS && test_combo_at(i, &c); i++)
        n += create_subjects(&c, out + n);
    return n;
}

int test_run_promises(const char *group, const test_promise *promises, size_t n)
{
    static subject subjects[MAX_SUBJECTS];
    size_t nsubjects = create_all(subjects);
    plan p = {calloc(nsubjects * n, sizeof *p.tests),
              calloc(nsubjects * n, sizeof *p.names), 0};

    for (size_t i = 0; p.tests && p.names && i < nsubjects; i++)
        for (size_t j = 0; j < n; j++)
            if ((promises[j].needs & subjects[i].abilities) ==
                promises[j].needs)
                add_test(&p, &subjects[i], &promises[j]);
    int failed = p.n == 0 ||
                 _cmocka_run_group_tests(group, p.tests, p.n, NULL, NULL) != 0;
    free(p.tests);
    free(p.names);
    return failed;
}
