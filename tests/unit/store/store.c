/* store.c - the store on a real disk: what it keeps, and what it refuses. */
#include "support/test.h"

#include "store/internal.h"
#include "store/journal.h"
#include "store/store.h"

#include "base/hash.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { T0 = 1000000, DAY = 86400, MANY = 600 };

static const um_list_config lists[] = {{.name = "reports",
                                        .kind = "countmin",
                                        .capacity = 1000,
                                        .error = 1e-6,
                                        .epoch_seconds = DAY,
                                        .epochs = 3},
                                       {.name = "whitelist",
                                        .kind = "countmin",
                                        .capacity = 1000,
                                        .error = 1e-6,
                                        .epoch_seconds = DAY,
                                        .epochs = 3}};

static um_store_config usual(const char *dir)
{
    return (um_store_config){.dir = dir,
                             .durability = UM_DURABILITY_ALWAYS,
                             .lists = lists,
                             .nlists = TEST_COUNT(lists)};
}

static um_store *open_at(const um_store_config *c, uint64_t now)
{
    um_store *s = NULL;
    assert_ok(um_store_open(c, now, &s, &test_refusal));
    return s;
}

static um_store *open_store(const char *dir)
{
    um_store_config c = usual(dir);
    return open_at(&c, T0);
}

static umbel_digest digest_of(const um_store *s, uint64_t i)
{
    char key[TEST_KEY_LEN];
    umbel_slice slice = {key, sizeof key};
    umbel_digest d;

    test_key(i, key);
    um_store_digest(s, &slice, 1, &d);
    return d;
}

static uint64_t append(um_store *s, unsigned list, uint64_t key,
                       uint32_t amount, uint64_t once, uint64_t now)
{
    um_entry e = {list, amount, digest_of(s, key), once, 0};
    uint64_t ticket = 0;

    assert_ok(um_store_add(s, &e, 1, now, &ticket, &test_refusal));
    return ticket;
}

static uint64_t count(const um_store *s, unsigned list, uint64_t key)
{
    umbel_digest d = digest_of(s, key);
    uint64_t n;

    um_store_count(s, list, &d, 1, &n);
    return n;
}

/* Waits for the store's event, as a server's loop does. */
static void wait_event(um_store *s, uint64_t now)
{
    struct pollfd p = {.fd = um_store_event(s), .events = POLLIN};

    poll(&p, 1, 100);
    um_store_tick(s, now);
}

static void commit(um_store *s, uint64_t ticket, uint64_t now)
{
    assert_ok(um_store_flush(s, &test_refusal));
    while (um_store_committed(s) < ticket)
        wait_event(s, now);
}

static um_store_stats stats_of(const um_store *s)
{
    um_store_stats st;
    um_store_stats_get(s, &st);
    return st;
}

static void fill(um_store *s, uint64_t from, uint64_t n)
{
    for (uint64_t i = from; i < from + n; i++)
        append(s, 0, i, (uint32_t)(1 + i % 3), 0, T0);
    commit(s, append(s, 1, from, 7, 0, T0), T0);
}

static void assert_filled(const um_store *s, uint64_t from, uint64_t n)
{
    for (uint64_t i = from; i < from + n; i++)
        assert_int_equal(count(s, 0, i), 1 + i % 3);
    assert_int_equal(count(s, 1, from), 7);
}

/* --- persistence --------------------------------------------------------- */

static void counts_are_there_after_a_restart(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_store *s = open_store(dir);

    fill(s, 0, MANY);
    assert_filled(s, 0, MANY);
    um_store_close(s);
    s = open_store(dir);
    assert_filled(s, 0, MANY);
    assert_int_equal(count(s, 0, MANY), 0);
    assert_int_equal(stats_of(s).replayed, MANY + 1);
    fill(s, MANY, 10);
    um_store_close(s);
    s = open_store(dir);
    assert_filled(s, 0, MANY);
    assert_filled(s, MANY, 10);
    um_store_close(s);
    test_dir_remove(dir);
}

/* Runs in a child that ends without closing anything. */
static void killed_after(const char *dir, um_durability d)
{
    pid_t pid = fork();

    if (pid == 0) {
        um_store_config c = usual(dir);
        c.durability = d;
        um_store *s = open_at(&c, T0);
        fill(s, 0, MANY);
        append(s, 0, MANY, 1, 0, T0); /* not flushed, so not acknowledged */
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void killed_servers_lose_nothing_committed(void **state)
{
    (void)state;
    for (int d = UM_DURABILITY_ALWAYS; d <= UM_DURABILITY_NONE; d++) {
        char *dir = test_dir_make();
        killed_after(dir, (um_durability)d);
        um_store *s = open_store(dir);
        assert_filled(s, 0, MANY);
        assert_int_equal(count(s, 0, MANY), 0);
        um_store_close(s);
        test_dir_remove(dir);
    }
}

static void consume_snapshot(um_store *s)
{
    uint64_t before = stats_of(s).snapshots;

    um_store_request_snapshot(s);
    while (stats_of(s).snapshots == before)
        wait_event(s, T0);
}

static void a_snapshot_asked_for_while_one_is_written_follows_it(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_store *s = open_store(dir);

    fill(s, 0, MANY);
    um_store_request_snapshot(s);
    while (!stats_of(s).snapshot_running)
        wait_event(s, T0);
    um_store_request_snapshot(s);
    while (stats_of(s).snapshots < 2)
        wait_event(s, T0);
    um_store_close(s);
    test_dir_remove(dir);
}

static void snapshots_replace_the_journal(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_store *s = open_store(dir);

    assert_null(um_store_failure(s));
    fill(s, 0, MANY);
    consume_snapshot(s);
    fill(s, MANY, 10);
    assert_true(stats_of(s).journal_bytes < 10000);
    assert_true(stats_of(s).snapshot_bytes > 1000);
    um_store_close(s); /* the worker has removed old files */
    assert_int_equal(test_dir_count(dir), 4); /* lock, secret, one of each */
    s = open_store(dir);
    assert_filled(s, 0, MANY);
    assert_filled(s, MANY, 10);
    assert_int_equal(stats_of(s).replayed, 11);
    um_store_close(s);
    test_dir_remove(dir);
}

/* The journal after a snapshot is not older than the snapshot. */
static void a_clock_that_is_set_back_does_no_harm(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_store *s = open_store(dir);

    append(s, 0, 1, 1, 0, T0);
    um_store_tick(s, T0 + 500);
    consume_snapshot(s);
    append(s, 0, 2, 1, 0, T0 + 100);
    um_store_close(s);
    s = open_store(dir);
    assert_int_equal(count(s, 0, 1), 1);
    assert_int_equal(count(s, 0, 2), 1);
    um_store_close(s);
    test_dir_remove(dir);
}

static void epochs_end_the_same_way_when_replayed(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_store *s = open_store(dir);

    for (uint64_t day = 0; day < 5; day++)
        append(s, 0, day, 1, 0, T0 + day * DAY);
    um_store_close(s);
    um_store_config c = usual(dir);
    s = open_at(&c, T0 + 4 * DAY);
    for (uint64_t day = 0; day < 5; day++)
        assert_int_equal(count(s, 0, day), day >= 2);
    um_store_tick(s, T0 + 20 * DAY);
    assert_int_equal(count(s, 0, 4), 0);
    um_store_close(s);
    c = usual(dir);
    s = open_at(&c, T0 + 20 * DAY);
    assert_int_equal(count(s, 0, 4), 0);
    um_store_close(s);
    test_dir_remove(dir);
}

static void marks_are_remembered_for_ten_minutes(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_store *s = open_store(dir);

    append(s, 0, 1, 1, 77, T0);
    assert_true(um_store_is_replay(s, 77, T0 + 600));
    um_store_close(s);
    for (int i = 0; i < 2; i++) { /* from the journal, and from a snapshot */
        um_store_config c = usual(dir);
        s = open_at(&c, T0 + 10);
        assert_true(um_store_is_replay(s, 77, T0 + 600));
        assert_false(um_store_is_replay(s, 77, T0 + 601));
        assert_false(um_store_is_replay(s, 78, T0));
        assert_false(um_store_is_replay(s, 0, T0));
        consume_snapshot(s);
        um_store_close(s);
    }
    test_dir_remove(dir);
}

static void request_ids_are_refused_beyond_their_limit(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_store *s = open_store(dir);
    um_replay_guard *o = &s->state.guard;
    um_entry e = {0, 1, digest_of(s, 1), 77, 0};
    uint64_t n = 0, later = T0 + UM_REPLAY_GUARD_SECONDS + 1, ticket;

    while (n <= UM_REPLAY_GUARD_MAX &&
           um_replay_guard_reserve(o, 1, T0, NULL) == UMBEL_OK)
        um_replay_guard_add(o, 1000 + n++, T0);
    assert_int_equal(n, UM_REPLAY_GUARD_MAX);
    assert_true(o->cap * sizeof *o->slot <= UM_REPLAY_GUARD_MAX_BYTES);
    assert_refused(um_store_add(s, &e, 1, T0, &ticket, &test_refusal),
                   UMBEL_E_LIMIT, "signed requests");
    append(s, 0, 1, 1, 0, T0); /* without a request id */
    consume_snapshot(s);
    um_store_close(s);
    s = open_store(dir); /* all of them */
    assert_true(um_store_is_replay(s, 1000 + n - 1, T0));
    assert_int_equal(count(s, 0, 1), 1);
    append(s, 0, 1, 1, 77, later);
    um_store_close(s);
    test_dir_remove(dir);
}

static umbel_slice text(const char *t)
{
    return (umbel_slice){t, strlen(t)};
}

static void assert_value(const um_store *s, const char *name, const char *want)
{
    umbel_slice value;

    assert_int_equal(um_store_get(s, text(name), &value), want != NULL);
    if (want) {
        assert_int_equal(value.len, strlen(want));
        assert_memory_equal(value.data, want, value.len);
    }
}

static void write_note(um_store *s, const char *name, const char *value)
{
    umbel_slice none = {NULL, 0};
    uint64_t ticket;

    assert_ok(um_store_set(s, text(name), value ? text(value) : none, T0,
                           &ticket, &test_refusal));
}

static void notes_change_and_stay(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_store *s = open_store(dir);
    char name[24];

    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "key %d", i);
        write_note(s, name, name + 5);
    }
    for (int i = 0; i < 100; i += 2) {
        snprintf(name, sizeof name, "key %d", i);
        write_note(s, name, i % 4 ? "" : NULL);
    }
    um_store_close(s);
    for (int round = 0; round < 2; round++) {
        um_store_config c = usual(dir);
        s = open_at(&c, T0);
        for (int i = 0; i < 100; i++) {
            snprintf(name, sizeof name, "key %d", i);
            assert_value(s, name, i % 2 ? name + 5 : i % 4 ? "" : NULL);
        }
        assert_int_equal(stats_of(s).kv_pairs, 75);
        consume_snapshot(s);
        um_store_close(s);
    }
    test_dir_remove(dir);
}

static void lists_may_be_added_and_change_places(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_store *s = open_store(dir);
    um_list_config more[3] = {lists[1], lists[0], lists[0]};
    um_store_config c = usual(dir);

    fill(s, 0, 100);
    um_store_close(s);
    more[0].name = "new";
    more[1] = lists[1];
    c.lists = more;
    c.nlists = 3;
    s = open_at(&c, T0);
    assert_int_equal(count(s, 0, 0), 0);
    assert_int_equal(count(s, 1, 0), 7);
    assert_int_equal(count(s, 2, 2), 3);
    append(s, 0, 5, 9, 0, T0);
    um_store_close(s);
    s = open_at(&c, T0);
    assert_int_equal(count(s, 0, 5), 9);
    assert_int_equal(count(s, 1, 0), 7);
    assert_int_equal(count(s, 2, 2), 3);
    um_store_close(s);
    test_dir_remove(dir);
}

/* After lowering the capacity, the journal's content still fits. */
static void a_smaller_capacity_takes_the_journal(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_list_config less[2] = {lists[0], lists[1]};
    um_store_config c = usual(dir);

    less[0].kind = less[1].kind = "table";
    c.lists = less;
    um_store *s = open_at(&c, T0);
    append(s, 0, 5000, 1, 0, T0);
    append(s, 0, 5001, 1, 0, T0 + DAY); /* in another epoch */
    for (uint64_t i = 0; i < MANY; i++)
        append(s, 0, i, 2, 0, T0 + DAY);
    um_store_close(s);
    less[0].capacity = 10;
    s = open_at(&c, T0 + DAY);
    assert_int_equal(count(s, 0, MANY - 1), 2);
    um_store_close(s);
    test_dir_remove(dir);
}

/* --- times ---------------------------------------------------------------- */

static void assert_times(const um_store *s, unsigned list, uint64_t key,
                         uint64_t now, uint64_t entered, uint64_t updated)
{
    umbel_digest d = digest_of(s, key);
    uint64_t e = 0, u = 0;

    assert_true(um_store_times(s, list, &d, now, &e, &u));
    assert_int_equal(e, entered);
    assert_int_equal(u, updated);
}

static void assert_all_times(const um_store *s)
{
    umbel_digest never = digest_of(s, 77);
    uint64_t e, u, now = T0 + 4000;

    /* First seen within the hour: exact to ten seconds. */
    assert_times(s, 0, 2, now, T0 + 1000, T0 + 2500);
    assert_times(s, 1, 2, now, T0 + 3000, T0 + 3000);
    assert_times(s, 1, 3, now, T0 + 3010, T0 + 3010);
    /* Older: the beginning and the end of the epoch so far. */
    assert_times(s, 0, 1, now, T0, now);
    assert_false(um_store_times(s, 0, &never, now, &e, &u));
    assert_false(um_store_times(s, 0, &(umbel_digest){1, 1}, now, &e, &u));
}

static void times_of_the_last_hour_survive_restarts(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_list_config timed[2] = {lists[0], lists[1]};
    um_store_config c = usual(dir);

    timed[0].recent_column = 1;
    timed[1].recent_column = 2;
    c.lists = timed;
    c.recent = 1000;
    um_store *s = open_at(&c, T0);
    append(s, 0, 1, 1, 0, T0 + 7);
    append(s, 0, 2, 1, 0, T0 + 1007);
    append(s, 0, 2, 1, 0, T0 + 2509);
    append(s, 1, 2, 1, 0, T0 + 3001);
    append(s, 1, 3, 5, 0, T0 + 3019);
    append(s, 0, 1, 1, 0, T0 + 3999);
    assert_all_times(s);
    um_store_close(s);
    s = open_at(&c, T0 + 4000); /* from the journal */
    assert_all_times(s);
    consume_snapshot(s);
    um_store_close(s);
    s = open_at(&c, T0 + 4000); /* from the snapshot */
    assert_all_times(s);
    /* Key 1 has expired; the secret decides whether it was removed already. */
    assert_in_range(stats_of(s).recent_digests, 2, 3);
    assert_true(stats_of(s).recent_bytes < 10000);
    um_store_close(s);
    c.lists = lists; /* without times */
    s = open_at(&c, T0 + 4000);
    assert_times(s, 0, 2, T0 + 4000, T0, T0 + 4000);
    um_store_close(s);
    test_dir_remove(dir);
}

/* --- the format ---------------------------------------------------------- */

/* Asserts that each line of the file, as xxd prints it, is in the document. */
static void assert_documented(const char *dir, const char *name)
{
    char *path = test_path(dir, name);
    size_t len, doc_len;
    uint8_t *bytes = test_read_file(path, &len);
    char *doc =
        (char *)test_read_file(UM_GOLDEN_DIR "/../../docs/STORE.md", &doc_len);

    doc[doc_len - 1] = '\0';
    for (size_t at = 0; at < len; at += 16) {
        char line[64];
        int n = snprintf(line, sizeof line, "%08zx:", at);
        for (size_t i = at; i < at + 16 && i < len; i++)
            n += snprintf(line + n, sizeof line - (size_t)n,
                          i % 2 ? "%02x" : " %02x", bytes[i]);
        if (!strstr(doc, line))
            fail_msg("%s: not in STORE.md: %s", name, line);
    }
    free(doc);
    free(bytes);
    free(path);
}

static void the_format_is_the_documented_one(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_store_config c = usual(dir);
    um_entry e = {0, 3, {0x1111, 0x2222}, 0x4444, 0};
    uint64_t ticket;

    c.secret_bytes = test_secret;
    um_store_close(open_at(&c, T0));
    um_store *s = open_at(&c, T0);
    write_note(s, "greeting", "hello");
    assert_ok(um_store_add(s, &e, 1, T0, &ticket, &test_refusal));
    um_store_close(s);
    assert_documented(dir, "journal-2");
    test_dir_remove(dir);

    dir = test_dir_make();
    c.dir = dir;
    c.nlists = 0;
    s = open_at(&c, T0);
    write_note(s, "greeting", "hello");
    consume_snapshot(s);
    um_store_close(s);
    assert_documented(dir, "snapshot-2");
    test_dir_remove(dir);
}

/* --- refusals ------------------------------------------------------------ */

static void refuses(const um_store_config *c, umbel_status status,
                    const char *word)
{
    um_store *s = NULL;

    assert_refused(um_store_open(c, T0, &s, &test_refusal), status, word);
    assert_null(s);
}

/* Creates a directory with a snapshot and a journal of MANY records. */
static char *create_data(void)
{
    char *dir = test_dir_make();
    um_store *s = open_store(dir);

    fill(s, 0, MANY);
    um_store_close(s);
    return dir;
}

static void lists_that_cannot_be_made_are_refused(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_list_config wrong[2] = {lists[0], lists[1]};
    um_store_config c = usual(dir);

    wrong[1].kind = "bloom";
    c.lists = wrong;
    refuses(&c, UMBEL_E_UNKNOWN, "no counting kind \"bloom\"");
    test_dir_remove(dir);
}

static void a_second_server_is_refused(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_store *s = open_store(dir);
    um_store_config c = usual(dir);

    char holder[64];
    snprintf(holder, sizeof holder, "another server (process %ld): stop",
             (long)getpid());
    refuses(&c, UMBEL_E_REFUSED, holder);
    um_store_close(s);
    um_store_close(open_store(dir));
    test_dir_remove(dir);
}

/* A snapshot's child that waits for the disk ends after its parent. */
static void the_last_child_of_a_killed_server_is_waited_for(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    pid_t pid = fork();

    if (pid == 0) {
        open_store(dir);
        if (fork() == 0)
            nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    um_store_close(open_store(dir));
    test_dir_remove(dir);
}

static void the_secret_is_made_once_and_for_the_owner(void **state)
{
    (void)state;
    char *dir = create_data(), *path = test_path(dir, "secret");
    um_store_config c = usual(dir);
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    c.secret_bytes = test_other_secret;
    refuses(&c, UMBEL_E_SECRET, "another secret");
    c.secret_bytes = NULL;
    assert_int_equal(chmod(path, 0644), 0);
    refuses(&c, UMBEL_E_SECRET, "chmod 600");
    assert_int_equal(unlink(path), 0);
    refuses(&c, UMBEL_E_SECRET, "restore the file");
    assert_int_not_equal(access(path, F_OK), 0);
    free(path);
    test_dir_remove(dir);
}

/* Changes a byte of a file, and corrects a checksum if its offset is given. */
static void spoil(const char *dir, const char *name, size_t at, uint8_t with,
                  size_t sum_of)
{
    char *path = test_path(dir, name);
    size_t len;
    uint8_t *bytes = test_read_file(path, &len);

    assert_true(at < len);
    bytes[at] ^= with;
    if (sum_of)
        um_store64(bytes + sum_of, um_checksum(bytes, sum_of));
    test_write_file(path, bytes, len);
    free(bytes);
    free(path);
}

static void files_of_another_version_are_refused(void **state)
{
    (void)state;
    char *dir = create_data();
    um_store_config c = usual(dir);

    spoil(dir, "journal-1", 8, 1, UM_JOURNAL_DURABLE_AT - 8);
    refuses(&c, UMBEL_E_VERSION, "journal-1: journal version 3");
    spoil(dir, "journal-1", 8, 2, UM_JOURNAL_DURABLE_AT - 8);
    um_store_close(open_at(&c, T0)); /* version 1 */
    spoil(dir, "snapshot-1", 8, 3, UM_SNAPSHOT_HEAD - 8);
    refuses(&c, UMBEL_E_VERSION, "snapshot-1: snapshot version 2");
    test_dir_remove(dir);
}

static void damage_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t at;
        umbel_status status;
        const char *word;
    } cases[] = {
        {"journal-1", 0, UMBEL_E_FORMAT, "journal-1: not a journal"},
        {"journal-1", 20, UMBEL_E_CHECKSUM, "journal-1: the head is damaged"},
        {"journal-1", 70, UMBEL_E_CHECKSUM, "damaged at byte 64, block 1"},
        {"journal-1", 3000, UMBEL_E_CHECKSUM, "damaged at byte 64"},
        {"snapshot-1", 0, UMBEL_E_FORMAT, "snapshot-1: not a snapshot"},
        {"snapshot-1", 20, UMBEL_E_CHECKSUM, "the head is damaged"},
        {"snapshot-1", 64, UMBEL_E_CHECKSUM, "snapshot-1: "},
        {"snapshot-1", 20000, UMBEL_E_CHECKSUM, "snapshot-1: damaged"},
    };

    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        char *dir = create_data();
        um_store_config c = usual(dir);
        spoil(dir, cases[i].name, cases[i].at, 1, 0);
        um_store *s = NULL;
        umbel_status status = um_store_open(&c, T0, &s, &test_refusal);
        if (status == UMBEL_OK || !strstr(test_refusal.text, cases[i].word))
            print_message("%s at %zu: %d %s\n", cases[i].name, cases[i].at,
                          status, test_refusal.text);
        assert_true(status == UMBEL_E_FORMAT || status == UMBEL_E_CHECKSUM);
        assert_non_null(strstr(test_refusal.text, cases[i].word));
        assert_non_null(strstr(test_refusal.text, "restore the directory"));
        test_dir_remove(dir);
    }
}

static void cut(const char *dir, const char *name, long by)
{
    char *path = test_path(dir, name);
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, by < 0 ? st.st_size + by : st.st_size / 2),
                     0);
    free(path);
}

static void half_a_journal_or_snapshot_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        long by;
        const char *word;
    } cases[] = {{"journal-1", 0, "journal-1: damaged at byte"},
                 {"journal-1", -1, "journal-1: damaged at byte"},
                 {"snapshot-1", 0, "snapshot-1: "},
                 {"snapshot-1", -1, "snapshot-1: "}};

    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        char *dir = create_data();
        um_store_config c = usual(dir);
        um_store *s = NULL;
        cut(dir, cases[i].name, cases[i].by);
        assert_int_not_equal(um_store_open(&c, T0, &s, &test_refusal),
                             UMBEL_OK);
        assert_non_null(strstr(test_refusal.text, cases[i].word));
        assert_non_null(strstr(test_refusal.text, "restore the directory"));
        test_dir_remove(dir);
    }
}

static void missing_parts_are_named(void **state)
{
    (void)state;
    char *dir = create_data(), *path = test_path(dir, "snapshot-1");
    um_store_config c = usual(dir);

    c.nlists = 1;
    refuses(&c, UMBEL_E_MISMATCH, "contains list \"whitelist\"");
    c.nlists = 2;
    assert_int_equal(unlink(path), 0);
    refuses(&c, UMBEL_E_FORMAT, "journal-1 but no snapshot");
    free(path);
    test_dir_remove(dir);
}

static void bad_entries_change_nothing(void **state)
{
    (void)state;
    char *dir = test_dir_make();
    um_store *s = open_store(dir);
    um_entry e[2] = {{0, 1, digest_of(s, 1), 0, 0},
                     {2, 1, digest_of(s, 1), 0, 0}};
    char long_name[300];
    uint64_t ticket = 5;

    memset(long_name, 'a', sizeof long_name);
    assert_refused(um_store_add(s, e, 2, T0, &ticket, &test_refusal),
                   UMBEL_E_RANGE, "no list 2");
    assert_int_equal(count(s, 0, 1), 0);
    assert_refused(um_store_set(s, (umbel_slice){long_name, 256}, text("x"), T0,
                                &ticket, &test_refusal),
                   UMBEL_E_RANGE, "1 to 255");
    assert_refused(um_store_set(s, text("x"), (umbel_slice){NULL, 0}, T0,
                                &ticket, &test_refusal),
                   UMBEL_E_UNKNOWN, "no such key");
    assert_int_equal(ticket, 5);
    um_store_close(s);
    um_store_close(open_store(dir));
    test_dir_remove(dir);
}

TEST_GROUP(store)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_there_after_a_restart),
        cmocka_unit_test(killed_servers_lose_nothing_committed),
        cmocka_unit_test(a_snapshot_asked_for_while_one_is_written_follows_it),
        cmocka_unit_test(snapshots_replace_the_journal),
        cmocka_unit_test(a_clock_that_is_set_back_does_no_harm),
        cmocka_unit_test(epochs_end_the_same_way_when_replayed),
        cmocka_unit_test(marks_are_remembered_for_ten_minutes),
        cmocka_unit_test(request_ids_are_refused_beyond_their_limit),
        cmocka_unit_test(notes_change_and_stay),
        cmocka_unit_test(lists_may_be_added_and_change_places),
        cmocka_unit_test(a_smaller_capacity_takes_the_journal),
        cmocka_unit_test(times_of_the_last_hour_survive_restarts),
        cmocka_unit_test(the_format_is_the_documented_one),
        cmocka_unit_test(lists_that_cannot_be_made_are_refused),
        cmocka_unit_test(a_second_server_is_refused),
        cmocka_unit_test(the_last_child_of_a_killed_server_is_waited_for),
        cmocka_unit_test(the_secret_is_made_once_and_for_the_owner),
        cmocka_unit_test(files_of_another_version_are_refused),
        cmocka_unit_test(damage_is_refused_by_name),
        cmocka_unit_test(half_a_journal_or_snapshot_is_refused),
        cmocka_unit_test(missing_parts_are_named),
        cmocka_unit_test(bad_entries_change_nothing),
    };

    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
