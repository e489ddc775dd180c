/*
 * worker.c - the worker: after a failed sync nothing is durable until a
 * snapshot is.
 */
#include "support/sim_disk.h"
#include "support/test.h"

#include "store/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct fixture {
    sim_disk *disk;
    um_worker *worker;
    int event[2];
    int file;
} fixture;

static fixture open_worker(void)
{
    fixture f = {.disk = sim_open(1)};
    um_journal_head head = {.number = 1};

    assert_int_equal(pipe(f.event), 0);
    assert_ok(
        um_worker_open(sim_ops(f.disk), f.event[1], &f.worker, &test_refusal));
    assert_int_equal(um_journal_create(sim_ops(f.disk), &head, &f.file), 0);
    return f;
}

static void close_worker(fixture *f)
{
    um_worker_close(f->worker);
    sim_close(f->disk);
    close(f->event[0]);
    close(f->event[1]);
}

/* Requests a sync of blocks up to seq. Returns its error. */
static int sync_to(fixture *f, uint64_t seq, bool fails)
{
    um_work_done done;

    sim_fail(f->disk, fails);
    um_worker_sync(f->worker, (um_written){f->file, UM_JOURNAL_HEAD, seq},
                   false);
    um_worker_run(f->worker);
    um_worker_collect(f->worker, &done);
    sim_fail(f->disk, 0);
    return done.sync_error;
}

static void a_sync_after_a_failed_one_is_not_trusted(void **state)
{
    (void)state;
    fixture f = open_worker();

    assert_int_equal(sync_to(&f, 3, false), 0);
    assert_int_equal(um_worker_durable(f.worker), 3);
    assert_int_equal(sync_to(&f, 4, true), EIO);
    assert_int_equal(sync_to(&f, 5, false), EIO);
    assert_int_equal(um_worker_durable(f.worker), 3);
    um_worker_set_durable(f.worker, 6);
    assert_int_equal(um_worker_durable(f.worker), 6);
    assert_int_equal(sync_to(&f, 7, false), 0);
    assert_int_equal(um_worker_durable(f.worker), 7);
    close_worker(&f);
}

static void a_retired_journal_is_synced_before_the_next(void **state)
{
    (void)state;
    fixture f = open_worker();
    um_work_done done;

    um_worker_sync(f.worker, (um_written){f.file, UM_JOURNAL_HEAD, 9}, false);
    um_worker_retire(f.worker, (um_written){f.file, UM_JOURNAL_HEAD, 8});
    um_worker_sync(f.worker, (um_written){f.file, UM_JOURNAL_HEAD, 9}, false);
    sim_fail(f.disk, 1);
    um_worker_run(f.worker);
    um_worker_collect(f.worker, &done);
    assert_int_equal(done.sync_error, EIO);
    assert_int_equal(um_worker_durable(f.worker), 0);
    sim_fail(f.disk, 0);
    close_worker(&f);
}

static void names_of_files_are_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool fine, unfinished;
    } cases[] = {{"journal-1", true, false},
                 {"journal-12.new", true, true},
                 {"journal-18446744073709551615", true, false},
                 {"journal-18446744073709551616", false, false},
                 {"journal-0", false, false},
                 {"journal-01", false, false},
                 {"journal-", false, false},
                 {"journal", false, false},
                 {"journal--1", false, false},
                 {"journal-1.old", false, false},
                 {"snapshot-1", false, false}};

    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        uint64_t number;
        bool unfinished;
        bool fine =
            um_data_file_parse(cases[i].name, "journal", &number, &unfinished);
        assert_int_equal(fine, cases[i].fine);
        if (fine)
            assert_int_equal(unfinished, cases[i].unfinished);
    }
}

TEST_GROUP(worker)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sync_after_a_failed_one_is_not_trusted),
        cmocka_unit_test(a_retired_journal_is_synced_before_the_next),
        cmocka_unit_test(names_of_files_are_read_strictly),
    };

    return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
