/*
 * coverage.c - follows every claim of papers/COVERAGE.md.
 *
 * The file has a table for each paper: item, status, where, remark. A name in
 * backticks is a claim that something exists:
 *
 *   rbf-fig3                     a study
 *   umbel check --unless FILE    a command with its options, as its --help
 *                                prints them; values of --kind, --addressing,
 *                                --hash and --method are rows of their tables
 *   umbel_packet_add             a name in the public headers
 *   tests/cli/sync.sh            a file; docs/GUIDE.md#merge: a heading of it
 *
 * The status says what the row must name. "shipped" needs a test, and for each
 * command or function a test that contains its words. "study" begins its remark
 * with what the study checks, "the paper's numbers" or "only our numbers", and
 * expected.csv must agree. "parts" says what is left "to write:", and "no" why.
 * A line "Numbered:" lists what the paper numbers; each number must be an item.
 */
#include "papers/frame/coverage.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "papers/frame/expected.h"
#include "papers/frame/paper.h"

#include <umbel/describe.h>
#include <umbel/experimental/retouch.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *const statuses[UM_STATUSES] = {"shipped", "study", "parts",
                                                  "no"};
enum { SHIPPED, STUDY, PARTS, NO };
enum { ITEM, STATUS, WHERE, REMARK, CELLS };
enum { CELL_LEN = 2000, CLAIM_LEN = 160, MAX_CLAIMS = 64, MAX_WORDS = 12 };
enum { MAX_FILE = 4 << 20, MAX_STUDIES = 256 };

typedef enum claim_type { COMMAND, NAME, PATH, OF_STUDY } claim_type;

typedef struct claim {
    claim_type type;
    char text[CLAIM_LEN];
    size_t study; /* its row */
} claim;

/* What a paper numbers. Numbers are stored times 100, so that section 2.4 is
 * 204. */
enum { NUMBERED = 5, MAX_NUMBER = 6400 };
static const char *const numbered[NUMBERED] = {"Fig", "Table", "equation",
                                               "Algorithm", "section"};
typedef uint8_t numbers[NUMBERED][MAX_NUMBER]; /* 1: seen */

typedef struct reading {
    um_coverage *c;
    const char *root, *command;
    size_t line;
    bool named[MAX_STUDIES]; /* studies, by row */
    size_t heading;          /* line of the current paper */
    numbers listed, covered;
    claim claim[MAX_CLAIMS]; /* of the current row */
    size_t nclaims, nwhere;  /* all; those in the column "where" */
} reading;

const char *um_coverage_status(size_t i)
{
    return statuses[i];
}

static void fault(reading *r, size_t line, const char *claim_text,
                  const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void fault(reading *r, size_t line, const char *claim_text,
                  const char *format, ...)
{
    char why[2 * CLAIM_LEN];
    va_list list;

    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    r->c->faults++;
    r->c->report(r->c->ctx, line, claim_text, why);
}

/* --- files and programs --------------------------------------------------- */

/* Reads up to MAX_FILE bytes and a NUL. Returns false with errno set. */
static bool read_all(int fd, um_buffer *out)
{
    ssize_t got = 1;

    while (got > 0 && out->len < MAX_FILE) {
        uint8_t *at = um_buffer_reserve(out, 16384);
        got = at ? read(fd, at, 16384) : -1;
        out->len += got > 0 ? (size_t)got : 0;
    }
    um_buffer_append(out, "", 1);
    return got >= 0 && !out->failed;
}

static bool read_file(const reading *r, const char *path, um_buffer *out)
{
    char full[PATH_MAX];

    if (snprintf(full, sizeof full, "%s/%s", r->root, path) >=
        (int)sizeof full) {
        errno = ENAMETOOLONG;
        return false;
    }
    FILE *in = fopen(full, "re");
    bool fine = in && read_all(fileno(in), out);
    if (in)
        fclose(in);
    return fine;
}

/* Reads what a command prints for --help; false if there is no such command. */
static bool read_help(const reading *r, char words[][CLAIM_LEN], size_t n,
                      um_buffer *out)
{
    char name[] = "umbel", help[] = "--help";
    char *argv[MAX_WORDS + 3] = {name};
    posix_spawn_file_actions_t actions;
    int ends[2], status = -1;
    pid_t pid;

    for (size_t i = 0; i < n; i++)
        argv[1 + i] = words[i];
    argv[1 + n] = help;
    if (pipe(ends))
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                     O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    bool started =
        posix_spawnp(&pid, r->command, &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    bool fine = started && read_all(ends[0], out);
    close(ends[0]);
    while (started && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return fine && status == 0;
}

static bool is_of_name(const char *at)
{
    return isalnum((unsigned char)*at) || *at == '_';
}

/* Finds a word in a text, not as a part of a longer one; "umbel-stopset" has
 * the word stopset, but "--fold-case" not the option --fold. */
static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = text; (at = strstr(at, word)); at++)
        if ((at == text || !is_of_name(at - 1)) && !is_of_name(at + len) &&
            (*word != '-' || at[len] != '-'))
            return true;
    return false;
}

/* --- claims --------------------------------------------------------------- */

static bool in_table(const char *word,
                     bool (*row)(size_t, const char **, const char **))
{
    const char *name, *summary;

    for (size_t i = 0; row(i, &name, &summary); i++)
        if (strcmp(name, word) == 0)
            return true;
    return false;
}

static bool hash_row(size_t i, const char **name, const char **summary)
{
    return umbel_hash_at(i, name, summary, NULL);
}

/* Options whose values are names of a table. */
static const struct {
    const char *option;
    bool (*row)(size_t, const char **, const char **);
} tables[] = {{"--kind", umbel_kind_at},
              {"--addressing", umbel_addressing_at},
              {"--hash", hash_row},
              {"--method", umbel_retouch_method_at}};

/* Splits a command at blanks, without "umbel". */
static size_t split_words(const char *text, char words[][CLAIM_LEN])
{
    umbel_slice rest = {text, strlen(text)}, word;
    size_t n = 0;

    um_next_word(&rest, &word);
    while (n < MAX_WORDS && um_next_word(&rest, &word))
        n += um_slice_text(word, words[n], CLAIM_LEN);
    return n;
}

/* Returns the number of words at the start that name the command: only letters
 * and hyphens, so that nothing else is passed to a program. */
static size_t command_len(char words[][CLAIM_LEN], size_t n)
{
    size_t i = 0;

    while (i < n && islower((unsigned char)words[i][0]) &&
           words[i][strspn(words[i], "abcdefghijklmnopqrstuvwxyz-")] == '\0')
        i++;
    return i;
}

static void follow_command(reading *r, const claim *c)
{
    char words[MAX_WORDS][CLAIM_LEN];
    size_t n = split_words(c->text, words), len = command_len(words, n);
    um_buffer help = {0};

    if (!len || !read_help(r, words, len, &help)) {
        fault(r, r->line, c->text, "there is no such command");
        um_buffer_fini(&help);
        return;
    }
    for (size_t i = len; i < n; i++) {
        if (words[i][0] != '-')
            continue;
        if (!has_word((char *)help.data, words[i]))
            fault(r, r->line, c->text, "the command has no option %s",
                  words[i]);
        for (size_t t = 0; t < UM_COUNT(tables); t++)
            if (strcmp(tables[t].option, words[i]) == 0 &&
                (i + 1 == n || !in_table(words[i + 1], tables[t].row)))
                fault(r, r->line, c->text, "%s has no such value", words[i]);
    }
    um_buffer_fini(&help);
}

/* Returns true if a header in the directory contains the name. */
static bool in_headers(const reading *r, const char *directory,
                       const char *name)
{
    char path[PATH_MAX];
    bool found = false;

    snprintf(path, sizeof path, "%s/%s", r->root, directory);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && !found && (e = readdir(dir));) {
        um_buffer text = {0};
        snprintf(path, sizeof path, "%s/%.200s", directory, e->d_name);
        found = strstr(e->d_name, ".h") && read_file(r, path, &text) &&
                has_word((char *)text.data, name);
        um_buffer_fini(&text);
    }
    if (dir)
        closedir(dir);
    return found;
}

static void follow_name(reading *r, const claim *c)
{
    if (!in_headers(r, "include/umbel", c->text) &&
        !in_headers(r, "include/umbel/experimental", c->text))
        fault(r, r->line, c->text, "it is in no public header");
}

/* Compares a heading with its anchor: letters in lower case, digits, hyphens
 * for blanks, nothing else. */
static bool is_anchor(umbel_slice heading, const char *anchor)
{
    const char *p = heading.data;

    for (size_t i = 0; i < heading.len; i++) {
        int c = p[i] == ' ' ? '-' : tolower((unsigned char)p[i]);
        if (!isalnum(c) && c != '-' && c != '_')
            continue;
        if (*anchor++ != c)
            return false;
    }
    return *anchor == '\0';
}

static bool has_heading(const um_buffer *text, const char *anchor)
{
    umbel_slice rest = {text->data, text->len - 1}, line;

    while (um_next_line(&rest, &line)) {
        const char *p = line.data;
        size_t depth = 0;
        while (depth < line.len && p[depth] == '#')
            depth++;
        umbel_slice heading = {p + depth, line.len - depth};
        if (depth && is_anchor(um_trim(heading), anchor))
            return true;
    }
    return false;
}

static void follow_path(reading *r, const claim *c)
{
    char path[CLAIM_LEN], full[PATH_MAX];
    um_buffer text = {0};

    memcpy(path, c->text, sizeof path);
    char *anchor = strchr(path, '#');
    if (anchor)
        *anchor++ = '\0';
    snprintf(full, sizeof full, "%s/%s", r->root, path);
    if (strstr(path, "..") || access(full, R_OK))
        fault(r, r->line, c->text, "there is no such file");
    else if (anchor &&
             (!read_file(r, path, &text) || !has_heading(&text, anchor)))
        fault(r, r->line, c->text, "the file has no such heading");
    um_buffer_fini(&text);
}

/* Adds the claim between two backticks to the row, and follows it. */
static void add_claim(reading *r, const char *text, size_t len)
{
    claim *c = &r->claim[r->nclaims];

    if (r->nclaims == MAX_CLAIMS || len == 0 || len >= CLAIM_LEN) {
        fault(r, r->line, "`", "too many names in this row, or a long one");
        return;
    }
    memset(c, 0, sizeof *c);
    memcpy(c->text, text, len);
    r->nclaims++;
    r->c->claims++;
    if (strncmp(c->text, "umbel ", 6) == 0) {
        c->type = COMMAND;
        follow_command(r, c);
    } else if (strncmp(c->text, "umbel_", 6) == 0) {
        c->type = NAME;
        follow_name(r, c);
    } else if (strchr(c->text, '/')) {
        c->type = PATH;
        follow_path(r, c);
    } else {
        const um_paper *p = um_paper_find(c->text);
        c->type = OF_STUDY;
        if (!p) {
            r->nclaims--;
            fault(r, r->line, c->text, "there is no such study");
            return;
        }
        while (um_paper_row(c->study) != p)
            c->study++;
        r->named[c->study] = true;
    }
}

/* Finds the claims in a cell. "`a` to `b`" stands for all studies from a to
 * b. */
static void read_claims(reading *r, const char *cell)
{
    const char *end = NULL;

    for (const char *at = cell; (at = strchr(at, '`')); at = end + 1) {
        bool range = end && at - end == 5 && strncmp(end, "` to ", 5) == 0;
        size_t before = r->nclaims;
        end = strchr(at + 1, '`');
        if (!end) {
            fault(r, r->line, at, "a backtick is missing");
            return;
        }
        add_claim(r, at + 1, (size_t)(end - at - 1));
        if (range && before && r->nclaims > before &&
            r->claim[before].type == OF_STUDY)
            for (size_t i = r->claim[before - 1].study + 1,
                        to = r->claim[before].study;
                 i < to; i++)
                add_claim(r, um_paper_row(i)->name,
                          strlen(um_paper_row(i)->name));
    }
}

/* --- what the status asks for --------------------------------------------- */

static bool is_test(const claim *c)
{
    return c->type == PATH && strncmp(c->text, "tests/", 6) == 0;
}

/* Returns true if the test contains every word of a command, except names of
 * operands, or the name of a function. */
static bool drives(const reading *r, const claim *test, const claim *c)
{
    char words[MAX_WORDS][CLAIM_LEN];
    size_t n = c->type == COMMAND ? split_words(c->text, words) : 0;
    um_buffer text = {0};
    bool all = read_file(r, test->text, &text);

    for (size_t i = 0; all && i < n; i++)
        all = isupper((unsigned char)words[i][0]) ||
              has_word((char *)text.data, words[i]);
    all = all && (n || has_word((char *)text.data, c->text));
    um_buffer_fini(&text);
    return all;
}

/* A row that is shipped: each command and function has a test that drives it,
 * and each test drives one of them. */
static void check_shipped(reading *r, const char *item)
{
    size_t handles = 0, tests = 0;

    for (size_t i = 0; i < r->nwhere; i++) {
        const claim *c = &r->claim[i];
        bool handle = c->type == COMMAND || c->type == NAME, met = false;
        handles += handle;
        tests += is_test(c);
        for (size_t j = 0; (handle || is_test(c)) && j < r->nwhere; j++) {
            const claim *d = &r->claim[j];
            if (handle && is_test(d))
                met |= drives(r, d, c);
            else if (is_test(c) && (d->type == COMMAND || d->type == NAME))
                met |= drives(r, c, d);
        }
        if (handle && !met)
            fault(r, r->line, c->text, "no test of this row contains it");
        else if (is_test(c) && !met)
            fault(r, r->line, c->text, "it contains nothing of this row");
    }
    if (!handles)
        fault(r, r->line, item, "shipped, but no command or function is named");
    if (!tests)
        fault(r, r->line, item, "shipped, but no test is named");
}

static bool prints_numbers(const um_paper *p)
{
    const char *text = um_expected_text(p->name);
    um_expected e;

    while (text && um_expected_next(&text, &e))
        if (e.paper == e.paper)
            return true;
    return false;
}

static void check_study(reading *r, const char *item, const char *remark)
{
    bool papers = strncmp(remark, "the paper's numbers", 19) == 0;
    bool ours = strncmp(remark, "only our numbers", 16) == 0;
    size_t studies = 0;

    if (!papers && !ours)
        fault(r, r->line, item,
              "the remark of a study begins with \"the paper's numbers\" or "
              "\"only our numbers\"");
    for (size_t i = 0; i < r->nwhere; i++) {
        const claim *c = &r->claim[i];
        if (c->type != OF_STUDY)
            continue;
        bool printed = prints_numbers(um_paper_row(c->study));
        studies++;
        if (papers && !printed)
            fault(r, r->line, c->text,
                  "its expected.csv has no number of the paper");
        else if (ours && printed)
            fault(r, r->line, c->text, "its expected.csv has the paper's");
    }
    if (!studies)
        fault(r, r->line, item, "a study, but none is named");
}

static void check_status(reading *r, char cell[CELLS][CELL_LEN])
{
    const char *item = cell[ITEM], *remark = cell[REMARK];
    size_t s = 0;

    while (s < UM_STATUSES && strcmp(statuses[s], cell[STATUS]) != 0)
        s++;
    if (s == UM_STATUSES) {
        fault(r, r->line, item, "\"%s\" is no status", cell[STATUS]);
        return;
    }
    r->c->items[s]++;
    if (s == SHIPPED)
        check_shipped(r, item);
    else if (s == STUDY)
        check_study(r, item, remark);
    else if (s == PARTS && strncmp(remark, "to write: ", 10) != 0)
        fault(r, r->line, item,
              "the remark of parts begins with \"to write: \"");
    else if (s == NO && !*remark)
        fault(r, r->line, item, "no, but without a reason");
    if ((s == NO) != (strcmp(cell[WHERE], "-") == 0))
        fault(r, r->line, item, "\"-\" stands with \"no\", and only there");
}

/* --- numbers of the paper --------------------------------------------------
 */

/* Reads 12, 2.4 or XII, times 100; 0 if there is none. *step is 1 for a number
 * with a point. */
static size_t read_number(const char **p, size_t *step)
{
    static const char letters[] = "IVX";
    static const size_t values[] = {1, 5, 10};
    size_t n = 0, minor = 0;

    *step = 100;
    while (isdigit((unsigned char)**p) && n < MAX_NUMBER)
        n = 10 * n + (size_t)(*(*p)++ - '0');
    if (n && **p == '.' && isdigit((unsigned char)(*p)[1])) {
        *step = 1;
        minor = (size_t)((*p)[1] - '0');
        *p += 2;
    }
    while (!isdigit((unsigned char)**p) && **p && strchr(letters, **p)) {
        size_t value = values[strchr(letters, *(*p)++) - letters];
        bool before = **p && strchr(letters, **p) &&
                      values[strchr(letters, **p) - letters] > value;
        n = before ? n - value : n + value;
    }
    n = 100 * n + minor;
    return n < MAX_NUMBER ? n : 0;
}

/* Marks the numbers after a word: "1", "8 to 13", "3, 5 and 7". */
static void mark_after(const char *p, uint8_t *seen)
{
    size_t step, from = read_number(&p, &step);

    while (from) {
        size_t to = from;
        if (strncmp(p, " to ", 4) == 0) {
            p += 4;
            to = read_number(&p, &step);
        }
        for (; from <= to; from += step)
            seen[from] = 1;
        p += strncmp(p, ", ", 2) == 0 ? 2 : strncmp(p, " and ", 5) == 0 ? 5 : 0;
        from = read_number(&p, &step);
    }
}

static void mark_numbers(const char *text, numbers seen)
{
    for (size_t i = 0; i < NUMBERED; i++)
        for (const char *p = text; (p = strstr(p, numbered[i]));) {
            p += strlen(numbered[i]);
            const char *number = p + strspn(p, "s. ");
            if (number > p)
                mark_after(number, seen[i]);
        }
}

/* Compares the numbers of a paper with those of its items, and starts anew.
 * What the paper's line "Numbered:" does not list at all is not compared. */
static void end_paper(reading *r)
{
    for (size_t i = 0; i < NUMBERED; i++)
        for (size_t n = 0; n < MAX_NUMBER; n++) {
            char name[40];
            if (!memchr(r->listed[i], 1, sizeof r->listed[i]))
                break;
            if (r->listed[i][n] == r->covered[i][n])
                continue;
            if (n % 100)
                snprintf(name, sizeof name, "%s %zu.%zu", numbered[i], n / 100,
                         n % 100);
            else
                snprintf(name, sizeof name, "%s %zu", numbered[i], n / 100);
            fault(r, r->heading, name, "%s",
                  r->listed[i][n] ? "no item of this paper names it"
                                  : "the line \"Numbered:\" does not list it");
        }
    memset(r->listed, 0, sizeof r->listed);
    memset(r->covered, 0, sizeof r->covered);
    r->heading = r->line;
}

/* --- the file ------------------------------------------------------------- */

/* Splits a row of a table; returns false if it does not have four cells. */
static bool split_row(umbel_slice line, char cell[CELLS][CELL_LEN])
{
    const char *p = line.data, *end = p + line.len;
    size_t n = 0;

    for (p++; p < end; n++) {
        const char *bar = memchr(p, '|', (size_t)(end - p));
        if (!bar || n == CELLS)
            return false;
        umbel_slice s = um_trim((umbel_slice){p, (size_t)(bar - p)});
        if (!um_slice_text(s, cell[n], CELL_LEN))
            return false;
        p = bar + 1;
    }
    return n == CELLS;
}

static void read_row(reading *r, umbel_slice line)
{
    char cell[CELLS][CELL_LEN];

    if (!split_row(line, cell)) {
        fault(r, r->line, "|",
              "a row has four cells: item, status, where, "
              "remark");
        return;
    }
    if (strcmp(cell[ITEM], "item") == 0 || cell[ITEM][0] == '-')
        return;
    r->nclaims = 0;
    mark_numbers(cell[ITEM], r->covered);
    read_claims(r, cell[WHERE]);
    r->nwhere = r->nclaims;
    read_claims(r, cell[REMARK]);
    check_status(r, cell);
}

static void read_line(reading *r, umbel_slice line)
{
    static const char head[] = "Numbered: ";
    char text[CELL_LEN];

    r->line++;
    if (line.len && *(const char *)line.data == '|')
        read_row(r, line);
    else if (!um_slice_text(line, text, sizeof text))
        fault(r, r->line, "line", "it is too long");
    else if (strncmp(text, "## ", 3) == 0)
        end_paper(r);
    else if (strncmp(text, head, sizeof head - 1) == 0)
        mark_numbers(text, r->listed);
}

umbel_status um_coverage_check(um_coverage *c, const char *root,
                               const char *command, umbel_error *err)
{
    static const char path[] = "papers/COVERAGE.md";
    reading *r = calloc(1, sizeof *r);
    um_buffer text = {0};
    umbel_status status = UMBEL_OK;
    const um_paper *p;

    if (!r)
        return um_no_memory(err, sizeof *r);
    r->c = c;
    r->root = root;
    r->command = command;
    if (!read_file(r, path, &text)) {
        status = um_fail_errno(err, "%s", path);
        goto done;
    }
    umbel_slice rest = {text.data, text.len - 1}, line;
    while (um_next_line(&rest, &line))
        read_line(r, line);
    end_paper(r);
    for (size_t i = 0; i < MAX_STUDIES && (p = um_paper_row(i)); i++)
        if (!r->named[i])
            fault(r, 0, p->name, "no row names this study");
done:
    um_buffer_fini(&text);
    free(r);
    return status;
}
