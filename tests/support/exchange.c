/*
 * exchange.c - stores in memory, and a server that misbehaves on request.
 */
#include "support/exchange.h"

#include "base/error.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- files ------------------------------------------------------------------
 */

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

test_file *test_store_find(test_store *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->file[i].name, name) == 0)
            return &s->file[i];
    return NULL;
}

test_file *test_store_ending(test_store *s, const char *ending)
{
    for (size_t i = 0; i < s->n; i++)
        if (ends_with(s->file[i].name, ending))
            return &s->file[i];
    fail_msg("no name ends with %s", ending);
    return NULL;
}

size_t test_store_count(const test_store *s, const char *ending)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += ends_with(s->file[i].name, ending);
    return n;
}

static test_file *find_or_make(test_store *s, const char *name)
{
    test_file *f = test_store_find(s, name);

    if (f)
        return f;
    assert_true(s->n < TEST_STORE_FILES && strlen(name) < sizeof f->name);
    f = &s->file[s->n++];
    *f = (test_file){.len = 0};
    snprintf(f->name, sizeof f->name, "%s", name);
    return f;
}

/* Resizes the file to len bytes, keeping its content. */
static void resize(test_file *f, size_t len)
{
    f->bytes = realloc(f->bytes, len + 1);
    assert_non_null(f->bytes);
    f->len = len;
}

void test_store_write(test_store *s, const char *name, const void *bytes,
                      size_t len)
{
    test_file *f = find_or_make(s, name);

    resize(f, len);
    memcpy(f->bytes, bytes, len);
}

void test_store_remove(test_store *s, const char *name)
{
    test_file *f = test_store_find(s, name);

    if (!f)
        return;
    free(f->bytes);
    *f = s->file[--s->n];
}

void test_store_copy(test_store *to, const test_store *from)
{
    *to = (test_store){.n = 0};
    for (size_t i = 0; i < from->n; i++)
        test_store_write(to, from->file[i].name, from->file[i].bytes,
                         from->file[i].len);
}

void test_store_fini(test_store *s)
{
    assert_false(s->locked);
    assert_int_equal(s->borrowed, 0);
    while (s->n)
        test_store_remove(s, s->file[0].name);
}

/* --- calls ------------------------------------------------------------------
 */

/* Counts a call of a locked store, and fails it if it is call fail_at. */
static umbel_status begin(test_store *s, const char *call, umbel_error *err)
{
    s->calls++;
    if (s->calls == s->fail_at)
        s->failed = call;
    if (s->fail_at &&
        (s->calls == s->fail_at || (s->dead && s->calls > s->fail_at)))
        return um_fail(err, UMBEL_E_IO, "the store fails");
    return UMBEL_OK;
}

static umbel_status begin_with(test_store *s, const char *call,
                               const char *name, test_file **out,
                               umbel_error *err)
{
    assert_true(s->locked);
    UM_TRY(begin(s, call, err));
    *out = test_store_find(s, name);
    if (!*out)
        return um_fail(err, UMBEL_E_UNKNOWN, "%s is not there", name);
    return UMBEL_OK;
}

static umbel_status lock(void *ctx, umbel_error *err)
{
    test_store *s = ctx;

    UM_TRY(begin(s, "lock", err));
    assert_false(s->locked);
    s->locked = true;
    return UMBEL_OK;
}

static void unlock(void *ctx)
{
    test_store *s = ctx;

    assert_true(s->locked);
    s->locked = false;
}

/* Returns a copy, so that the sanitizer finds uses after release. */
static umbel_status get(void *ctx, const char *name, umbel_slice *out,
                        umbel_error *err)
{
    test_store *s = ctx;
    test_file *f;

    UM_TRY(begin_with(s, "get", name, &f, err));
    uint8_t *copy = malloc(f->len + 1);
    assert_non_null(copy);
    memcpy(copy, f->bytes, f->len);
    *out = (umbel_slice){copy, f->len};
    s->borrowed++;
    return UMBEL_OK;
}

static void release(void *ctx, umbel_slice bytes)
{
    test_store *s = ctx;

    s->borrowed--;
    free((void *)(uintptr_t)bytes.data);
}

static umbel_status put(void *ctx, const char *name, const umbel_slice *parts,
                        size_t n, umbel_error *err)
{
    test_store *s = ctx;

    assert_true(s->locked);
    UM_TRY(begin(s, "put", err));
    test_file *f = find_or_make(s, name);
    resize(f, 0);
    for (size_t i = 0; i < n; i++) {
        size_t at = f->len;
        resize(f, at + parts[i].len);
        memcpy(f->bytes + at, parts[i].data, parts[i].len);
    }
    s->puts++;
    snprintf(s->last_put, sizeof s->last_put, "%s", name);
    return UMBEL_OK;
}

static umbel_status resume(void *ctx, const char *name, uint64_t *len,
                           umbel_error *err)
{
    test_file *f;
    umbel_status status = begin_with(ctx, "resume", name, &f, err);

    *len = status == UMBEL_OK ? f->len : 0;
    return status == UMBEL_E_UNKNOWN ? UMBEL_OK : status;
}

/* Appends bytes; a failing call writes half of them. */
static umbel_status append(void *ctx, const char *name, uint64_t at,
                           umbel_slice bytes, umbel_error *err)
{
    test_store *s = ctx;

    assert_true(s->locked);
    umbel_status status = begin(s, "append", err);
    test_file *f = find_or_make(s, name);
    assert_true(at <= f->len);
    size_t len = status == UMBEL_OK ? bytes.len : bytes.len / 2;
    resize(f, (size_t)at + len);
    memcpy(f->bytes + at, bytes.data, len);
    return status;
}

static umbel_status move(void *ctx, const char *from, const char *to,
                         umbel_error *err)
{
    test_store *s = ctx;
    test_file *f;

    UM_TRY(begin_with(s, "move", from, &f, err));
    test_store_write(s, to, f->bytes, f->len);
    test_store_remove(s, from);
    return UMBEL_OK;
}

/* Lists names from a copy, because visit may remove files. */
static umbel_status list(void *ctx, umbel_store_visit *visit, void *visit_ctx,
                         umbel_error *err)
{
    test_store *s = ctx;
    char names[TEST_STORE_FILES][80];
    size_t n = s->n;

    assert_true(s->locked);
    UM_TRY(begin(s, "list", err));
    for (size_t i = 0; i < n; i++)
        memcpy(names[i], s->file[i].name, sizeof names[i]);
    for (size_t i = 0; i < n && visit(visit_ctx, names[i]); i++)
        ;
    return UMBEL_OK;
}

static umbel_status remove_one(void *ctx, const char *name, umbel_error *err)
{
    test_file *f;

    UM_TRY(begin_with(ctx, "remove", name, &f, err));
    test_store_remove(ctx, name);
    return UMBEL_OK;
}

umbel_store test_store_ops(test_store *s)
{
    return (umbel_store){.size = sizeof(umbel_store),
                         .ctx = s,
                         .lock = lock,
                         .unlock = unlock,
                         .get = get,
                         .release = release,
                         .put = put,
                         .resume = resume,
                         .append = append,
                         .move = move,
                         .list = list,
                         .remove = remove_one};
}

/* --- the server -------------------------------------------------------------
 */

static umbel_status send_chunks(test_server *s, const umbel_request *r,
                                const test_file *f, uint64_t from, bool odd,
                                umbel_response *out, umbel_error *err)
{
    size_t chunk = s->chunk ? s->chunk : 100, len = f->len;
    uint8_t *copy = malloc(len + 2);

    assert_non_null(copy);
    memcpy(copy, f->bytes, len);
    if (odd && s->flips && len)
        copy[len - 1] ^= 1;
    if (odd && s->longer)
        copy[len++] = '!';
    umbel_status status = UMBEL_OK;
    for (uint64_t at = from; status == UMBEL_OK && at < len;) {
        size_t left = len - (size_t)at, now = left < chunk ? left : chunk;
        if (odd && s->cut && out->bytes + now > s->cut) {
            status = um_fail(err, UMBEL_E_IO, "the connection broke");
            break;
        }
        out->bytes += now;
        status = r->take(r->ctx, at + (odd ? s->shift : 0),
                         (umbel_slice){copy + at, now}, err);
        at += now;
    }
    free(copy);
    s->sent += out->bytes;
    return status;
}

static void create_tag(const test_server *s, const test_file *f,
                       char out[UMBEL_MAX_TAG])
{
    if (s->tag)
        snprintf(out, UMBEL_MAX_TAG, "%s", s->tag);
    else if (s->tags)
        snprintf(out, UMBEL_MAX_TAG, "\"%016" PRIx64 "\"",
                 um_checksum(f->bytes, f->len));
}

static umbel_status serve(void *ctx, const umbel_request *r,
                          umbel_response *out, umbel_error *err)
{
    test_server *s = ctx;
    const char *name = strrchr(r->url, '/') + 1;
    bool odd = !s->only || ends_with(name, s->only);

    *out = (umbel_response){.bytes = 0};
    s->requests++;
    s->fresh += r->fresh;
    if (s->before)
        s->before(s, name);
    const test_file *f = test_store_find(s->site, name);
    out->missing = !f;
    if (!f)
        return um_fail(err, UMBEL_E_IO, "%s is not there", name);
    create_tag(s, f, out->tag);
    out->unchanged =
        s->unchanged || (r->tag && *r->tag && strcmp(r->tag, out->tag) == 0);
    if (out->unchanged)
        return UMBEL_OK;
    out->bad_range = odd && s->bad_range && r->from;
    if (out->bad_range)
        return um_fail(err, UMBEL_E_IO, "the server answers 416");
    uint64_t from = odd && s->from_start ? 0 : r->from;
    return send_chunks(s, r, f, from, odd, out, err);
}

umbel_fetcher test_server_fetcher(test_server *s)
{
    return (umbel_fetcher){
        .size = sizeof(umbel_fetcher), .ctx = s, .get = serve};
}

/* --- a publisher ------------------------------------------------------------
 */

uint8_t test_sign_key[UMBEL_SIGN_KEY_LEN], test_trust_key[UMBEL_TRUST_KEY_LEN];
uint8_t test_other_sign[UMBEL_SIGN_KEY_LEN],
    test_other_key[UMBEL_TRUST_KEY_LEN];

int test_create_keys(void **state)
{
    (void)state;
    assert_ok(umbel_sign_keygen(test_sign_key, test_trust_key, &test_refusal));
    assert_ok(
        umbel_sign_keygen(test_other_sign, test_other_key, &test_refusal));
    return 0;
}

void test_publisher_open(test_publisher *p)
{
    umbel_params params = UMBEL_PARAMS_INIT;

    params.capacity = 2000;
    *p = (test_publisher){.filter = test_open(&params)};
    p->ops = test_store_ops(&p->site);
    p->ops.resume = NULL; /* only readers use these */
    p->ops.append = NULL;
    p->ops.move = NULL;
    p->what = (umbel_publication)UMBEL_PUBLICATION_INIT;
    p->what.name = "words";
    p->what.filter = p->filter;
    p->what.now = TEST_NOW;
    test_add(p->filter, 0, 1000);
}

void test_publisher_close(test_publisher *p)
{
    umbel_close(p->filter);
    test_store_fini(&p->site);
}

umbel_status test_publish(test_publisher *p)
{
    return umbel_publish(&p->what, &p->ops, &p->done, &test_refusal);
}

void test_publish_more(test_publisher *p, uint64_t from, size_t n)
{
    test_add(p->filter, from, n);
    assert_ok(test_publish(p));
}
