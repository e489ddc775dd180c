/*
 * options.c - every option of every command, in every mode, is used there or
 * refused.
 *
 * The expected result is computed here from the rows alone; parsing the mode's
 * example with the option added must give the same.
 */
#include "support/test.h"

#include "cli/framework/program.h"
#ifdef UM_HAVE_CLEARINGHOUSE
#include "clearinghouse/admin/commands.h"
#endif
#ifdef UM_HAVE_PACKETS
#include "packets/commands.h"
#endif
#include "stopset/commands/commands.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WORDS = 48, MAX_GIVEN = 32, WORD_LEN = 96 };

/* --- walking ----------------------------------------------------------------
 */

/* Returns the i-th command of umbel, then of the programs that it runs. */
static const um_command *row_at(size_t i)
{
    static const um_command *const programs[] = {
        &um_cmd_bench,
        &um_cmd_reproduce,
#ifdef UM_HAVE_CLEARINGHOUSE
        &um_cmd_clearinghouse,
#endif
#ifdef UM_HAVE_SERVE
        &um_cmd_serve,
#endif
    };
    size_t n = 0;

    while (um_command_row(n))
        n++;
    if (i < n)
        return um_command_row(i);
    i -= n;
    if (i < TEST_COUNT(programs))
        return programs[i];
    i -= TEST_COUNT(programs);
#ifdef UM_HAVE_CLEARINGHOUSE
    for (n = 0; um_clearinghouse_commands[n]; n++)
        if (i-- == 0)
            return um_clearinghouse_commands[n];
#endif
#ifdef UM_HAVE_PACKETS
    for (n = 0; pk_commands[n]; n++)
        if (i-- == 0)
            return pk_commands[n];
#endif
    return ss_commands[i];
}

#define EACH_COMMAND(c)                                                        \
    const um_command *c;                                                       \
    for (size_t c##_i = 0; (c = row_at(c##_i)); c##_i++)

typedef struct option {
    const um_option *row; /* NULL: not found */
    size_t base;
    unsigned modes;
} option;

static option option_at(const um_command *c, size_t i)
{
    option o = {0};

    o.row = um_option_at(c, i, &o.base, &o.modes);
    return o;
}

/* Returns the option with this name of len bytes. */
static option find_option(const um_command *c, const char *name, size_t len)
{
    option o;

    for (size_t i = 0; (o = option_at(c, i)).row; i++)
        if (strlen(o.row->name) == len && strncmp(o.row->name, name, len) == 0)
            break;
    return o;
}

static bool is_common(const um_option *o)
{
    for (const um_option *p = um_common_options; p->name; p++)
        if (p == o)
            return true;
    return false;
}

/* Returns the next of several words; NULL at the end. */
static const char *next_word(const char **words, size_t *len)
{
    const char *word = *words ? *words + strspn(*words, " ") : "";

    *len = strcspn(word, " ");
    *words = word + *len;
    return *len ? word : NULL;
}

static size_t count_modes(const um_command *c)
{
    size_t n = 0;

    while (n < UM_MAX_MODES && c->modes[n].when)
        n++;
    return n;
}

static bool is_used(const option *o, unsigned mode)
{
    return !o->modes || o->modes & mode;
}

/* --- command lines ----------------------------------------------------------
 */

typedef struct line {
    const um_command *command;
    char word[MAX_WORDS][WORD_LEN];
    size_t n;
    const um_option *given[MAX_GIVEN];
    size_t nused, noperands;
} line;

static void add_word(line *l, const char *word, size_t len)
{
    assert_true(l->n + 1 < MAX_WORDS && len < WORD_LEN);
    memcpy(l->word[l->n], word, len);
    l->word[l->n++][len] = '\0';
}

static void note_given(line *l, const um_option *o)
{
    assert_true(l->nused < MAX_GIVEN);
    l->given[l->nused++] = o;
}

static bool has_option(const line *l, const char *name, size_t len)
{
    for (size_t i = 0; i < l->nused; i++)
        if (strlen(l->given[i]->name) == len &&
            strncmp(l->given[i]->name, name, len) == 0)
            return true;
    return false;
}

static const um_option *option_of_word(const um_command *c, const char *word,
                                       size_t len)
{
    if (len > 2 && word[0] == '-' && word[1] == '-') {
        const char *equals = memchr(word, '=', len);
        size_t n = equals ? (size_t)(equals - word) : len;
        return find_option(c, word + 2, n - 2).row;
    }
    for (size_t i = 0; len == 2 && word[0] == '-'; i++) {
        option o = option_at(c, i);
        if (!o.row || o.row->letter == word[1])
            return o.row;
    }
    return NULL;
}

/* Appends words that can be typed, and records which options they are. */
static void add_words(line *l, const char *words)
{
    const char *word;
    size_t len;

    while ((word = next_word(&words, &len))) {
        const um_option *o = option_of_word(l->command, word, len);
        bool separate = o && o->arg && !memchr(word, '=', len);
        add_word(l, word, len);
        if (o)
            note_given(l, o);
        else if (word[0] == '-' && len > 1)
            fail_msg("umbel %s has no option %.*s", l->command->name, (int)len,
                     word);
        else
            l->noperands++;
        if (separate) {
            assert_non_null((word = next_word(&words, &len)));
            add_word(l, word, len);
        }
    }
}

/* Writes a value that the row accepts; file names are unique. */
static void sample_value(const um_option *o, char *out, size_t cap)
{
    double low = o->low, high = o->high;

    switch (o->type) {
    case UM_WHOLE:
        snprintf(out, cap, "%.0f", low > 0 ? low : high > 0 ? high : 2);
        break;
    case UM_SHARE:
        snprintf(out, cap, "0.25");
        break;
    case UM_REAL:
        snprintf(out, cap, "%g", (low + high) / 2);
        break;
    case UM_CHOICE:
        snprintf(out, cap, "%s", o->choices[1] ? o->choices[1] : o->choices[0]);
        break;
    case UM_FLAG:
    case UM_TEXT:
    case UM_LIST:
        snprintf(out, cap, "sample-%s", o->name);
        break;
    }
}

static void add_option(line *l, const um_option *o)
{
    char word[WORD_LEN], value[WORD_LEN / 2] = "";
    int len;

    sample_value(o, value, sizeof value);
    len = snprintf(word, sizeof word, "--%s%s%s", o->name, o->arg ? "=" : "",
                   o->arg ? value : "");
    add_word(l, word, (size_t)len);
    note_given(l, o);
}

static void add_required(line *l, unsigned mode)
{
    option o;

    for (size_t i = 0; (o = option_at(l->command, i)).row; i++)
        if (o.row->required && is_used(&o, mode) &&
            !has_option(l, o.row->name, strlen(o.row->name)))
            add_option(l, o.row);
}

/* Adds the operands that the mode requires and the example lacks. */
static void add_operands(line *l, unsigned mode)
{
    size_t have = l->noperands;

    for (const um_operand *o = l->command->operands;
         o < l->command->operands + UM_MAX_OPERANDS && o->name; o++)
        for (size_t i = 0; i < o->min; i++) {
            char word[WORD_LEN];
            if (have) {
                have--;
                continue;
            }
            if (o->modes && !(o->modes & mode))
                continue;
            snprintf(word, sizeof word, "%s", o->example ? o->example : "");
            if (!o->example)
                snprintf(word, sizeof word, "operand-%zu", l->noperands);
            add_word(l, word, strlen(word));
            l->noperands++;
        }
}

/* Returns the example of a mode, completed with what the mode requires. */
static line line_of_mode(const um_command *c, size_t m)
{
    line l = {.command = c};

    if (count_modes(c))
        add_words(&l, c->modes[m].example);
    add_required(&l, UM_MODE(m));
    add_operands(&l, UM_MODE(m));
    return l;
}

static const char *text_of(const line *l)
{
    static char text[MAX_WORDS * WORD_LEN];
    size_t len =
        (size_t)snprintf(text, sizeof text, "umbel %s", l->command->name);

    for (size_t i = 0; i < l->n; i++)
        len +=
            (size_t)snprintf(text + len, sizeof text - len, " %s", l->word[i]);
    return text;
}

/* --- actual result ----------------------------------------------------------
 */

static const um_command *current;
static unsigned seen_mode;

static unsigned record_mode(const void *values)
{
    return seen_mode = current->mode(values);
}

/* Parses the line. *mode is the mode that it chose, even when it is refused. */
static bool is_accepted(line *l, unsigned *mode)
{
    um_command c = *l->command;
    char *argv[MAX_WORDS];
    um_args args;

    current = l->command;
    seen_mode = c.mode ? 0 : UM_MODE(0);
    if (c.mode)
        c.mode = record_mode;
    for (size_t i = 0; i < l->n; i++)
        argv[i] = l->word[i];
    argv[l->n] = NULL;
    bool fine = um_args_init(&args, &c, argv, &test_refusal);
    if (fine)
        um_args_fini(&args);
    *mode = seen_mode;
    return fine;
}

/* --- expected result --------------------------------------------------------
 */

/* Returns true if one of the words is on the line. */
static bool has_any(const line *l, const char *words)
{
    const char *word;
    size_t len;

    while ((word = next_word(&words, &len)))
        if (has_option(l, word, len))
            return true;
    return false;
}

static bool excludes(const um_option *o, const um_option *other)
{
    const char *words = o->excludes, *word;
    size_t len;

    while ((word = next_word(&words, &len)))
        if (strlen(other->name) == len && strncmp(other->name, word, len) == 0)
            return true;
    return false;
}

/* Returns true if an option on the line excludes o, or o excludes it. */
static bool is_excluded(const line *l, const um_option *o)
{
    for (size_t i = 0; i < l->nused; i++)
        if (excludes(o, l->given[i]) || excludes(l->given[i], o))
            return true;
    return false;
}

static bool lacks_required(const line *l, unsigned mode)
{
    option o;

    for (size_t i = 0; (o = option_at(l->command, i)).row; i++)
        if (o.row->required && is_used(&o, mode) &&
            !has_option(l, o.row->name, strlen(o.row->name)))
            return true;
    return false;
}

/*
 * Returns true if the mode does not use one of the operands. The line has the
 * operands of its example's mode; another mode refuses those it does not use.
 */
static bool has_unused_operand(const line *l, unsigned mode)
{
    size_t left = l->noperands;

    for (const um_operand *o = l->command->operands;
         left && o < l->command->operands + UM_MAX_OPERANDS && o->name; o++) {
        if (o->modes && !(o->modes & mode))
            return true;
        left = o->type == UM_LIST ? 0 : left - 1;
    }
    return false;
}

static bool should_be_accepted(const line *l, unsigned mode)
{
    for (size_t i = 0; i < l->nused; i++) {
        const um_option *o = l->given[i];
        option found = find_option(l->command, o->name, strlen(o->name));
        if (!is_used(&found, mode) || is_excluded(l, o) ||
            (o->needs && !has_any(l, o->needs)))
            return false;
    }
    return !lacks_required(l, mode) && !has_unused_operand(l, mode);
}

/* --- checking options -------------------------------------------------------
 */

typedef struct tally {
    size_t accepted, refused;
} tally;

static bool hold(line *l, tally *t)
{
    unsigned mode;
    bool fine = is_accepted(l, &mode);

    if (fine != should_be_accepted(l, mode))
        fail_msg("%s is %s: %s", text_of(l), fine ? "accepted" : "refused",
                 fine ? "it should not be" : test_refusal.text);
    t->accepted += fine;
    t->refused += !fine;
    return fine;
}

/*
 * Adds the i-th option in o's needs, and recursively the first that this needs.
 * Returns false if there is none.
 */
static bool add_needs(line *l, const um_option *o, size_t i)
{
    const char *words = o->needs, *word;
    size_t len, at = 0;

    if (!o->needs || has_any(l, o->needs))
        return i == 0;
    while ((word = next_word(&words, &len))) {
        option found = find_option(l->command, word, len);
        if (!found.row || at++ != i)
            continue;
        add_option(l, found.row);
        return add_needs(l, found.row, 0);
    }
    return false;
}

/*
 * Tries o with every way to satisfy its needs. Returns true if one is accepted,
 * selects another mode, or cannot be satisfied in this mode.
 */
static bool try_option(const line *base, size_t m, const um_option *o, tally *t)
{
    bool done = false;

    for (size_t i = 0;; i++) {
        line l = *base;
        unsigned mode;
        add_option(&l, o);
        if (!add_needs(&l, o, i))
            break;
        done |= hold(&l, t);
        is_accepted(&l, &mode);
        done |= count_modes(l.command) && mode != UM_MODE(m);
        done |= l.nused > base->nused + 1 && !should_be_accepted(&l, mode);
    }
    return done;
}

static void hold_option(const line *base, size_t m, const option *o, tally *t)
{
    const um_option *row = o->row;

    if (has_option(base, row->name, strlen(row->name)) ||
        strcmp(row->name, "help") == 0)
        return;
    bool usable = try_option(base, m, row, t);
    if (is_used(o, UM_MODE(m)) && !is_excluded(base, row) && !usable)
        fail_msg("%s: --%s should be usable there: %s", text_of(base),
                 row->name, test_refusal.text);
}

static void every_option_is_used_or_refused_in_every_mode(void **state)
{
    tally t = {0};

    (void)state;
    EACH_COMMAND(c)
    {
        size_t n = count_modes(c) ? count_modes(c) : 1;
        for (size_t m = 0; m < n; m++) {
            line base = line_of_mode(c, m);
            option o;
            for (size_t i = 0; (o = option_at(c, i)).row; i++)
                hold_option(&base, m, &o, &t);
        }
    }
    print_message("%zu command lines accepted, %zu refused\n", t.accepted,
                  t.refused);
    assert_true(t.accepted > 0 && t.refused > 0);
}

static void each_example_chooses_its_mode(void **state)
{
    (void)state;
    EACH_COMMAND(c)
    {
        size_t n = count_modes(c);
        assert_true(!n == !c->mode);
        for (size_t m = 0; m < n; m++) {
            line l = line_of_mode(c, m);
            unsigned mode = 0;
            if (!is_accepted(&l, &mode))
                fail_msg("%s is refused: %s", text_of(&l), test_refusal.text);
            if (mode != UM_MODE(m))
                fail_msg("%s is not used \"%s\"", text_of(&l),
                         c->modes[m].when);
        }
    }
}

/* --- the rows themselves ----------------------------------------------------
 */

static bool is_known_anywhere(const char *name, size_t len)
{
    EACH_COMMAND(c)
    {
        if (find_option(c, name, len).row)
            return true;
    }
    return false;
}

static void assert_known(const um_command *c, const char *what,
                         const char *words)
{
    const char *word;
    size_t len;

    while ((word = next_word(&words, &len)))
        if (!is_known_anywhere(word, len))
            fail_msg("umbel %s: %s names --%.*s, which no command has", c->name,
                     what, (int)len, word);
}

static void names_in_rules_exist(void **state)
{
    (void)state;
    EACH_COMMAND(c)
    {
        option o;
        for (size_t i = 0; (o = option_at(c, i)).row; i++) {
            assert_known(c, o.row->name, o.row->needs);
            assert_known(c, o.row->name, o.row->excludes);
        }
    }
}

/*
 * Checks that the command has at least one option that satisfies the needs of
 * each option.
 */
static void needs_can_be_met(void **state)
{
    (void)state;
    EACH_COMMAND(c)
    {
        option o;
        for (size_t i = 0; (o = option_at(c, i)).row; i++) {
            const char *words = o.row->needs, *word;
            bool can = !words;
            size_t len;
            while ((word = next_word(&words, &len)))
                can |= find_option(c, word, len).row != NULL;
            if (!can)
                fail_msg("umbel %s: --%s needs what is not there", c->name,
                         o.row->name);
        }
    }
}

static bool has_row(const um_option *rows, const char *name, size_t len)
{
    for (const um_option *o = rows; o->name; o++)
        if (strlen(o->name) == len && strncmp(o->name, name, len) == 0)
            return true;
    return false;
}

static void ignored_names_are_rows_of_their_group(void **state)
{
    (void)state;
    EACH_COMMAND(c)
    {
        for (size_t g = 0; g < UM_MAX_GROUPS && c->options[g].rows; g++) {
            const char *words = c->options[g].ignored, *word;
            size_t len;
            while ((word = next_word(&words, &len)))
                if (!has_row(c->options[g].rows, word, len))
                    fail_msg("umbel %s ignores --%.*s, which its group does "
                             "not have",
                             c->name, (int)len, word);
        }
    }
}

static void assert_different(const um_command *c, const option *a,
                             const option *b)
{
    bool common = is_common(a->row) || is_common(b->row);

    if (strcmp(a->row->name, b->row->name) == 0)
        fail_msg("umbel %s has --%s twice", c->name, a->row->name);
    if (a->row->letter && a->row->letter == b->row->letter)
        fail_msg("umbel %s: --%s and --%s are both -%c", c->name, a->row->name,
                 b->row->name, a->row->letter);
    if (!common && a->base + a->row->target == b->base + b->row->target)
        fail_msg("umbel %s: --%s and --%s fill the same member", c->name,
                 a->row->name, b->row->name);
}

static void options_share_no_name_letter_or_target(void **state)
{
    (void)state;
    EACH_COMMAND(c)
    {
        option a, b;
        for (size_t i = 0; (a = option_at(c, i)).row; i++)
            for (size_t j = 0; j < i; j++) {
                b = option_at(c, j);
                assert_different(c, &a, &b);
            }
    }
}

static size_t size_of_type(um_option_type type)
{
    static const size_t sizes[] = {
        [UM_FLAG] = sizeof(bool),      [UM_TEXT] = sizeof(const char *),
        [UM_WHOLE] = sizeof(um_whole), [UM_SHARE] = sizeof(um_share),
        [UM_REAL] = sizeof(um_real),   [UM_CHOICE] = sizeof(um_choice),
        [UM_LIST] = sizeof(um_list)};

    return sizes[type];
}

static void targets_lie_inside_the_struct(void **state)
{
    (void)state;
    EACH_COMMAND(c)
    {
        option o;
        for (size_t i = 0; (o = option_at(c, i)).row; i++)
            if (!is_common(o.row))
                assert_true(o.base + o.row->target +
                                size_of_type(o.row->type) <=
                            c->values_len);
        for (size_t i = 0; i < UM_MAX_OPERANDS && c->operands[i].name; i++)
            assert_true(c->operands[i].target +
                            size_of_type(c->operands[i].type) <=
                        c->values_len);
    }
}

static void check_row(const um_command *c, const um_option *o)
{
    bool names_file = o->role != UM_PLAIN_TEXT;

    if (!o->help || strlen(o->help) < 3)
        fail_msg("umbel %s: --%s has no help", c->name, o->name);
    if (!o->arg != (o->type == UM_FLAG))
        fail_msg("umbel %s: --%s must have a value to show, or is a flag",
                 c->name, o->name);
    if (!o->choices != (o->type != UM_CHOICE))
        fail_msg("umbel %s: --%s has choices, or is none", c->name, o->name);
    if (names_file && o->type != UM_TEXT && o->type != UM_LIST)
        fail_msg("umbel %s: --%s names a file, but is no text", c->name,
                 o->name);
    if (o->high < o->low && o->high != 0)
        fail_msg("umbel %s: --%s has an empty range", c->name, o->name);
    if (o->type == UM_REAL && !(o->low < o->high))
        fail_msg("umbel %s: --%s takes no number", c->name, o->name);
}

static void rows_are_complete(void **state)
{
    (void)state;
    EACH_COMMAND(c)
    {
        option o;
        assert_true(c->summary && *c->summary);
        assert_true(c->example && *c->example);
        for (size_t i = 0; (o = option_at(c, i)).row; i++)
            check_row(c, o.row);
    }
}

static void masks_have_only_modes_that_exist(void **state)
{
    (void)state;
    EACH_COMMAND(c)
    {
        unsigned all = UM_MODE(count_modes(c)) - 1;
        option o;
        for (size_t i = 0; (o = option_at(c, i)).row; i++)
            if (o.modes & ~all)
                fail_msg("umbel %s: --%s is used in a mode that does not exist",
                         c->name, o.row->name);
        for (size_t m = 0; m < count_modes(c); m++)
            assert_true(*c->modes[m].when && c->modes[m].example);
    }
}

/* Checks that a former name of an option is not in use. */
static void former_names_are_not_in_use(void **state)
{
    (void)state;
    EACH_COMMAND(c)
    {
        option o;
        for (size_t i = 0; (o = option_at(c, i)).row; i++) {
            const char *words = o.row->formerly, *word;
            size_t len;
            while ((word = next_word(&words, &len)))
                if (find_option(c, word, len).row)
                    fail_msg("umbel %s: --%.*s is the name of an option, not "
                             "an old one of --%s",
                             c->name, (int)len, word, o.row->name);
        }
    }
}

/* --- the group --------------------------------------------------------------
 */

static char *dir;

/* Changes to an empty directory, so that no sample file name exists. */
static int enter_empty_directory(void **state)
{
    (void)state;
    dir = test_dir_make();
    return chdir(dir);
}

static int leave_directory(void **state)
{
    (void)state;
    int status = chdir("/");
    test_dir_remove(dir);
    return status;
}

TEST_GROUP(options)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_used_or_refused_in_every_mode),
        cmocka_unit_test(each_example_chooses_its_mode),
        cmocka_unit_test(names_in_rules_exist),
        cmocka_unit_test(needs_can_be_met),
        cmocka_unit_test(ignored_names_are_rows_of_their_group),
        cmocka_unit_test(options_share_no_name_letter_or_target),
        cmocka_unit_test(targets_lie_inside_the_struct),
        cmocka_unit_test(rows_are_complete),
        cmocka_unit_test(masks_have_only_modes_that_exist),
        cmocka_unit_test(former_names_are_not_in_use),
    };
    return cmocka_run_group_tests_name("cli_options", tests,
                                       enter_empty_directory, leave_directory);
}
