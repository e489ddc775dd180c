/*
 * parts.c - parts of the clearinghouse that need no socket: limits, log,
 * waiting answers, one report per reporter, status documents.
 */
#include "clearinghouse/protocols/datagram_service.h"
#include "clearinghouse/protocols/duplicates.h"
#include "clearinghouse/protocols/pyzor/internal.h"
#include "clearinghouse/runtime/format.h"
#include "clearinghouse/runtime/limits.h"
#include "clearinghouse/runtime/log.h"
#include "clearinghouse/status/status.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- limits ---------------------------------------------------------------
 */

static um_address client(const char *text)
{
    um_address a;

    assert_ok(um_address_parse(text, &a, &test_refusal));
    return a;
}

static um_limits *limits(const um_limit_settings *s)
{
    um_limits *l = NULL;

    assert_ok(um_limits_open(s, &l, &test_refusal));
    return l;
}

static const um_limit_settings ten_a_second = {.requests = 10,
                                               .reports = 5,
                                               .burst = 2,
                                               .networks = 64,
                                               .prefix_v4 = 24,
                                               .prefix_v6 = 56};

static void a_network_gets_its_burst_and_then_its_rate(void **state)
{
    um_limits *l = limits(&ten_a_second);
    um_address a = client("192.0.2.1:1"), near = client("192.0.2.200:9"),
               far = client("192.0.3.1:1");

    (void)state;
    for (int i = 0; i < 20; i++)
        assert_true(um_limits_consume(l, &a, UM_LIMIT_REQUESTS, 1, 1000));
    assert_false(um_limits_consume(l, &a, UM_LIMIT_REQUESTS, 1, 1000));
    assert_false(um_limits_consume(l, &near, UM_LIMIT_REQUESTS, 1, 1000));
    assert_true(um_limits_consume(l, &far, UM_LIMIT_REQUESTS, 1, 1000));
    /* Reports have their own bucket. */
    assert_true(um_limits_consume(l, &a, UM_LIMIT_REPORTS, 10, 1000));
    assert_false(um_limits_consume(l, &a, UM_LIMIT_REPORTS, 1, 1000));
    /* A request for more than the burst empties the bucket. */
    assert_true(um_limits_consume(l, &far, UM_LIMIT_REPORTS, 1000, 1000));
    assert_false(um_limits_consume(l, &far, UM_LIMIT_REPORTS, 1, 1000));
    assert_true(um_limits_consume(l, &far, UM_LIMIT_REPORTS, 1, 1200));
    /* A tenth of a second allows one request. */
    assert_true(um_limits_consume(l, &a, UM_LIMIT_REQUESTS, 1, 1100));
    assert_false(um_limits_consume(l, &a, UM_LIMIT_REQUESTS, 1, 1100));
    um_limits_close(l);
}

static void loopback_is_limited_only_if_asked_for(void **state)
{
    um_limit_settings s = ten_a_second;
    um_limits *l = limits(&s);
    um_address a = client("127.0.0.1:1");

    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_true(um_limits_consume(l, &a, UM_LIMIT_REQUESTS, 1, 1));
    s.loopback = true;
    um_limits_set(l, &s);
    assert_true(um_limits_consume(l, &a, UM_LIMIT_REQUESTS, 20, 1));
    assert_false(um_limits_consume(l, &a, UM_LIMIT_REQUESTS, 1, 1));
    um_limits_close(l);
}

static void a_busy_network_keeps_its_bucket_among_many_idle_ones(void **state)
{
    um_limits *l = limits(&ten_a_second);
    um_address busy = client("192.0.2.1:1");
    uint64_t passed = 0;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        um_address other = client("10.0.0.1:1");
        other.ip.v4.sin_addr.s_addr = htonl(0x0A000000 + (i << 8));
        um_limits_consume(l, &other, UM_LIMIT_REQUESTS, 1, 1000);
        passed += um_limits_consume(l, &busy, UM_LIMIT_REQUESTS, 1, 1000);
    }
    assert_int_equal(passed, 20);
    um_limits_close(l);
}

/* --- log ------------------------------------------------------------------
 */

static void a_flood_gets_a_few_lines_and_a_sum(void **state)
{
    char *text = NULL;
    size_t len = 0;
    um_log log = {.to = open_memstream(&text, &len), .now = 100};
    um_log_topic topic = {.source = "pyzor", .name = "flood"};

    (void)state;
    for (int i = 0; i < 1000; i++)
        if (um_log_wants(&log, &topic))
            um_log_limited(&log, &topic, "line %d\033[2J", i);
    um_log_tick(&log, 105);
    um_log_tick(&log, 110);
    um_log_tick(&log, 120);
    fclose(log.to);
    assert_string_equal(text, "line 0?[2J\nline 1?[2J\nline 2?[2J\nline 3?[2J\n"
                              "line 4?[2J\n"
                              "pyzor: flood: 995 more like this in 10 s\n");
    free(text);
}

static void a_clock_that_is_set_back_keeps_the_limit(void **state)
{
    char *text = NULL;
    size_t len = 0;
    um_log log = {.to = open_memstream(&text, &len), .now = 100};
    um_log_topic topic = {.source = "pyzor", .name = "flood"};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        um_log_tick(&log, i < 500 ? 100 : 50);
        if (um_log_wants(&log, &topic))
            um_log_limited(&log, &topic, "line");
    }
    um_log_tick(&log, 60);
    fclose(log.to);
    assert_string_equal(text, "line\nline\nline\nline\nline\n"
                              "pyzor: flood: 995 more like this in 10 s\n");
    free(text);
}

/* --- waiting answers ------------------------------------------------------
 */

static void answers_leave_in_the_order_they_came(void **state)
{
    um_pending p;
    umbel_slice thread = {"12345", 5};
    char strange[UM_ANSWER_NOTE + 1] = "";

    (void)state;
    assert_ok(um_pending_init(&p, &test_refusal));
    for (uint64_t round = 0; round < 2; round++) {
        for (uint64_t i = 1; i <= UM_PENDING; i++) {
            assert_false(um_pending_full(&p));
            um_pending_append(&p, &(um_answer){.ticket = i}, thread);
        }
        assert_true(um_pending_full(&p));
        for (uint64_t i = 1; i <= UM_PENDING; i++) {
            const um_answer *a = um_pending_first(&p);
            assert_int_equal(a->ticket, i);
            assert_int_equal(a->note_len, 5);
            um_pending_drop(&p);
        }
        assert_null(um_pending_first(&p));
    }
    um_pending_append(&p, &(um_answer){.ticket = 1},
                      (umbel_slice){strange, sizeof strange});
    assert_int_equal(um_pending_first(&p)->note_len, 0);
    um_pending_fini(&p);
}

/* --- once per reporter ----------------------------------------------------
 */

static void a_reporter_is_remembered_for_each_digest_and_list(void **state)
{
    um_duplicates *o = NULL;
    um_reporter alice = {.account = "alice"}, bob = {.account = "bob"},
                network = {.network = {1, 2}},
                white = {.account = "alice", .list = 1};
    umbel_digest d = {1, 2}, e = {1, 3};

    (void)state;
    assert_ok(um_duplicates_open(1000, &o, &test_refusal));
    assert_false(um_duplicates_seen(o, &alice, &d));
    um_duplicates_add(o, &alice, &d);
    assert_true(um_duplicates_seen(o, &alice, &d));
    assert_false(um_duplicates_seen(o, &alice, &e));
    assert_false(um_duplicates_seen(o, &bob, &d));
    assert_false(um_duplicates_seen(o, &network, &d));
    assert_false(um_duplicates_seen(o, &white, &d));
    um_duplicates_close(o);
}

/* --- status ---------------------------------------------------------------
 */

static um_status example(um_service_stats *f)
{
    um_service_stats_init(f, &um_protocol_pyzor.service, NULL);
    f->count[UM_PYZOR_CHECK][UM_PYZOR_OK] = 7;
    f->count[UM_PYZOR_REPORT][UM_PYZOR_UNKNOWN_USER] = 2;
    f->count[UM_PYZOR_CHECK][UM_PYZOR_BAD_SIGNATURE] = 1;
    f->hits = 3;
    return (um_status){.uptime = 61,
                       .nservices = 1,
                       .service = {f},
                       .nlists = 1,
                       .list = {{.name = "pyzor-reports",
                                 .kind = "table",
                                 .digests = 1234,
                                 .fill = 0.25,
                                 .error = 1e-6,
                                 .max_error = 1e-5,
                                 .bytes = 5000}},
                       .store = {.journal_bytes = 99}};
}

static char *printed(void (*print)(FILE *, const um_status *),
                     const um_status *s)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    print(out, s);
    fclose(out);
    return text;
}

static void assert_contains(char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

static void metrics_add_up(void **state)
{
    um_service_stats f;
    um_status s = example(&f);
    char *text = printed(um_status_print_metrics, &s);

    (void)state;
    assert_contains(
        text,
        "\numbel_requests_total{protocol=\"pyzor\",op=\"check\",code=\"200\"} "
        "7\n");
    assert_contains(text,
                    "\numbel_requests_total{protocol=\"pyzor\",op=\"check\","
                    "code=\"401\"} 1\n");
    assert_contains(
        text,
        "\numbel_refused_total{protocol=\"pyzor\",reason=\"unknown_user\"} "
        "2\n");
    assert_contains(
        text,
        "\numbel_refused_total{protocol=\"pyzor\",reason=\"rate_limit\"} 0\n");
    assert_contains(text,
                    "\numbel_list_digests{list=\"pyzor-reports\"} 1234\n");
    assert_contains(text, "\numbel_list_error{list=\"pyzor-reports\"} 1e-06\n");
    assert_contains(text, "\numbel_journal_bytes 99\n");
    free(text);
}

static void status_has_the_names_that_scripts_rely_on(void **state)
{
    um_service_stats f;
    um_status s = example(&f);
    char *text = printed(um_status_print_json, &s);

    (void)state;
    assert_contains(text, "\"uptime\": 61,");
    assert_contains(text, "\"pyzor\": {\"requests\": 10, \"hits\": 3, "
                          "\"refused\": 3, \"reasons\": {");
    assert_contains(text, "\"pyzor-reports\": {\"digests\": 1234, \"fill\": "
                          "0.25, \"error\": 1e-06,");
    assert_contains(text, "\"bytes\": 5000");
    assert_contains(text, "\"journal_bytes\": 99");
    assert_contains(text, "\"durability\": \"always\"");
    assert_contains(text, "\"failed\": false");
    free(text);
}

static void a_failed_store_shows_everywhere(void **state)
{
    um_service_stats f;
    um_status s = example(&f);

    (void)state;
    assert_int_equal(um_status_health(&s), 200);
    s.store.failed = "journal-1: <No> \"space\"";
    assert_int_equal(um_status_health(&s), 503);
    char *text = printed(um_status_print_json, &s);
    assert_contains(text, "\"failed\": true, \"failure\": \"journal-1: <No> "
                          "\\\"space\\\"\"");
    free(text);
    text = printed(um_status_print_page, &s);
    assert_contains(text, "journal-1: &lt;No&gt;");
    free(text);
    text = printed(um_status_print_text, &s);
    assert_contains(text, "journal-1: <No>");
    free(text);
    text = printed(um_status_print_metrics, &s);
    assert_contains(text, "\numbel_store_failed 1\n");
    free(text);
}

static void numbers_read_well(void **state)
{
    (void)state;
    assert_string_equal(um_format_count(0).text, "0");
    assert_string_equal(um_format_count(1234567).text, "1,234,567");
    assert_string_equal(um_format_count(UINT64_MAX).text,
                        "18,446,744,073,709,551,615");
    assert_string_equal(um_format_bytes(999).text, "999 bytes");
    assert_string_equal(um_format_bytes(123456789).text, "123.5 MB");
    assert_string_equal(um_format_duration(0).text, "0 s");
    assert_string_equal(um_format_duration(3661).text, "1 h 1 min");
    assert_string_equal(um_format_duration(86400).text, "1 d");
    assert_string_equal(um_format_about(0).text, "0 s");
    assert_string_equal(um_format_about(3661).text, "1 h");
    assert_string_equal(um_format_chance(0).text, "0");
    assert_string_equal(um_format_chance(1e-5).text, "1 in 100,000");
    assert_string_equal(um_format_chance(1e-20).text, "below 1e-9");
}

TEST_GROUP(parts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_gets_its_burst_and_then_its_rate),
        cmocka_unit_test(loopback_is_limited_only_if_asked_for),
        cmocka_unit_test(a_busy_network_keeps_its_bucket_among_many_idle_ones),
        cmocka_unit_test(a_flood_gets_a_few_lines_and_a_sum),
        cmocka_unit_test(a_clock_that_is_set_back_keeps_the_limit),
        cmocka_unit_test(answers_leave_in_the_order_they_came),
        cmocka_unit_test(a_reporter_is_remembered_for_each_digest_and_list),
        cmocka_unit_test(metrics_add_up),
        cmocka_unit_test(status_has_the_names_that_scripts_rely_on),
        cmocka_unit_test(a_failed_store_shows_everywhere),
        cmocka_unit_test(numbers_read_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
