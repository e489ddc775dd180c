/*
 * disk.c - stores in files, key files, and concurrent readers and publishers.
 */
#define _DEFAULT_SOURCE /* for symlink and link besides cmocka */
#include "support/exchange.h"

#include "filter/content.h"
#include "publish/manifest.h"
#include "trust/key_file.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory, and the store of the file "copy" in it. */
typedef struct fixture {
    char *dir, *path;
    umbel_store store;
} fixture;

static void open_fixture(fixture *s)
{
    s->dir = test_dir_make();
    s->path = test_path(s->dir, "copy");
    assert_ok(umbel_store_file(s->path, &s->store, &test_refusal));
    assert_ok(s->store.lock(s->store.ctx, &test_refusal));
}

static void close_fixture(fixture *s)
{
    s->store.unlock(s->store.ctx);
    umbel_store_close(&s->store);
    free(s->path);
    test_dir_remove(s->dir);
}

static umbel_status put(fixture *s, const char *name, const char *text)
{
    umbel_slice part[] = {{text, 1}, {text + 1, strlen(text) - 1}};

    return s->store.put(s->store.ctx, name, part, 2, &test_refusal);
}

static umbel_status append(fixture *s, const char *name, uint64_t at,
                           const char *text)
{
    return s->store.append(s->store.ctx, name, at,
                           (umbel_slice){text, strlen(text)}, &test_refusal);
}

static void assert_holds(fixture *s, const char *name, const char *text)
{
    umbel_slice all;

    assert_ok(s->store.get(s->store.ctx, name, &all, &test_refusal));
    assert_int_equal(all.len, strlen(text));
    assert_memory_equal(all.data, text, all.len);
    s->store.release(s->store.ctx, all);
}

static uint64_t resume(fixture *s, const char *name)
{
    uint64_t len = 99;

    assert_ok(s->store.resume(s->store.ctx, name, &len, &test_refusal));
    return len;
}

static const char part[] = ".part-0123456789abcdef";

static char *part_path(const fixture *s)
{
    return test_path(s->dir, "copy.part-0123456789abcdef");
}

static void files_are_put_read_and_removed(void **state)
{
    umbel_slice all;
    fixture s;

    (void)state;
    open_fixture(&s);
    assert_refused(s.store.get(s.store.ctx, "", &all, &test_refusal),
                   UMBEL_E_UNKNOWN, "No such file");
    assert_ok(put(&s, "", "first"));
    assert_ok(put(&s, "", "second"));
    assert_holds(&s, "", "second");
    assert_ok(put(&s, ".pull", "state"));
    assert_holds(&s, ".pull", "state");
    assert_ok(s.store.remove(s.store.ctx, "", &test_refusal));
    assert_refused(s.store.remove(s.store.ctx, "", &test_refusal),
                   UMBEL_E_UNKNOWN, "copy");
    assert_string_equal(s.store.where(s.store.ctx, ".pull") + strlen(s.dir),
                        "/copy.pull");
    close_fixture(&s);
}

static void parts_grow_shrink_and_become_the_file(void **state)
{
    fixture s;

    (void)state;
    open_fixture(&s);
    assert_int_equal(resume(&s, part), 0);
    assert_ok(append(&s, part, 0, "hello"));
    assert_ok(append(&s, part, 5, " world"));
    s.store.unlock(s.store.ctx);
    assert_ok(s.store.lock(s.store.ctx, &test_refusal));
    assert_int_equal(resume(&s, part), 11);
    assert_ok(append(&s, part, 5, ", you"));
    assert_holds(&s, part, "hello, you");
    assert_ok(append(&s, part, 0, "new"));
    assert_holds(&s, part, "new");
    assert_ok(put(&s, "", "old"));
    assert_ok(s.store.move(s.store.ctx, part, "", &test_refusal));
    assert_holds(&s, "", "new");
    assert_int_equal(resume(&s, part), 0);
    close_fixture(&s);
}

static void a_part_of_somebody_else_is_replaced(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        fixture s;
        open_fixture(&s);
        char *at = part_path(&s), *precious = test_path(s.dir, "precious");
        test_write_file(precious, "precious", 8);
        int done = how == 0   ? link(precious, at)
                   : how == 1 ? symlink(precious, at)
                              : mkfifo(at, 0600);
        assert_int_equal(done, 0);
        assert_int_equal(resume(&s, part), 0);
        assert_ok(append(&s, part, 0, "mine"));
        assert_holds(&s, part, "mine");
        size_t len;
        uint8_t *kept = test_read_file(precious, &len);
        assert_memory_equal(kept, "precious", 8);
        free(kept);
        free(at);
        free(precious);
        close_fixture(&s);
    }
}

static void a_link_stays_a_link(void **state)
{
    struct stat st;
    fixture s;

    (void)state;
    open_fixture(&s);
    assert_int_equal(symlink("target", s.path), 0);
    assert_ok(append(&s, part, 0, "bytes"));
    assert_ok(s.store.move(s.store.ctx, part, "", &test_refusal));
    assert_holds(&s, "", "bytes");
    assert_int_equal(lstat(s.path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(resume(&s, part), 0);
    close_fixture(&s);
}

static bool count_name(void *ctx, const char *name)
{
    size_t *n = ctx;

    n[0]++;
    n[1] += strcmp(name, ".pull") == 0 || strcmp(name, "") == 0 ||
            strcmp(name, part) == 0 || strcmp(name, "right") == 0;
    return true;
}

static void names_are_those_that_begin_with_the_file(void **state)
{
    size_t n[2] = {0, 0};
    fixture s;

    (void)state;
    open_fixture(&s);
    char *other = test_path(s.dir, "other"),
         *right = test_path(s.dir, "copyright");
    test_write_file(other, "x", 1);
    test_write_file(right, "x", 1);
    assert_ok(put(&s, "", "filter"));
    assert_ok(append(&s, part, 0, "part"));
    assert_ok(s.store.list(s.store.ctx, count_name, n, &test_refusal));
    assert_int_equal(n[0], 4); /* with the state, which is locked */
    assert_int_equal(n[1], 4);
    free(other);
    free(right);
    close_fixture(&s);
}

static void a_reader_without_a_state_leaves_none(void **state)
{
    fixture s;

    (void)state;
    open_fixture(&s);
    assert_int_equal(test_dir_count(s.dir), 1);
    s.store.unlock(s.store.ctx);
    assert_int_equal(test_dir_count(s.dir), 0);
    assert_ok(s.store.lock(s.store.ctx, &test_refusal));
    assert_ok(put(&s, ".pull", "state"));
    s.store.unlock(s.store.ctx);
    assert_int_equal(test_dir_count(s.dir), 1);
    assert_ok(s.store.lock(s.store.ctx, &test_refusal));
    close_fixture(&s);
}

static void digest_of(fixture *s, uint8_t out[UM_DIGEST_LEN], uint64_t *len)
{
    assert_ok(s->store.digest(s->store.ctx, "", out, len, &test_refusal));
}

static void digests_follow_the_file(void **state)
{
    uint8_t want[UM_DIGEST_LEN], got[UM_DIGEST_LEN];
    static const char *const texts[] = {"one", "two", "three"};
    uint64_t len;
    fixture s;

    (void)state;
    open_fixture(&s);
    for (size_t i = 0; i < TEST_COUNT(texts); i++) {
        umbel_slice text = {texts[i], strlen(texts[i])};
        um_digest_parts(&text, 1, want);
        test_write_file(s.path, text.data, text.len);
        for (int again = 0; again < 2; again++) {
            digest_of(&s, got, &len);
            assert_memory_equal(got, want, sizeof got);
            assert_int_equal(len, text.len);
        }
    }
    assert_int_equal(unlink(s.path), 0);
    assert_int_equal(mkfifo(s.path, 0600), 0);
    assert_refused(s.store.digest(s.store.ctx, "", got, &len, &test_refusal),
                   UMBEL_E_IO, "not a regular file");
    close_fixture(&s);
}

static void paths_have_a_length(void **state)
{
    umbel_store store;
    char *path = malloc(5001);

    (void)state;
    assert_non_null(path);
    memset(path, 'a', 5000);
    path[5000] = '\0';
    assert_refused(umbel_store_file(path, &store, &test_refusal), UMBEL_E_RANGE,
                   "path");
    assert_refused(umbel_store_dir("", &store, &test_refusal), UMBEL_E_RANGE,
                   "path");
    path[4090] = '\0';
    assert_ok(umbel_store_file(path, &store, &test_refusal));
    assert_refused(store.lock(store.ctx, &test_refusal), UMBEL_E_IO,
                   "name too long");
    umbel_store_close(&store);
    free(path);
}

/* --- concurrent readers and publishers --------------------------------------
 */

enum { THREADS = 4, ROUNDS = 8 };

typedef struct meeting {
    pthread_t thread;
    char *site, *place; /* directories */
    umbel_filter *filter;
} meeting;

/* Serves a file of the publish directory, like a server without a network. */
static umbel_status serve_file(void *ctx, const umbel_request *r,
                               umbel_response *out, umbel_error *err)
{
    char *path = test_path(ctx, strrchr(r->url, '/') + 1);
    size_t len;
    uint8_t *bytes = test_read_file(path, &len);
    umbel_status status =
        r->take(r->ctx, r->from,
                (umbel_slice){bytes + r->from, len - (size_t)r->from}, err);

    *out = (umbel_response){.bytes = len};
    free(bytes);
    free(path);
    return status;
}

static void *pull_often(void *ctx)
{
    meeting *m = ctx;
    char *path = test_path(m->place, "copy");
    umbel_fetcher fetcher = {sizeof fetcher, m->site, serve_file};
    umbel_pull_params params = UMBEL_PULL_INIT;
    umbel_store store;
    umbel_puller *p;

    params.url = "here/words";
    assert_ok(umbel_store_file(path, &store, &test_refusal));
    assert_ok(umbel_pull_open(&params, &fetcher, &store, &p, &test_refusal));
    for (int i = 0; i < ROUNDS; i++) {
        assert_ok(umbel_pull_round(p, 1, NULL, &test_refusal));
        umbel_filter *f = NULL;
        umbel_status status = umbel_load(path, NULL, &f, NULL);
        assert_true(status == UMBEL_OK || status == UMBEL_E_IO); /* missing */
        umbel_close(f);
        if (i % 3 == 2) /* the others then find nothing */
            unlink(path);
    }
    umbel_pull_close(p);
    umbel_store_close(&store);
    free(path);
    return NULL;
}

static void *publish_often(void *ctx)
{
    meeting *m = ctx;
    umbel_publication what = UMBEL_PUBLICATION_INIT;
    umbel_store store;

    what.name = "words";
    what.filter = m->filter;
    assert_ok(umbel_store_dir(m->site, &store, &test_refusal));
    for (int i = 0; i < ROUNDS; i++)
        assert_ok(umbel_publish(&what, &store, NULL, &test_refusal));
    umbel_store_close(&store);
    return NULL;
}

static void run_together(meeting *m, void *(*run)(void *))
{
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&m[i].thread, NULL, run, &m[i]), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(m[i].thread, NULL), 0);
}

static void publishers_and_readers_wait_for_each_other(void **state)
{
    meeting m[THREADS];
    umbel_published done;
    umbel_params params = UMBEL_PARAMS_INIT;
    umbel_publication what = UMBEL_PUBLICATION_INIT;
    umbel_store store;
    char *site = test_dir_make(), *place = test_dir_make();

    (void)state;
    params.capacity = 1000;
    what.name = "words";
    for (size_t i = 0; i < THREADS; i++) {
        m[i] = (meeting){
            .site = site, .place = place, .filter = test_open(&params)};
        test_add(m[i].filter, 1000 * i, 10);
    }
    run_together(m, publish_often);
    what.filter = m[0].filter;
    assert_ok(umbel_store_dir(site, &store, &test_refusal));
    assert_ok(umbel_publish(&what, &store, &done, &test_refusal));
    assert_int_equal(done.serial, THREADS * ROUNDS + 1);
    umbel_store_close(&store);
    run_together(m, pull_often);
    for (size_t i = 0; i < THREADS; i++)
        umbel_close(m[i].filter);
    test_dir_remove(site);
    test_dir_remove(place);
}

/* --- key files --------------------------------------------------------------
 */

static void keys_are_kept_in_files(void **state)
{
    uint8_t sign[UMBEL_SIGN_KEY_LEN], trust[UMBEL_TRUST_KEY_LEN];
    uint8_t back[UMBEL_SIGN_KEY_LEN], secret[UMBEL_SECRET_LEN];
    char hex[UM_DIGEST_HEX];
    char *dir = test_dir_make(), *a = test_path(dir, "a"),
         *b = test_path(dir, "b"), *c = test_path(dir, "c");

    (void)state;
    assert_ok(umbel_sign_keygen(sign, trust, &test_refusal));
    assert_ok(umbel_sign_key_save(sign, a, &test_refusal));
    assert_ok(umbel_trust_key_save(trust, b, &test_refusal));
    assert_ok(um_secret_save(test_secret, c, &test_refusal));
    assert_ok(umbel_sign_key_load(a, back, &test_refusal));
    assert_memory_equal(back, sign, sizeof sign);
    assert_ok(umbel_trust_key_load(b, back, &test_refusal));
    assert_memory_equal(back, trust, sizeof trust);
    um_digest_text(trust, hex);
    assert_ok(umbel_trust_key_load(hex, back, &test_refusal));
    assert_memory_equal(back, trust, sizeof trust);
    assert_ok(um_secret_load(c, secret, &test_refusal));
    assert_memory_equal(secret, test_secret, sizeof secret);
    assert_refused(umbel_sign_key_save(sign, a, &test_refusal), UMBEL_E_IO,
                   "exists");
    /* A key of another kind, one readable by others, one that is damaged. */
    assert_refused(umbel_sign_key_load(b, back, &test_refusal), UMBEL_E_FORMAT,
                   "is a public key");
    assert_refused(umbel_trust_key_load(c, back, &test_refusal), UMBEL_E_FORMAT,
                   "is a secret");
    assert_refused(umbel_trust_key_load("nobody", back, &test_refusal),
                   UMBEL_E_IO, "neither a file nor a key");
    assert_int_equal(chmod(a, 0640), 0);
    assert_refused(umbel_sign_key_load(a, back, &test_refusal), UMBEL_E_FORMAT,
                   "chmod 600");
    assert_int_equal(unlink(a), 0);
    sign[0] ^= 1;
    assert_ok(umbel_sign_key_save(sign, a, &test_refusal));
    assert_refused(umbel_sign_key_load(a, back, &test_refusal), UMBEL_E_FORMAT,
                   "halves");
    free(a);
    free(b);
    free(c);
    test_dir_remove(dir);
}

static void other_texts_are_no_keys(void **state)
{
    enum { START = 14 }; /* of "umbel-trust-1 " */
    uint8_t trust[UMBEL_TRUST_KEY_LEN] = {1}, back[UMBEL_SIGN_KEY_LEN];
    char *dir = test_dir_make(), *path = test_path(dir, "key");
    size_t len;

    (void)state;
    assert_ok(umbel_trust_key_save(trust, path, &test_refusal));
    uint8_t *text = test_read_file(path, &len);
    assert_int_equal(len, START + 2 * UMBEL_TRUST_KEY_LEN + 1);
    for (size_t i = 0; i < len; i++) {
        test_write_file(path, text, i); /* truncated */
        assert_refused(umbel_trust_key_load(path, back, &test_refusal),
                       UMBEL_E_FORMAT, "not a key file");
        text[i] ^= 0x20; /* another letter, an upper case digit */
        test_write_file(path, text, len);
        bool digit = i >= START && i < len - 1;
        if (!digit || text[i] > '9' || text[i] < '0')
            assert_refused(umbel_trust_key_load(path, back, &test_refusal),
                           UMBEL_E_FORMAT, "not a key file");
        text[i] ^= 0x20;
    }
    test_write_file(path, text, len + 1); /* with a NUL at its end */
    assert_refused(umbel_trust_key_load(path, back, &test_refusal),
                   UMBEL_E_FORMAT, "not a key file");
    assert_refused(umbel_sign_key_load(dir, back, &test_refusal), UMBEL_E_IO,
                   "directory");
    assert_refused(umbel_sign_key_load("/nowhere/key", back, &test_refusal),
                   UMBEL_E_IO, "No such file");
    assert_refused(umbel_trust_key_save(trust, "/nowhere/key", &test_refusal),
                   UMBEL_E_IO, "No such file");
    free(text);
    free(path);
    test_dir_remove(dir);
}

/* --- bytes of files ---------------------------------------------------------
 */

static void contents_come_from_files_and_pipes(void **state)
{
    char *dir = test_dir_make(), *path = test_path(dir, "file"),
         *pipe_path = test_path(dir, "pipe");
    um_content c;

    (void)state;
    test_write_file(path, "", 0);
    assert_ok(um_content_read(&c, path, &test_refusal));
    assert_int_equal(c.len, 0);
    um_content_fini(&c);
    test_write_file(path, "bytes", 5);
    assert_ok(um_content_read_within(&c, path, 1, &test_refusal)); /* mapped */
    assert_int_equal(c.len, 5);
    assert_memory_equal(c.bytes, "bytes", 5);
    um_content_fini(&c);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_refused(um_content_read(&c, pipe_path, &test_refusal), UMBEL_E_IO,
                   "not a regular file");
    assert_refused(um_content_read(&c, "/nowhere", &test_refusal),
                   UMBEL_E_UNKNOWN, "No such file");
    assert_refused(um_content_read_within(&c, "/nowhere", 9, &test_refusal),
                   UMBEL_E_IO, "No such file");
    assert_refused(um_content_read_within(&c, dir, 9, &test_refusal),
                   UMBEL_E_IO, "directory");
    /* A device has no length before it is read, and this one has no end. */
    assert_refused_as(
        um_content_read_within(&c, "/dev/zero", 3 << 20, &test_refusal),
        UMBEL_E_LIMIT, UMBEL_D_COMPRESSED, "more than 3145728 bytes");
    assert_ok(um_content_read_within(&c, "/dev/null", 9, &test_refusal));
    assert_int_equal(c.len, 0);
    um_content_fini(&c);
    free(path);
    free(pipe_path);
    test_dir_remove(dir);
}

TEST_GROUP(disk)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_put_read_and_removed),
        cmocka_unit_test(parts_grow_shrink_and_become_the_file),
        cmocka_unit_test(a_part_of_somebody_else_is_replaced),
        cmocka_unit_test(a_link_stays_a_link),
        cmocka_unit_test(names_are_those_that_begin_with_the_file),
        cmocka_unit_test(a_reader_without_a_state_leaves_none),
        cmocka_unit_test(digests_follow_the_file),
        cmocka_unit_test(paths_have_a_length),
        cmocka_unit_test(publishers_and_readers_wait_for_each_other),
        cmocka_unit_test(keys_are_kept_in_files),
        cmocka_unit_test(other_texts_are_no_keys),
        cmocka_unit_test(contents_come_from_files_and_pipes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
