/*
 * args.c - parses command lines according to a command's rows.
 *
 * Long options may be written --name=value or --name value; letters may be
 * joined (-cv). "--" ends the options, "-" is an operand. Parsing takes three
 * steps: words into options and operands, values into the command's struct, and
 * the rules that rows state.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/framework/command.h"
#include "cli/framework/numbers.h"
#include "cli/framework/progress.h"
#include "filter/head.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An option of a command, with its group's offset and modes. */
typedef struct option_match {
    const um_option *option; /* NULL: no such option */
    size_t base;
    unsigned modes;
} option_match;

/*
 * The edit distance between two names.
 *
 * Inserting, deleting or replacing a letter is an edit, and so is swapping two
 * neighbours: the common typing mistakes (Damerau 1964).
 */

enum { MOST = 24 }; /* letters; longer names are not compared */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t edits(const char *a, size_t na, const char *b, size_t nb)
{
    size_t at[MOST + 1][MOST + 1];

    for (size_t i = 0; i <= na; i++)
        for (size_t j = 0; j <= nb; j++) {
            at[i][j] = i ? i : j;
            if (!i || !j)
                continue;
            at[i][j] = least(least(at[i - 1][j], at[i][j - 1]) + 1,
                             at[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                at[i][j] = least(at[i][j], at[i - 2][j - 2] + 1);
        }
    return at[na][nb];
}

void um_suggest(um_suggestion *best, const char *typed, size_t len,
                const char *name)
{
    size_t allowed = len > 4 ? 2 : 1, n = strlen(name);

    if (len < 2 || len > MOST || n > MOST)
        return;
    size_t now = edits(typed, len, name, n);
    if (now <= allowed && (!best->name || now < best->edits))
        *best = (um_suggestion){name, now};
}

bool um_has_word(const char *words, const char *word, size_t len)
{
    for (; words && *words; words += strspn(words, " ")) {
        size_t n = strcspn(words, " ");
        if (n == len && strncmp(words, word, len) == 0)
            return true;
        words += n;
    }
    return false;
}

static const um_option *row_at(const um_option_group *g, size_t *i)
{
    for (const um_option *o = g->rows; o->name; o++)
        if (!um_has_word(g->ignored, o->name, strlen(o->name)) && (*i)-- == 0)
            return o;
    return NULL;
}

const um_option *um_option_at(const um_command *c, size_t i, size_t *base,
                              unsigned *modes)
{
    static const um_option_group common = {.rows = um_common_options};

    for (size_t g = 0; g <= UM_MAX_GROUPS; g++) {
        bool own = g < UM_MAX_GROUPS && c->options[g].rows;
        const um_option_group *group = own ? &c->options[g] : &common;
        const um_option *o = row_at(group, &i);
        if (o) {
            *base = group->base;
            *modes = o->modes ? o->modes : group->modes;
            return o;
        }
        if (!own)
            break;
    }
    return NULL;
}

static option_match find_option(const um_command *c, const char *name,
                                size_t len)
{
    option_match f = {0};

    for (size_t i = 0; (f.option = um_option_at(c, i, &f.base, &f.modes)); i++)
        if (strlen(f.option->name) == len &&
            strncmp(f.option->name, name, len) == 0)
            break;
    return f;
}

/* Sets *err and returns false. */
__attribute__((format(printf, 2, 3))) static bool
refuse(umbel_error *err, const char *format, ...)
{
    char text[256];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    um_set_error(err, UMBEL_E_RANGE, "%s", text);
    return false;
}

/* Returns true if the option of that name was given. Only for rules of rows:
 * commands use their struct. */
static bool is_given(const um_args *args, const char *name, size_t len)
{
    for (size_t i = 0; i < args->nused; i++)
        if (strlen(args->used[i].option->name) == len &&
            strncmp(args->used[i].option->name, name, len) == 0)
            return true;
    return false;
}

/*
 * The rules of rows about a whole command line: modes, needs, excludes, and
 * files. Standard input is read only once, and no output replaces an input.
 */

/* --- rules ---------------------------------------------------------------- */

/* Formats the modes in a mask: "with --never or for --kind ribbon". */
static const char *when_used(const um_command *c, unsigned modes, char *out,
                             size_t cap)
{
    size_t len = 0;

    *out = '\0';
    for (size_t i = 0; i < UM_MAX_MODES && c->modes[i].when; i++)
        if (modes & UM_MODE(i) && len < cap)
            len += (size_t)snprintf(out + len, cap - len, "%s%s",
                                    len ? ", or " : "", c->modes[i].when);
    return out;
}

/* Returns the first word of a list that was given as an option, or NULL. */
static const char *first_given(const um_args *a, const char *words)
{
    for (; words && *words; words += strspn(words, " ")) {
        size_t len = strcspn(words, " ");
        if (is_given(a, words, len))
            return words;
        words += len;
    }
    return NULL;
}

/* Refuses an option without one that it needs; names those that the command
 * has. */
static bool refuse_alone(const um_args *a, const um_option *o, umbel_error *err)
{
    char text[160];
    size_t len = 0;

    for (const char *w = o->needs; *w && len < sizeof text;
         w += strspn(w, " ")) {
        size_t n = strcspn(w, " ");
        if (find_option(a->command, w, n).option)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s--%.*s",
                                    len ? " or " : "", (int)n, w);
        w += n;
    }
    return refuse(err, "--%s has no effect without %s", o->name, text);
}

static unsigned current_mode(const um_args *a)
{
    return a->command->mode ? a->command->mode(a->values) : ~0u;
}

static bool check_option(const um_args *a, const um_option *o, unsigned mode,
                         umbel_error *err)
{
    char when[200];
    unsigned modes = find_option(a->command, o->name, strlen(o->name)).modes;
    const char *other = first_given(a, o->excludes);

    if (modes && !(modes & mode))
        return refuse(err, "--%s has no effect here: it is used %s", o->name,
                      when_used(a->command, modes, when, sizeof when));
    if (other)
        return refuse(err, "--%s and --%.*s exclude each other", o->name,
                      (int)strcspn(other, " "), other);
    if (o->needs && !first_given(a, o->needs))
        return refuse_alone(a, o, err);
    return true;
}

static bool check_operands(const um_args *a, unsigned mode, umbel_error *err)
{
    const char *values = a->values;
    char when[200];

    for (const um_operand *o = a->command->operands;
         o < a->command->operands + UM_MAX_OPERANDS && o->name; o++) {
        const void *target = values + o->target;
        bool given = o->type == UM_LIST ? ((const um_list *)target)->n > 0
                                        : *(const char *const *)target != NULL;
        if (given && o->modes && !(o->modes & mode))
            return refuse(err, "%s has no effect here: it is used %s", o->name,
                          when_used(a->command, o->modes, when, sizeof when));
    }
    return true;
}

static bool check_required(const um_args *a, unsigned mode, umbel_error *err)
{
    const um_option *o;
    size_t base;
    unsigned modes;

    for (size_t i = 0; (o = um_option_at(a->command, i, &base, &modes)); i++)
        if (o->required && (!modes || modes & mode) &&
            !is_given(a, o->name, strlen(o->name)))
            return o->letter ? refuse(err, "-%c %s is missing: %s", o->letter,
                                      o->arg, o->help)
                             : refuse(err, "--%s %s is missing: %s", o->name,
                                      o->arg, o->help);
    return true;
}

static bool check_options(const um_args *a, umbel_error *err)
{
    unsigned mode = current_mode(a);

    for (size_t i = 0; i < a->nused; i++)
        if (!check_option(a, a->used[i].option, mode, err))
            return false;
    return check_operands(a, mode, err) && check_required(a, mode, err);
}

/* --- files ---------------------------------------------------------------- */

/* Callback for every file that options and operands name. */
typedef bool visit_file(void *ctx, const char *path, um_role role,
                        umbel_error *err);

static bool visit_operands(const um_args *a, visit_file *visit, void *ctx,
                           umbel_error *err)
{
    const char *values = a->values;

    for (const um_operand *o = a->command->operands;
         o < a->command->operands + UM_MAX_OPERANDS && o->name; o++) {
        const void *target = values + o->target;
        const um_list one = {.item = target,
                             .n = *(const char *const *)target != NULL};
        const um_list *list = o->type == UM_LIST ? target : &one;
        for (size_t i = 0; i < list->n; i++)
            if (!visit(ctx, list->item[i], o->role, err))
                return false;
    }
    return true;
}

static bool visit_files(const um_args *a, visit_file *visit, void *ctx,
                        umbel_error *err)
{
    for (size_t i = 0; i < a->nused; i++)
        if (a->used[i].option->role != UM_PLAIN_TEXT &&
            !visit(ctx, a->used[i].value, a->used[i].option->role, err))
            return false;
    return visit_operands(a, visit, ctx, err);
}

static bool is_output(um_role role)
{
    return role == UM_OUTPUT || role == UM_UMBEL_OUTPUT ||
           role == UM_OTHER_OUTPUT || role == UM_NEW_OUTPUT;
}

static bool count_standard(void *ctx, const char *path, um_role role,
                           umbel_error *err)
{
    um_args *a = ctx;
    bool standard = strcmp(path, "-") == 0 && role != UM_PLAIN_TEXT;

    if (standard && is_output(role) && a->stdout_taken)
        return refuse(err, "standard output can take only one of them");
    if (standard && is_output(role))
        a->stdout_taken = true;
    else if (standard && a->stdin_uses++)
        return refuse(err, "standard input can be read only once");
    return true;
}

/* An output that is compared with all files. */
typedef struct written {
    const um_args *args;
    const char *path;
    size_t same; /* outputs of that name, including this one */
} written;

/* Returns true if both names refer to the same regular file. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool spare_input(void *ctx, const char *path, um_role role,
                        umbel_error *err)
{
    written *w = ctx;

    if (role == UM_INPUT)
        return um_refuse_overwrite(w->path, path, err) == UMBEL_OK;
    if (is_output(role) &&
        (strcmp(path, w->path) == 0 || is_same_file(path, w->path)) &&
        ++w->same > 1)
        return refuse(err, "two outputs go to the same file, %s", path);
    return true;
}

static bool check_output(void *ctx, const char *path, um_role role,
                         umbel_error *err)
{
    written w = {.args = ctx, .path = path};

    return !is_output(role) ||
           (visit_files(ctx, spare_input, &w, err) &&
            (role == UM_OUTPUT || !um_check_replaceable(path, role, err)));
}

umbel_status um_refuse_overwrite(const char *path, const char *input,
                                 umbel_error *err)
{
    if (strcmp(path, "-") == 0 || !is_same_file(path, input))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_IO,
                   "%s%s is an input of this command: write to another file",
                   um_path_dots(path), um_path_tail(path));
}

/* Reads the first bytes of a regular file and returns their number; 0 for other
 * files, of which nothing is read or replaced. */
static size_t read_start(const char *path, uint8_t start[UM_HEAD_START])
{
    bool piped = strcmp(path, "-") == 0;
    int fd = piped ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t len = 0;
    struct stat st;

    if (fd < 0) /* a new file, or saving reports the error */
        return 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        len = pread(fd, start, UM_HEAD_START, 0);
    close(fd);
    return len > 0 ? (size_t)len : 0;
}

umbel_status um_check_replaceable(const char *path, um_role role,
                                  umbel_error *err)
{
    uint8_t start[UM_HEAD_START];
    size_t len = read_start(path, start);
    bool umbel = len && um_is_umbel_file(start, len);

    if (!len || (role == UM_UMBEL_OUTPUT && umbel) ||
        (role == UM_OTHER_OUTPUT && !umbel))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_IO,
                   "%s%s exists%s: remove it first, or write to another file",
                   um_path_dots(path), um_path_tail(path),
                   role == UM_UMBEL_OUTPUT ? ", and is not a file of umbel"
                   : umbel                 ? ", and is a file of umbel"
                                           : "");
}

static bool is_made_by_umbel(const char *path)
{
    uint8_t start[UM_HEAD_START];

    return um_is_umbel_file(start, read_start(path, start));
}

static bool find_filter(void *ctx, const char *path, um_role role,
                        umbel_error *err)
{
    const char **found = ctx;

    (void)err;
    if (is_output(role) || !is_made_by_umbel(path))
        return true;
    *found = path;
    return false;
}

/* Returns a filter among the files of the command line, if its first operand,
 * FILE, is another type of file; NULL if there is none. */
static const char *suggest_filter(const um_args *args)
{
    const um_operand *first = args->command->operands;
    const char *found = NULL;

    if (!args->noperands || first->type != UM_TEXT ||
        strcmp(first->name, "FILE") != 0 || is_made_by_umbel(args->texts[0]))
        return NULL;
    visit_files(args, find_filter, &found, NULL);
    return found;
}

/* Checks the rules for a command line whose values are set. */
static bool check_rules(um_args *args, umbel_error *err)
{
    return check_options(args, err) &&
           visit_files(args, count_standard, args, err) &&
           visit_files(args, check_output, args, err);
}

const um_option um_common_options[] = {
    {"json", 0, NULL, "print one JSON object per line",
     UM_TARGET(um_common, json)},
    {"quiet", 'q', NULL, "print no report", UM_TARGET(um_common, quiet)},
    {"no-progress", 0, NULL, "show no progress on the terminal",
     UM_TARGET(um_common, no_progress)},
    {"help", 'h', NULL, "explain this command", UM_TARGET(um_common, help)},
    {0}};

/* --- rows ----------------------------------------------------------------- */

static option_match find_letter(const um_command *c, char letter)
{
    option_match f = {0};

    for (size_t i = 0; (f.option = um_option_at(c, i, &f.base, &f.modes)); i++)
        if (f.option->letter == letter)
            break;
    return f;
}

static bool is_common(const um_option *o)
{
    return o >= um_common_options && o < um_common_options + 4;
}

/* --- words ---------------------------------------------------------------- */

const um_command *(*um_other_command)(size_t i);

/* Lists the commands that have an option: "check, plan". */
static void list_owners(const char *name, size_t len, char *out, size_t cap)
{
    size_t at = 0;

    *out = '\0';
    for (size_t i = 0; um_other_command && um_other_command(i); i++) {
        const um_command *c = um_other_command(i);
        if (at < cap && find_option(c, name, len).option)
            at += (size_t)snprintf(out + at, cap - at, "%s%s", at ? ", " : "",
                                   c->name);
    }
}

/* Refuses an unknown option; suggests the nearest name, or the current name of
 * an old one. */
static bool refuse_unknown(const um_command *c, const char *name, size_t len,
                           umbel_error *err)
{
    um_suggestion near = {0};
    char owners[128];
    const um_option *o;
    size_t base;
    unsigned modes;

    for (size_t i = 0; (o = um_option_at(c, i, &base, &modes)); i++) {
        um_suggest(&near, name, len, o->name);
        if (um_has_word(o->formerly, name, len))
            near = (um_suggestion){o->name, 0};
    }
    if (near.name)
        return refuse(err, "there is no option --%.*s: did you mean --%s?",
                      (int)len, name, near.name);
    list_owners(name, len, owners, sizeof owners);
    return refuse(err, "there is no option --%.*s%s%s", (int)len, name,
                  *owners ? "; commands that have it: " : "", owners);
}

static bool is_option(const um_command *c, const char *word)
{
    if (word[0] != '-' || !word[1])
        return false;
    if (word[1] == '-')
        return find_option(c, word + 2, strcspn(word + 2, "=")).option;
    return !word[2] && find_letter(c, word[1]).option;
}

/* Refuses an option in the place of a value. To pass such a value, write
 * --name=value. */
static bool check_value(const um_command *c, const char *name,
                        const um_option *o, const char *word, umbel_error *err)
{
    if (!word)
        return refuse(err, "%s needs a value: %s", name, o->arg);
    if (is_option(c, word))
        return refuse(err, "%s needs a value: %s; it is followed by %s", name,
                      o->arg, word);
    return true;
}

static void give(um_args *a, const option_match *f, const char *value)
{
    char *struct_of = is_common(f->option) ? (char *)&a->common : a->values;

    a->used[a->nused++] = (um_option_value){
        f->option, value, struct_of + f->base + f->option->target};
}

static bool parse_long(um_args *a, char ***argv, umbel_error *err)
{
    const char *name = **argv + 2, *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    option_match f = find_option(a->command, name, len);

    if (!f.option)
        return refuse_unknown(a->command, name, len, err);
    if (!f.option->arg && equals)
        return refuse(err, "--%s takes no value", f.option->name);
    if (f.option->arg && !equals &&
        !check_value(a->command, **argv, f.option, (*argv)[1], err))
        return false;
    give(a, &f, !f.option->arg ? NULL : equals ? equals + 1 : *++*argv);
    return true;
}

static bool parse_letters(um_args *a, char ***argv, umbel_error *err)
{
    for (const char *p = **argv + 1; *p; p++) {
        option_match f = find_letter(a->command, *p);
        if (!f.option)
            return refuse(err, "there is no option -%c", *p);
        if (!f.option->arg) {
            give(a, &f, NULL);
            continue;
        }
        const char letter[] = {'-', *p, '\0'};
        if (!p[1] &&
            !check_value(a->command, letter, f.option, (*argv)[1], err))
            return false;
        give(a, &f, p[1] ? p + 1 : *++*argv);
        return true;
    }
    return true;
}

static bool parse_words(um_args *a, char **argv, umbel_error *err)
{
    bool options = true, fine = true;

    for (; fine && *argv; argv++) {
        if (!options || **argv != '-' || strcmp(*argv, "-") == 0) {
            a->texts[a->noperands++] = *argv;
            a->nfree += options;
        } else if (strcmp(*argv, "--") == 0) {
            options = false;
        } else if ((*argv)[1] == '-') {
            fine = parse_long(a, &argv, err);
        } else {
            fine = parse_letters(a, &argv, err);
        }
    }
    return fine;
}

/* --- values --------------------------------------------------------------- */

static bool set_whole(const um_option_value *g, umbel_error *err)
{
    const um_option *o = g->option;
    um_whole *to = g->target;

    if (!um_parse_whole(g->value, &to->n))
        return refuse(err,
                      "--%s needs a whole number such as 5000, 1e6, 850M or "
                      "64MiB, got \"%s\"%s%s",
                      o->name, g->value, o->advice ? "; " : "",
                      o->advice ? o->advice : "");
    if ((double)to->n < o->low && o->high == 0)
        return refuse(err, "--%s must be at least %.0f", o->name, o->low);
    if ((double)to->n < o->low || (o->high > 0 && (double)to->n > o->high))
        return refuse(err, "--%s must be %.0f to %.0f, got %s", o->name, o->low,
                      o->high, g->value);
    to->given = true;
    return true;
}

static bool set_share(const um_option_value *g, umbel_error *err)
{
    um_share *to = g->target;

    to->given = um_parse_real(g->value, &to->x) && to->x > 0 && to->x < 1;
    return to->given || refuse(err,
                               "--%s needs a share between 0 and 1, such as "
                               "0.001 or 0.1%%, got \"%s\"",
                               g->option->name, g->value);
}

static bool set_real(const um_option_value *g, umbel_error *err)
{
    const um_option *o = g->option;
    um_real *to = g->target;

    to->given =
        um_parse_real(g->value, &to->x) && to->x >= o->low && to->x <= o->high;
    return to->given ||
           refuse(err, "--%s needs a number from %g to %g, got \"%s\"", o->name,
                  o->low, o->high, g->value);
}

static bool set_choice(const um_option_value *g, umbel_error *err)
{
    um_choice *to = g->target;
    char names[160] = "";

    to->name = g->value;
    for (size_t i = 0; g->option->choices[i]; i++) {
        const char *name = g->option->choices[i];
        to->index = i;
        if (strcmp(name, g->value) == 0)
            return true;
        size_t len = strlen(names);
        snprintf(names + len, sizeof names - len, "%s%s",
                 !i                          ? ""
                 : g->option->choices[i + 1] ? ", "
                                             : " or ",
                 name);
    }
    return refuse(err, "--%s is %s, got \"%s\"", g->option->name, names,
                  g->value);
}

/* Appends an item to a list, whose items are adjacent in a->texts. */
static void set_list(um_args *a, size_t *used, const um_option_value *g)
{
    um_list *to = g->target;

    if (to->n)
        return; /* the first item has added all of them */
    to->item = a->texts + *used;
    for (size_t i = 0; i < a->nused; i++)
        if (a->used[i].target == g->target) {
            a->texts[(*used)++] = a->used[i].value;
            to->n++;
        }
}

static bool is_repeated(const um_args *a, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (a->used[j].option == a->used[i].option)
            return true;
    return false;
}

static bool set_value(um_args *a, size_t i, size_t *used, umbel_error *err)
{
    const um_option_value *g = &a->used[i];
    /* NOLINTNEXTLINE(clang-analyzer-*): every one given has its option */
    um_option_type type = g->option->type;

    if (type != UM_FLAG && type != UM_LIST && is_repeated(a, i))
        return refuse(err, "--%s is given twice", g->option->name);
    switch (type) {
    case UM_FLAG:
        *(bool *)g->target = true;
        return true;
    case UM_TEXT:
        *(const char **)g->target = g->value;
        return true;
    case UM_WHOLE:
        return set_whole(g, err);
    case UM_SHARE:
        return set_share(g, err);
    case UM_REAL:
        return set_real(g, err);
    case UM_CHOICE:
        return set_choice(g, err);
    case UM_LIST:
        set_list(a, used, g);
        return true;
    }
    return true;
}

static bool set_operands(um_args *a, umbel_error *err)
{
    size_t at = 0;
    char *values = a->values;

    for (const um_operand *o = a->command->operands;
         o < a->command->operands + UM_MAX_OPERANDS && o->name; o++) {
        size_t left = a->noperands - at;
        if (left < o->min)
            return refuse(err, "%s is missing", o->name);
        if (o->type == UM_LIST) {
            *(um_list *)(void *)(values + o->target) =
                (um_list){a->texts + at, left, left && at >= a->nfree};
            at = a->noperands;
        } else if (left) {
            *(const char **)(void *)(values + o->target) = a->texts[at++];
        }
    }
    const char *meant = a->command->excess;
    return at == a->noperands ||
           (meant ? refuse(err,
                           "unexpected argument \"%s\": did you mean "
                           "%s %s?",
                           a->texts[at], meant, a->texts[at])
                  : refuse(err, "unexpected argument \"%s\"", a->texts[at]));
}

static bool set_values(um_args *a, umbel_error *err)
{
    size_t used = a->noperands;

    for (size_t i = 0; i < a->nused; i++)
        if (!set_value(a, i, &used, err))
            return false;
    return a->common.help || set_operands(a, err);
}

/* --- the command line ----------------------------------------------------- */

static size_t count_words(char **argv)
{
    size_t n = 0;

    while (argv[n])
        n++;
    return n;
}

/* Returns the maximum number of options: every letter of a joined one may be
 * one. */
static size_t max_given(char **argv)
{
    size_t n = 1;

    for (; *argv; argv++)
        n += strlen(*argv) + 1;
    return n;
}

bool um_args_init(um_args *out, const um_command *command, char **argv,
                  umbel_error *err)
{
    um_args *a = out;

    *a = (um_args){.command = command};
    a->used = calloc(max_given(argv), sizeof *a->used);
    a->texts =
        calloc(max_given(argv) + count_words(argv) + 1, sizeof *a->texts);
    a->values = calloc(1, command->values_len + 1);
    bool fine = a->used && a->texts && a->values;
    if (!fine)
        um_set_error(err, UMBEL_E_NOMEM, "no memory for the arguments");
    fine = fine && parse_words(a, argv, err) && set_values(a, err) &&
           (a->common.help || check_rules(a, err));
    if (!fine)
        um_args_fini(a);
    return fine;
}

void um_args_fini(um_args *args)
{
    free(args->used);
    free(args->texts);
    free(args->values);
    *args = (um_args){.command = args->command};
}

umbel_status um_claim_stdin(const um_args *args, umbel_error *err)
{
    return args->stdin_uses ? um_fail(err, UMBEL_E_RANGE,
                                      "standard input can be read only once")
                            : UMBEL_OK;
}

/* Returns advice about a failure that depends on the command line. */
static const char *advice(const um_args *args, const umbel_error *err)
{
    static const char keygen_sign[] = ": make one with umbel keygen --sign";
    static const struct {
        umbel_detail detail;
        bool always; /* even if the option was given */
        const char *option, *text;
    } rows[] = {
        {UMBEL_D_SECRET_MISSING, false, "key-file", " (with --key-file FILE)"},
        {UMBEL_D_MEMORY_LIMIT, false, "max-memory",
         ": allow more with --max-memory, if you trust the file"},
        {UMBEL_D_BYTES_LIMIT, true, "max-bytes",
         ": allow more with --max-bytes"},
        {UMBEL_D_OTHER_KEY, false, "trust",
         "; if that is right, name it with --trust"},
        {UMBEL_D_STATE, true, "output", " (remove FILE.pull beside FILE)"},
        {UMBEL_D_NOT_A_SECRET, true, "key-file",
         ": make one with umbel keygen"},
        {UMBEL_D_NOT_A_KEY, true, "sign", keygen_sign},
        {UMBEL_D_NOT_A_KEY, true, "trust", keygen_sign},
        {UMBEL_D_DIFFERENCE, false, "as-counts",
         "; if it is meant as plain counts, give --as-counts"},
        {UMBEL_D_NOT_ADMITTED, false, "force",
         "; to publish it nevertheless, give --force"},
    };

    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (err->detail == rows[i].detail &&
            find_option(args->command, rows[i].option, strlen(rows[i].option))
                .option &&
            (rows[i].always ||
             !is_given(args, rows[i].option, strlen(rows[i].option))))
            return rows[i].text;
    return "";
}

int um_trouble(const um_args *args, const umbel_error *err)
{
    const char *filter =
        err->status == UMBEL_E_FORMAT ? suggest_filter(args) : NULL;

    um_progress_pause();
    fprintf(stderr, "umbel %s: %s%s", args->command->name, err->text,
            advice(args, err));
    if (filter)
        fprintf(stderr, "; %s is a filter: did you mean it as FILE?", filter);
    putc('\n', stderr);
    um_progress_resume();
    return err->detail == UMBEL_D_NOT_ADMITTED ||
                   err->detail == UMBEL_D_OVERFULL
               ? UM_EXIT_NO
               : UM_EXIT_TROUBLE;
}

void um_warn(const um_args *args, const char *format, ...)
{
    va_list list;

    um_progress_pause();
    fprintf(stderr, "umbel %s: warning: ", args->command->name);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    putc('\n', stderr);
    um_progress_resume();
}

int um_misuse(const um_args *args, const char *format, ...)
{
    char text[256];
    umbel_error err;
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    um_set_error(&err, UMBEL_E_RANGE, "%s", text);
    um_progress_pause();
    um_trouble(args, &err);
    fprintf(stderr, "Try 'umbel help %s'.\n", args->command->name);
    um_progress_resume();
    return UM_EXIT_TROUBLE;
}
