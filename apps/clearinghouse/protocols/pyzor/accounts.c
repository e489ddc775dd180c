/*
 * pyzor_accounts.c - accounts and what they may do, from the files of pyzord.
 */
#include "clearinghouse/protocols/pyzor/accounts.h"

#include "base/buffer.h"
#include "base/error.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const um_pyzor_op_names[UM_PYZOR_OPS] = {
    "ping", "pong", "check", "info", "report", "whitelist"};

static char *copy_slice(umbel_slice s)
{
    char *copy = malloc(s.len + 1);

    if (copy) {
        memcpy(copy, s.data, s.len);
        copy[s.len] = '\0';
    }
    return copy;
}

static int compare_names(umbel_slice a, umbel_slice b)
{
    int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static umbel_slice name_of(const um_pyzor_account *a)
{
    return (umbel_slice){a->name, strlen(a->name)};
}

/* The place of a name: of its account, or of the first that is larger. */
static size_t account_place(const um_pyzor_accounts *a, umbel_slice name)
{
    size_t low = 0, high = a->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_names(name_of(&a->account[middle]), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

um_pyzor_account *um_pyzor_account_find(const um_pyzor_accounts *a,
                                        umbel_slice name)
{
    size_t i = account_place(a, name);

    if (i < a->n && compare_names(name_of(&a->account[i]), name) == 0)
        return &a->account[i];
    return NULL;
}

/* Finds the account, or makes it. NULL: no memory. */
static um_pyzor_account *account_get(um_pyzor_accounts *a, umbel_slice name)
{
    um_pyzor_account *found = um_pyzor_account_find(a, name);

    if (found)
        return found;
    if (!um_array_resize(&a->account, a->n + 1, sizeof *a->account))
        return NULL;
    um_pyzor_account *more = a->account;
    um_pyzor_account fresh = {.name = copy_slice(name), .weight = 1};
    if (!fresh.name)
        return NULL;
    size_t i = account_place(a, name);
    memmove(more + i + 1, more + i, (a->n - i) * sizeof *more);
    more[i] = fresh;
    a->n++;
    return &more[i];
}

/* --- operations ----------------------------------------------------------- */

unsigned um_pyzor_op_find(const um_pyzor_accounts *a, umbel_slice name)
{
    unsigned i = 0;

    while (i < UM_PYZOR_MAX_OPS && a->op[i] && !um_pyzor_is(name, a->op[i]))
        i++;
    return i < UM_PYZOR_MAX_OPS && a->op[i] ? i : UM_PYZOR_MAX_OPS;
}

/* Finds the operation, or gives it a number if one is left. */
static unsigned op_get(um_pyzor_accounts *a, umbel_slice name)
{
    unsigned i = um_pyzor_op_find(a, name);

    if (i < UM_PYZOR_MAX_OPS)
        return i;
    for (i = 0; i < UM_PYZOR_MAX_OPS; i++)
        if (!a->op[i]) {
            a->op[i] = copy_slice(name);
            return a->op[i] ? i : UM_PYZOR_MAX_OPS;
        }
    return UM_PYZOR_MAX_OPS;
}

static uint64_t bit_of(unsigned op)
{
    return UINT64_C(1) << op;
}

/* --- files ---------------------------------------------------------------- */

/* What the lines of a file are read into. */
typedef struct line_reader {
    um_pyzor_accounts *accounts;
    const um_line_warning *warning;
    const char *file;
    size_t line;
} line_reader;

static void warn_line(const line_reader *r, const char *what)
{
    if (r->warning)
        r->warning->warn(r->warning->ctx, r->file, r->line, what);
}

/* Warns of a word that means nothing. */
static void warn_word(const line_reader *r, const char *kind, umbel_slice word,
                      const char *hint)
{
    char what[160];
    int len = word.len < 40 ? (int)word.len : 40;

    snprintf(what, sizeof what, "no %s \"%.*s\"%s", kind, len,
             (const char *)word.data, hint);
    warn_line(r, what);
}

static umbel_status read_account(line_reader *r, umbel_slice line,
                                 umbel_error *err)
{
    umbel_slice part[2];

    if (!um_split_colons(line, part, 2)) {
        warn_line(r, "ignored; a line is \"user : key\"");
        return UMBEL_OK;
    }
    if (memchr(part[0].data, '\0', part[0].len)) {
        warn_line(r, "ignored; the name has a NUL byte");
        return UMBEL_OK;
    }
    um_pyzor_account *a = account_get(r->accounts, part[0]);
    if (!a)
        return um_no_memory(err, sizeof *a);
    um_pyzor_hash_key(part[0], part[1], a->hashed_key);
    a->listed = true;
    return UMBEL_OK;
}

/* The operations that a rule names, as bits. */
static uint64_t rule_operations(line_reader *r, umbel_slice names)
{
    umbel_slice word;
    uint64_t bits = 0;

    if (um_pyzor_is(names, "all"))
        return bit_of(UM_PYZOR_OPS) - 1;
    while (um_next_word(&names, &word)) {
        unsigned op = op_get(r->accounts, word);
        if (op >= UM_PYZOR_OPS)
            warn_word(r, "operation", word,
                      "; there are ping, pong, check, info, report and "
                      "whitelist");
        if (op < UM_PYZOR_MAX_OPS)
            bits |= bit_of(op);
    }
    return bits;
}

static void apply_rule(um_pyzor_account *a, uint64_t operations, bool allow)
{
    a->granted = allow ? a->granted | operations : a->granted & ~operations;
}

static void apply_rule_to(const line_reader *r, umbel_slice users,
                          uint64_t operations, bool allow)
{
    um_pyzor_accounts *a = r->accounts;
    umbel_slice word;

    if (um_pyzor_is(users, "all")) {
        for (size_t i = 0; i < a->n; i++)
            if (a->account[i].listed)
                apply_rule(&a->account[i], operations, allow);
        return;
    }
    while (um_next_word(&users, &word)) {
        um_pyzor_account *found = um_pyzor_account_find(a, word);
        if (found)
            apply_rule(found, operations, allow);
        else /* it cannot sign */
            warn_word(r, "user", word,
                      " in the passwd file (this file is read in lower "
                      "case)");
    }
}

static umbel_status read_rule(line_reader *r, umbel_slice line,
                              umbel_error *err)
{
    umbel_slice part[3];
    bool split = um_split_colons(line, part, 3);
    bool allow = split && um_pyzor_is(part[2], "allow");

    (void)err;
    if (!allow && !(split && um_pyzor_is(part[2], "deny")))
        warn_line(
            r, "ignored; a line is \"operations : users : allow\" (or deny)");
    else
        apply_rule_to(r, part[1], rule_operations(r, part[0]), allow);
    return UMBEL_OK;
}

typedef umbel_status read_line(line_reader *r, umbel_slice line,
                               umbel_error *err);

/* Lines that are empty or begin with # are comments. */
static umbel_status read_lines(line_reader *r, umbel_slice text,
                               read_line *read, umbel_error *err)
{
    umbel_slice line;

    for (r->line = 1; um_next_line(&text, &line); r->line++)
        if (um_trim(line).len && *(const char *)line.data != '#')
            UM_TRY(read(r, line, err));
    return UMBEL_OK;
}

static umbel_status read_access(line_reader *r, umbel_slice text,
                                umbel_error *err)
{
    char *lower = copy_slice(text);

    if (!lower)
        return um_no_memory(err, text.len);
    for (size_t i = 0; i < text.len; i++)
        if (lower[i] >= 'A' && lower[i] <= 'Z')
            lower[i] = (char)(lower[i] - 'A' + 'a');
    umbel_status status =
        read_lines(r, (umbel_slice){lower, text.len}, read_rule, err);
    free(lower);
    return status;
}

/* The rule of pyzord when there is no access file. */
static void grant_default(um_pyzor_account *anonymous)
{
    anonymous->granted = bit_of(UM_PYZOR_CHECK) | bit_of(UM_PYZOR_REPORT) |
                         bit_of(UM_PYZOR_PING) | bit_of(UM_PYZOR_PONG) |
                         bit_of(UM_PYZOR_INFO);
}

static umbel_status read_files(um_pyzor_accounts *a, umbel_slice passwd,
                               umbel_slice access, const um_line_warning *w,
                               umbel_error *err)
{
    umbel_slice anonymous = {UM_PYZOR_ANONYMOUS, strlen(UM_PYZOR_ANONYMOUS)};
    line_reader r = {.accounts = a, .warning = w};

    for (unsigned i = 0; i < UM_PYZOR_OPS; i++) {
        umbel_slice name = {um_pyzor_op_names[i], strlen(um_pyzor_op_names[i])};
        if (op_get(a, name) != i)
            return um_no_memory(err, name.len);
    }
    if (!account_get(a, anonymous))
        return um_no_memory(err, sizeof *a->account);
    r.file = w ? w->passwd : NULL;
    if (passwd.data)
        UM_TRY(read_lines(&r, passwd, read_account, err));
    r.file = w ? w->access : NULL;
    if (access.data)
        return read_access(&r, access, err);
    grant_default(um_pyzor_account_find(a, anonymous));
    return UMBEL_OK;
}

umbel_status um_pyzor_accounts_read(um_pyzor_accounts *a, umbel_slice passwd,
                                    umbel_slice access,
                                    const um_line_warning *w, umbel_error *err)
{
    um_pyzor_accounts made = {0};
    umbel_status status = read_files(&made, passwd, access, w, err);

    if (status == UMBEL_OK)
        *a = made;
    else
        um_pyzor_accounts_fini(&made);
    return status;
}

/* Reads a file, if there is one. As pyzord does, a server starts without; but a
 * path that was mistyped opens it to anonymous reports, so it is named. */
static umbel_status read_optional(um_file_text *out, const char *path,
                                  const um_line_warning *w, const char *what,
                                  umbel_error *err)
{
    if (!path)
        return UMBEL_OK;
    UM_TRY(um_file_text_read(out, path, err));
    if (!out->data)
        w->warn(w->ctx, path, 0, what);
    return UMBEL_OK;
}

umbel_status um_pyzor_accounts_init(um_pyzor_accounts *a, const char *passwd,
                                    const char *access, um_warn_line *warn,
                                    void *ctx, umbel_error *err)
{
    um_line_warning w = {warn, ctx, passwd, access};
    um_file_text keys = {0}, rules = {0};
    umbel_status status = read_optional(
        &keys, passwd, &w, "no such file: there are no accounts", err);

    if (status == UMBEL_OK)
        status = read_optional(
            &rules, access, &w,
            "no such file: anonymous may do all but whitelist", err);
    if (status == UMBEL_OK)
        status = um_pyzor_accounts_read(a, (umbel_slice){keys.data, keys.len},
                                        (umbel_slice){rules.data, rules.len},
                                        &w, err);
    free(keys.data);
    free(rules.data);
    return status;
}

void um_pyzor_accounts_fini(um_pyzor_accounts *a)
{
    for (size_t i = 0; i < a->n; i++) {
        sodium_memzero(a->account[i].hashed_key,
                       sizeof a->account[i].hashed_key);
        free(a->account[i].name);
    }
    free(a->account);
    for (size_t i = 0; i < UM_PYZOR_MAX_OPS; i++)
        free(a->op[i]);
    *a = (um_pyzor_accounts){0};
}
