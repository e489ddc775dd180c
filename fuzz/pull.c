/*
 * pull.c - a publisher, a server and a reader, driven by a program.
 *
 * Each step is two bytes: an event and its argument. Files are damaged, lost
 * and restored, transfers break off, the store fails, time passes. Whatever
 * happens, the reader's file is a published one, or absent; a successful round
 * leaves the filter of the manifest that was served; serial numbers never
 * decrease.
 */
#include "fuzz.h"

#include "base/error.h"
#include "publish/manifest.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 48, NAME = 80, STEPS = 20 };

/* --- stores in memory -------------------------------------------------------
 */

typedef struct file {
    char name[NAME];
    uint8_t *bytes;
    size_t len;
} file;

typedef struct store {
    file file[FILES];
    size_t n;
    bool locked;
    size_t calls, fail_at;
} store;

static file *find(store *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->file[i].name, name) == 0)
            return &s->file[i];
    return NULL;
}

static void drop(store *s, file *f)
{
    free(f->bytes);
    *f = s->file[--s->n];
}

/* Makes the named file len bytes long, keeping its content. */
static file *grow(store *s, const char *name, size_t len)
{
    file *f = find(s, name);

    if (!f) {
        if (s->n == FILES)
            drop(s, &s->file[0]);
        f = &s->file[s->n++];
        *f = (file){.len = 0};
        snprintf(f->name, sizeof f->name, "%s", name);
    }
    f->bytes = realloc(f->bytes, len + 1);
    if (!f->bytes)
        abort();
    f->len = len;
    return f;
}

static void fill(store *s, const char *name, const void *bytes, size_t len)
{
    uint8_t *copy = malloc(len + 1); /* bytes may point into the store */

    if (!copy)
        abort();
    memcpy(copy, bytes, len);
    memcpy(grow(s, name, len)->bytes, copy, len);
    free(copy);
}

static umbel_status begin(store *s, umbel_error *err)
{
    if (++s->calls == s->fail_at)
        return um_fail(err, UMBEL_E_IO, "the store fails");
    return UMBEL_OK;
}

static umbel_status lock(void *ctx, umbel_error *err)
{
    store *s = ctx;

    UM_TRY(begin(s, err));
    UM_WANT(!s->locked);
    s->locked = true;
    return UMBEL_OK;
}

static void unlock(void *ctx)
{
    ((store *)ctx)->locked = false;
}

static umbel_status begin_with(store *s, const char *name, file **out,
                               umbel_error *err)
{
    UM_WANT(s->locked);
    UM_TRY(begin(s, err));
    *out = find(s, name);
    return *out ? UMBEL_OK
                : um_fail(err, UMBEL_E_UNKNOWN, "%s is not there", name);
}

static umbel_status get(void *ctx, const char *name, umbel_slice *out,
                        umbel_error *err)
{
    file *f;

    UM_TRY(begin_with(ctx, name, &f, err));
    uint8_t *copy = malloc(f->len + 1);
    if (!copy)
        abort();
    memcpy(copy, f->bytes, f->len);
    *out = (umbel_slice){copy, f->len};
    return UMBEL_OK;
}

static void release(void *ctx, umbel_slice bytes)
{
    (void)ctx;
    free((void *)(uintptr_t)bytes.data);
}

static umbel_status put(void *ctx, const char *name, const umbel_slice *parts,
                        size_t n, umbel_error *err)
{
    store *s = ctx;
    size_t len = 0;

    UM_WANT(s->locked);
    UM_TRY(begin(s, err));
    for (size_t i = 0; i < n; len += parts[i++].len)
        memcpy(grow(s, name, len + parts[i].len)->bytes + len, parts[i].data,
               parts[i].len);
    return UMBEL_OK;
}

static umbel_status resume(void *ctx, const char *name, uint64_t *len,
                           umbel_error *err)
{
    file *f = NULL;
    umbel_status status = begin_with(ctx, name, &f, err);

    *len = f ? f->len : 0;
    return status == UMBEL_E_UNKNOWN ? UMBEL_OK : status;
}

static umbel_status append(void *ctx, const char *name, uint64_t at,
                           umbel_slice bytes, umbel_error *err)
{
    store *s = ctx;
    file *f = find(s, name);
    umbel_status status = begin(s, err);
    size_t len = status == UMBEL_OK ? bytes.len : bytes.len / 2;

    UM_WANT(s->locked && at <= (f ? f->len : 0));
    memcpy(grow(s, name, (size_t)at + len)->bytes + at, bytes.data, len);
    return status;
}

static umbel_status move(void *ctx, const char *from, const char *to,
                         umbel_error *err)
{
    store *s = ctx;
    file *f;

    UM_TRY(begin_with(s, from, &f, err));
    fill(s, to, f->bytes, f->len);
    drop(s, find(s, from));
    return UMBEL_OK;
}

static umbel_status list(void *ctx, umbel_store_visit *visit, void *visit_ctx,
                         umbel_error *err)
{
    store *s = ctx;
    char names[FILES][NAME];
    size_t n = s->n;

    UM_TRY(begin(s, err));
    for (size_t i = 0; i < n; i++)
        memcpy(names[i], s->file[i].name, NAME);
    for (size_t i = 0; i < n && visit(visit_ctx, names[i]); i++)
        ;
    return UMBEL_OK;
}

static umbel_status remove_file(void *ctx, const char *name, umbel_error *err)
{
    file *f;

    UM_TRY(begin_with(ctx, name, &f, err));
    drop(ctx, f);
    return UMBEL_OK;
}

static umbel_store ops_of(store *s)
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
                         .remove = remove_file};
}

/* --- the world --------------------------------------------------------------
 */

typedef struct world {
    store site, place;
    uint8_t *kept; /* an older manifest */
    size_t kept_len;
    umbel_filter *filter;
    uint64_t now, cut; /* bytes until a transfer breaks off; 0: never */
    bool from_start, bad_range;
    bool dear;    /* signs with keys, which is slow */
    unsigned key; /* signing key: none, or one of three */
    umbel_puller *puller;
    uint8_t known[STEPS][UMBEL_FILE_DIGEST_LEN]; /* published files */
    size_t nknown;
    uint64_t serial; /* the reader's last serial */
} world;

static const char manifest[] = "words.manifest";

static umbel_status serve(void *ctx, const umbel_request *r,
                          umbel_response *out, umbel_error *err)
{
    enum { CHUNK = 64 };
    world *w = ctx;
    file *f = find(&w->site, strrchr(r->url, '/') + 1);
    uint64_t at = w->from_start ? 0 : r->from;

    *out = (umbel_response){.missing = !f,
                            .bad_range = f && w->bad_range && r->from};
    if (!f || out->bad_range)
        return um_fail(err, UMBEL_E_IO, "it is not there");
    for (; at < f->len; at += CHUNK) {
        size_t left = f->len - (size_t)at, n = left < CHUNK ? left : CHUNK;
        if (w->cut && out->bytes + n > w->cut)
            return um_fail(err, UMBEL_E_IO, "the connection broke");
        out->bytes += n;
        UM_TRY(r->take(r->ctx, at, (umbel_slice){f->bytes + at, n}, err));
    }
    return UMBEL_OK;
}

static const uint8_t *sign_key(unsigned i)
{
    static uint8_t key[4][UMBEL_SIGN_KEY_LEN];
    const uint8_t seed[crypto_sign_SEEDBYTES] = {(uint8_t)i};
    uint8_t public[crypto_sign_PUBLICKEYBYTES];

    if (i && !key[i][0])
        crypto_sign_seed_keypair(public, key[i], seed);
    return i ? key[i] : NULL;
}

static void publish(world *w, unsigned key, uint64_t valid)
{
    umbel_publication what = UMBEL_PUBLICATION_INIT;
    umbel_store site = ops_of(&w->site);
    umbel_published done;

    if (umbel_add(w->filter, &key, sizeof key, NULL, NULL) != UMBEL_OK)
        abort();
    what.name = "words";
    what.filter = w->filter;
    what.now = w->now;
    what.valid = valid;
    what.keep = 3;
    what.sign_key = sign_key(w->key);
    if (umbel_publish(&what, &site, &done, NULL) == UMBEL_OK) {
        memcpy(w->known[w->nknown++], done.digest, sizeof done.digest);
        umbel_publish_tidy(&site, done.last, done.has_last, NULL);
    }
    UM_WANT(!w->site.locked);
}

static bool is_known(const world *w, const uint8_t *digest)
{
    for (size_t i = 0; i < w->nknown; i++)
        if (um_same_digest(w->known[i], digest))
            return true;
    return false;
}

/*
 * Checks that the reader's file, if any, is a published one and, after a
 * successful round, the one served.
 */
static void check_file(world *w, umbel_status status)
{
    file *f = find(&w->place, ""), *m = find(&w->site, manifest);
    uint8_t digest[UMBEL_FILE_DIGEST_LEN];
    um_manifest served;

    UM_WANT(status != UMBEL_OK || f);
    if (!f)
        return;
    um_digest_parts(&(umbel_slice){f->bytes, f->len}, 1, digest);
    UM_WANT(is_known(w, digest));
    if (status == UMBEL_OK) {
        UM_WANT(m && um_manifest_read((char *)m->bytes, m->len, &served,
                                      NULL) == UMBEL_OK);
        UM_WANT(um_same_digest(served.filter.digest, digest));
    }
}

static void check_state(world *w, umbel_status status)
{
    file *f = find(&w->place, ".pull");
    um_manifest state = {.serial = 0};
    char tag[UMBEL_MAX_TAG];
    bool due;

    if (!f ||
        um_pull_state_read((char *)f->bytes, f->len, &state, tag, &due, NULL)) {
        UM_WANT(status != UMBEL_OK);
        return;
    }
    UM_WANT(state.serial >= w->serial);
    w->serial = state.serial;
}

static void pull(world *w)
{
    umbel_pulled pulled = {.serial = 0};
    umbel_error err = {.status = UMBEL_OK};

    w->place.calls = 0;
    umbel_status status = umbel_pull_round(w->puller, w->now, &pulled, &err);
    if (status != UMBEL_OK)
        um_fuzz_check_error(status, &err);
    UM_WANT(!w->place.locked);
    check_file(w, status);
    check_state(w, status);
    w->place.fail_at = 0;
    w->cut = 0;
}

/*
 * Changes a byte of a file, except for the reader's filter and its state, which
 * only the reader writes.
 */
static void damage(store *s, size_t which, unsigned how)
{
    if (s->n == 0)
        return;
    file *f = &s->file[which % s->n];
    if (f->len && *f->name && strcmp(f->name, ".pull") != 0)
        f->bytes[how * 7 % f->len] ^= (uint8_t)(1u << how % 8);
}

/* Overwrites a file with the bytes of another. */
static void replace(store *s, size_t to, size_t from)
{
    if (s->n)
        fill(s, s->file[to % s->n].name, s->file[from % s->n].bytes,
             s->file[from % s->n].len);
}

/* Saves the current manifest, or restores the saved older one. */
static void swap_manifest(world *w, bool keep)
{
    file *m = find(&w->site, manifest);

    if (!keep && w->kept)
        fill(&w->site, manifest, w->kept, w->kept_len);
    if (!keep || !m)
        return;
    free(w->kept);
    w->kept = malloc(m->len + 1);
    if (!w->kept)
        abort();
    memcpy(w->kept, m->bytes, m->len);
    w->kept_len = m->len;
}

static void forget(world *w, bool state)
{
    file *f = find(&w->place, state ? ".pull" : "");

    if (f)
        drop(&w->place, f);
    if (state)
        w->serial = 0;
}

static void step(world *w, unsigned what, unsigned n)
{
    switch (what % 12) {
    case 0:
    case 1:
        publish(w, n, what & 16 ? 1000 : 0);
        break;
    case 2:
        w->place.fail_at = n % 32;
        break;
    case 3:
        w->cut = n * 4;
        break;
    case 4:
        w->from_start = n & 1;
        w->bad_range = n & 2;
        w->key = w->dear ? n >> 2 & 3 : 0;
        break;
    case 5:
        if (what & 32)
            replace(&w->site, n % 16, n / 16);
        else
            damage(&w->site, n, what);
        break;
    case 6:
        damage(&w->place, n, what);
        break;
    case 7:
        swap_manifest(w, n & 1);
        break;
    case 8:
        forget(w, n & 1);
        break;
    case 9:
        w->now += n * 10;
        break;
    default:
        pull(w);
    }
}

static void open_world(world *w)
{
    umbel_params shape = UMBEL_PARAMS_INIT;
    umbel_pull_params params = UMBEL_PULL_INIT;
    umbel_fetcher fetcher = {sizeof fetcher, w, serve};
    umbel_store place = ops_of(&w->place);

    shape.addressing = "classic";
    shape.cells = 128; /* choosing them would take most of the time */
    shape.hashes = 4;
    params.url = "here/words";
    w->now = 1000;
    if (umbel_create(NULL, &shape, &w->filter, NULL) != UMBEL_OK ||
        umbel_pull_open(&params, &fetcher, &place, &w->puller, NULL))
        abort();
}

static void close_world(world *w)
{
    umbel_pull_close(w->puller);
    umbel_close(w->filter);
    while (w->site.n)
        drop(&w->site, &w->site.file[0]);
    while (w->place.n)
        drop(&w->place, &w->place.file[0]);
    free(w->kept);
    free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    world *w = calloc(1, sizeof *w);

    if (!w)
        abort();
    open_world(w);
    w->dear = um_fuzz_one_in(16, data, len);
    for (size_t i = 0; i + 1 < len && i < 2 * STEPS; i += 2)
        step(w, data[i], data[i + 1]);
    close_world(w);
    return 0;
}
