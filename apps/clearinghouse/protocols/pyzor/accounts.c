/*
 * accounts.c - accounts and their permissions from the files of pyzord,
 * signatures, and the verdict on a request.
 *
 * The client signs the text that it sends; pyzord signs the text that it prints
 * from the parsed fields. For the requests that clients send both are equal, so
 * only the second is computed here.
 *
 * A request is checked in pyzord's order. An answer gets no answer: a forged
 * datagram would make two servers answer each other forever. Codes are
 * pyzord's, with two exceptions. A request that is too long gets 413, where
 * pyzord counts the part that fits. A signed request without a time gets 401,
 * where pyzord answers with the text of an exception. An unknown account and a
 * wrong signature get the same answer, so that strangers cannot list the
 * accounts.
 */
#include "clearinghouse/protocols/pyzor/internal.h"

#include "base/buffer.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"

#include <math.h>
#include <sha1.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- accounts ------------------------------------------------------------- */

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

/* Returns the index of an account, or of the first with a larger name. */
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

/* Finds an account, or creates it. NULL without memory. */
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

/* Finds an operation, or gives it a number if one is left. */
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

/* The file whose lines are being parsed, and where the results go. */
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

/* Warns about an unknown word. */
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

/* Returns the operations that a rule names, as bits. */
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

/* Parses all lines except empty ones and comments, which begin with #. */
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

/* Grants what pyzord allows if there is no access file. */
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

/* Reads a file, if it exists. Like pyzord, a server starts without it; but a
 * mistyped path would open the server to anonymous reports, so there is a
 * warning. */
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

/* --- signatures ----------------------------------------------------------- */

void um_pyzor_hash_key(umbel_slice user, umbel_slice key,
                       char out[UM_SHA1_HEX + 1])
{
    SHA1_CTX ctx;
    uint8_t digest[SHA1_DIGEST_LENGTH];
    const char *at = key.data;

    SHA1Init(&ctx);
    SHA1Update(&ctx, user.data, user.len);
    SHA1Update(&ctx, (const uint8_t *)":", 1);
    for (size_t i = 0; i < key.len; i++) {
        bool capital = at[i] >= 'A' && at[i] <= 'Z';
        uint8_t c = (uint8_t)(capital ? at[i] - 'A' + 'a' : at[i]);
        SHA1Update(&ctx, &c, 1);
    }
    SHA1Final(digest, &ctx);
    um_hex_write(digest, SHA1_DIGEST_LENGTH, out);
}

static char *append(char *at, const void *data, size_t len)
{
    memcpy(at, data, len);
    return at + len;
}

/*
 * Writes M to out, which is large enough: a field of n >= 2 bytes takes at most
 * n + 1, and one more LF.
 */
static size_t signed_text(umbel_slice text, char out[2 * UM_PYZOR_MAX])
{
    um_pyzor_field f;
    char *at = out;

    for (um_pyzor_walk w = um_pyzor_begin(text); um_pyzor_next(&w, &f);) {
        if (um_pyzor_is_named(&f, "Sig"))
            continue;
        at = append(at, f.name.data, f.name.len);
        at = append(at, ": ", 2);
        at = append(at, f.value.data, f.value.len);
        at = append(at, "\n", 1);
    }
    while (at > out && (at[-1] == '\n' || at[-1] == ' ' || at[-1] == '\t'))
        at--;
    return (size_t)(at - out);
}

void um_pyzor_sign(umbel_slice text, uint64_t time,
                   const char hashed_key[UM_SHA1_HEX + 1],
                   char out[UM_SHA1_HEX + 1])
{
    char message[2 * UM_PYZOR_MAX], tail[2 * UM_SHA1_HEX];
    uint8_t digest[SHA1_DIGEST_LENGTH];
    SHA1_CTX ctx;

    SHA1Init(&ctx);
    SHA1Update(&ctx, (const uint8_t *)message, signed_text(text, message));
    SHA1Final(digest, &ctx);
    SHA1Init(&ctx);
    SHA1Update(&ctx, digest, sizeof digest);
    int len = snprintf(tail, sizeof tail, ":%llu:%s", (unsigned long long)time,
                       hashed_key);
    SHA1Update(&ctx, (const uint8_t *)tail, (size_t)len);
    SHA1Final(digest, &ctx);
    um_hex_write(digest, SHA1_DIGEST_LENGTH, out);
}

bool um_pyzor_time(umbel_slice value, uint64_t *out)
{
    return value.len <= 18 &&
           um_decimal_read(value.data, value.len, UINT64_MAX, out);
}

/* --- verdicts ------------------------------------------------------------- */

#define UNAUTHORIZED "Unauthorized: account, time or signature is wrong"

const um_verdict um_pyzor_verdicts[UM_PYZOR_OUTCOMES + 1] = {
    [UM_PYZOR_OK] = {200, "OK", NULL},
    [UM_PYZOR_TOO_LONG] = {413, "Bad request: longer than 8192 bytes",
                           "too_long"},
    [UM_PYZOR_UNKNOWN_USER] = {401, UNAUTHORIZED, "unknown_user"},
    [UM_PYZOR_BAD_TIME] = {401, UNAUTHORIZED, "time"},
    [UM_PYZOR_BAD_SIGNATURE] = {401, UNAUTHORIZED, "signature"},
    [UM_PYZOR_BAD_VERSION] = {400, "Bad request: PV is missing or no number",
                              "malformed"},
    [UM_PYZOR_OTHER_VERSION] = {505, "Version Not Supported", "version"},
    [UM_PYZOR_FORBIDDEN] = {403, "Forbidden", "forbidden"},
    [UM_PYZOR_NOT_IMPLEMENTED] = {501, "Not implemented", "not_implemented"},
    [UM_PYZOR_NOT_STORED] = {503, "Service Unavailable: not counted, try later",
                             "not_stored"},
    [UM_PYZOR_LIST_FULL] = {503,
                            "Service Unavailable: not counted, list is full",
                            "list_full"},
    [UM_PYZOR_SHARE_FULL] =
        {503, "Service Unavailable: not counted, " UM_TEXT_SHARE_FULL,
         "anonymous_full"},
    [UM_PYZOR_NEW_LIMIT] =
        {429, "Too Many Requests: not counted, " UM_TEXT_NEW_LIMIT,
         "new_digests"},
    [UM_PYZOR_ANSWER] = {400, "Bad request: the answer of a server", "answer"},
    [UM_PYZOR_RATE_LIMIT] = {429, "Too Many Requests", "rate_limit"},
};

static um_pyzor_outcome check_signature(const um_pyzor_request *r,
                                        const um_pyzor_account *account,
                                        uint64_t now)
{
    char expected[UM_SHA1_HEX + 1];
    uint64_t time;

    if (!account || !account->listed)
        return UM_PYZOR_UNKNOWN_USER;
    if (!r->time.data || !um_pyzor_time(r->time, &time) ||
        (time > now ? time - now : now - time) > UM_PYZOR_WINDOW)
        return UM_PYZOR_BAD_TIME;
    um_pyzor_sign(r->text, time, account->hashed_key, expected);
    if (r->sig.len != UM_SHA1_HEX ||
        sodium_memcmp(r->sig.data, expected, UM_SHA1_HEX) != 0)
        return UM_PYZOR_BAD_SIGNATURE;
    return UM_PYZOR_OK;
}

/* Checks PV: any number whose integer part is 2. */
static um_pyzor_outcome check_version(umbel_slice pv)
{
    char text[32], *end;

    if (!pv.data || pv.len == 0 || pv.len >= sizeof text ||
        memchr(pv.data, 'x', pv.len) || memchr(pv.data, 'X', pv.len))
        return UM_PYZOR_BAD_VERSION;
    memcpy(text, pv.data, pv.len);
    text[pv.len] = '\0';
    double version = strtod(text, &end);
    end += strspn(end, " \t");
    if (end == text || end != text + pv.len || !isfinite(version))
        return UM_PYZOR_BAD_VERSION;
    return trunc(version) == 2 ? UM_PYZOR_OK : UM_PYZOR_OTHER_VERSION;
}

static um_pyzor_outcome check_access(const um_pyzor_request *r,
                                     const um_pyzor_accounts *accounts,
                                     const um_pyzor_account *account,
                                     unsigned *op)
{
    unsigned found =
        r->op.data ? um_pyzor_op_find(accounts, r->op) : UM_PYZOR_MAX_OPS;

    *op = found < UM_PYZOR_OPS ? found : UM_PYZOR_OPS;
    if (found == UM_PYZOR_MAX_OPS || !(account->granted >> found & 1))
        return UM_PYZOR_FORBIDDEN;
    return found < UM_PYZOR_OPS ? UM_PYZOR_OK : UM_PYZOR_NOT_IMPLEMENTED;
}

um_pyzor_outcome um_pyzor_decide(const um_pyzor_request *r,
                                 const um_pyzor_accounts *accounts,
                                 uint64_t now, um_pyzor_decision *out)
{
    umbel_slice user = {UM_PYZOR_ANONYMOUS, strlen(UM_PYZOR_ANONYMOUS)};
    um_pyzor_outcome outcome = UM_PYZOR_OK;

    *out = (um_pyzor_decision){.op = UM_PYZOR_OPS};
    if (r->code.data)
        return UM_PYZOR_ANSWER;
    if (r->user.len && !um_pyzor_is(r->user, UM_PYZOR_ANONYMOUS)) {
        user = r->user;
        out->is_signed = true;
    }
    const um_pyzor_account *account = um_pyzor_account_find(accounts, user);
    if (out->is_signed)
        outcome = check_signature(r, account, now);
    if (outcome)
        return outcome;
    out->account = account;
    outcome = check_version(r->pv);
    return outcome ? outcome : check_access(r, accounts, account, &out->op);
}
