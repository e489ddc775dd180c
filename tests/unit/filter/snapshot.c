/*
 * snapshot.c - copies of a filter at one moment, while threads add keys.
 *
 * The tests with threads are most useful with ThreadSanitizer.
 */
#include "support/test.h"

#include "filter/handle.h"

#include <umbel/file.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

enum { ADDERS = 3, KEYS = 6000, SNAPSHOTS = 8, ALL = ADDERS * KEYS };

static umbel_filter *open_kind(const char *kind, const char *addressing)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.addressing = addressing;
    p.capacity = ALL;
    p.fpr = 1e-9; /* so low that there are no false positives */
    assert_ok(umbel_create(kind, &p, &f, &test_refusal));
    return f;
}

static umbel_filter *snapshot_of(const umbel_filter *f)
{
    umbel_filter *out = NULL;

    assert_ok(umbel_snapshot(f, &out, &test_refusal));
    return out;
}

static void is_a_copy_where_nobody_adds(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        umbel_filter *f = open_kind("bloom", NULL);
        test_add(f, 0, 1000);
        if (shared)
            assert_ok(umbel_share(f, &test_refusal));
        umbel_filter *copy = snapshot_of(f);
        assert_null(copy->gate);
        test_assert_same_file(f, copy);
        test_add(f, 1000, 1000);
        assert_int_equal(umbel_added(copy), 1000);
        assert_int_equal(umbel_added(f), 2000);
        umbel_close(copy);
        umbel_close(f);
    }
}

/* --- threads --- */

/* Adder t adds the keys t * KEYS .. (t + 1) * KEYS - 1, in order. */
typedef struct adder {
    umbel_filter *filter;
    char *keys;
    uint64_t done; /* keys whose add has returned */
    pthread_t thread;
} adder;

/* Adds pieces of 1 to 700 keys: calls of one batch, and of several. */
static void *add_keys(void *arg)
{
    adder *a = arg;

    for (uint64_t i = 0, n; i < KEYS; i += n) {
        n = 1 + i * 13 % 700;
        n = n < KEYS - i ? n : KEYS - i;
        if (umbel_add_fixed(a->filter, a->keys + i * TEST_KEY_LEN, TEST_KEY_LEN,
                            (size_t)n, NULL, NULL) != UMBEL_OK)
            abort(); /* cmocka's assertions work in its own thread only */
        __atomic_store_n(&a->done, i + n, __ATOMIC_RELEASE);
        sched_yield(); /* lets snapshots happen in between, with few cores */
    }
    return NULL;
}

static uint64_t done_by(const adder *a)
{
    return __atomic_load_n(&a->done, __ATOMIC_ACQUIRE);
}

/*
 * Checks that the snapshot contains a prefix of each adder's keys, at least
 * those added before it.
 */
static void check_snapshot(const adder *a, const uint64_t *before,
                           const umbel_filter *copy)
{
    uint64_t in = 0;
    bool hit[KEYS];

    for (size_t t = 0; t < ADDERS; t++) {
        uint64_t first = 0, hits = 0;
        assert_ok(umbel_query_fixed(copy, a[t].keys, TEST_KEY_LEN, KEYS, hit,
                                    &test_refusal));
        while (first < KEYS && hit[first])
            first++;
        for (size_t i = 0; i < KEYS; i++)
            hits += hit[i];
        assert_true(first >= before[t]);
        assert_int_equal(hits, first);
        in += hits;
    }
    assert_int_equal(umbel_added(copy), in);
}

/* Returns the filter decoded from f's parts. */
static umbel_filter *sent_in_parts(const umbel_filter *f)
{
    uint64_t len = umbel_raw_len(f);
    umbel_decoder *d = NULL;
    umbel_filter *out = NULL;
    uint8_t piece[5000];

    assert_ok(umbel_decoder_open(NULL, len, &d, &test_refusal));
    for (uint64_t at = 0, some; at < len; at += some) {
        some = len - at < sizeof piece ? len - at : sizeof piece;
        assert_ok(umbel_encode_part(f, at, piece, (size_t)some, &test_refusal));
        assert_ok(umbel_decoder_feed(d, piece, (size_t)some, &test_refusal));
    }
    assert_ok(umbel_decoder_finish(d, &out, &test_refusal));
    umbel_decoder_close(d);
    return out;
}

/* Checks that the snapshot does not change: encodes, merges and measures it. */
static void use_snapshot(const umbel_filter *f, const umbel_filter *copy)
{
    umbel_filter *sent = sent_in_parts(copy), *sum = NULL;

    test_assert_same_file(copy, sent);
    assert_true(umbel_predict(copy) == umbel_predict(sent));
    assert_ok(umbel_copy(sent, &sum, &test_refusal));
    assert_ok(umbel_clear(sum, &test_refusal));
    assert_ok(umbel_merge(sum, copy, UMBEL_OR, &test_refusal));
    test_assert_same_payload(sum, sent);
    assert_true(umbel_added(f) >= umbel_added(copy));
    umbel_close(sent);
    umbel_close(sum);
}

static void consume_snapshots(const umbel_filter *f, const adder *a)
{
    uint64_t before[ADDERS];

    for (int i = 0; i < SNAPSHOTS; i++) {
        for (size_t t = 0; t < ADDERS; t++)
            before[t] = done_by(&a[t]);
        umbel_filter *copy = snapshot_of(f);
        check_snapshot(a, before, copy);
        use_snapshot(f, copy);
        umbel_close(copy);
    }
}

/*
 * Takes snapshots while threads add keys. Without the kernel's barrier all
 * threads use atomic counters.
 */
static void check_together(const char *kind, const char *addressing,
                           bool barrier)
{
    umbel_filter *f = open_kind(kind, addressing);
    adder a[ADDERS];

    assert_ok(umbel_share(f, &test_refusal));
    f->gate->barrier &= barrier;
    for (size_t t = 0; t < ADDERS; t++) {
        a[t] = (adder){.filter = f, .keys = test_keys(t * KEYS, KEYS)};
        assert_int_equal(pthread_create(&a[t].thread, NULL, add_keys, &a[t]),
                         0);
    }
    consume_snapshots(f, a);
    for (size_t t = 0; t < ADDERS; t++)
        pthread_join(a[t].thread, NULL);
    for (size_t t = 0; t < ADDERS; t++)
        free(a[t].keys);
    umbel_filter *last = snapshot_of(f);
    assert_int_equal(umbel_added(last), ALL);
    test_assert_same_payload(last, f);
    umbel_close(last);
    umbel_close(f);
}

static void is_the_filter_at_one_moment_while_threads_add(void **state)
{
    (void)state;
    for (size_t i = 0; um_kind_row(i); i++) {
        const um_kind *kind = um_kind_row(i);
        if (!kind->shared)
            continue;
        check_together(kind->name, NULL, true);
        if (!kind->fixed_addressing)
            check_together(kind->name, "classic", false);
    }
}

/* --- other processes --- */

/*
 * Runs `holds` in a child. Returns true if it succeeded. The alarm ends a child
 * that hangs.
 */
static bool in_child(bool (*holds)(umbel_filter *f), umbel_filter *f)
{
    int status = 1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        _exit(holds(f) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool adds_but_takes_none(umbel_filter *f)
{
    umbel_filter *copy = NULL;
    bool hit = false;

    return umbel_add(f, "child", 5, NULL, NULL) == UMBEL_OK &&
           umbel_query(f, "child", 5, &hit, NULL) == UMBEL_OK && hit &&
           umbel_snapshot(f, &copy, NULL) == UMBEL_E_UNSUPPORTED && !copy;
}

/* Closes the gate, as if another thread took a snapshot at the fork. */
static void a_gate_closed_at_a_fork_holds_up_no_child(void **state)
{
    umbel_filter *f = open_kind("bloom", NULL);

    (void)state;
    assert_ok(umbel_share(f, &test_refusal));
    test_add(f, 0, 100);
    assert_ok(um_gate_close(f->gate, &test_refusal));
    bool fine = in_child(adds_but_takes_none, f);
    um_gate_open(f->gate);
    assert_true(fine);
    umbel_close(snapshot_of(f));
    umbel_close(f);
}

#ifdef __linux__
/* Takes the locks, as if other threads added keys at the fork. */
static void locks_taken_at_a_fork_hold_up_no_child(void **state)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f;

    (void)state;
    p.capacity = 1000; /* few enough hashes for locks */
    assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
    assert_ok(umbel_share(f, &test_refusal));
    for (size_t i = 0; i < UM_GATE_LOCKS; i++)
        um_gate_acquire(&f->gate->lock[i]);
    bool fine = in_child(adds_but_takes_none, f);
    for (size_t i = 0; i < UM_GATE_LOCKS; i++)
        um_gate_pass_back(&f->gate->lock[i]);
    assert_true(fine);
    test_add(f, 0, 100);
    umbel_close(f);
}

/* Makes the kernel refuse membarrier, which it accepted before. */
static bool refuses_without_barrier(umbel_filter *f)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {TEST_COUNT(code), code};
    umbel_filter *copy = NULL;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return true; /* no seccomp here */
    f->gate->process = getpid();
    return umbel_snapshot(f, &copy, NULL) == UMBEL_E_IO && !copy &&
           umbel_add(f, "more", 4, NULL, NULL) == UMBEL_OK;
}

static void without_the_barrier_it_is_refused(void **state)
{
    umbel_filter *f = open_kind("bloom", NULL);

    (void)state;
    assert_ok(umbel_share(f, &test_refusal));
    if (f->gate->barrier)
        assert_true(in_child(refuses_without_barrier, f));
    umbel_close(f);
}
#endif

/* --- memory --- */

static void *get_some(void *ctx, size_t align, size_t len)
{
    void *p = NULL;
    int *left = ctx;

    return (*left)-- > 0 && !posix_memalign(&p, align, len) ? p : NULL;
}

static void write_back(void *ctx, void *memory, size_t len)
{
    (void)ctx;
    (void)len;
    free(memory);
}

static void without_memory_adds_go_on(void **state)
{
    int left = 3; /* two of the filter, one of its gate */
    umbel_alloc alloc = {.ctx = &left, .get = get_some, .put = write_back};
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL, *copy = NULL;

    (void)state;
    p.capacity = 100000; /* too large for the handle's block */
    p.alloc = &alloc;
    assert_ok(umbel_create("bloom", &p, &f, &test_refusal));
    left = 0;
    assert_refused(umbel_share(f, &test_refusal), UMBEL_E_NOMEM, "memory");
    left = 1;
    assert_ok(umbel_share(f, &test_refusal));
    for (int n = 0; n < 2; n++) {
        left = n;
        assert_refused(umbel_snapshot(f, &copy, &test_refusal), UMBEL_E_NOMEM,
                       "memory");
        assert_null(copy);
        test_add(f, 0, 100);
    }
    assert_int_equal(test_hits(f, 0, 100), 100);
    umbel_close(f);
}

TEST_GROUP(snapshot)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_a_copy_where_nobody_adds),
        cmocka_unit_test(is_the_filter_at_one_moment_while_threads_add),
        cmocka_unit_test(a_gate_closed_at_a_fork_holds_up_no_child),
#ifdef __linux__
        cmocka_unit_test(locks_taken_at_a_fork_hold_up_no_child),
        cmocka_unit_test(without_the_barrier_it_is_refused),
#endif
        cmocka_unit_test(without_memory_adds_go_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
