/* json.c - printing JSON values. */
#include "support/test.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct output {
    FILE *out;
    char *text;
    size_t len;
} output;

static FILE *open_output(output *o)
{
    o->out = open_memstream(&o->text, &o->len);
    assert_non_null(o->out);
    return o->out;
}

static void assert_printed(output *o, const char *want)
{
    assert_int_equal(fclose(o->out), 0);
    assert_string_equal(o->text, want);
    free(o->text);
}

static void strings_are_escaped(void **state)
{
    static const struct {
        const char *text, *want;
    } row[] = {{"", "\"\""},
               {"plain \xE2\x82\xAC", "\"plain \xE2\x82\xAC\""},
               {"a\"b\\c/", "\"a\\\"b\\\\c/\""},
               {"\n\t\x1B\x7F", "\"\\u000a\\u0009\\u001b\\u007f\""},
               {"\xC2\x9B", "\"\\u009b\""},
               {"cut \xE2\x82", "\"cut \\ufffd\\ufffd\""}};
    output o;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(row); i++) {
        um_json_string(open_output(&o), row[i].text, strlen(row[i].text));
        assert_printed(&o, row[i].want);
    }
    um_json_string(open_output(&o), "a\0b", 3);
    assert_printed(&o, "\"a\\u0000b\"");
}

static void members_follow_each_other_with_commas(void **state)
{
    output o;

    (void)state;
    open_output(&o);
    um_json_field(o.out, 0, "name", "x");
    um_json_field(o.out, 1, "none", NULL);
    um_json_name(o.out, 2, "n");
    um_json_real(o.out, 0.1);
    assert_printed(&o, "\"name\": \"x\", \"none\": null, \"n\": 0.1");
}

static void numbers_read_back_as_themselves(void **state)
{
    static const double numbers[] = {0,    1,       0.1, 1.0 / 3, 2.5e-300,
                                     1e17, -123456, 0.3, 1e22};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(numbers); i++) {
        output o;
        um_json_real(open_output(&o), numbers[i]);
        assert_int_equal(fclose(o.out), 0);
        assert_true(strtod(o.text, NULL) == numbers[i]);
        free(o.text);
    }
}

TEST_GROUP(json)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(members_follow_each_other_with_commas),
        cmocka_unit_test(numbers_read_back_as_themselves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
