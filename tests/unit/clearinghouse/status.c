/* status.c - the last hour, the top reporters, problems, and hostile names. */
#include "clearinghouse/status/internal.h"
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- the last hour -------------------------------------------------------- */

static const um_verdict plain_verdicts[] = {
    {200, "OK", NULL}, {403, "no", "no"}, {0}};
static const char *const plain_ops[] = {"ask", NULL};
static const um_service plain_service = {
    .name = "plain", .ops = plain_ops, .verdicts = plain_verdicts};

/* Sets the totals of a service, then begins a minute. */
static void tick_with(um_service_stats *s, uint64_t minute, um_totals now)
{
    s->count[0][0] = now.requests - now.refused;
    s->count[0][1] = now.refused;
    s->hits = now.hits;
    um_service_tick(s, minute);
}

static void minutes_are_differences_and_the_last_is_not_over(void **state)
{
    um_service_stats s;
    um_totals now = {3, 2, 1}, minute[UM_HOUR_MINUTES];

    (void)state;
    um_service_stats_init(&s, &plain_service, NULL);
    tick_with(&s, 0, now);
    assert_int_equal(um_service_minutes(&s, minute), 1);
    assert_int_equal(minute[0].requests, 3);
    tick_with(&s, 1, now);
    now.requests = 10;
    tick_with(&s, 1, now);
    assert_int_equal(um_service_minutes(&s, minute), 2);
    assert_int_equal(minute[0].requests, 3);
    assert_int_equal(minute[0].refused, 1);
    assert_int_equal(minute[1].requests, 7);
    assert_int_equal(minute[1].hits, 0);
    tick_with(&s, 4, now); /* two minutes without a tick */
    assert_int_equal(um_service_minutes(&s, minute), 5);
    assert_int_equal(minute[1].requests, 7);
    assert_int_equal(minute[2].requests + minute[3].requests, 0);
}

static void an_hour_has_sixty_minutes_however_long_it_runs(void **state)
{
    um_service_stats s;
    um_totals minute[UM_HOUR_MINUTES];

    (void)state;
    um_service_stats_init(&s, &plain_service, NULL);
    for (uint64_t m = 0; m < 1000; m++) {
        um_service_tick(&s, m);
        s.count[0][0] += m;
    }
    assert_int_equal(um_service_minutes(&s, minute), UM_HOUR_MINUTES);
    for (uint64_t i = 0; i < UM_HOUR_MINUTES; i++)
        assert_int_equal(minute[i].requests, 940 + i);
    assert_int_equal(um_service_last_minutes(&s, 2).requests, 998 + 999);
    um_service_tick(&s, UINT64_C(1) << 40); /* after a long stop */
    assert_int_equal(um_service_last_minutes(&s, UM_HOUR_MINUTES).requests, 0);
}

static char *graph(const um_service_stats *f)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    um_status_print_graph(out, f);
    fclose(out);
    return text;
}

static void a_bar_has_hits_below_and_refusals_on_top(void **state)
{
    um_service_stats f;

    (void)state;
    um_service_stats_init(&f, &um_protocol_pyzor.service, NULL);
    um_service_tick(&f, 0);
    f.count[0][0] = 8;
    f.count[0][1] = 2;
    f.hits = 5;
    char *text = graph(&f);
    assert_non_null(strstr(text, "\"hits\" d=\"M591 100.0v-50.0h8v50.0z\""));
    assert_non_null(strstr(text, "\"rest\" d=\"M591 50.0v-30.0h8v30.0z\""));
    assert_non_null(strstr(text, "\"refused\" d=\"M591 20.0v-20.0h8v20.0z\""));
    assert_non_null(strstr(text, "10 requests, 5 hits, 2 refused; at most 10"));
    free(text);
}

static void a_graph_takes_any_count(void **state)
{
    um_service_stats f;

    (void)state;
    um_service_stats_init(&f, &um_protocol_pyzor.service, NULL);
    f.hits = 7; /* counted before its request */
    f.count[0][0] = UINT64_MAX;
    char *text = graph(&f);
    assert_non_null(strstr(text, "\"hits\" d=\"M591 100.0v-1.5h8v1.5z\""));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    free(text);
}

/* --- top reporters -------------------------------------------------------- */

static void count_network(um_top_reporters *b, uint32_t ip, uint64_t n)
{
    um_network net = {0, UINT64_C(0xFFFF00000000) | ip};

    um_top_reporters_add(b, &um_protocol_pyzor.service, NULL, net, NULL, n, 7);
}

static void few_reporters_are_counted_exactly(void **state)
{
    static um_top_reporters b;
    um_top_reporter top[UM_TOP_SHOWN];

    (void)state;
    b.n = 0;
    for (unsigned i = 0; i < 20; i++)
        for (unsigned j = 0; j <= i; j++)
            count_network(&b, 0xC0000200 + (i << 8), 2);
    um_top_reporters_add(&b, &um_protocol_pyzor.service, "alice",
                         (um_network){0}, NULL, 100, 9);
    assert_int_equal(um_top_reporters_read(&b, top, UM_TOP_SHOWN),
                     UM_TOP_SHOWN);
    assert_string_equal(top[0].name, "alice");
    assert_int_equal(top[0].last, 9);
    for (unsigned i = 1; i < UM_TOP_SHOWN; i++) {
        assert_int_equal(top[i].reports, 2 * (21 - i));
        assert_int_equal(top[i].surplus, 0);
    }
    assert_string_equal(top[1].name, "192.0.21.0/24");
}

/*
 * One report in sixty is the reporter's; each other one is from a new network.
 */
static void a_busy_reporter_is_found_among_many_networks(void **state)
{
    static um_top_reporters b;
    um_top_reporter top[UM_TOP_SHOWN];
    uint64_t own = 0;

    (void)state;
    b.n = 0;
    for (uint32_t i = 0; i < 60000; i++) {
        count_network(&b, 0x0A000000 + (i << 8), 1);
        if (i % 60 == 0) {
            um_top_reporters_add(&b, &um_protocol_pyzor.service, "busy",
                                 (um_network){0}, NULL, 1, i);
            own++;
        }
    }
    um_top_reporters_read(&b, top, UM_TOP_SHOWN);
    assert_string_equal(top[0].name, "busy");
    assert_true(top[0].reports >= own);
    assert_true(top[0].reports - top[0].surplus <= own);
}

/* --- problems ------------------------------------------------------------- */

static um_status well(um_service_stats *f)
{
    um_service_stats_init(f, &um_protocol_pyzor.service, NULL);
    return (um_status){.data = "/srv/data",
                       .memory = 1,
                       .memory_limit = 2,
                       .nservices = 1,
                       .service = {f},
                       .nlists = 1,
                       .list = {{.name = "pyzor-reports",
                                 .kind = "table",
                                 .error = 1e-6,
                                 .max_error = 1e-5}}};
}

static void a_server_that_is_well_has_no_problem(void **state)
{
    um_service_stats f;
    um_status s = well(&f);
    um_problems p;

    (void)state;
    um_status_problems(&s, &p);
    assert_int_equal(p.n, 0);
    assert_int_equal(um_problems_level(&p), UM_WELL);
}

static void every_problem_is_named_the_worst_first(void **state)
{
    um_service_stats f;
    um_status s = well(&f);
    um_problems p;

    (void)state;
    s.memory = 3;
    s.list[0].error = 1e-4;
    f.count[0][1] = 100;
    s.store.snapshot_error = ENOSPC;
    um_status_problems(&s, &p);
    assert_int_equal(p.n, 4);
    assert_int_equal(um_problems_level(&p), UM_WARNING);
    assert_int_equal(um_status_health(&s), 200);
    s.store.failed = "journal-1: No space left on device";
    um_status_problems(&s, &p); /* one problem covers the disk */
    assert_int_equal(p.n, 4);
    assert_int_equal(um_problems_level(&p), UM_FAILED);
    assert_non_null(strstr(p.item[0].what, "journal-1: No space left"));
    assert_non_null(strstr(p.item[0].advice, "/srv/data"));
    assert_int_equal(um_status_health(&s), 503);
}

static void a_server_without_workers_is_not_well(void **state)
{
    um_service_stats f;
    um_status s = well(&f);
    um_problems p;

    (void)state;
    s.pool.workers = 2;
    s.pool.ready = 1;
    um_status_problems(&s, &p);
    assert_int_equal(p.n, 0);
    s.pool.ready = 0;
    um_status_problems(&s, &p);
    assert_int_equal(p.n, 1);
    assert_non_null(strstr(p.item[0].what, "No worker is running"));
    assert_int_equal(um_status_health(&s), 200); /* the others are served */
}

static void a_clock_that_is_behind_the_data_is_a_problem(void **state)
{
    um_service_stats f;
    um_status s = well(&f);
    um_problems p;

    (void)state;
    s.store.ahead = 3599;
    um_status_problems(&s, &p);
    assert_int_equal(p.n, 0);
    s.store.ahead = 400 * 86400;
    um_status_problems(&s, &p);
    assert_int_equal(p.n, 1);
    assert_non_null(strstr(p.item[0].what, "The clock is 400 d behind"));
    assert_non_null(strstr(p.item[0].advice, "move snapshot-*, journal-* and"));
    assert_non_null(strstr(p.item[0].advice, "send theirs again."));
}

static void a_list_that_is_held_is_named_with_its_end(void **state)
{
    um_service_stats f;
    um_status s = well(&f);
    um_problems p;

    (void)state;
    s.list[0].held = true;
    s.list[0].epoch_end = 1794960000;
    um_status_problems(&s, &p);
    assert_int_equal(p.n, 1);
    assert_non_null(strstr(
        p.item[0].what, "List pyzor-reports is full until 2026-11-18 00:00"));
    assert_non_null(strstr(p.item[0].advice, "Raise capacity"));
    s.list[0].epoch_end = UINT64_MAX;
    um_status_problems(&s, &p);
    assert_non_null(strstr(p.item[0].what, "until its capacity is raised"));
}

static void
lists_that_fill_up_are_problems_with_the_busiest_networks(void **state)
{
    um_service_stats f;
    um_status s = well(&f);
    um_list_stats *l = &s.list[0];
    um_problems p;

    (void)state;
    s.now = 1794960000;
    s.anonymous_share[0] = 0.25;
    s.top[0] = (um_top_reporter){.key.account = 1, .name = "alice"};
    static const um_service dccifd = {.name = "dccifd"},
                            pyzor = {.name = "pyzor"};
    s.top[1] = (um_top_reporter){
        .key.service = &pyzor, .name = "198.51.100.0/24", .reports = 5000};
    s.top[UM_TOP_SHOWN + 5] = (um_top_reporter){
        .key.service = &dccifd, .name = "192.0.2.0/24", .reports = 1234};
    for (size_t i = 2; i < UM_TOP_SHOWN + 5; i++)
        s.top[i] = s.top[1];
    s.ntop = UM_TOP_SHOWN;
    s.nreporters = UM_TOP_SHOWN + 6;
    *l = (um_list_stats){.name = "body",
                         .capacity = 1000,
                         .fill = 0.8,
                         .anonymous = 249,
                         .epoch_end = 1794970000};
    um_status_problems(&s, &p);
    assert_int_equal(p.n, 0);
    l->fill = 0.81;
    um_status_problems(&s, &p);
    assert_int_equal(p.n, 1);
    assert_non_null(strstr(
        p.item[0].what, "List body has used 81 % of the 1,000 digests of this "
                        "epoch. Busiest networks: 192.0.2.0/24 (1,234)."));
    l->anonymous = 250;
    l->sole = true;
    um_status_problems(&s, &p);
    assert_int_equal(p.n, 1);
    l->sole = false;
    l->ended_early = 1;
    l->ended_at = s.now - 7 * 86400;
    um_status_problems(&s, &p);
    assert_int_equal(p.n, 3);
    assert_non_null(strstr(p.item[0].what, "its epoch ended early"));
    assert_non_null(strstr(p.item[1].what, "The part of list body for clients "
                                           "without an account is full (250 "));
    assert_non_null(strstr(p.item[1].what, "192.0.2.0/24"));
    assert_non_null(
        strstr(p.item[1].advice,
               "If these are yours, raise anonymous_share in list \"body\" { } "
               "and send SIGHUP; clients of this list cannot have accounts."));
    static const char *const accounts[][2] = {
        {"pyzor-reports", "yours, give them accounts (passwd in pyzor { }), "},
        {"razor-spam", "yours, name their accounts in sections account "}};
    for (size_t i = 0; i < TEST_COUNT(accounts); i++) {
        l->name = accounts[i][0];
        um_status_problems(&s, &p);
        assert_non_null(strstr(p.item[1].advice, accounts[i][1]));
    }
    l->name = "body";
    assert_int_equal(um_status_health(&s), 200);
    s.now++;
    um_status_problems(&s, &p);
    assert_int_equal(p.n, 2);
    l->held = true;
    um_status_problems(&s, &p);
    assert_non_null(strstr(p.item[0].what, "List body is full until"));
    assert_non_null(strstr(p.item[0].advice, "Raise memory"));
    l->most_filters = true;
    um_status_problems(&s, &p);
    assert_non_null(strstr(p.item[0].advice, "as many filters as a list can"));
    assert_null(strstr(p.item[0].advice, "Raise memory"));
    assert_int_equal(um_status_health(&s), 503);
}

static void many_problems_keep_their_room(void **state)
{
    um_service_stats f;
    um_status s = well(&f);
    um_problems p;

    (void)state;
    for (s.nlists = 0; s.nlists < UM_MAX_LISTS; s.nlists++)
        s.list[s.nlists] = (um_list_stats){.name = "many", .error = 1};
    um_status_problems(&s, &p);
    assert_true(p.n > 0 && p.n <= UM_MAX_PROBLEMS);
}

/* --- hostile names -------------------------------------------------------- */

#define HOSTILE "<script>\"'&\\\n\033\xff"

static const um_verdict hostile_verdicts[] = {
    {200, "OK", NULL}, {403, HOSTILE, HOSTILE}, {0}};
static const char *const hostile_ops[] = {HOSTILE, NULL};
static const um_service hostile_service = {.name = HOSTILE,
                                           .ops = hostile_ops,
                                           .verdicts = hostile_verdicts,
                                           .counts_mail = true};

static char *printed(void (*print)(FILE *, const um_status *))
{
    static um_top_reporters b;
    um_service_stats f;
    um_listen_address a = {.service = &hostile_service, .text = HOSTILE};
    char *text = NULL;
    size_t len = 0;

    um_status s = well(&f);
    um_service_stats_init(&f, &hostile_service, NULL);
    f.count[0][1] = 500;
    s.list[0].name = s.list[0].kind = s.store.failed = HOSTILE;
    s.address = &a;
    s.naddresses = 1;
    b.n = 0;
    um_top_reporters_add(&b, &hostile_service, HOSTILE, (um_network){0}, NULL,
                         5, 1);
    s.ntop = um_top_reporters_read(&b, s.top, UM_TOP_SHOWN);
    FILE *out = open_memstream(&text, &len);
    print(out, &s);
    fclose(out);
    return text;
}

static void hostile_names_are_escaped_in_html(void **state)
{
    char *text = printed(um_status_print_page);

    (void)state;
    assert_non_null(strstr(text, "&lt;script&gt;&quot;&#39;&amp;"));
    assert_null(strstr(text, "<script>"));
    assert_null(strchr(text, '\033'));
    free(text);
}

static void hostile_names_are_escaped_in_json(void **state)
{
    char *text = printed(um_status_print_json);

    (void)state;
    assert_non_null(strstr(text, "<script>\\\"'&\\\\\\u000a\\u001b"));
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\xff'));
    free(text);
}

static void hostile_names_are_escaped_in_metrics(void **state)
{
    char *text = printed(um_status_print_metrics);

    (void)state;
    assert_non_null(strstr(text, "protocol=\"<script>\\\"'&\\\\\\n"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strncmp(line, "umbel_", 6) == 0 || line[0] == '#');
    free(text);
}

TEST_GROUP(status)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minutes_are_differences_and_the_last_is_not_over),
        cmocka_unit_test(an_hour_has_sixty_minutes_however_long_it_runs),
        cmocka_unit_test(a_bar_has_hits_below_and_refusals_on_top),
        cmocka_unit_test(a_graph_takes_any_count),
        cmocka_unit_test(few_reporters_are_counted_exactly),
        cmocka_unit_test(a_busy_reporter_is_found_among_many_networks),
        cmocka_unit_test(a_server_that_is_well_has_no_problem),
        cmocka_unit_test(every_problem_is_named_the_worst_first),
        cmocka_unit_test(a_server_without_workers_is_not_well),
        cmocka_unit_test(a_clock_that_is_behind_the_data_is_a_problem),
        cmocka_unit_test(a_list_that_is_held_is_named_with_its_end),
        cmocka_unit_test(
            lists_that_fill_up_are_problems_with_the_busiest_networks),
        cmocka_unit_test(many_problems_keep_their_room),
        cmocka_unit_test(hostile_names_are_escaped_in_html),
        cmocka_unit_test(hostile_names_are_escaped_in_json),
        cmocka_unit_test(hostile_names_are_escaped_in_metrics),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
