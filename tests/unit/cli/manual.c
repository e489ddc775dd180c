/* manual.c - the generated parts of a manual page. */
#include "support/test.h"

#include "cli/framework/program.h"

#include <stdlib.h>
#include <string.h>

/*
 * Returns what 'umbel NAME WORD' prints; NULL if there is no such word. Free
 * it.
 */
static char *manual(const char *name, const char *word)
{
    const um_command *command = um_command_find(name);
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(command);
    assert_non_null(out);
    bool known = um_print_man(out, command, word);
    fclose(out);
    if (known)
        return text;
    free(text);
    return NULL;
}

static void the_head_has_name_and_synopsis(void **state)
{
    char *text = manual("merge", "--man-head");

    (void)state;
    assert_non_null(text);
    assert_non_null(strstr(text, ".TH UMBEL\\-MERGE 1 "));
    assert_non_null(strstr(text, "umbel\\-merge \\- combine filters"));
    assert_non_null(strstr(text, ".I FILE...\\&\n"));
    assert_non_null(strstr(text, ".BI \\-o\\  FILE\n"));
    free(text);
}

static void every_option_of_every_command_is_listed(void **state)
{
    const um_command *c;
    const um_option *o;
    size_t base;
    unsigned modes;

    (void)state;
    for (size_t i = 0; (c = um_command_row(i)); i++) {
        char *text = manual(c->name, "--man-options");
        size_t listed = 0, rows = 0;
        assert_non_null(text);
        for (const char *p = text; (p = strstr(p, ".TP\n")); p++)
            listed++;
        while ((o = um_option_at(c, rows, &base, &modes)))
            rows++;
        assert_int_equal(listed, rows);
        free(text);
    }
}

static void names_that_another_command_has_are_left_out(void **state)
{
    char *verify = manual("verify", "--man-options");
    char *build = manual("build", "--man-options");

    (void)state;
    assert_non_null(
        strstr(verify, "Needs \\fB\\-\\-field\\fR or \\fB\\-\\-csv\\fR.\n"));
    assert_null(strstr(verify, "amount\\-field"));
    assert_non_null(strstr(build, "or \\fB\\-\\-amount\\-field\\fR"));
    free(verify);
    free(build);
}

static void other_words_are_left_to_the_command(void **state)
{
    (void)state;
    assert_null(manual("verify", "--members"));
}

TEST_GROUP(manual)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_has_name_and_synopsis),
        cmocka_unit_test(every_option_of_every_command_is_listed),
        cmocka_unit_test(names_that_another_command_has_are_left_out),
        cmocka_unit_test(other_words_are_left_to_the_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
