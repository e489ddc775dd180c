/*
 * reconcile.c - umbel reconcile: what two lists on two hosts lack.
 *
 * The machine is src/reconcile/reconcile.c. This file reads lists, carries
 * bytes, and adds keys to a list by replacing its file as a whole.
 */
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/commands/internal.h"
#include "cli/framework/progress.h"
#include "cli/framework/report.h"
#include "filter/save.h"

#include <umbel/experimental/reconcile.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

typedef struct reconcile_args {
    const char *list, *target;
    bool stdio, pull, push, both, dry_run, null;
    um_whole limit;
} reconcile_args;

enum { TO_TARGET = UM_MODE(0), AT_STDIO = UM_MODE(1) };

static const um_option options[] = {
    {"pull", 0, NULL, "add the keys that LIST lacks to it",
     UM_TARGET(reconcile_args, pull), .excludes = "push both dry-run"},
    {"push", 0, NULL, "add the keys that TARGET lacks to it",
     UM_TARGET(reconcile_args, push), .excludes = "both dry-run"},
    {"both", 0, NULL, "do both: afterwards the lists have the same keys",
     UM_TARGET(reconcile_args, both), .excludes = "dry-run"},
    {"dry-run", 0, NULL, "only count the keys that differ",
     UM_TARGET(reconcile_args, dry_run)},
    {"limit", 0, "N", "refuse to add more than N keys to LIST",
     UM_TARGET(reconcile_args, limit), .low = 1},
    {"null", '0', NULL, "keys end with NUL instead of newline",
     UM_TARGET(reconcile_args, null)},
    {"stdio", 0, NULL,
     "the other side is at standard input and output (used by exec: and ssh:); "
     "--pull, --push and --dry-run then limit what it may do",
     UM_TARGET(reconcile_args, stdio)},
    {0}};

static unsigned mode(const void *values)
{
    return ((const reconcile_args *)values)->stdio ? AT_STDIO : TO_TARGET;
}

/* --- lists in memory -------------------------------------------------------
 */

static void use_huge_pages(void *memory, size_t len)
{
    size_t before = (uintptr_t)memory % 4096;

    um_use_huge_pages((uint8_t *)memory - before, before + len, true);
}

/* Allocates memory for a file of that many bytes with about as long keys as the
 * first ones. */
static void reserve(um_loaded_keys *k, const um_key_batch *batch)
{
    size_t size = (size_t)k->st.st_size, sum = 0;

    if (!batch->n || size < (16 << 20))
        return;
    for (size_t i = 0; i < batch->n; i++)
        sum += batch->keys[i].len;
    size_t n = size / (1 + sum / batch->n) + batch->n;
    if (!um_array_reserve(&k->text.data, &k->text.cap, size, 1) ||
        !um_array_reserve(&k->keys, &k->cap, n + n / 64, sizeof *k->keys))
        return;
    use_huge_pages(k->text.data, k->text.cap);
    use_huge_pages(k->keys, k->cap * sizeof *k->keys);
}

static umbel_status store_batch(void *ctx, const um_key_batch *batch,
                                umbel_error *err)
{
    um_loaded_keys *k = ctx;

    if (!k->n)
        reserve(k, batch);
    if (!um_array_reserve(&k->keys, &k->cap, k->n + batch->n, sizeof *k->keys))
        return um_no_memory(err, k->n * sizeof *k->keys);
    for (size_t i = 0; i < batch->n; i++) {
        /* The text may still move: its place is computed in the end. */
        k->keys[k->n++] = (umbel_slice){NULL, batch->keys[i].len};
        um_buffer_append(&k->text, batch->keys[i].data, batch->keys[i].len);
    }
    return k->text.failed ? um_no_memory(err, k->text.len) : UMBEL_OK;
}

umbel_status um_check_unchanged(const char *path, const struct stat *was,
                                umbel_error *err)
{
    struct stat now;

    if (stat(path, &now) != 0)
        return um_fail_path(err, path);
    if (now.st_dev == was->st_dev && now.st_ino == was->st_ino &&
        now.st_size == was->st_size &&
        now.st_mtim.tv_sec == was->st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == was->st_mtim.tv_nsec)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_IO,
                   "%s%s changed meanwhile, and was left alone: run the "
                   "command again",
                   um_path_dots(path), um_path_tail(path));
}

umbel_status um_load_keys(um_loaded_keys *out, const um_key_source *s,
                          umbel_error *err)
{
    bool is_file = s->npaths && strcmp(s->paths[0], "-") != 0;

    *out = (um_loaded_keys){.n = 0};
    if (is_file && stat(s->paths[0], &out->st) != 0)
        return um_fail_path(err, s->paths[0]);
    umbel_status status = um_keys_each_batch(s, store_batch, out, err);
    if (!status && is_file && S_ISREG(out->st.st_mode))
        status = um_check_unchanged(s->paths[0], &out->st, err);
    const uint8_t *at = out->text.data;
    for (size_t i = 0; i < out->n; i++) {
        out->keys[i].data = at ? at : (const uint8_t *)"";
        at = at ? at + out->keys[i].len : at;
    }
    if (status)
        um_loaded_keys_fini(out);
    return status;
}

void um_loaded_keys_fini(um_loaded_keys *k)
{
    um_buffer_fini(&k->text);
    free(k->keys);
    k->keys = NULL;
    k->n = 0;
}

/* --- adding keys to a list -------------------------------------------------
 */

/* One side: a list and its machine. */
typedef struct list_side {
    const char *path;
    bool null, writes;
    um_loaded_keys list;
    umbel_reconcile *machine;
} list_side;

static void side_fini(list_side *s)
{
    umbel_reconcile_close(s->machine);
    um_loaded_keys_fini(&s->list);
}

/* Returns why a key cannot stand in such a list, or NULL. */
static const char *find_unwritable(const list_side *s, umbel_slice key)
{
    const char *at = key.data;

    if (!key.len)
        return "it is empty";
    if (key.len > UM_MAX_KEY_LEN)
        return "it is longer than 1 MiB";
    if (s->null)
        return memchr(at, '\0', key.len) ? "it contains a NUL" : NULL;
    if (memchr(at, '\n', key.len) || at[key.len - 1] == '\r')
        return "it contains an end of line: use -0 for both lists";
    return NULL;
}

/* Appends what is missing to the text of a list. */
static umbel_status append_missing(const list_side *s, um_buffer *text,
                                   umbel_error *err)
{
    char end = s->null ? '\0' : '\n';
    umbel_slice key;

    if (text->len && text->data[text->len - 1] != (uint8_t)end)
        um_buffer_append(text, &end, 1);
    for (size_t i = 0; umbel_reconcile_received(s->machine, i, &key); i++) {
        const char *why = find_unwritable(s, key);
        if (why)
            return um_fail(err, UMBEL_E_KEY,
                           "a key of the other side cannot be added to %s%s: "
                           "%s. Nothing was added",
                           um_path_dots(s->path), um_path_tail(s->path), why);
        um_buffer_append(text, key.data, key.len);
        um_buffer_append(text, &end, 1);
    }
    return text->failed ? um_no_memory(err, text->len) : UMBEL_OK;
}

static umbel_status read_whole(int fd, um_buffer *out, size_t len,
                               umbel_error *err)
{
    uint8_t *at = um_buffer_reserve(out, len);

    if (!at)
        return um_no_memory(err, len);
    while (out->len < len) {
        ssize_t n = read(fd, at + out->len, len - out->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return um_fail_errno(err, "reading the list again");
        out->len += (size_t)n;
    }
    return UMBEL_OK;
}

/* Replaces the file of a list by one with the keys that were missing, unless it
 * changed since it was read. */
static umbel_status save_side(const list_side *s, umbel_error *err)
{
    um_buffer text = {.len = 0};
    umbel_slice key;
    int fd;

    if (!s->writes || !umbel_reconcile_received(s->machine, 0, &key))
        return UMBEL_OK;
    UM_TRY(um_lock(s->path, O_RDONLY, &fd, err));
    umbel_status status = um_check_unchanged(s->path, &s->list.st, err);
    if (!status)
        status = read_whole(fd, &text, (size_t)s->list.st.st_size, err);
    if (!status)
        status = append_missing(s, &text, err);
    if (!status)
        status = um_check_unchanged(s->path, &s->list.st, err);
    umbel_slice part = {text.data, text.len};
    if (!status)
        status = um_save_parts(&part, 1, s->path, err);
    um_buffer_fini(&text);
    close(fd);
    return status;
}

/* A list that is written must be a plain file. */
static umbel_status check_writable(const char *path, umbel_error *err)
{
    static const umbel_slice packed[] = {
        {"\x1f\x8b", 2}, {"\x28\xb5\x2f\xfd", 4}, {"BZh", 3}};
    char start[4] = "";
    FILE *in = strcmp(path, "-") != 0 ? fopen(path, "rb") : NULL;
    struct stat st;

    if (!in || fstat(fileno(in), &st) != 0 || !S_ISREG(st.st_mode)) {
        if (in)
            fclose(in);
        return in || strcmp(path, "-") == 0
                   ? um_fail(err, UMBEL_E_RANGE,
                             "%s%s: keys can be added to a regular file only",
                             um_path_dots(path), um_path_tail(path))
                   : um_fail_path(err, path);
    }
    size_t n = fread(start, 1, sizeof start, in);
    fclose(in);
    for (size_t i = 0; i < UM_COUNT(packed); i++)
        if (n >= packed[i].len &&
            memcmp(start, packed[i].data, packed[i].len) == 0)
            return um_fail(err, UMBEL_E_RANGE,
                           "%s%s is compressed, so keys cannot be added to it: "
                           "decompress it",
                           um_path_dots(path), um_path_tail(path));
    return UMBEL_OK;
}

static umbel_status open_side(const um_args *args, const char *path, bool first,
                              unsigned want, bool writes, list_side *out,
                              umbel_error *err)
{
    const reconcile_args *a = args->values;
    umbel_reconcile_params params = UMBEL_RECONCILE_INIT;
    um_key_args keys = {.null = a->null};
    um_key_source source;

    *out = (list_side){.path = path, .null = a->null, .writes = writes};
    if (writes)
        UM_TRY(check_writable(path, err));
    UM_TRY(um_key_source_from_args(
        args, &keys, NULL, (um_list){.item = &path, .n = 1}, &source, err));
    UM_TRY(um_load_keys(&out->list, &source, err));
    params.keys = out->list.keys;
    params.n = out->list.n;
    params.first = first;
    params.want = want;
    params.max_missing = first || a->stdio ? a->limit.n : 0;
    return umbel_reconcile_open(&params, &out->machine, err);
}

/* --- carrying bytes --------------------------------------------------------
 */

/* Stores the keys if the machine is ready for that. */
static umbel_status save_if_ready(list_side *s, umbel_error *err)
{
    if (umbel_reconcile_state(s->machine) != UMBEL_RECONCILE_READY)
        return UMBEL_OK;
    UM_TRY(save_side(s, err));
    return umbel_reconcile_commit(s->machine, err);
}

static umbel_status talk(list_side *s, um_remote *r, umbel_error *err)
{
    uint8_t bytes[65536];
    umbel_slice m;
    size_t n;

    for (;;) {
        while (umbel_reconcile_next(s->machine, &m))
            UM_TRY(um_remote_send(r, m, err));
        if (umbel_reconcile_state(s->machine) == UMBEL_RECONCILE_DONE)
            return UMBEL_OK;
        UM_TRY(um_remote_read(r, bytes, sizeof bytes, &n, err));
        umbel_status status =
            umbel_reconcile_receive(s->machine, bytes, n, err);
        if (status) { /* the other side may learn the reason from our answer */
            while (umbel_reconcile_next(s->machine, &m))
                um_remote_send(r, m, NULL);
            return status;
        }
        UM_TRY(save_if_ready(s, err));
    }
}

/* Reconciles two lists in this process. */
static umbel_status talk_here(list_side *a, list_side *b, umbel_error *err)
{
    list_side *side[2] = {a, b};
    umbel_slice m;

    while (umbel_reconcile_state(a->machine) != UMBEL_RECONCILE_DONE ||
           umbel_reconcile_state(b->machine) != UMBEL_RECONCILE_DONE)
        for (int i = 0; i < 2; i++)
            while (umbel_reconcile_next(side[i]->machine, &m)) {
                UM_TRY(umbel_reconcile_receive(side[!i]->machine, m.data, m.len,
                                               err));
                UM_TRY(save_if_ready(side[!i], err));
            }
    return UMBEL_OK;
}

static umbel_status talk_to(list_side *s, const char *target, bool null,
                            umbel_error *err)
{
    um_remote r;

    UM_TRY(um_remote_open(
        &r, target, null ? "reconcile -0 --stdio" : "reconcile --stdio", err));
    umbel_status status = talk(s, &r, err);
    int code = um_remote_close(&r);
    if (!status && code)
        status = um_fail(err, UMBEL_E_IO,
                         "the other side failed, after all was exchanged");
    return status;
}

/* --- the command -----------------------------------------------------------
 */

static void print_keys(const list_side *s)
{
    char end = s->null ? '\0' : '\n';
    umbel_slice key;

    for (size_t at = 0; umbel_reconcile_lacking(s->machine, &at, &key);
         putchar(end)) {
        fputs("< ", stdout);
        fwrite(key.data, 1, key.len, stdout);
    }
    for (size_t i = 0; umbel_reconcile_received(s->machine, i, &key); i++) {
        fputs("> ", stdout);
        fwrite(key.data, 1, key.len, stdout);
        putchar(end);
    }
}

static void print_report(const um_args *args, const list_side *s,
                         const umbel_reconcile_result *x, bool prints_keys)
{
    um_report report = {0};

    um_report_count(&report, "ours_missing", NULL, "keys", x->ours_missing);
    um_report_count(&report, "theirs_missing", NULL, "keys", x->theirs_missing);
    um_report_count(&report, "bytes_in", NULL, "bytes", x->bytes_in);
    um_report_count(&report, "bytes_out", NULL, "bytes", x->bytes_out);
    um_report_count(&report, "rounds", NULL, NULL, x->rounds);
    um_report_text(&report, "method", NULL, x->method);
    um_report_hex(&report, "agreement", NULL, x->agreement);
    if (!prints_keys) {
        um_report_print(args, &report);
    } else {
        print_keys(s);
        fflush(stdout);
        um_report_to_text(stderr, &report);
    }
    um_report_fini(&report);
}

/* Returns what travels: without an option, the keys that are printed. */
static unsigned find_want(const um_args *args, const reconcile_args *a,
                          bool *prints_keys)
{
    unsigned want = (a->pull || a->both ? UMBEL_RECONCILE_PULL : 0) |
                    (a->push || a->both ? UMBEL_RECONCILE_PUSH : 0);

    *prints_keys = false;
    if (want || a->dry_run)
        return want;
    if (a->stdio)
        return UMBEL_RECONCILE_BOTH;
    *prints_keys = !args->common.json && !args->common.quiet;
    return *prints_keys ? UMBEL_RECONCILE_PULL : UMBEL_RECONCILE_COMPARE;
}

static umbel_status reconcile(const um_args *args, list_side side[2],
                              bool *equal, umbel_error *err)
{
    const reconcile_args *a = args->values;
    umbel_reconcile_result x;
    bool prints_keys;
    unsigned want = find_want(args, a, &prints_keys);
    bool writes = !prints_keys && want & UMBEL_RECONCILE_PULL;
    um_remote r;

    *equal = true;
    UM_TRY(open_side(args, a->list, !a->stdio, want, writes, &side[0], err));
    if (a->stdio) {
        um_remote_stdio(&r);
        umbel_status status = talk(&side[0], &r, err);
        um_remote_close(&r);
        return status;
    }
    if (um_is_remote(a->target)) {
        UM_TRY(talk_to(&side[0], a->target, a->null, err));
    } else {
        UM_TRY(open_side(args, a->target, false, UMBEL_RECONCILE_BOTH,
                         want & UMBEL_RECONCILE_PUSH, &side[1], err));
        UM_TRY(talk_here(&side[0], &side[1], err));
    }
    um_progress_end();
    umbel_reconcile_report(side[0].machine, &x);
    print_report(args, &side[0], &x, prints_keys);
    *equal = (!x.ours_missing || writes) &&
             (!x.theirs_missing || want & UMBEL_RECONCILE_PUSH);
    return UMBEL_OK;
}

static int run(const um_args *args)
{
    const reconcile_args *a = args->values;
    list_side side[2] = {{.path = NULL}, {.path = NULL}};
    umbel_error err;
    bool equal;

    if (!a->stdio && !a->target)
        return um_misuse(args, "name the other list: a file, exec:COMMAND or "
                               "ssh://HOST/PATH");
    if (a->limit.given && !a->pull && !a->both && !a->stdio)
        return um_misuse(args, "--limit needs --pull or --both: otherwise no "
                               "key is added to LIST");
    umbel_status status = reconcile(args, side, &equal, &err);
    side_fini(&side[0]);
    side_fini(&side[1]);
    if (status) { /* exit code 1 would say that the lists differ */
        um_trouble(args, &err);
        return UM_EXIT_TROUBLE;
    }
    return equal ? UM_EXIT_FINE : UM_EXIT_NO;
}

const um_command um_cmd_reconcile = {
    .name = "reconcile",
    .summary = "find out exactly which keys two lists on two hosts lack",
    .section = UM_EXCHANGE,
    .values_len = sizeof(reconcile_args),
    .operands = {{"LIST", UM_TEXT, offsetof(reconcile_args, list),
                  UM_REPLACEABLE, .min = 1},
                 {"TARGET", UM_TEXT, offsetof(reconcile_args, target),
                  UM_PLAIN_TEXT, .modes = TO_TARGET}},
    .options = {{.rows = options}},
    .modes = {{"to reconcile", "LIST other"}, {"with --stdio", "--stdio"}},
    .mode = mode,
    .run = run,
    .example = "list ssh://host/list --both",
    .details =
        "LIST has a key in each line. TARGET is another such file, "
        "exec:COMMAND that runs 'umbel reconcile --stdio LIST', or "
        "ssh://HOST/PATH. Without an option, keys that only LIST has are "
        "printed after '<', those that only TARGET has after '>', and no list "
        "changes. Exit codes: 0 if the lists are equal now, 1 if they differ, "
        "2 for an error.",
};
