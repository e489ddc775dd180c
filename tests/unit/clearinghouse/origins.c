/* origins.c - peers and origins in the status documents, and their problems. */
#include "clearinghouse/status/status.h"
#include "support/test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOW = 1000000 };

/* This server, a connected peer, a disconnected one, and an indirect origin. */
typedef struct network {
    um_origin item[4];
    um_origins_view view;
    um_status status;
} network;

enum { SELF, NORTH, SOUTH, STRANGER };

static void open_network(network *n)
{
    *n = (network){
        .item =
            {{.key = "aa00", .state = "self", .error = "", .own = true},
             {.key = "bb11",
              .name = "north",
              .address = "192.0.2.1:24450",
              .state = "up",
              .error = "",
              .up = true,
              .since = NOW - 7200,
              .version = 12,
              .digests = 12345,
              .fill = 0.25,
              .seen = NOW - 5,
              .lag = 3,
              .bytes_in = 1234567,
              .bytes_out = 89},
             {.key = "cc22",
              .name = "so\"uth<",
              .state = "down",
              .error = "connection refused",
              .since = NOW - 60,
              .lag = NAN},
             {.key = "dd33", .state = "forwarded", .error = "", .lag = NAN}},
        .status = {.now = NOW, .data = "/data", .nlists = 1}};
    n->status.list[0].name = "pyzor";
    n->view = (um_origins_view){.item = n->item, .n = 4};
    n->view.agreement[0] = 0x1234;
    n->status.peers = &n->view;
}

static char *print(void (*document)(FILE *out, const um_status *s),
                   const um_status *s)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    document(out, s);
    fclose(out);
    return text;
}

static void print_table(FILE *out, const um_status *s)
{
    um_origins_print_text(out, s->peers, s->now);
}

static void assert_has(char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part, text);
}

static void columns_are_aligned_and_times_are_words(void **state)
{
    network n;

    (void)state;
    open_network(&n);
    n.item[NORTH].refused[UMBEL_SYNC_ROOT] = 3;
    char *text = print(print_table, &n.status);
    assert_has(text, "name     origin  state       digests    full     seen  "
                     "lag       in       out\n");
    assert_has(text, "-        aa00    self              0   0.0 %        -  "
                     "  -        -         -\n");
    assert_has(text, "north    bb11    up 2 h       12,345  25.0 %  5 s ago  "
                     "3 s   1.2 MB  89 bytes\n"
                     "    refused root: 3\n");
    assert_has(text, "    no link: connection refused\n");
    assert_has(text, "\npyzor-reports    0000000000001234\n");
    free(text);
}

static void json_has_the_names_that_scripts_rely_on(void **state)
{
    network n;

    (void)state;
    open_network(&n);
    n.item[NORTH].refused[UMBEL_SYNC_ROOT] = 3;
    n.item[NORTH].refused[UMBEL_SYNC_PAGE] = 1;
    char *text = print(um_status_print_json, &n.status);
    assert_has(text, "\"origin\": \"bb11\", \"name\": \"north\"");
    assert_has(text, "\"state\": \"up\"");
    assert_has(text, "\"version\": 12, \"digests\": 12345, \"fill\": 0.25");
    assert_has(text, "\"lag_seconds\": 3, \"bytes_in\": 1234567, "
                     "\"bytes_out\": 89, \"refused\": 4, "
                     "\"reasons\": {\"page\": 1, \"root\": 3}");
    assert_has(text, "\"name\": \"so\\\"uth<\"");
    assert_has(text, "\"lag_seconds\": null");
    assert_has(text, "\"agreement\": \"0000000000001234\"");
    free(text);
    n.status.peers = NULL;
    text = print(um_status_print_json, &n.status);
    assert_has(text, "\"peers\": []");
    assert_has(text, "\"agreement\": null");
    free(text);
}

static void metrics_have_peers_of_the_configuration_only(void **state)
{
    network n;

    (void)state;
    open_network(&n);
    n.item[NORTH].refused[UMBEL_SYNC_ROOT] = 3;
    n.view.strangers = 7;
    char *text = print(um_status_print_metrics, &n.status);
    assert_has(text, "\numbel_peer_up{peer=\"north\"} 1\n");
    assert_has(text, "\numbel_peer_up{peer=\"so\\\"uth<\"} 0\n");
    assert_has(text, "\numbel_peer_lag_seconds{peer=\"north\"} 3\n");
    assert_null(strstr(text, "umbel_peer_lag_seconds{peer=\"so"));
    assert_has(text,
               "\numbel_peer_bytes_total{peer=\"north\",direction=\"in\"} "
               "1234567\n");
    assert_has(text,
               "\numbel_peer_refused_total{peer=\"north\",reason=\"root\"} "
               "3\n");
    assert_has(text, "{peer=\"other\",reason=\"stranger\"} 7\n");
    assert_has(text, "\numbel_origin_digests{peer=\"self\"} ");
    assert_has(text, "\numbel_origin_digests{peer=\"north\"} 12345\n");
    assert_has(text, "\numbel_origin_digests{peer=\"other\"} ");
    assert_has(text, "\numbel_list_agreement_info{list=\"pyzor\","
                     "agreement=\"0000000000001234\"} 1\n");
    assert_null(strstr(text, "dd33"));
    free(text);
}

static void the_page_escapes_names(void **state)
{
    network n;

    (void)state;
    open_network(&n);
    char *text = print(um_status_print_page, &n.status);
    assert_has(text, "so&quot;uth&lt;<small>cc22</small>");
    assert_has(text, "<dd>0000000000001234</dd>");
    free(text);
    n.status.peers = NULL;
    text = print(um_status_print_page, &n.status);
    assert_null(strstr(text, "peers-title"));
    free(text);
}

/* --- problems ------------------------------------------------------------- */

static void assert_problem(const network *n, const char *what,
                           const char *advice)
{
    um_problems p;

    um_status_problems(&n->status, &p);
    if (!what) {
        if (p.n)
            fail_msg("a problem: %s", p.item[0].what);
        return;
    }
    assert_int_equal(p.n, 1);
    assert_has(p.item[0].what, what);
    assert_has(p.item[0].advice, advice);
}

static void a_peer_that_is_away_for_long_is_a_problem(void **state)
{
    network n;

    (void)state;
    open_network(&n);
    assert_problem(&n, NULL, NULL); /* it may be restarting */
    n.item[SOUTH].since = NOW - 3600;
    assert_problem(&n, "has no link for 1 h: connection refused", "peer \"so");
    n.item[SOUTH].state = "dropped";
    assert_problem(&n, NULL, NULL);
}

static void what_was_refused_of_late_is_a_problem(void **state)
{
    network n;

    (void)state;
    open_network(&n);
    n.item[NORTH].refused_at[UMBEL_SYNC_ROOT] = NOW - 30;
    assert_problem(&n, "north sent was refused in the last 10 minutes (root)",
                   "drop");
    n.item[NORTH].refused_at[UMBEL_SYNC_ROOT] = NOW - 3000;
    assert_problem(&n, NULL, NULL);
    n.item[NORTH].refused_at[UMBEL_SYNC_SHAPE] = NOW - 30;
    assert_problem(&n, "another shape, seed or secret", "same secret");
}

static void what_does_not_fit_has_a_number_to_write(void **state)
{
    network n;

    (void)state;
    open_network(&n);
    n.item[NORTH].refused_at[UMBEL_SYNC_MEMORY] = NOW - 30;
    n.view.needs = 1685000000;
    assert_problem(&n, "north sent was refused in the last 10 minutes: it does",
                   "Write memory = \"1685MB\" in peers { }");
    n.view.needs = 0; /* origins that are not peers */
    assert_problem(&n, "does not fit", "Raise memory in peers { }");
}

static void an_origin_at_its_capacity_is_a_problem(void **state)
{
    network n;

    (void)state;
    open_network(&n);
    n.item[STRANGER].held = true;
    assert_problem(&n, "dd33 reported more digests than", "drop");
}

static void an_epoch_that_is_not_exchanged_is_a_problem(void **state)
{
    network n;

    (void)state;
    open_network(&n);
    n.view.alone[0] = true;
    assert_problem(&n, "not exchanged with peers: pyzor.", "set list");
}

static void copies_that_are_not_saved_are_a_problem(void **state)
{
    network n;

    (void)state;
    open_network(&n);
    n.view.saved.error = ENOSPC;
    assert_problem(&n, "No space left", "/data");
    n.view.saved.error = 0;
    n.view.saved.state_lost = true;
    assert_problem(&n, "/data/peers/state was damaged", "Drop");
}

static void many_peers_make_one_problem(void **state)
{
    network n;
    um_origin many[50];

    (void)state;
    open_network(&n);
    for (size_t i = 0; i < 50; i++) {
        many[i] = n.item[SOUTH];
        many[i].since = NOW - 3600;
    }
    n.view.item = many;
    n.view.n = 50;
    assert_problem(&n, "and 47 more", "peer \"");
}

TEST_GROUP(origins)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned_and_times_are_words),
        cmocka_unit_test(json_has_the_names_that_scripts_rely_on),
        cmocka_unit_test(metrics_have_peers_of_the_configuration_only),
        cmocka_unit_test(the_page_escapes_names),
        cmocka_unit_test(a_peer_that_is_away_for_long_is_a_problem),
        cmocka_unit_test(what_was_refused_of_late_is_a_problem),
        cmocka_unit_test(what_does_not_fit_has_a_number_to_write),
        cmocka_unit_test(an_origin_at_its_capacity_is_a_problem),
        cmocka_unit_test(an_epoch_that_is_not_exchanged_is_a_problem),
        cmocka_unit_test(copies_that_are_not_saved_are_a_problem),
        cmocka_unit_test(many_peers_make_one_problem),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
