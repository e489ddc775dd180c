/* sets.c - tables of traces, and the sets built from them. */
#include "stopset/sets/build_set.h"
#include "stopset/sets/node_table.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- traces ----------------------------------------------------------------
 */

static ss_addr address(const char *text)
{
    ss_addr a;

    assert_true(ss_addr_parse(text, strlen(text), &a));
    return a;
}

/*
 * Learns a trace whose hops are words; "*" is silent. A hop's TTL is its
 * position.
 */
static void learn(ss_table *t, const char *monitor, const char *dst,
                  const char *hops)
{
    static ss_trace_buffer buffer;
    ss_trace *trace = ss_trace_begin(&buffer);
    uint8_t ttl = 1;

    trace->src = trace->monitor = address(monitor);
    trace->dst = address(dst);
    trace->start = 1000 + t->traces;
    for (const char *at = hops; *at; ttl++) {
        size_t len = strcspn(at, " ");
        ss_hop hop = {.ttl = ttl};
        if (*at != '*') {
            assert_true(ss_addr_parse(at, len, &hop.addr));
            assert_true(ss_trace_add(trace, &hop));
        }
        at += len + (at[len] == ' ');
    }
    assert_ok(ss_table_learn(t, trace, &test_refusal));
}

#define D1 "203.0.113.1"
#define D2 "203.0.113.2"
#define D3 "198.51.100.3"

/*
 * Learns four traces: all pass 10.0.0.1, two end at 10.0.0.2, one ends at
 * 10.0.0.3 and another passes it.
 */
static void learn_four(ss_table *t)
{
    ss_table_init(t, (ss_prefix_len){32, 128});
    learn(t, "192.0.2.1", D1, "10.0.0.1 10.0.0.2 " D1);
    learn(t, "192.0.2.1", D2, "10.0.0.1 10.0.0.2 " D2);
    learn(t, "192.0.2.2", D3, "10.0.0.1 * 10.0.0.3 " D3);
    learn(t, "192.0.2.2", D1, "10.0.0.1 10.0.0.3 10.0.0.4");
}

static char *text_of(const ss_table *t)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    assert_true(ss_table_write(t, out));
    fclose(out);
    return text;
}

static void read_text(ss_table *t, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        assert_ok(ss_table_line(t, text, len, &test_refusal));
        text += len + 1;
    }
}

/* --- tables ----------------------------------------------------------------
 */

static void a_table_counts_traces_through_and_ending(void **state)
{
    ss_table t;

    (void)state;
    learn_four(&t);
    char *text = text_of(&t);
    assert_string_equal(text, "umbel-stopset table 1\n"
                              "prefix 32 128\n"
                              "traces 4 3\n"
                              "monitor 192.0.2.1 2 1000 1001\n"
                              "monitor 192.0.2.2 2 1002 1003\n"
                              "length 3 2\n"
                              "length 4 1\n"
                              "hop 10.0.0.1 4 0\n"
                              "hop 10.0.0.2 0 2\n"
                              "hop 10.0.0.3 1 1\n"
                              "hop 10.0.0.4 1 0\n"
                              "pair 10.0.0.1 198.51.100.3/32 1 0\n"
                              "pair 10.0.0.1 203.0.113.1/32 2 0\n"
                              "pair 10.0.0.1 203.0.113.2/32 1 0\n"
                              "pair 10.0.0.2 203.0.113.1/32 0 1\n"
                              "pair 10.0.0.2 203.0.113.2/32 0 1\n"
                              "pair 10.0.0.3 198.51.100.3/32 0 1\n"
                              "pair 10.0.0.3 203.0.113.1/32 1 0\n"
                              "pair 10.0.0.4 203.0.113.1/32 1 0\n");
    free(text);
    ss_table_fini(&t);
}

/* Joining the tables of two traces equals learning both into one table. */
static void tables_join_as_their_traces_do(void **state)
{
    ss_table all, one, two, joined;

    (void)state;
    learn_four(&all);
    ss_table_init(&one, (ss_prefix_len){32, 128});
    ss_table_init(&two, (ss_prefix_len){32, 128});
    ss_table_init(&joined, (ss_prefix_len){SS_PREFIX4, SS_PREFIX6});
    learn(&one, "192.0.2.1", D1, "10.0.0.1 10.0.0.2 " D1);
    learn(&one, "192.0.2.1", D2, "10.0.0.1 10.0.0.2 " D2);
    two.traces = 2; /* so that its times are those of traces 3 and 4 */
    learn(&two, "192.0.2.2", D3, "10.0.0.1 * 10.0.0.3 " D3);
    learn(&two, "192.0.2.2", D1, "10.0.0.1 10.0.0.3 10.0.0.4");
    two.traces = 2;
    char *texts[] = {text_of(&one), text_of(&two), text_of(&all)};
    read_text(&joined, texts[0]);
    read_text(&joined, texts[1]);
    char *text = text_of(&joined);
    assert_string_equal(text, texts[2]);
    free(text);
    for (size_t i = 0; i < TEST_COUNT(texts); i++)
        free(texts[i]);
    ss_table_fini(&all);
    ss_table_fini(&one);
    ss_table_fini(&two);
    ss_table_fini(&joined);
}

static void wider_prefixes_are_refused_and_finer_ones_masked(void **state)
{
    ss_table t;

    (void)state;
    ss_table_init(&t, (ss_prefix_len){24, 48});
    t.prefix_fixed = true;
    read_text(&t, "umbel-stopset table 1\nprefix 32 128\n"
                  "pair 10.0.0.1 203.0.113.9/32 1 2\n"
                  "pair 10.0.0.1 203.0.113.8/32 3 4\n");
    assert_int_equal(t.pairs.n, 1);
    assert_int_equal(t.pair[0].through, 4);
    assert_int_equal(t.pair[0].ending, 6);
    assert_refused(ss_table_line(&t, "prefix 16 48", 12, &test_refusal),
                   UMBEL_E_MISMATCH, "learn with --prefix 16");
    ss_table_fini(&t);
}

static void lines_that_are_none_are_refused(void **state)
{
    static const char *const lines[] = {"hop",
                                        "hop 10.0.0.1",
                                        "hop 10.0.0.1 1",
                                        "hop 10.0.0 1 1",
                                        "hop 10.0.0.1 1 x",
                                        "hop 10.0.0.1 1 99999999999999999999",
                                        "pair 10.0.0.1 203.0.113.0 1 1",
                                        "pair 10.0.0.1 203.0.113.1/24 1 1",
                                        "pair 10.0.0.1 203.0.113.0/25 1 1",
                                        "length 0 1",
                                        "length 256 1",
                                        "traces 1 2",
                                        "monitor nobody 1 1 1",
                                        "prefix 33 48",
                                        "umbel-stopset table 2",
                                        "road 66"};
    ss_table t;

    (void)state;
    ss_table_init(&t, (ss_prefix_len){24, 48});
    read_text(&t, "umbel-stopset table 1\nprefix 24 48\n# a remark\n\n");
    for (size_t i = 0; i < TEST_COUNT(lines); i++)
        assert_refused(
            ss_table_line(&t, lines[i], strlen(lines[i]), &test_refusal),
            UMBEL_E_FORMAT, "");
    assert_int_equal(t.hops.n, 1); /* of the hop with wrong counts */
    ss_table_fini(&t);
}

static void few_first_probes_reach_a_destination(void **state)
{
    ss_table t = {.reached = 100};

    (void)state;
    t.length[3] = 2;
    t.length[4] = 3;
    t.length[5] = 1;
    t.length[9] = 94;
    assert_int_equal(ss_table_first_hop(&t, 0.05), 4);
    assert_int_equal(ss_table_first_hop(&t, 0.06), 8);
    assert_int_equal(ss_table_first_hop(&t, 0.01), 2);
    t.length[1] = 50;
    assert_int_equal(ss_table_first_hop(&t, 0.05), 1);
    assert_int_equal(ss_table_first_hop(&(ss_table){0}, 0.05), 1);
}

/* --- sets ------------------------------------------------------------------
 */

static ss_set made_set(const ss_table *t, ss_kind kind, ss_key key,
                       ss_form form, ss_build_result *made)
{
    ss_set_info info = {
        .kind = kind, .key = key, .prefix = ss_key_prefix(key, 0, 0)};
    ss_build_params p = {.bytes = form == SS_LIST ? 0 : 2048};
    ss_task task;
    ss_set set;
    char *bytes;
    size_t len;

    assert_ok(ss_task_init(&task, t, &info, 0, &test_refusal));
    assert_ok(ss_build_set(&task, form, &p, &bytes, &len, made, &test_refusal));
    assert_true(form == SS_LIST || len <= p.bytes);
    assert_int_equal(made->bytes, len);
    assert_ok(ss_set_parse(&set, bytes, len, &test_refusal));
    free(bytes);
    ss_task_fini(&task);
    return set;
}

static bool has(const ss_set *s, const char *hop, const char *dst)
{
    ss_question q = {address(hop), address(dst)};
    bool hit;

    assert_ok(ss_set_query(s, &q, 1, &hit, &test_refusal));
    return hit;
}

/* Three traces pass 10.0.0.3, and one ends there: it is no member, and no form
 * that knows nodes matches it. One that as many pass as end at stays. */
static void nodes_that_more_traces_pass_can_be_left_out(void **state)
{
    ss_set_info info = {.kind = SS_RED, .without_passed = true};
    ss_build_params p = {0};
    ss_build_result made;
    ss_task task;
    ss_table t;
    char *bytes;
    size_t len;

    (void)state;
    learn_four(&t);
    assert_ok(ss_task_init(&task, &t, &info, 0, &test_refusal));
    assert_int_equal(task.nmembers, 2);
    assert_near(task.left_out, 0, 0);
    ss_task_fini(&task);
    learn(&t, "192.0.2.2", D2, "10.0.0.3 10.0.0.2 " D2);
    learn(&t, "192.0.2.1", D1, "10.0.0.3 10.0.0.2 " D1);
    assert_ok(ss_task_init(&task, &t, &info, 0, &test_refusal));
    assert_int_equal(task.nmembers, 1);
    assert_near(task.left_out, 1, 0);
    assert_ok(
        ss_build_set(&task, SS_LIST, &p, &bytes, &len, &made, &test_refusal));
    assert_near(made.success, 4 / 5., 1e-12); /* of those that arrived */
    free(bytes);
    ss_task_fini(&task);
    ss_table_fini(&t);
}

static void every_form_of_a_red_set_has_its_members(void **state)
{
    ss_table t;

    (void)state;
    learn_four(&t);
    for (ss_form form = SS_LIST; form < SS_FORMS; form++) {
        ss_build_result made;
        ss_set s = made_set(&t, SS_RED, SS_HOP, form, &made);
        assert_int_equal(s.info.form, form);
        assert_int_equal(s.info.members, 2);
        assert_int_equal(s.info.monitors, 2);
        assert_int_equal(s.info.first, 1000);
        assert_int_equal(s.info.last, 1003);
        assert_true(has(&s, "10.0.0.2", D1));
        assert_true(has(&s, "10.0.0.3", D1));
        assert_false(has(&s, "10.0.0.1", D1));
        assert_false(has(&s, "10.0.0.4", D1));
        assert_int_equal(made.lost + made.matched, 0);
        /* One of three complete traces passes 10.0.0.3. */
        assert_near(made.success, 2.0 / 3, 1e-9);
        ss_set_fini(&s);
    }
    ss_table_fini(&t);
}

static void keys_tell_destinations_apart(void **state)
{
    ss_table t;
    ss_build_result made;

    (void)state;
    learn_four(&t);
    ss_set s = made_set(&t, SS_RED, SS_HOP_PREFIX, SS_LIST, &made);
    assert_int_equal(s.info.members, 2);
    assert_true(has(&s, "10.0.0.2", "203.0.113.99")); /* in the same /24 */
    assert_true(has(&s, "10.0.0.3", D3));
    assert_false(has(&s, "10.0.0.3", D1));
    assert_near(made.success, 1, 1e-9);
    ss_set_fini(&s);
    s = made_set(&t, SS_RED, SS_HOP_DESTINATION, SS_EXACT, &made);
    assert_int_equal(s.info.members, 3);
    assert_true(has(&s, "10.0.0.2", D2));
    assert_false(has(&s, "10.0.0.1", D2));
    ss_set_fini(&s);
    ss_table_fini(&t);
}

static void a_global_set_has_what_was_seen_together(void **state)
{
    static const ss_form some[] = {SS_LIST, SS_BLOOM, SS_EXACT};
    ss_table t;

    (void)state;
    learn_four(&t);
    for (size_t i = 0; i < TEST_COUNT(some); i++) {
        ss_build_result made;
        ss_set s = made_set(&t, SS_GLOBAL, SS_HOP_PREFIX, some[i], &made);
        assert_int_equal(s.info.members, 6);
        assert_true(has(&s, "10.0.0.1", D3));
        assert_true(has(&s, "10.0.0.4", D2));
        assert_false(has(&s, "10.0.0.4", D3));
        assert_false(has(&s, "10.0.0.2", D3));
        ss_set_fini(&s);
    }
    ss_table_fini(&t);
}

static void what_a_table_does_not_know_is_refused(void **state)
{
    ss_set_info info = {.key = SS_HOP_DESTINATION, .prefix = {32, 128}};
    ss_table t;
    ss_task task;

    (void)state;
    ss_table_init(&t, (ss_prefix_len){24, 48});
    learn(&t, "192.0.2.1", D1, "10.0.0.1 10.0.0.2");
    assert_refused(ss_task_init(&task, &t, &info, 0, &test_refusal),
                   UMBEL_E_MISMATCH, "learn again with --destinations");
    ss_task_fini(&task);
    info.key = SS_HOP;
    assert_refused(ss_task_init(&task, &t, &info, 0, &test_refusal),
                   UMBEL_E_RANGE, "no trace of the table reached");
    ss_task_fini(&task);
    ss_table_fini(&t);
}

/* Learns a thousand penultimate nodes after a hundred others. */
static void learn_many(ss_table *t)
{
    char dst[32], hops[96];

    ss_table_init(t, (ss_prefix_len){24, 48});
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(dst, sizeof dst, "100.64.%u.%u", i / 250, 1 + i % 250);
        snprintf(hops, sizeof hops, "10.9.9.9 10.8.0.%u 10.7.%u.%u %s", i % 100,
                 i / 250, 1 + i % 250, dst);
        learn(t, "192.0.2.1", dst, hops);
    }
}

static void the_smallest_file_for_a_success_is_found(void **state)
{
    ss_set_info info = {.kind = SS_RED};
    ss_build_params p = {0};
    ss_build_result made, smaller;
    ss_table t;
    ss_task task;
    char *bytes;
    size_t len;

    (void)state;
    learn_many(&t);
    assert_ok(ss_task_init(&task, &t, &info, 0, &test_refusal));
    assert_ok(ss_build_set_for(&task, SS_RETOUCHED, 0.9, &p, &bytes, &len,
                               &made, &test_refusal));
    assert_true(made.success >= 0.9);
    free(bytes);
    p.bytes = len * 9 / 10;
    assert_ok(ss_build_set(&task, SS_RETOUCHED, &p, &bytes, &len, &smaller,
                           &test_refusal));
    assert_true(smaller.success < 0.9);
    free(bytes);
    p.bytes = 100;
    assert_refused(
        ss_build_set(&task, SS_BLOOM, &p, &bytes, &len, &made, &test_refusal),
        UMBEL_E_RANGE, "does not fit into 100 bytes");
    p.bytes = 0;
    assert_refused(
        ss_build_set(&task, SS_BLOOM, &p, &bytes, &len, &made, &test_refusal),
        UMBEL_E_RANGE, "needs a size");
    ss_task_fini(&task);
    ss_table_fini(&t);
}

static void retouching_pays_with_members_for_traces(void **state)
{
    ss_set_info info = {.kind = SS_RED};
    ss_build_params p = {.bits = 2500, .hashes = 3};
    ss_build_result plain, retouched, groups;
    ss_table t;
    ss_task task;
    char *bytes;
    size_t len;

    (void)state;
    learn_many(&t);
    assert_ok(ss_task_init(&task, &t, &info, 0, &test_refusal));
    assert_ok(
        ss_build_set(&task, SS_BLOOM, &p, &bytes, &len, &plain, &test_refusal));
    free(bytes);
    assert_ok(ss_build_set(&task, SS_RETOUCHED, &p, &bytes, &len, &retouched,
                           &test_refusal));
    free(bytes);
    assert_ok(ss_build_set(&task, SS_GROUPS, &p, &bytes, &len, &groups,
                           &test_refusal));
    free(bytes);
    assert_int_equal(plain.lost + groups.lost, 0);
    assert_true(retouched.lost > 0);
    assert_true(retouched.success > plain.success);
    assert_true(groups.matched_weight < plain.matched_weight);
    ss_task_fini(&task);
    ss_table_fini(&t);
}

/* Returns the bytes of an exact set; counts the unknown nodes that match, of a
 * hundred thousand. */
static size_t build_exact(const ss_task *task, const ss_build_params *p,
                          ss_build_result *made, unsigned *matched)
{
    enum { UNKNOWN = 100000 };
    ss_set set;
    char *bytes;
    size_t len;

    assert_ok(
        ss_build_set(task, SS_EXACT, p, &bytes, &len, made, &test_refusal));
    assert_ok(ss_set_parse(&set, bytes, len, &test_refusal));
    free(bytes);
    *matched = 0;
    for (uint32_t i = 0; i < UNKNOWN; i++) {
        ss_question q = {ss_addr_v4(0xC6120000 + i), address(D1)};
        bool hit;
        assert_ok(ss_set_query(&set, &q, 1, &hit, &test_refusal));
        *matched += hit;
    }
    double expected = UNKNOWN * made->unknown_error;
    assert_true(*matched <= expected + 5 * sqrt(expected) + 1);
    assert_true(*matched >= expected - 5 * sqrt(expected) - 1);
    assert_int_equal(made->lost + made->matched, 0);
    ss_set_fini(&set);
    return len;
}

/* Unknown nodes are most of those that another monitor meets. */
static void an_exact_set_matches_few_unknown_nodes(void **state)
{
    static const double rates[] = {0.3, 0.05, SS_DEFAULT_FPR, 1e-5};
    ss_set_info info = {.kind = SS_RED};
    ss_build_result made;
    unsigned matched;
    ss_table t;
    ss_task task;

    (void)state;
    learn_many(&t);
    assert_ok(ss_task_init(&task, &t, &info, 0, &test_refusal));
    size_t last = 0;
    for (size_t i = 0; i < TEST_COUNT(rates); i++) {
        ss_build_params p = {.fpr = rates[i]};
        size_t len = build_exact(&task, &p, &made, &matched);
        assert_true(made.unknown_error <= rates[i]);
        assert_true(made.unknown_error >= rates[i] / 4); /* not for nothing */
        assert_true(len >= last);
        last = len;
        if (rates[i] == SS_DEFAULT_FPR) {
            ss_build_result usual;
            assert_int_equal(
                build_exact(&task, &(ss_build_params){0}, &usual, &matched),
                len);
            assert_true(usual.unknown_error == made.unknown_error);
        }
    }
    /* A size that does not suffice is used, or refused if both are given. */
    ss_build_params p = {.bits = 1500};
    build_exact(&task, &p, &made, &matched);
    assert_true(made.unknown_error > SS_DEFAULT_FPR);
    p.fpr = SS_DEFAULT_FPR;
    char *bytes;
    size_t len;
    assert_refused(
        ss_build_set(&task, SS_EXACT, &p, &bytes, &len, &made, &test_refusal),
        UMBEL_E_RANGE, "of the unknown nodes match");
    ss_task_fini(&task);
    ss_table_fini(&t);
}

/* A file has whole lines: two members would leave most of one unused. */
static void a_small_exact_set_uses_the_space_of_its_file(void **state)
{
    ss_set_info info = {.kind = SS_RED};
    ss_build_params p = {0}, limit = {.bytes = 320};
    ss_build_result made, limited;
    unsigned matched;
    ss_table t;
    ss_task task;

    (void)state;
    learn_four(&t);
    assert_ok(ss_task_init(&task, &t, &info, 0, &test_refusal));
    size_t len = build_exact(&task, &p, &made, &matched);
    assert_int_equal(build_exact(&task, &limit, &limited, &matched), len);
    assert_true(made.unknown_error <= limited.unknown_error);
    assert_true(made.unknown_error < 1e-6);
    ss_task_fini(&task);
    ss_table_fini(&t);
}

/* --- files -----------------------------------------------------------------
 */

#define HEAD(key, prefix, form, members)                                       \
    "umbel-stopset set 1\nset red\nkey " key "\nprefix " prefix "\nform " form \
    "\nmonitors 2\nlearned 5 9\nmembers " members "\n"

static void files_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        const char *text, *word;
    } rows[] = {
        {HEAD("hop", "0 0", "list", "2") "10.0.0.1\n10.0.0.1\n", "different"},
        {HEAD("hop", "0 0", "list", "1") "10.0.0.1", "not a member"},
        {HEAD("hop", "0 0", "list", "1") "10.0.0.01\n", "byte 90"},
        {HEAD("hop", "0 0", "list", "1") "10.0.0.1 10.0.0.2\n", "by hop"},
        {HEAD("hop+prefix", "24 48", "list", "1") "10.0.0.1\n", "by hop+pre"},
        {HEAD("hop+prefix", "24 48", "list", "1") "10.0.0.1 10.1.1.1/24\n",
         "by hop+prefix"},
        {HEAD("hop", "0 0", "bloom", "0"), "another form"},
        {HEAD("hops", "0 0", "list", "0"), "not a stop set"},
        {HEAD("hop", "0 129", "list", "0"), "not a stop set"},
        {"umbel-stopset set 1\nset red\n", "not a stop set"},
        {"", ""},
        {"10.0.0.1\n", ""},
    };
    ss_set s;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++)
        assert_refused(
            ss_set_parse(&s, rows[i].text, strlen(rows[i].text), &test_refusal),
            UMBEL_E_FORMAT, rows[i].word);
    assert_refused(ss_set_open(&s, "/nowhere/red.umb", &test_refusal),
                   UMBEL_E_IO, "/nowhere/red.umb");
}

TEST_GROUP(sets)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_counts_traces_through_and_ending),
        cmocka_unit_test(tables_join_as_their_traces_do),
        cmocka_unit_test(wider_prefixes_are_refused_and_finer_ones_masked),
        cmocka_unit_test(lines_that_are_none_are_refused),
        cmocka_unit_test(few_first_probes_reach_a_destination),
        cmocka_unit_test(nodes_that_more_traces_pass_can_be_left_out),
        cmocka_unit_test(every_form_of_a_red_set_has_its_members),
        cmocka_unit_test(keys_tell_destinations_apart),
        cmocka_unit_test(a_global_set_has_what_was_seen_together),
        cmocka_unit_test(what_a_table_does_not_know_is_refused),
        cmocka_unit_test(the_smallest_file_for_a_success_is_found),
        cmocka_unit_test(retouching_pays_with_members_for_traces),
        cmocka_unit_test(an_exact_set_matches_few_unknown_nodes),
        cmocka_unit_test(a_small_exact_set_uses_the_space_of_its_file),
        cmocka_unit_test(files_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
