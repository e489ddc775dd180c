/*
 * pool.c - workers that read mails, and workers that misbehave. The program
 * starts itself as a worker: an honest one, or one of the rows below.
 */
#include "support/test.h"

#include "base/error.h"
#include "mail/internal.h"
#include "mail/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- misbehaving workers -------------------------------------------------- */

enum { FD = UM_MAIL_WORKER_FD };

static void answer(um_mail_answer_kind kind, uint32_t id, size_t len)
{
    um_mail_answer a = {.kind = kind, .id = id};
    uint8_t bytes[UM_MAIL_ANSWER];

    um_mail_answer_encode(&a, bytes);
    if (write(FD, bytes, len) != (ssize_t)len)
        _exit(1);
}

/* Reads exactly len bytes; the last 12 stay in head. */
static void consume(uint8_t *head, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (read(FD, head + i % UM_MAIL_REQUEST, 1) != 1)
            _exit(0);
}

static uint32_t consume_mail(void)
{
    uint8_t head[UM_MAIL_REQUEST], rest[UM_MAIL_REQUEST];
    um_mail_request r;

    consume(head, sizeof head);
    if (!um_mail_request_decode(head, &r))
        _exit(1);
    consume(rest, r.len);
    return r.id;
}

static void killed(void)
{
    kill(getpid(), SIGKILL);
}

/* Dies before it reads a byte of the mail. */
static void dies_idle(void)
{
    char byte;

    answer(UM_MAIL_READY, 0, UM_MAIL_ANSWER);
    if (recv(FD, &byte, 1, MSG_PEEK) == 1)
        killed();
}

static void dies_receiving(void)
{
    uint8_t byte[UM_MAIL_REQUEST];

    answer(UM_MAIL_READY, 0, UM_MAIL_ANSWER);
    consume(byte, 15);
    killed();
}

static void dies_reading(void)
{
    answer(UM_MAIL_READY, 0, UM_MAIL_ANSWER);
    consume_mail();
    abort();
}

static void dies_answering(void)
{
    answer(UM_MAIL_READY, 0, UM_MAIL_ANSWER);
    answer(UM_MAIL_READ, consume_mail(), 100);
    killed();
}

static void ends_without_memory(void)
{
    answer(UM_MAIL_READY, 0, UM_MAIL_ANSWER);
    consume_mail();
    _exit(UM_MAIL_WORKER_NO_MEMORY);
}

static void hangs(void)
{
    answer(UM_MAIL_READY, 0, UM_MAIL_ANSWER);
    consume_mail();
    for (;;)
        pause();
}

static void answers_garbage(void)
{
    uint8_t bytes[UM_MAIL_ANSWER];

    answer(UM_MAIL_READY, 0, UM_MAIL_ANSWER);
    consume_mail();
    memset(bytes, 0xee, sizeof bytes);
    while (write(FD, bytes, sizeof bytes) > 0)
        continue;
    _exit(0);
}

static void answers_another(void)
{
    answer(UM_MAIL_READY, 0, UM_MAIL_ANSWER);
    answer(UM_MAIL_READ, consume_mail() + 1, UM_MAIL_ANSWER);
    for (;;)
        pause();
}

static void is_ready_twice(void)
{
    answer(UM_MAIL_READY, 0, UM_MAIL_ANSWER);
    consume_mail();
    answer(UM_MAIL_READY, 0, UM_MAIL_ANSWER);
    for (;;)
        pause();
}

static void closes_its_socket(void)
{
    answer(UM_MAIL_READY, 0, UM_MAIL_ANSWER);
    consume_mail();
    close(FD);
    for (;;)
        pause();
}

static void is_out_of_memory(void)
{
    answer(UM_MAIL_READY, 0, UM_MAIL_ANSWER);
    for (;;)
        answer(UM_MAIL_NO_MEMORY, consume_mail(), UM_MAIL_ANSWER);
}

static const struct {
    const char *name;
    void (*run)(void);
    um_mail_fail why;
    bool survives;
    bool exact; /* does not depend on timing */
} rows[] = {
    {"dies_idle", dies_idle, UM_MAIL_FAIL_DIED, false, true},
    {"dies_receiving", dies_receiving, UM_MAIL_FAIL_DIED, false, true},
    {"dies_reading", dies_reading, UM_MAIL_FAIL_DIED, false, true},
    {"dies_answering", dies_answering, UM_MAIL_FAIL_DIED, false, true},
    {"ends_without_memory", ends_without_memory, UM_MAIL_FAIL_MEMORY, false,
     true},
    {"hangs", hangs, UM_MAIL_FAIL_TIME, false, false},
    {"answers_garbage", answers_garbage, UM_MAIL_FAIL_BAD_ANSWER, false, true},
    {"answers_another", answers_another, UM_MAIL_FAIL_BAD_ANSWER, false, true},
    {"is_ready_twice", is_ready_twice, UM_MAIL_FAIL_BAD_ANSWER, false, true},
    {"closes_its_socket", closes_its_socket, UM_MAIL_FAIL_DIED, false, true},
    {"is_out_of_memory", is_out_of_memory, UM_MAIL_FAIL_MEMORY, true, true},
};

/* --- submitting mails ------------------------------------------------------
 */

typedef struct asked {
    um_loop *loop;
    um_mail_pool *pool;
    unsigned done, read, want;
    unsigned *running; /* pools with answers outstanding; NULL: this one */
    um_mail_fail why;
    um_mail_facts facts;
} asked;

static void note_answer(void *arg, const um_mail_facts *facts, um_mail_fail why)
{
    asked *a = arg;

    a->done++;
    a->read += facts != NULL;
    a->why = facts ? a->why : why;
    if (facts)
        a->facts = *facts;
    if (a->done == a->want && (!a->running || --*a->running == 0))
        um_loop_stop(a->loop);
}

static umbel_status ask(asked *a, const char *text, size_t len)
{
    uint8_t *mail = malloc(len ? len : 1);

    assert_non_null(mail);
    memcpy(mail, text, len);
    return um_mail_pool_submit(a->pool, mail, len, note_answer, a);
}

/* Opens a pool on that loop; NULL: on a new one. */
static void open_pool(asked *a, um_mail_pool_config c, um_loop *loop)
{
    umbel_error err = {0};

    *a = (asked){.loop = loop};
    if (!loop)
        assert_int_equal(um_loop_open(&a->loop, &err), UMBEL_OK);
    if (um_mail_pool_open(a->loop, &c, &a->pool, &err) != UMBEL_OK)
        fail_msg("%s", err.text);
}

static void close_pool(asked *a)
{
    um_mail_pool_close(a->pool);
    um_loop_close(a->loop);
}

/* Returns the program of a worker in the rows. */
static const char *const *program_of(const char *name)
{
    static const char *programs[UM_COUNT(rows)][4];

    for (size_t i = 0;; i++)
        if (strcmp(rows[i].name, name) == 0) {
            programs[i][0] = "/proc/self/exe";
            programs[i][1] = "--bad-worker";
            programs[i][2] = name;
            return programs[i];
        }
}

static const char simple[] =
    "From: A <a@Shop.example>\nList-Id: News <news.shop.example>\n"
    "Received: from x (x [192.0.2.7]) by y\nSubject: x\n\n"
    "this is a mail with enough words to have all of its signatures because "
    "texts that are short have none and so we go on for a while with words\n";

/* --- tests -----------------------------------------------------------------
 */

static void a_worker_finds_facts(void **state)
{
    asked a;

    (void)state;
    open_pool(&a, (um_mail_pool_config){.workers = 1, .seconds = 60}, NULL);
    a.want = 1;
    assert_int_equal(ask(&a, simple, strlen(simple)), UMBEL_OK);
    um_loop_run(a.loop);
    assert_int_equal(a.read, 1);
    assert_string_equal(a.facts.from_domain, "shop.example");
    assert_string_equal(a.facts.list_id, "news.shop.example");
    assert_string_equal(a.facts.received, "192.0.2.7");
    assert_true(a.facts.exact.present && a.facts.pyzor.present);
    assert_int_equal(a.facts.nshingles, UM_SHINGLES);
    assert_memory_equal(a.facts.sample, "this is a mail", 14);
    assert_int_equal(a.facts.parts, 1);
    close_pool(&a);
}

static void many_mails_are_all_answered(void **state)
{
    asked a;
    um_mail_pool_stats s;

    (void)state;
    open_pool(&a, (um_mail_pool_config){.workers = 2, .seconds = 60}, NULL);
    a.want = 200;
    for (unsigned i = 0; i < a.want; i++)
        assert_int_equal(ask(&a, simple, strlen(simple)), UMBEL_OK);
    um_loop_run(a.loop);
    um_mail_pool_stats_get(a.pool, &s);
    assert_int_equal(a.read, 200);
    assert_int_equal(s.read, 200);
    assert_int_equal(s.died + s.waiting + s.waiting_bytes, 0);
    close_pool(&a);
}

/*
 * A worker's death costs one mail; its successor reads the other, and dies the
 * same way. All rows run at the same time, because some of them wait.
 */
static void bad_workers_cost_one_mail_each(void **state)
{
    asked a[UM_COUNT(rows)];
    unsigned running = UM_COUNT(rows);

    (void)state;
    for (size_t i = 0; i < UM_COUNT(rows); i++) {
        open_pool(&a[i],
                  (um_mail_pool_config){.workers = 1,
                                        .seconds = rows[i].exact ? 60 : 1,
                                        .program = program_of(rows[i].name)},
                  i ? a[0].loop : NULL);
        a[i].want = 2;
        a[i].running = &running;
    }
    for (size_t i = 0; i < UM_COUNT(rows); i++)
        for (unsigned n = 0; n < a[i].want; n++)
            assert_int_equal(ask(&a[i], simple, strlen(simple)), UMBEL_OK);
    um_loop_run(a[0].loop);
    for (size_t i = 0; i < UM_COUNT(rows); i++) {
        um_mail_pool_stats s;

        um_mail_pool_stats_get(a[i].pool, &s);
        if (a[i].read || (a[i].why != rows[i].why && rows[i].exact))
            fail_msg("%s: %s", rows[i].name, um_mail_fail_name(a[i].why));
        if (rows[i].exact) {
            assert_int_equal(s.died, rows[i].survives ? 0 : 2);
            assert_int_equal(s.failed[rows[i].why], 2);
        } else
            assert_true(s.failed[rows[i].why]);
        um_mail_pool_close(a[i].pool);
    }
    um_loop_close(a[0].loop);
}

/* The worker holds four mails; two wait for a second. */
static void mails_that_no_worker_takes_are_given_back(void **state)
{
    um_mail_pool_stats s;
    asked a;

    (void)state;
    open_pool(&a,
              (um_mail_pool_config){
                  .workers = 1, .seconds = 1, .program = program_of("hangs")},
              NULL);
    a.want = 3;
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(ask(&a, simple, strlen(simple)), UMBEL_OK);
    um_loop_run(a.loop);
    um_mail_pool_stats_get(a.pool, &s);
    assert_int_equal(s.failed[UM_MAIL_FAIL_TIME], 1);
    assert_int_equal(s.failed[UM_MAIL_FAIL_BUSY], 2);
    close_pool(&a);
    assert_int_equal(a.done, 6);
}

static void a_full_queue_refuses(void **state)
{
    um_mail_pool_config c = {.workers = 1,
                             .seconds = 60,
                             .limits = {.bytes = 1000},
                             .program = program_of("hangs")};
    asked a;

    (void)state;
    c.memory = um_mail_pool_bytes(&c) - 16000000 + 3000;
    open_pool(&a, c, NULL);
    a.want = 100;
    char mail[4000];
    memset(mail, 'x', sizeof mail);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(ask(&a, mail, sizeof mail), UMBEL_OK);
    assert_int_equal(ask(&a, mail, sizeof mail), UMBEL_E_LIMIT);
    close_pool(&a); /* three are returned */
    assert_int_equal(a.done, 3);
    assert_int_equal(a.why, UM_MAIL_FAIL_CLOSING);
}

static void too_little_memory_is_refused(void **state)
{
    um_mail_pool_config c = {.workers = 2, .memory = 1000000};
    um_mail_pool *pool = NULL;
    um_loop *loop;
    umbel_error err;

    (void)state;
    assert_int_equal(um_loop_open(&loop, NULL), UMBEL_OK);
    assert_int_equal(um_mail_pool_open(loop, &c, &pool, &err), UMBEL_E_LIMIT);
    assert_non_null(strstr(err.text, "mail workers need"));
    assert_null(pool);
    um_loop_close(loop);
}

static void a_program_that_is_none_is_refused(void **state)
{
    static const char *const none[] = {"/nonexistent/worker", NULL};
    static const char *const other[] = {"/bin/true", NULL};
    um_mail_pool_config c = {.workers = 1, .program = none};
    um_mail_pool *pool = NULL;
    um_loop *loop;

    (void)state;
    assert_int_equal(um_loop_open(&loop, NULL), UMBEL_OK);
    assert_int_equal(um_mail_pool_open(loop, &c, &pool, NULL), UMBEL_E_IO);
    c.program = other;
    assert_int_equal(um_mail_pool_open(loop, &c, &pool, NULL),
                     UMBEL_E_UNSUPPORTED);
    um_loop_close(loop);
}

/*
 * Checks that each mail uses no more memory than allowed, and that every
 * request gets an answer.
 */
static void bombs_stay_within_the_memory(void **state)
{
    static const struct {
        const char *head, *piece;
        size_t times;
    } bombs[] = {
        {"Content-Type: multipart/mixed; boundary=x\n\n", "--x\n\n\n", 300000},
        {"Content-Type: multipart/mixed; boundary=x\n\n",
         "--x\nContent-Type: text/plain; a=b; c=d\nX-A: b\nX-B: c\n\nword\n",
         20000},
        {"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: a/b",
         "; a=b", 200000},
        {"", "a:\n", 400000},
        {"From: ", "a:", 500000},
        {"Content-Type: text/html; charset=windows-1252\n\n", "\x80", 1000000},
        {"Content-Type: text/html\n\n", "<div>", 200000},
        {"Content-Type: text/plain; charset=none\n\n", "word ", 20000000},
    };
    um_mail_pool_stats s;
    asked a;

    (void)state;
    open_pool(&a, (um_mail_pool_config){.workers = 1, .seconds = 60}, NULL);
    for (size_t i = 0; i < UM_COUNT(bombs); i++) {
        size_t start = strlen(bombs[i].head), len = strlen(bombs[i].piece);
        size_t whole = start + len * bombs[i].times;
        uint8_t *mail = malloc(whole);

        assert_non_null(mail);
        memcpy(mail, bombs[i].head, start);
        for (size_t n = 0; n < bombs[i].times; n++)
            memcpy(mail + start + n * len, bombs[i].piece, len);
        a.want++;
        assert_int_equal(
            um_mail_pool_submit(a.pool, mail, whole, note_answer, &a),
            UMBEL_OK);
        um_loop_run(a.loop);
        um_mail_pool_stats_get(a.pool, &s);
#ifndef __SANITIZE_ADDRESS__
        assert_in_range(
            s.resident, 0,
            um_mail_pool_bytes(&(um_mail_pool_config){.workers = 1}) -
                16000000);
#endif
    }
    assert_int_equal(a.done, UM_COUNT(bombs));
    assert_int_equal(s.failed[UM_MAIL_FAIL_TIME], 0);
    close_pool(&a);
}

/* --- confinement -----------------------------------------------------------
 */

/* Runs a function in a confined child. Returns its wait status. */
static int confined(int (*run)(void))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        if (um_sandbox_enter(FD, 64000000, NULL) != UMBEL_OK)
            _exit(99);
        _exit(run());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static int open_file(void)
{
    return open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES ? 7 : 1;
}

static int open_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) < 0;
}

static int send_signal(void)
{
    return kill(getppid(), SIGTERM);
}

static int start_process(void)
{
    return fork() < 0;
}

static int write_elsewhere(void)
{
    return write(17, "x", 1) < 0;
}

#ifndef __SANITIZE_ADDRESS__
static int use_memory(void)
{
    for (int i = 0; i < 100; i++) {
        char *memory = malloc(1000000);

        if (!memory)
            return 7;
        memset(memory, i, 1000000);
    }
    return 1;
}
#endif

static void a_worker_can_do_nothing_else(void **state)
{
    int (*const deadly[])(void) = {open_socket, send_signal, start_process,
                                   write_elsewhere};

    (void)state;
    assert_int_equal(WEXITSTATUS(confined(open_file)), 7);
#ifndef __SANITIZE_ADDRESS__
    assert_int_equal(WEXITSTATUS(confined(use_memory)), 7);
#endif
    for (size_t i = 0; i < UM_COUNT(deadly); i++) {
        int status = confined(deadly[i]);

        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    }
}

TEST_GROUP(pool)
{
    if (argc > 2 && strcmp(argv[1], UM_MAIL_WORKER_ARGUMENT) == 0)
        return um_mail_worker_main(argc - 2, argv + 2);
    for (size_t i = 0; argc > 2 && i < UM_COUNT(rows); i++)
        if (strcmp(argv[2], rows[i].name) == 0)
            rows[i].run();

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_finds_facts),
        cmocka_unit_test(many_mails_are_all_answered),
        cmocka_unit_test(bad_workers_cost_one_mail_each),
        cmocka_unit_test(mails_that_no_worker_takes_are_given_back),
        cmocka_unit_test(a_full_queue_refuses),
        cmocka_unit_test(too_little_memory_is_refused),
        cmocka_unit_test(a_program_that_is_none_is_refused),
        cmocka_unit_test(bombs_stay_within_the_memory),
        cmocka_unit_test(a_worker_can_do_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
