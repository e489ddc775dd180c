/* args.c - parsing of command lines: syntax, values, rules, files. */
#include "support/test.h"

#include "cli/framework/command.h"
#include "cli/framework/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- a command of our own ---------------------------------------------------
 */

typedef struct inner_args {
    um_whole depth;
    bool plain;
} inner_args;

typedef struct demo_args {
    const char *first;
    um_list rest;
    bool verbose, count, fast, slow, weights;
    const char *text;
    um_whole size, level;
    um_share share;
    um_real angle;
    um_choice shape;
    um_list item;
    const char *input, *replaced, *output, *copy;
    inner_args inner;
} demo_args;

enum { USUAL, FAST, SLOW };

static const char *const shapes[] = {"round", "square", "flat", NULL};

static const um_option inner_rows[] = {
    {"depth", 0, "N", "a number of the group", UM_TARGET(inner_args, depth)},
    {"plain", 'p', NULL, "a flag that this command does not take",
     UM_TARGET(inner_args, plain)},
    {0}};

static const um_option rows[] = {
    {"verbose", 'v', NULL, "a flag", UM_TARGET(demo_args, verbose)},
    {"count", 'c', NULL, "another", UM_TARGET(demo_args, count)},
    {"fast", 0, NULL, "chooses a mode", UM_TARGET(demo_args, fast),
     .excludes = "slow"},
    {"slow", 0, NULL, "chooses a mode", UM_TARGET(demo_args, slow)},
    {"text", 't', "TEXT", "any text", UM_TARGET(demo_args, text)},
    {"size", 's', "N", "at least 2", UM_TARGET(demo_args, size), .low = 2,
     .formerly = "extent width"},
    {"level", 0, "N", "1 to 9", UM_TARGET(demo_args, level), .low = 1,
     .high = 9, .modes = UM_MODE(USUAL) | UM_MODE(SLOW)},
    {"share", 0, "P", "a share", UM_TARGET(demo_args, share)},
    {"angle", 0, "X", "-1 to 1", UM_TARGET(demo_args, angle), .low = -1,
     .high = 1},
    {"shape", 0, "S", "a choice", UM_TARGET(demo_args, shape),
     .choices = shapes},
    {"item", 'i', "TEXT", "may be repeated", UM_TARGET(demo_args, item)},
    {"weights", 0, NULL, "needs one of two", UM_TARGET(demo_args, weights),
     .needs = "text item"},
    {"input", 0, "FILE", "is read", UM_TARGET(demo_args, input),
     .role = UM_INPUT},
    {"replaced", 0, "FILE", "is read first", UM_TARGET(demo_args, replaced),
     .role = UM_REPLACEABLE},
    {"output", 'o', "FILE", "is written", UM_TARGET(demo_args, output),
     .role = UM_OUTPUT, .required = true, .modes = UM_MODE(FAST)},
    {"copy", 0, "FILE", "is written, too", UM_TARGET(demo_args, copy),
     .role = UM_OUTPUT},
    {0}};

static unsigned demo_mode(const void *values)
{
    const demo_args *a = values;

    return UM_MODE(a->fast ? FAST : a->slow ? SLOW : USUAL);
}

static const um_command demo = {
    .name = "demo",
    .summary = "tries everything",
    .values_len = sizeof(demo_args),
    .operands = {{"FIRST", UM_TEXT, .target = offsetof(demo_args, first)},
                 {"REST", UM_LIST, offsetof(demo_args, rest), UM_INPUT,
                  .modes = UM_MODE(USUAL) | UM_MODE(FAST)}},
    .options = {{.rows = rows},
                {inner_rows, offsetof(demo_args, inner), UM_MODE(SLOW),
                 .ignored = "other plain"}},
    .modes = {[USUAL] = {"without --fast and --slow", ""},
              [FAST] = {"with --fast", "--fast -o x"},
              [SLOW] = {"with --slow", "--slow"}},
    .mode = demo_mode,
};

/* A command that requires operands. */
static const um_command strict = {
    .name = "strict",
    .summary = "wants operands",
    .values_len = sizeof(demo_args),
    .operands = {{"FIRST", UM_TEXT, offsetof(demo_args, first), UM_INPUT,
                  .min = 1},
                 {"REST", UM_LIST, offsetof(demo_args, rest), UM_INPUT,
                  .min = 2}},
};

/* --- parsing ----------------------------------------------------------------
 */

enum { MAX_WORDS = 16 };

/* Splits a line into words, changing it. */
static void split(char *line, char **argv)
{
    size_t n = 0;

    for (char *p = strtok(line, " "); p; p = strtok(NULL, " ")) {
        assert_true(n + 1 < MAX_WORDS);
        argv[n++] = p;
    }
    argv[n] = NULL;
}

static char line_memory[2048];

static bool parse(um_args *a, const um_command *c, const char *line)
{
    char *argv[MAX_WORDS];

    assert_true(strlen(line) < sizeof line_memory);
    strcpy(line_memory, line);
    split(line_memory, argv);
    return um_args_init(a, c, argv, &test_refusal);
}

/* Values of the last accepted line, until the next one. */
static um_args accepted;
static const demo_args *accept_by(const um_command *c, const char *line)
{
    um_args_fini(&accepted);
    if (!parse(&accepted, c, line))
        fail_msg("\"%s\" is refused: %s", line, test_refusal.text);
    return accepted.values;
}

static const demo_args *accept(const char *line)
{
    return accept_by(&demo, line);
}

static void refuse_by(const um_command *c, const char *line, const char *text)
{
    um_args a;

    if (parse(&a, c, line)) {
        um_args_fini(&a);
        fail_msg("\"%s\" is accepted", line);
    }
    if (!strstr(test_refusal.text, text))
        fail_msg("\"%s\" is refused with \"%s\", not with \"%s\"", line,
                 test_refusal.text, text);
}

static void refuse(const char *line, const char *text)
{
    refuse_by(&demo, line, text);
}

static int release(void **state)
{
    (void)state;
    um_args_fini(&accepted);
    return 0;
}

/* --- syntax -----------------------------------------------------------------
 */

static void assert_untouched(const demo_args *values)
{
    static const demo_args zero;
    demo_args a;

    memcpy(&a, values, sizeof a);
    assert_int_equal(a.rest.n, 0);
    a.rest.item = NULL;
    assert_memory_equal(&a, &zero, sizeof zero);
}

static void nothing_given_is_all_zero(void **state)
{
    (void)state;
    assert_untouched(accept(""));
    assert_int_equal(accepted.nused, 0);
}

static void letters_may_be_joined(void **state)
{
    (void)state;
    const demo_args *a = accept("-vc");
    assert_true(a->verbose && a->count);
    a = accept("-s5");
    assert_int_equal(a->size.n, 5);
    a = accept("-vs5");
    assert_true(a->verbose && a->size.n == 5);
    a = accept("-vcs 5 -tx");
    assert_true(a->verbose && a->count && a->size.n == 5);
    assert_string_equal(a->text, "x");
}

static void values_may_follow_an_equals_sign(void **state)
{
    (void)state;
    assert_int_equal(accept("--size=5")->size.n, 5);
    assert_int_equal(accept("--size 5")->size.n, 5);
    assert_string_equal(accept("--text=a=b")->text, "a=b");
    assert_string_equal(accept("--text=")->text, "");
    refuse("--verbose=1", "--verbose takes no value");
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    const demo_args *a = accept("-v -- -c --size -- x");
    assert_true(a->verbose);
    assert_false(a->count);
    assert_string_equal(a->first, "-c");
    assert_int_equal(a->rest.n, 3);
    assert_string_equal(a->rest.item[0], "--size");
    assert_string_equal(a->rest.item[1], "--");
    assert_string_equal(a->rest.item[2], "x");
}

static void one_dash_is_an_operand(void **state)
{
    (void)state;
    assert_string_equal(accept("- -v")->first, "-");
}

static void options_and_operands_come_in_any_order(void **state)
{
    (void)state;
    const demo_args *a = accept("a -v b --size 7 c");
    assert_string_equal(a->first, "a");
    assert_int_equal(a->rest.n, 2);
    assert_string_equal(a->rest.item[0], "b");
    assert_string_equal(a->rest.item[1], "c");
    assert_true(a->verbose && a->size.n == 7);
}

static void an_option_without_its_value_is_refused(void **state)
{
    (void)state;
    refuse("--text", "--text needs a value: TEXT");
    refuse("-t", "-t needs a value: TEXT");
    refuse("-vt", "-t needs a value: TEXT");
}

static void an_option_is_not_taken_as_a_value(void **state)
{
    (void)state;
    refuse("--text --verbose", "it is followed by --verbose");
    refuse("--text --size=5", "it is followed by --size=5");
    refuse("--text -v", "it is followed by -v");
    refuse("-t -v", "-t needs a value: TEXT; it is followed by -v");
    assert_string_equal(accept("--text=--verbose")->text, "--verbose");
    assert_string_equal(accept("--text --other")->text, "--other");
    assert_string_equal(accept("--text -5")->text, "-5");
    assert_string_equal(accept("--text -")->text, "-");
}

static void an_option_is_given_once(void **state)
{
    (void)state;
    refuse("--size 5 --size 6", "--size is given twice");
    refuse("-s5 --text x --size=5", "--size is given twice");
    refuse("--shape flat --shape flat", "--shape is given twice");
    assert_true(accept("-v --verbose -v")->verbose);
}

static void a_list_takes_every_use_in_order(void **state)
{
    (void)state;
    const demo_args *a = accept("-i a x --item b y -ic");
    assert_int_equal(a->item.n, 3);
    assert_string_equal(a->item.item[0], "a");
    assert_string_equal(a->item.item[1], "b");
    assert_string_equal(a->item.item[2], "c");
    assert_string_equal(a->first, "x");
    assert_int_equal(a->rest.n, 1);
}

static void an_unknown_option_is_refused_with_the_nearest(void **state)
{
    (void)state;
    refuse("--sizes 5", "there is no option --sizes: did you mean --size?");
    refuse("--vrebose", "did you mean --verbose?");
    refuse("--size5=5", "there is no option --size5: did you mean --size?");
    refuse("-x", "there is no option -x");
    refuse("-vx", "there is no option -x");
    refuse("--unheardof", "there is no option --unheardof");
    assert_null(strstr(test_refusal.text, "did you mean"));
}

static void a_former_name_leads_to_the_new_one(void **state)
{
    (void)state;
    refuse("--extent 5", "there is no option --extent: did you mean --size?");
    refuse("--width=5", "there is no option --width: did you mean --size?");
    refuse("--wid 5", "there is no option --wid");
    assert_null(strstr(test_refusal.text, "did you mean"));
}

/*
 * Checks that rows which the command leaves out of a group are unknown to it.
 */
static void ignored_rows_of_a_group_are_unknown(void **state)
{
    (void)state;
    refuse("--slow --plain", "there is no option --plain");
    refuse("--slow -p", "there is no option -p");
}

static void a_group_fills_its_own_struct(void **state)
{
    (void)state;
    const demo_args *a = accept("--slow --depth 3");
    assert_true(a->inner.depth.given);
    assert_int_equal(a->inner.depth.n, 3);
}

static void options_of_all_commands_are_kept_apart(void **state)
{
    (void)state;
    assert_untouched(accept("--json -q --no-progress"));
    assert_true(accepted.common.json && accepted.common.quiet);
    assert_true(accepted.common.no_progress);
    assert_false(accepted.common.help);
}

/* With --help only the syntax is checked. */
static void help_comes_before_the_rules(void **state)
{
    (void)state;
    accept("--help --fast --slow --weights");
    assert_true(accepted.common.help);
    accept_by(&strict, "-h");
    refuse("--help --sizes", "did you mean --size?");
}

static void every_option_of_a_command_is_walked_once(void **state)
{
    const um_option *o;
    size_t base, i = 0, depths = 0;
    unsigned modes;

    (void)state;
    for (; (o = um_option_at(&demo, i, &base, &modes)); i++)
        if (strcmp(o->name, "depth") == 0) {
            depths++;
            assert_int_equal(base, offsetof(demo_args, inner));
            assert_int_equal(modes, UM_MODE(SLOW));
        }
    assert_int_equal(depths, 1);
    assert_int_equal(i, TEST_COUNT(rows) - 1 + 1 + 4);
}

/* --- values -----------------------------------------------------------------
 */

static void whole_numbers_keep_to_their_range(void **state)
{
    (void)state;
    assert_int_equal(accept("--size 2")->size.n, 2);
    assert_int_equal(accept("--size 1e3")->size.n, 1000);
    assert_int_equal(accept("--size 64MiB")->size.n, 67108864);
    assert_int_equal(accept("--level 9")->level.n, 9);
    assert_true(accept("--level 1")->level.given);
    refuse("--size 1", "--size must be at least 2");
    refuse("--level 0", "--level must be 1 to 9, got 0");
    refuse("--level 10", "--level must be 1 to 9, got 10");
    refuse("--size x", "--size needs a whole number");
    refuse("--size 2.5", "--size needs a whole number");
    refuse("--size=-5", "--size needs a whole number");
    refuse("--size=", "--size needs a whole number");
}

static void shares_lie_between_zero_and_one(void **state)
{
    static const char *const bad[] = {
        "--share 0", "--share 1",   "--share 100%", "--share=-0.1",
        "--share x", "--share nan", "--share=",     "--share 0.1%%"};

    (void)state;
    assert_near(accept("--share 0.001")->share.x, 0.001, 0);
    assert_near(accept("--share 0.1%")->share.x, 0.001, 1e-18);
    assert_true(accepted.values &&
                ((const demo_args *)accepted.values)->share.given);
    for (size_t i = 0; i < TEST_COUNT(bad); i++)
        refuse(bad[i], "--share needs a share between 0 and 1");
}

static void reals_include_the_ends_of_their_range(void **state)
{
    (void)state;
    assert_near(accept("--angle=-1")->angle.x, -1, 0);
    assert_near(accept("--angle 1")->angle.x, 1, 0);
    assert_near(accept("--angle 50%")->angle.x, 0.5, 0);
    assert_true(accept("--angle 0")->angle.given);
    refuse("--angle 1.01", "--angle needs a number from -1 to 1");
    refuse("--angle nan", "--angle needs a number");
    refuse("--angle x", "--angle needs a number");
}

static void choices_have_an_index(void **state)
{
    (void)state;
    assert_null(accept("")->shape.name);
    assert_int_equal(accept("--shape round")->shape.index, 0);
    assert_string_equal(accept("--shape round")->shape.name, "round");
    assert_int_equal(accept("--shape flat")->shape.index, 2);
    refuse("--shape fla", "--shape is round, square or flat, got \"fla\"");
    refuse("--shape=", "--shape is round, square or flat");
}

/* --- rules ------------------------------------------------------------------
 */

static void needs_are_met_by_any_of_the_names(void **state)
{
    (void)state;
    assert_true(accept("--weights --text x")->weights);
    assert_true(accept("-i x --weights")->weights);
    refuse("--weights", "--weights has no effect without --text or --item");
    refuse("--weights --size 5", "--weights has no effect without");
}

static void options_that_exclude_each_other_are_refused(void **state)
{
    (void)state;
    refuse("--fast --slow -o x", "--fast and --slow exclude each other");
    refuse("--slow --fast -o x", "exclude each other");
}

static void an_option_that_the_mode_does_not_use_is_refused(void **state)
{
    (void)state;
    assert_int_equal(accept("--level 5")->level.n, 5);
    assert_int_equal(accept("--slow --level 5")->level.n, 5);
    refuse("--fast -o x --level 5",
           "--level has no effect here: it is used without --fast and --slow, "
           "or with --slow");
    refuse("--output x", "--output has no effect here: it is used with --fast");
    refuse("--depth 3", "--depth has no effect here: it is used with --slow");
}

static void an_operand_that_the_mode_does_not_use_is_refused(void **state)
{
    (void)state;
    assert_int_equal(accept("a b")->rest.n, 1);
    assert_string_equal(accept("--slow a")->first, "a");
    refuse("--slow a b", "REST has no effect here: it is used without --fast "
                         "and --slow, or with --fast");
}

static void what_a_mode_requires_is_required_there_alone(void **state)
{
    (void)state;
    accept("");
    accept("--slow");
    refuse("--fast", "-o FILE is missing: is written");
    assert_string_equal(accept("--fast -o x")->output, "x");
}

static void operands_are_counted(void **state)
{
    (void)state;
    assert_int_equal(accept_by(&strict, "a b c d")->rest.n, 3);
    refuse_by(&strict, "", "FIRST is missing");
    refuse_by(&strict, "a b", "REST is missing");

    um_command one = strict;
    one.operands[1].name = NULL;
    accept_by(&one, "a");
    refuse_by(&one, "a b", "unexpected argument \"b\"");
}

/* --- files ------------------------------------------------------------------
 */

static void standard_input_is_read_once(void **state)
{
    (void)state;
    accept("--input -");
    assert_int_equal(accepted.stdin_uses, 1);
    accept("x -");
    assert_int_equal(accepted.stdin_uses, 1);
    accept("- --text - --input x"); /* texts that are no file names */
    assert_int_equal(accepted.stdin_uses, 0);
    refuse("--input - x -", "standard input can be read only once");
    refuse("--input - --replaced -", "standard input can be read only once");
    refuse("x - -", "standard input can be read only once");
}

static void a_command_may_claim_standard_input(void **state)
{
    (void)state;
    accept("--input x");
    assert_ok(um_claim_stdin(&accepted, &test_refusal));
    accept("--input -");
    assert_refused(um_claim_stdin(&accepted, &test_refusal), UMBEL_E_RANGE,
                   "only once");
}

static void standard_output_is_written_once(void **state)
{
    (void)state;
    accept("--copy x");
    assert_false(accepted.stdout_taken);
    accept("--copy - --input -");
    assert_true(accepted.stdout_taken);
    refuse("--fast --output - --copy -",
           "standard output can take only one of them");
}

/* A directory with a file "in", and "same", another name for it. */
typedef struct two_names {
    char *dir, *in, *same, *none;
} two_names;

static two_names names_make(void)
{
    two_names t = {.dir = test_dir_make()};

    t.in = test_path(t.dir, "in");
    t.same = test_path(t.dir, "same");
    t.none = test_path(t.dir, "none");
    test_write_file(t.in, "x", 1);
    assert_int_equal(link(t.in, t.same), 0);
    return t;
}

static void names_remove(two_names *t)
{
    free(t->in);
    free(t->same);
    free(t->none);
    test_dir_remove(t->dir);
}

/* Returns option and path, twice, as one line. */
static const char *line_of(const char *a, const char *x, const char *b,
                           const char *y)
{
    static char line[1024];

    snprintf(line, sizeof line, "%s%s %s%s", a, x, b, y);
    return line;
}

static void an_output_does_not_replace_an_input(void **state)
{
    static const char text[] = "is an input of this command";
    two_names t = names_make();

    (void)state;
    refuse(line_of("--copy=", t.in, "--input=", t.in), text);
    refuse(line_of("--copy=", t.in, "--input=", t.same), text);
    refuse(line_of("--input=", t.same, "--copy=", t.in), text);
    refuse(line_of("x ", t.in, "--copy=", t.same), text);
    accept(line_of("--copy=", t.none, "--input=", t.in));
    accept(line_of("--copy=", t.none, "--input=", t.none));
    accept(line_of("--copy=", t.in, "--input=", t.none));
    accept(line_of("--copy=", "-", "--input=", t.in));
    names_remove(&t);
}

static void an_output_may_replace_what_was_read_before(void **state)
{
    two_names t = names_make();

    (void)state;
    accept(line_of("--copy=", t.in, "--replaced=", t.in));
    accept(line_of("--copy=", t.in, "--replaced=", t.same));
    accept(line_of("--copy=", t.in, "--text=", t.in));
    names_remove(&t);
}

static void two_outputs_go_to_two_files(void **state)
{
    two_names t = names_make();

    (void)state;
    refuse(line_of("--fast -o ", t.none, "--copy=", t.none),
           "two outputs go to the same file");
    refuse(line_of("--fast -o ", t.in, "--copy=", t.same),
           "two outputs go to the same file");
    accept(line_of("--fast -o ", t.none, "--copy=", t.in));
    names_remove(&t);
}

static void devices_are_no_inputs_to_protect(void **state)
{
    (void)state;
    accept("--input /dev/null --copy /dev/null");
}

/* --- reconstructed command lines --------------------------------------------
 */

static void assert_given(const char *line, const char *want)
{
    char *text = NULL;
    size_t len;

    accept(line);
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    um_print_used(out, &accepted, rows, "input copy");
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, want);
    free(text);
}

static void given_options_can_be_typed_again(void **state)
{
    (void)state;
    assert_given("", "");
    assert_given("-vs5 --json", " --verbose --size 5");
    assert_given("-vs5 --input /dev/null", " --verbose --size 5");
    assert_given("--text=a;b -i x -i y", " --text 'a;b' --item x --item y");
    assert_given("--slow --depth 3 x", " --slow"); /* another table */
}

static void assert_quoted(const char *word, const char *want)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    um_print_quoted(out, word);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, want);
    free(text);
}

static void words_are_quoted_for_the_shell(void **state)
{
    (void)state;
    assert_quoted("/a-b_c.d", "/a-b_c.d");
    assert_quoted("", "''");
    assert_quoted("a b", "'a b'");
    assert_quoted("it's", "'it'\\''s'");
    assert_quoted("$(rm)", "'$(rm)'");
    assert_quoted("a\x1b[2Jb", "'a?[2Jb'");
}

/* --- numbers ----------------------------------------------------------------
 */

static void whole_numbers_may_have_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t n;
    } good[] = {{"0", 0},
                {"5000", 5000},
                {"1e6", 1000000},
                {"1.5k", 1500},
                {"2K", 2000},
                {"850M", 850000000},
                {"1G", 1000000000},
                {"1T", 1000000000000},
                {"3kB", 3000},
                {"3MB", 3000000},
                {"3GB", 3000000000},
                {"1TB", 1000000000000},
                {"1KiB", 1024},
                {"64MiB", 67108864},
                {"2GiB", 2147483648},
                {"1TiB", 1099511627776},
                {"0.5KiB", 512},
                {"18446744073709551615", UINT64_MAX}};
    uint64_t n;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(good); i++) {
        assert_true(um_parse_whole(good[i].text, &n));
        assert_true(n == good[i].n);
    }
}

static void other_texts_are_no_whole_numbers(void **state)
{
    static const char *const bad[] = {
        "",    "x",   "-1",   "1.5",  "5x",   "5 x",
        "M",   "nan", "inf",  "1e30", "5%",   "18446744073709551616",
        "1mB", "--5", "1e-3", "1kb",  "1,000"};
    uint64_t n;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++)
        assert_false(um_parse_whole(bad[i], &n));
}

static void shares_may_be_written_as_reports_print_them(void **state)
{
    double x;

    (void)state;
    assert_true(um_parse_real("0.25", &x));
    assert_near(x, 0.25, 0);
    assert_true(um_parse_real("25%", &x));
    assert_near(x, 0.25, 0);
    assert_true(um_parse_real("25 %", &x));
    assert_near(x, 0.25, 0);
    assert_true(um_parse_real("-1e-3", &x));
    assert_near(x, -1e-3, 0);
    assert_false(um_parse_real("", &x));
    assert_false(um_parse_real("%", &x));
    assert_false(um_parse_real("5 ", &x));
    assert_false(um_parse_real("5%%", &x));
    assert_false(um_parse_real("5x", &x));
}

static void digits_are_grouped_by_three(void **state)
{
    (void)state;
    assert_string_equal(um_grouped(0).text, "0");
    assert_string_equal(um_grouped(999).text, "999");
    assert_string_equal(um_grouped(1000).text, "1,000");
    assert_string_equal(um_grouped(1234567).text, "1,234,567");
    assert_string_equal(um_grouped(UINT64_MAX).text,
                        "18,446,744,073,709,551,615");
    assert_string_equal(um_counted(1, "key", "keys").text, "1 key");
    assert_string_equal(um_counted(0, "key", "keys").text, "0 keys");
    assert_string_equal(um_counted(1234, "key", "keys").text, "1,234 keys");
}

static void rates_are_per_cent_or_one_in_many(void **state)
{
    static const struct {
        double share;
        const char *text;
    } rates[] = {{0, "0 %"},
                 {1, "100 %"},
                 {0.5, "50 %"},
                 {0.001, "0.1 %"},
                 {0.000998, "0.0998 %"},
                 {1e-4, "0.01 %"},
                 {9.99e-5, "1 in 10,000"},
                 {9.9e-5, "1 in 10,100"},
                 {1 / 1430000.0, "1 in 1,430,000"},
                 {1 / 1434999.0, "1 in 1,430,000"},
                 {1e-17, "1 in 100,000,000,000,000,000"},
                 {1e-20, "1e-18 %"}};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rates); i++)
        assert_string_equal(um_rate(rates[i].share).text, rates[i].text);
}

TEST_GROUP(args)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_given_is_all_zero),
        cmocka_unit_test(letters_may_be_joined),
        cmocka_unit_test(values_may_follow_an_equals_sign),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(one_dash_is_an_operand),
        cmocka_unit_test(options_and_operands_come_in_any_order),
        cmocka_unit_test(an_option_without_its_value_is_refused),
        cmocka_unit_test(an_option_is_not_taken_as_a_value),
        cmocka_unit_test(an_option_is_given_once),
        cmocka_unit_test(a_list_takes_every_use_in_order),
        cmocka_unit_test(an_unknown_option_is_refused_with_the_nearest),
        cmocka_unit_test(a_former_name_leads_to_the_new_one),
        cmocka_unit_test(ignored_rows_of_a_group_are_unknown),
        cmocka_unit_test(a_group_fills_its_own_struct),
        cmocka_unit_test(options_of_all_commands_are_kept_apart),
        cmocka_unit_test(help_comes_before_the_rules),
        cmocka_unit_test(every_option_of_a_command_is_walked_once),
        cmocka_unit_test(whole_numbers_keep_to_their_range),
        cmocka_unit_test(shares_lie_between_zero_and_one),
        cmocka_unit_test(reals_include_the_ends_of_their_range),
        cmocka_unit_test(choices_have_an_index),
        cmocka_unit_test(needs_are_met_by_any_of_the_names),
        cmocka_unit_test(options_that_exclude_each_other_are_refused),
        cmocka_unit_test(an_option_that_the_mode_does_not_use_is_refused),
        cmocka_unit_test(an_operand_that_the_mode_does_not_use_is_refused),
        cmocka_unit_test(what_a_mode_requires_is_required_there_alone),
        cmocka_unit_test(operands_are_counted),
        cmocka_unit_test(standard_input_is_read_once),
        cmocka_unit_test(a_command_may_claim_standard_input),
        cmocka_unit_test(standard_output_is_written_once),
        cmocka_unit_test(an_output_does_not_replace_an_input),
        cmocka_unit_test(an_output_may_replace_what_was_read_before),
        cmocka_unit_test(two_outputs_go_to_two_files),
        cmocka_unit_test(devices_are_no_inputs_to_protect),
        cmocka_unit_test(given_options_can_be_typed_again),
        cmocka_unit_test(words_are_quoted_for_the_shell),
        cmocka_unit_test(whole_numbers_may_have_units),
        cmocka_unit_test(other_texts_are_no_whole_numbers),
        cmocka_unit_test(shares_may_be_written_as_reports_print_them),
        cmocka_unit_test(digits_are_grouped_by_three),
        cmocka_unit_test(rates_are_per_cent_or_one_in_many),
    };
    return cmocka_run_group_tests_name("cli_args", tests, NULL, release);
}
