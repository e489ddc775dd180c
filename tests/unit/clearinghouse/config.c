/*
 * config.c - the configuration file: values, errors with their line, and the
 * changes that a reload cannot apply.
 */
#include "clearinghouse/config/config.h"
#include "clearinghouse/protocols/protocol.h"
#include "clearinghouse/protocols/pyzor/internal.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static umbel_status parse(um_config *c, const char *text)
{
    return um_config_parse(c, (umbel_slice){text, strlen(text)}, "x.conf",
                           &test_refusal);
}

static const um_pyzor_settings *pyzor_of(const um_config *c)
{
    return um_config_get(c, &um_section_pyzor);
}

static void names_that_scripts_rely_on_are_read(void **state)
{
    um_config c;

    (void)state;
    assert_ok(parse(
        &c, "data = \"DIR\" durability = \"interval\" memory = \"512MB\" "
            "secret = \"KEYFILE\"\npyzor { listen = {\"127.0.0.1:24441\", "
            "\"[::1]:0\"} passwd = \"F\" access = \"G\" }\n"
            "http { listen = {\"127.0.0.1:8053\"} }"));
    assert_string_equal(c.data, "DIR");
    assert_string_equal(c.secret, "KEYFILE");
    assert_int_equal(c.durability, UM_INTERVAL);
    assert_int_equal(c.memory, 512000000);
    assert_int_equal(pyzor_of(&c)->listen.n, 2);
    assert_string_equal(pyzor_of(&c)->listen.item[1], "[::1]:0");
    assert_string_equal(pyzor_of(&c)->passwd, "F");
    assert_string_equal(pyzor_of(&c)->access, "G");
    um_config_fini(&c);
}

/*
 * The guide starts with this configuration: it must fit the default memory
 * limit.
 */
static void
a_server_with_peers_and_all_protocols_fits_into_the_default(void **state)
{
    um_config c;

    (void)state;
    assert_ok(parse(&c, "origin = \"KEY\" pyzor { passwd = \"P\" } "
                        "razor { listen = {\"127.0.0.1:2703\"} } "
                        "scan { razor = {\"127.0.0.1:11342\"} }"));
    assert_ok(um_protocols_check_memory(&c, &test_refusal));
    um_config_fini(&c);
}

/* The totals of our own lists get memory that nothing else needs. */
static void sums_get_half_of_the_memory_that_is_left(void **state)
{
    um_config c;
    uint64_t gives;

    (void)state;
    assert_ok(parse(&c, ""));
    assert_int_equal(um_protocols_sums_bytes(&c), 0); /* no peers configured */
    um_config_fini(&c);
    assert_ok(parse(&c, "origin = \"KEY\""));
    gives = um_protocols_sums_bytes(&c);
    c.memory += 2000000;
    assert_int_equal(um_protocols_sums_bytes(&c), gives + 1000000);
    c.memory -= 2000000 + 2 * gives;
    assert_ok(um_protocols_check_memory(&c, &test_refusal));
    assert_int_equal(um_protocols_sums_bytes(&c), 0);
    c.memory -= 2;
    assert_int_equal(um_protocols_check_memory(&c, &test_refusal),
                     UMBEL_E_LIMIT);
    assert_int_equal(um_protocols_sums_bytes(&c), 0);
    um_config_fini(&c);
}

static void an_empty_file_means_the_defaults(void **state)
{
    um_config c, d;
    char text[256];

    (void)state;
    assert_ok(parse(&c, ""));
    assert_ok(um_config_default(&d, &test_refusal));
    assert_int_equal(um_config_fixed_changes(&c, &d, text, sizeof text), 0);
    assert_string_equal(c.data, "clearinghouse");
    assert_int_equal(c.durability, UM_ALWAYS);
    assert_int_equal(c.memory, 1000000000);
    assert_string_equal(pyzor_of(&c)->listen.item[0], "127.0.0.1:24441");
    assert_int_equal(um_config_weight(&c, "alice"), 1);
    um_config_fini(&c);
    um_config_fini(&d);
}

static void lists_and_accounts_have_sections_of_their_own(void **state)
{
    um_config c;

    (void)state;
    assert_ok(parse(&c, "list \"pyzor-whitelist\" { kind = \"tally\" capacity "
                        "= 2e6 error = 0.1% epoch = 7d epochs = 3 }\n"
                        "account \"alice\" { weight = 5 }\n"
                        "account \"bob\" { weight = 0 }\n"));
    assert_int_equal(c.list[0].capacity, 1010000);
    assert_string_equal(c.list[1].kind, "tally");
    assert_int_equal(c.list[1].capacity, 2000000);
    assert_near(c.list[1].error, 0.001, 1e-12);
    assert_int_equal(c.list[1].epoch, UINT64_C(7) * 86400000);
    assert_int_equal(c.list[1].epochs, 3);
    assert_int_equal(um_config_weight(&c, "alice"), 5);
    assert_int_equal(um_config_weight(&c, "bob"), 0);
    um_config_fini(&c);
}

static void peers_have_names_keys_and_addresses(void **state)
{
    um_config c;

    (void)state;
    assert_ok(parse(&c, "origin = \"KEYFILE\"\n"
                        "peers { listen = {\"127.0.0.1:24450\", \"/x\"} "
                        "quorum = 2 interval = 500ms strict = yes }\n"
                        "peer \"b\" { address = \"[::1]:24450\" key = \"K\" }\n"
                        "peer \"c\" { key = \"L\" }\n"));
    assert_string_equal(c.origin, "KEYFILE");
    assert_int_equal(c.peers.listen.n, 2);
    assert_int_equal(c.peers.quorum, 2);
    assert_int_equal(c.peers.revoke_quorum, 1);
    assert_int_equal(c.peers.interval, 500);
    assert_true(c.peers.strict);
    assert_int_equal(c.npeers, 2);
    assert_string_equal(c.peer[0].address, "[::1]:24450");
    assert_string_equal(c.peer[1].name, "c");
    assert_string_equal(c.peer[1].key, "L");
    assert_null(c.peer[1].address);
    um_config_fini(&c);
}

static void a_protocol_can_be_turned_off(void **state)
{
    um_config c;

    (void)state;
    assert_ok(parse(&c, "pyzor { listen = {} }"));
    assert_int_equal(pyzor_of(&c)->listen.n, 0);
    um_config_fini(&c);
}

static void mistakes_are_refused_with_line_and_what_is_allowed(void **state)
{
    /* The text, and what the error must contain. */
    static const struct {
        const char *text, *line, *why;
    } rows[] = {
        {"# c\n// c\n/* c\n c */\ndta = 1\n",
         "x.conf:5: ", "no such setting: dta (did you mean data?)"},
        {"zzzzzz = 1\n", "x.conf:1: no such setting: zzzzzz; ",
         "peers, peer, pyzor, http, "},
        {"\nlist \"pyzor-reports\" { kind = \"bloom\" }",
         "x.conf:2: kind = \"bloom\"; allowed: ", "table"},
        {"\n\ndurability = \"soon\"\n",
         "x.conf:3: ", "always, interval or none"},
        {"pyzor { listen = {\"/run/x\"} }\n", "x.conf:1: ", "127.0.0.1:24441"},
        {"memory = 3\n", "x.conf:1: ", "64MB or 1GiB"},
        {"memory = \"5 apples\"\n", "x.conf:1: ", "apples"},
        {"list \"pyzor-reports\" { epoch = 5 }", "x.conf:1: ", "10s, 5min"},
        {"pyzor {\n  listen = {\"127.0.0.1:1\",\n    \"localhost:1\"}\n}",
         "x.conf:3: ", "127.0.0.1:24441"},
        {"pyzor {\n  passwort = \"x\"\n}", "x.conf:2: ", "listen, passwd"},
        {"list \"x\" {}",
         "x.conf:1: ", "body, fuz1, fuz2, razor-spam, razor-revoked or fuzzy"},
        {"list \"pyzor-reports\" { error = 2 }",
         "x.conf:1: ", "between 0 and 1"},
        {"list \"pyzor-reports\" { epochs = 0 }", "x.conf:1: ", "from 1 to 64"},
        {"account \"a\" {}\naccount \"a\" {}", "x.conf:2: ", "duplicate"},
        {"peer \"b\" {\n  address = \"host:1\" }",
         "x.conf:2: ", "192.0.2.1:24450"},
        {"peer \"b\" {\n  address = \"127.0.0.1:0\" }",
         "x.conf:2: ", "address"},
        {"peers { quorum = 0 }", "x.conf:1: ", "from 1 to 1000"},
        {"pyzor { once_per_reporter = maybe }", "x.conf:1: ", "true or false"},
        {"\npyzor {\n\n", "x.conf:2: ", "without its }"},
        {"data = \"a\"\n\ndata = \"b\"\n",
         "x.conf:3: ", "data stands in line 1 already"},
        {"data = \"a\" # data = \"c\"\ndata=b", "x.conf:2: ", "line 1 already"},
        {"pyzor { }\nhttp { }\npyzor { listen = {} }",
         "x.conf:3: ", "pyzor stands in line 1 already"},
        {"http {\nlisten = {}\nlisten = {\"127.0.0.1:0\"} }",
         "x.conf:3: ", "listen stands in line 2 already"},
        {"data = \"a\"\n\"data\" = b\n", "x.conf:2: ", "line 1 already"},
        {"pyzor { }\n'pyzor' { }", "x.conf:2: ", "pyzor stands in line 1"},
        {"memory = 1GB http { } http { }", "x.conf:1: ", "http stands in line"},
        {"}\n", "x.conf:1: ", "without its {"},
        {"data = \"x\n\n", "x.conf:1: ", "closing quote"},
        {"\n/* x\n", "x.conf:2: ", "*/"},
        {"\n= 3\n", "x.conf:2: ", "'='"},
        {"data = \"\"\n", "x.conf:1: ", "not empty"},
        {"nested { { { { { { { { { } } } } } } } } }", "x.conf:1: ", "braces"},
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        um_config c;
        assert_refused(parse(&c, rows[i].text), UMBEL_E_FORMAT, rows[i].line);
        assert_refused(parse(&c, rows[i].text), UMBEL_E_FORMAT, rows[i].why);
    }
}

static void titles_and_names_need_no_quotes(void **state)
{
    um_config c;

    (void)state;
    assert_ok(parse(&c, "list fuzzy { capacity = 10000 }\n"
                        "list pyzor-reports { capacity = 20000 }\n"
                        "fuzzy { listen = {} }\n\"http\" { listen = {} }\n"));
    um_config_fini(&c);
}

static void a_nul_byte_is_refused(void **state)
{
    um_config c;

    (void)state;
    assert_refused(
        um_config_parse(&c, (umbel_slice){"\n\0", 2}, "x.conf", &test_refusal),
        UMBEL_E_FORMAT, "x.conf:2: a NUL byte");
}

static void a_file_that_is_missing_or_a_directory_is_refused(void **state)
{
    um_config c;

    (void)state;
    assert_refused(um_config_read(&c, "/nonexistent/file", &test_refusal),
                   UMBEL_E_IO, "/nonexistent/file");
    assert_refused(um_config_read(&c, "/", &test_refusal), UMBEL_E_IO, "/");
}

static void changes_that_need_a_restart_are_named(void **state)
{
    um_config a, b;
    char text[256];

    (void)state;
    assert_ok(parse(&a, ""));
    assert_ok(parse(&b, "data = \"other\"\n"
                        "pyzor { listen = {\"[::1]:1\"} passwd = \"F\" }\n"
                        "limits { requests = 7 }\n"
                        "list \"pyzor-whitelist\" { error = 1e-6 }\n"
                        "account \"alice\" { weight = 2 }\n"));
    assert_int_equal(um_config_fixed_changes(&a, &b, text, sizeof text), 3);
    assert_string_equal(text, "data, list.pyzor-whitelist.error, pyzor.listen");
    um_config_fini(&a);
    um_config_fini(&b);
}

static void every_initial_value_is_allowed(void **state)
{
    um_section_row s;

    (void)state;
    for (size_t i = 0; um_config_section_at(i, &s); i++)
        for (const um_setting *row = s.rows; row->name; row++) {
            uint64_t room[8] = {0};
            if (!row->initial)
                continue;
            assert_true(row->type->parse(row, row->initial, room));
            if (row->type->fini)
                row->type->fini(room);
        }
}

TEST_GROUP(config)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_scripts_rely_on_are_read),
        cmocka_unit_test(sums_get_half_of_the_memory_that_is_left),
        cmocka_unit_test(an_empty_file_means_the_defaults),
        cmocka_unit_test(
            a_server_with_peers_and_all_protocols_fits_into_the_default),
        cmocka_unit_test(lists_and_accounts_have_sections_of_their_own),
        cmocka_unit_test(peers_have_names_keys_and_addresses),
        cmocka_unit_test(a_protocol_can_be_turned_off),
        cmocka_unit_test(mistakes_are_refused_with_line_and_what_is_allowed),
        cmocka_unit_test(titles_and_names_need_no_quotes),
        cmocka_unit_test(a_nul_byte_is_refused),
        cmocka_unit_test(a_file_that_is_missing_or_a_directory_is_refused),
        cmocka_unit_test(changes_that_need_a_restart_are_named),
        cmocka_unit_test(every_initial_value_is_allowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
