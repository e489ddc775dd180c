/*
 * rules.c - what rows state about a whole command line: modes, needs, excludes,
 * and files: standard input is read once, and no output replaces an input.
 */
#include "cli/framework/rules.h"

#include "base/error.h"
#include "base/text.h"
#include "filter/head.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- rules ------------------------------------------------------------------
 */

/* "with --never or for --kind ribbon": the modes in a mask. */
static const char *when_heard(const um_command *c, unsigned modes, char *out,
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

/* The first word of a list that is given; NULL: none is. */
static const char *first_given(const um_args *a, const char *words)
{
    for (; words && *words; words += strspn(words, " ")) {
        size_t len = strcspn(words, " ");
        if (um_is_given(a, words, len))
            return words;
        words += len;
    }
    return NULL;
}

/* Names those of the options it needs that the command has. */
static bool refuse_alone(const um_args *a, const um_option *o, umbel_error *err)
{
    char text[160];
    size_t len = 0;

    for (const char *w = o->needs; *w && len < sizeof text;
         w += strspn(w, " ")) {
        size_t n = strcspn(w, " ");
        if (um_find_option(a->command, w, n).option)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s--%.*s",
                                    len ? " or " : "", (int)n, w);
        w += n;
    }
    return um_refuse(err, "--%s has no effect without %s", o->name, text);
}

static unsigned current_mode(const um_args *a)
{
    return a->command->mode ? a->command->mode(a->values) : ~0u;
}

static bool check_option(const um_args *a, const um_option *o, unsigned mode,
                         umbel_error *err)
{
    char when[200];
    unsigned modes = um_find_option(a->command, o->name, strlen(o->name)).modes;
    const char *other = first_given(a, o->excludes);

    if (modes && !(modes & mode))
        return um_refuse(err, "--%s has no effect here: it is used %s", o->name,
                         when_heard(a->command, modes, when, sizeof when));
    if (other)
        return um_refuse(err, "--%s and --%.*s exclude each other", o->name,
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
            return um_refuse(
                err, "%s has no effect here: it is used %s", o->name,
                when_heard(a->command, o->modes, when, sizeof when));
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
            !um_is_given(a, o->name, strlen(o->name)))
            return o->letter ? um_refuse(err, "-%c %s is missing: %s",
                                         o->letter, o->arg, o->help)
                             : um_refuse(err, "--%s %s is missing: %s", o->name,
                                         o->arg, o->help);
    return true;
}

static bool check_options(const um_args *a, umbel_error *err)
{
    unsigned mode = current_mode(a);

    for (size_t i = 0; i < a->ngiven; i++)
        if (!check_option(a, a->given[i].option, mode, err))
            return false;
    return check_operands(a, mode, err) && check_required(a, mode, err);
}

/* --- files ------------------------------------------------------------------
 */

/* Calls visit for every file that options and operands name. */
typedef bool visit_file(void *ctx, const char *path, um_role role,
                        umbel_error *err);

static bool visit_operands(const um_args *a, visit_file *visit, void *ctx,
                           umbel_error *err)
{
    const char *values = a->values;

    for (const um_operand *o = a->command->operands;
         o < a->command->operands + UM_MAX_OPERANDS && o->name; o++) {
        const void *target = values + o->target;
        const um_list one = {target, *(const char *const *)target != NULL};
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
    for (size_t i = 0; i < a->ngiven; i++)
        if (a->given[i].option->role != UM_PLAIN_TEXT &&
            !visit(ctx, a->given[i].value, a->given[i].option->role, err))
            return false;
    return visit_operands(a, visit, ctx, err);
}

static bool is_output(um_role role)
{
    return role == UM_OUTPUT || role == UM_UMBEL_OUTPUT ||
           role == UM_NEW_OUTPUT;
}

static bool count_standard(void *ctx, const char *path, um_role role,
                           umbel_error *err)
{
    um_args *a = ctx;
    bool standard = strcmp(path, "-") == 0 && role != UM_PLAIN_TEXT;

    if (standard && is_output(role) && a->stdout_taken)
        return um_refuse(err, "standard output can take only one of them");
    if (standard && is_output(role))
        a->stdout_taken = true;
    else if (standard && a->stdin_uses++)
        return um_refuse(err, "standard input can be read only once");
    return true;
}

/* An output against all files. */
typedef struct written {
    const um_args *args;
    const char *path;
    size_t same; /* outputs of that name, itself included */
} written;

/* Returns true if both names lead to one regular file. */
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
        return um_refuse(err, "two outputs go to the same file, %s", path);
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

/* Reads how a regular file begins. Returns the length, 0 of any other: of a
 * pipe nothing is read, and nothing is replaced. */
static size_t read_start(const char *path, uint8_t start[UM_HEAD_START])
{
    bool piped = strcmp(path, "-") == 0;
    int fd = piped ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t len = 0;
    struct stat st;

    if (fd < 0) /* a new file, or saving will fail and say why */
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
    bool ours = role == UM_UMBEL_OUTPUT;

    if (!len || (ours && um_is_umbel_file(start, len)))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_IO,
                   "%s%s exists%s: remove it first, or write to another file",
                   um_path_dots(path), um_path_tail(path),
                   ours ? ", and is not a file of umbel" : "");
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

const char *um_suggest_filter(const um_args *args)
{
    const um_operand *first = args->command->operands;
    const char *found = NULL;

    if (!args->noperands || first->type != UM_TEXT ||
        strcmp(first->name, "FILE") != 0 || is_made_by_umbel(args->texts[0]))
        return NULL;
    visit_files(args, find_filter, &found, NULL);
    return found;
}

bool um_check_rules(um_args *args, umbel_error *err)
{
    return check_options(args, err) &&
           visit_files(args, count_standard, args, err) &&
           visit_files(args, check_output, args, err);
}
