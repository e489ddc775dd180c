/* clashes.c - negatives that are also members. */
#include "support/lists.h"

#include "build/negatives.h"

#include <string.h>

static umbel_slice slice(const char *text)
{
    return (umbel_slice){text, strlen(text)};
}

static void name(um_key_names *names, const char *text)
{
    umbel_slice key = slice(text);

    um_name_key(names, &key);
}

static void a_few_keys_are_named_and_long_ones_cut(void **state)
{
    um_key_names names = {0};

    (void)state;
    name(&names, "123456789012345678901234");
    assert_string_equal(names.text, "123456789012345678901234");
    name(&names, "1234567890123456789012345");
    assert_string_equal(
        names.text, "123456789012345678901234, 123456789012345678901234...");
    names = (um_key_names){0};
    for (int i = 0; i < UM_MAX_NAMED + 2; i++)
        name(&names, "key");
    assert_int_equal(names.n, UM_MAX_NAMED);
    assert_string_equal(names.text, "key, key, key, key");
}

/* Members, and a list that contains members and other keys. */
typedef struct fixture {
    umbel_filter *f;
    um_key_list members, never;
    umbel_key_list set;
} fixture;

static fixture read_fixture(const char *members, const char *never)
{
    const char *paths[] = {test_text_list("members", members),
                           test_text_list("never", never)};
    umbel_params p = UMBEL_PARAMS_INIT;
    fixture s = {0};

    p.capacity = 10;
    s.f = test_open(&p);
    um_key_list_params keep = {.filter = s.f, .keep_lines = true};
    um_key_source source = test_source(&paths[0]);
    assert_ok(um_key_list_read(&s.members, &source, &keep, &test_refusal));
    source = test_source(&paths[1]);
    assert_ok(um_key_list_read(&s.never, &source, &keep, &test_refusal));
    s.set = um_key_list_view(&s.members);
    return s;
}

static void fixture_fini(fixture *s)
{
    um_key_list_fini(&s->members);
    um_key_list_fini(&s->never);
    umbel_close(s->f);
}

static void a_member_is_found_where_it_comes_first(void **state)
{
    fixture s = read_fixture("a\nb\nc\n", "x\nb\na\nb\nx\na\n");
    static const bool want[] = {false, true, true, false, false, false};
    bool both[6];
    size_t n = 99;

    (void)state;
    assert_ok(
        um_find_conflicts(s.f, &s.set, &s.never, both, &n, &test_refusal));
    assert_int_equal(n, 2);
    assert_memory_equal(both, want, sizeof want);
    fixture_fini(&s);
}

static void members_are_refused_by_name(void **state)
{
    fixture one = read_fixture("a\nb\n", "x\nb\nb\n");

    (void)state;
    assert_refused(um_refuse_members(one.f, &one.set, &one.never, "do that",
                                     &test_refusal),
                   UMBEL_E_KEY,
                   "1 key of --never is a member, which always matches: b; do "
                   "that");
    fixture_fini(&one);
    fixture many = read_fixture("1\n2\n3\n4\n5\n", "5\n4\n3\n2\n1\n");
    assert_refused(um_refuse_members(many.f, &many.set, &many.never, "do that",
                                     &test_refusal),
                   UMBEL_E_KEY,
                   "5 keys of --never are members, which always match: 5, 4, "
                   "3, 2, ...; do that");
    fixture_fini(&many);
}

static void a_list_without_members_is_fine(void **state)
{
    fixture s = read_fixture("a\nb\n", "x\ny\n"),
            empty = read_fixture("a\n", "");

    (void)state;
    assert_ok(
        um_refuse_members(s.f, &s.set, &s.never, "do that", &test_refusal));
    assert_ok(um_refuse_members(empty.f, &empty.set, &empty.never, "do that",
                                &test_refusal));
    fixture_fini(&s);
    fixture_fini(&empty);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, test_lists_make, test_lists_remove)

TEST_GROUP(clashes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_keys_are_named_and_long_ones_cut),
        TEST(a_member_is_found_where_it_comes_first),
        TEST(members_are_refused_by_name),
        TEST(a_list_without_members_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
