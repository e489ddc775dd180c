/*
 * replica_store.c - replicas survive restarts, crashes and full disks; damaged
 * and expired ones are dropped.
 */
#include "clearinghouse/peering/replica_store.h"
#include "support/sim_disk.h"
#include "support/sync.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOW = 1000000, DAY = 86400, OTHERS = 3, INTERVAL = 100 };

/* A server with its disk, and others whose reports it has. */
typedef struct world {
    test_sync_server here, other[OTHERS];
    um_replica_store *store;
    char *dir;      /* a real directory, or */
    sim_disk *disk; /* a simulated one */
    uint64_t now, epoch_seconds;
    char log[4096];
} world;

static const char *list_name(size_t i)
{
    (void)i;
    return "test";
}

static void note_log(void *ctx, const char *text)
{
    world *w = ctx;
    size_t len = strlen(w->log);

    snprintf(w->log + len, sizeof w->log - len, "%s\n", text);
}

static void open_server(test_sync_server *s, const world *w, uint64_t seed)
{
    *s = (test_sync_server){.list.epoch_seconds = w->epoch_seconds};
    test_sync_open(s, seed);
    umbel_sync_tick(s->machine, w->now);
}

static umbel_status open_store(world *w)
{
    um_replica_store_config c = {.machine = w->here.machine,
                                 .list = list_name,
                                 .interval = INTERVAL,
                                 .log = note_log,
                                 .ctx = w};

    if (w->disk)
        c.disk = sim_ops(w->disk);
    c.dir = w->dir;
    w->log[0] = '\0';
    assert_ok(um_replica_store_open(&c, &w->store, &test_refusal));
    return um_replica_store_load(w->store, &test_refusal);
}

static void open_world(world *w)
{
    w->now = NOW;
    if (!w->disk)
        w->dir = test_dir_make();
    open_server(&w->here, w, 1);
    for (uint64_t i = 0; i < OTHERS; i++)
        open_server(&w->other[i], w, 2 + i);
    assert_ok(open_store(w));
}

static void close_world(world *w)
{
    um_replica_store_close(w->store);
    test_sync_close(&w->here);
    for (size_t i = 0; i < OTHERS; i++)
        test_sync_close(&w->other[i]);
    if (w->dir)
        test_dir_remove(w->dir);
    if (w->disk)
        sim_close(w->disk);
}

/* Restarts the server, which loses everything that is not on disk. */
static umbel_status restart(world *w)
{
    um_replica_store_close(w->store);
    test_sync_close(&w->here);
    open_server(&w->here, w, 1);
    return open_store(w);
}

/* Lets each peer report key i n times, and the server receive the reports. */
static void receive(world *w, uint64_t i, uint64_t n)
{
    for (size_t k = 0; k < OTHERS; k++) {
        test_sync_link l;
        test_sync_add(&w->other[k], i, n);
        test_sync_publish(&w->other[k]);
        test_sync_connect(&l, &w->here, &w->other[k]);
        test_sync_run(&l, w->now);
        umbel_sync_disconnect(w->here.machine, l.peer[0]);
        umbel_sync_disconnect(w->other[k].machine, l.peer[1]);
    }
}

static um_replica_store_stats stats_of(const world *w)
{
    um_replica_store_stats s;

    um_replica_store_stats_get(w->store, &s);
    return s;
}

/* Ticks until this many saves are done and the ticket is saved. */
static void wait_for(world *w, uint64_t saves, uint64_t ticket)
{
    for (int i = 0; i < 10000; i++) {
        um_replica_store_tick(w->store, w->now);
        if (stats_of(w).saves >= saves &&
            um_replica_store_saved(w->store) >= ticket)
            return;
        poll(NULL, 0, w->disk ? 0 : 1);
    }
    fail_msg("not saved");
}

/* Saves replicas in the background. */
static void save_behind(world *w)
{
    um_replica_store_save_begin(w->store);
    wait_for(w, stats_of(w).saves + 1, 0);
}

static void save(world *w)
{
    assert_ok(um_replica_store_save(w->store, &test_refusal));
}

/* Returns the path of a file whose name ends so; NULL if none. Free it. */
static char *find_file(const world *w, const char *end)
{
    DIR *dir = opendir(w->dir);
    char *found = NULL;

    assert_non_null(dir);
    for (const struct dirent *e; !found && (e = readdir(dir));) {
        size_t len = strlen(e->d_name), n = strlen(end);
        if (len >= n && strcmp(e->d_name + len - n, end) == 0)
            found = test_path(w->dir, e->d_name);
    }
    closedir(dir);
    return found;
}

static void flip_byte(const char *path, long at)
{
    FILE *f = fopen(path, "r+");

    assert_non_null(f);
    assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    int c = getc(f);
    assert_int_equal(fseek(f, -1, SEEK_CUR), 0);
    assert_int_not_equal(putc(c ^ 1, f), EOF);
    assert_int_equal(fclose(f), 0);
}

/* --- restarts ------------------------------------------------------------- */

static void a_restart_has_what_others_said(void **state)
{
    world w = {.dir = NULL};

    (void)state;
    open_world(&w);
    receive(&w, 7, 5);
    uint64_t word = test_sync_word(&w.here);
    save(&w);
    assert_ok(restart(&w));
    assert_int_equal(test_sync_count(&w.here, 7), 5 * OTHERS);
    assert_int_equal(test_sync_word(&w.here), word);
    assert_int_equal(stats_of(&w).files, OTHERS);
    close_world(&w);
}

static void a_child_saves_while_the_server_goes_on(void **state)
{
    world w = {.dir = NULL};

    (void)state;
    open_world(&w);
    receive(&w, 7, 5);
    save_behind(&w);
    assert_ok(restart(&w));
    assert_int_equal(test_sync_count(&w.here, 7), 5 * OTHERS);
    close_world(&w);
}

static void copies_are_saved_each_interval_if_they_changed(void **state)
{
    world w = {.dir = NULL};

    (void)state;
    open_world(&w);
    um_replica_store_tick(w.store, w.now);
    receive(&w, 7, 1);
    um_replica_store_tick(w.store, w.now += INTERVAL - 1);
    assert_int_equal(test_dir_count(w.dir), 0);
    w.now++;
    wait_for(&w, 1, 0);
    assert_int_equal(test_dir_count(w.dir), OTHERS + 1);

    char *file = find_file(&w, ".umbel");
    assert_int_equal(unlink(file), 0);
    free(file);
    save_behind(&w); /* nothing changed, so nothing is written */
    assert_int_equal(test_dir_count(w.dir), OTHERS);
    close_world(&w);
}

static void our_own_copies_are_not_saved(void **state)
{
    world w = {.dir = NULL};

    (void)state;
    open_world(&w);
    test_sync_add(&w.here, 1, 1);
    test_sync_publish(&w.here);
    save(&w);
    assert_int_equal(test_dir_count(w.dir), 1); /* the state */
    close_world(&w);
}

static void files_are_coded(void **state)
{
    world w = {.dir = NULL};
    umbel_filter *f;

    (void)state;
    open_world(&w);
    receive(&w, 1, 1);
    save(&w);
    char *file = find_file(&w, ".umbel");
    assert_ok(umbel_load(file, NULL, &f, &test_refusal));
    assert_true(umbel_coded(f));
    umbel_close(f);
    free(file);
    close_world(&w);
}

/* --- rejected files ------------------------------------------------------- */

static void a_damaged_file_is_named_and_removed(void **state)
{
    world w = {.dir = NULL};

    (void)state;
    open_world(&w);
    receive(&w, 7, 5);
    save(&w);
    char *file = find_file(&w, ".umbel");
    flip_byte(file, -1);
    assert_ok(restart(&w));
    assert_int_equal(test_sync_count(&w.here, 7), 5 * (OTHERS - 1));
    assert_int_equal(access(file, F_OK), -1);
    assert_non_null(strstr(w.log, strrchr(file, '/') + 1));
    assert_non_null(strstr(w.log, "peers will send it again"));
    receive(&w, 8, 1); /* the peers send it again */
    assert_int_equal(test_sync_count(&w.here, 7), 5 * OTHERS);
    free(file);
    close_world(&w);
}

static void a_file_of_another_copy_is_taken_once(void **state)
{
    world w = {.dir = NULL};

    (void)state;
    open_world(&w);
    receive(&w, 7, 5);
    save(&w);
    char *file = find_file(&w, ".umbel");
    char *twice = test_path(w.dir, "00000000-000000000000000000000000.umbel");
    size_t len;
    char *bytes = (char *)test_read_file(file, &len);
    test_write_file(twice, bytes, len);
    assert_ok(restart(&w));
    assert_int_equal(test_sync_count(&w.here, 7), 5 * OTHERS);
    assert_int_equal(stats_of(&w).bad, 1);
    free(bytes);
    free(twice);
    free(file);
    close_world(&w);
}

static void files_of_expired_epochs_go(void **state)
{
    world w = {.epoch_seconds = DAY};

    (void)state;
    open_world(&w);
    receive(&w, 7, 5);
    save(&w);
    w.now += 2 * DAY;
    umbel_sync_tick(w.here.machine, w.now);
    save(&w);
    assert_int_equal(test_dir_count(w.dir), 1);

    close_world(&w);
}

static void files_of_epochs_that_ended_meanwhile_are_removed(void **state)
{
    world w = {.epoch_seconds = DAY};

    (void)state;
    open_world(&w);
    receive(&w, 7, 5);
    save(&w);
    w.now += 2 * DAY;
    assert_ok(restart(&w));
    assert_int_equal(test_dir_count(w.dir), 1);
    assert_int_equal(stats_of(&w).bad, OTHERS);
    close_world(&w);
}

static void names_of_others_are_left_alone(void **state)
{
    world w = {.dir = NULL};

    (void)state;
    open_world(&w);
    char *mine = test_path(w.dir, "README");
    char *left = test_path(w.dir, "x.umbel.new");
    test_write_file(mine, "", 0);
    test_write_file(left, "", 0);
    receive(&w, 7, 5);
    save(&w);
    assert_int_equal(access(mine, F_OK), 0);
    assert_int_equal(access(left, F_OK), -1);
    free(mine);
    free(left);
    close_world(&w);
}

/* Creates more files than one pass examines. */
static void thousands_of_bad_files_are_removed(void **state)
{
    world w = {.dir = NULL};

    (void)state;
    open_world(&w);
    receive(&w, 7, 5);
    save(&w);
    for (int i = 0; i < 5000; i++) {
        char name[UM_DISK_NAME];
        snprintf(name, sizeof name, "%08x-%024x.umbel", i, i);
        char *path = test_path(w.dir, name);
        int fd = open(path, O_CREAT | O_WRONLY, 0600);
        assert_true(fd >= 0);
        close(fd);
        free(path);
    }
    assert_ok(restart(&w));
    assert_int_equal(test_dir_count(w.dir), OTHERS + 1);
    assert_int_equal(test_sync_count(&w.here, 7), 5 * OTHERS);
    assert_non_null(strstr(w.log, "4992 more"));
    close_world(&w);
}

/* --- state ---------------------------------------------------------------- */

static void a_drop_holds_once_its_ticket_is_saved(void **state)
{
    world w = {.dir = NULL};

    (void)state;
    open_world(&w);
    receive(&w, 7, 5);
    save(&w);
    const uint8_t *origin = umbel_sync_origin(w.other[0].machine);
    assert_ok(umbel_sync_drop(w.here.machine, origin, false, &test_refusal));
    wait_for(&w, 0, um_replica_store_save_state(w.store));
    assert_int_equal(test_dir_count(w.dir), OTHERS + 1); /* its file is there */
    assert_ok(restart(&w));
    assert_int_equal(test_dir_count(w.dir), OTHERS); /* and is gone */
    assert_int_equal(test_sync_count(&w.here, 7), 5 * (OTHERS - 1));
    receive(&w, 7, 1);
    assert_int_equal(test_sync_count(&w.here, 7), 6 * (OTHERS - 1));
    close_world(&w);
}

static void a_state_does_not_wait_for_copies(void **state)
{
    world w = {.dir = NULL};

    (void)state;
    open_world(&w);
    receive(&w, 7, 5);
    um_replica_store_save_begin(w.store);
    um_replica_store_tick(w.store, w.now); /* the child starts */
    wait_for(&w, 1, um_replica_store_save_state(w.store));
    assert_ok(restart(&w));
    assert_int_equal(test_sync_count(&w.here, 7), 5 * OTHERS);
    close_world(&w);
}

static void a_damaged_state_is_named_and_kept(void **state)
{
    world w = {.dir = NULL};

    (void)state;
    open_world(&w);
    assert_ok(umbel_sync_mute(
        w.here.machine, umbel_sync_origin(w.other[0].machine), &test_refusal));
    save(&w);
    char *file = test_path(w.dir, UM_REPLICA_STATE);
    for (long at = 0; at < 80; at += 8) {
        flip_byte(file, at);
        assert_ok(restart(&w));
        assert_true(stats_of(&w).state_lost);
        assert_non_null(strstr(w.log, "state.bad"));
        char *bad = test_path(w.dir, UM_REPLICA_STATE ".bad");
        flip_byte(bad, at);
        assert_int_equal(rename(bad, file), 0);
        free(bad);
        assert_ok(restart(&w));
        assert_false(stats_of(&w).state_lost);
    }
    free(file);
    close_world(&w);
}

/* --- crashes -------------------------------------------------------------- */

/* The replicas found at a start. */
typedef struct found {
    size_t copies, muted;
    uint64_t oldest, newest; /* versions */
} found;

static found look(const world *w)
{
    found f = {.oldest = UINT64_MAX};
    umbel_sync_replica c;

    for (size_t at = 0; umbel_sync_next_replica(w->here.machine, &at, &c);) {
        f.copies++;
        f.muted += c.muted;
        f.oldest = c.version < f.oldest ? c.version : f.oldest;
        f.newest = c.version > f.newest ? c.version : f.newest;
    }
    return f;
}

/*
 * Cuts the power at the n-th operation after version 1 was saved, or kills the
 * server after n ticks. Then each replica must be the old version or the new
 * one, and everything acknowledged must be on disk. Returns false if all was
 * saved before the crash.
 */
static bool survives_crash(uint64_t n, bool power)
{
    world w = {.disk = sim_open(n)};

    open_world(&w);
    receive(&w, 7, 5);
    save(&w);
    receive(&w, 7, 1);
    umbel_sync_mute(w.here.machine, umbel_sync_origin(w.other[0].machine),
                    NULL);
    uint64_t ticket = um_replica_store_save_state(w.store);
    um_replica_store_save_begin(w.store);
    if (power)
        sim_cut_after(w.disk, n);
    for (uint64_t i = 0; i < (power ? 400 : n) && !sim_is_off(w.disk); i++)
        um_replica_store_tick(w.store, w.now);
    bool told = um_replica_store_saved(w.store) >= ticket;
    bool saved = stats_of(&w).saves == 2;
    sim_off(w.disk, power);
    sim_power_on(w.disk);

    assert_ok(restart(&w));
    found f = look(&w);
    assert_int_equal(stats_of(&w).bad, 0);
    assert_false(stats_of(&w).state_lost);
    assert_int_equal(f.copies, OTHERS);
    assert_true(f.oldest >= 1 && f.newest <= 2);
    assert_true(f.muted == 1 || !told);
    assert_true(f.oldest == 2 || !saved);
    assert_true(f.newest == 1 || f.muted == 1); /* the state is saved first */
    close_world(&w);
    return !(told && saved);
}

/* A stop waits for a save in the background, but not for ever. */
static void a_stop_saves_the_state_in_any_case(void **state)
{
    world w = {.disk = sim_open(1)};

    (void)state;
    open_world(&w);
    receive(&w, 7, 5);
    save(&w);
    receive(&w, 7, 1);
    umbel_sync_mute(w.here.machine, umbel_sync_origin(w.other[0].machine),
                    NULL);
    assert_false(um_replica_store_saving(w.store));
    um_replica_store_save_now(w.store);
    assert_true(um_replica_store_saving(w.store));
    assert_ok(um_replica_store_finish_state(w.store, &test_refusal));
    assert_ok(restart(&w));
    found f = look(&w);
    assert_int_equal(f.copies, OTHERS);
    assert_int_equal(f.muted, 1);
    assert_true(f.oldest == 1);

    um_replica_store_save_now(w.store);
    while (um_replica_store_saving(w.store))
        um_replica_store_tick(w.store, w.now);
    assert_ok(um_replica_store_finish_state(w.store, &test_refusal));
    close_world(&w);
}

static void a_crash_leaves_the_old_version_or_the_new(void **state)
{
    (void)state;
    for (int power = 0; power < 2; power++) {
        uint64_t n = 1;
        while (survives_crash(n, power))
            n++;
        assert_true(n > 20); /* operations, or ticks */
    }
}

static void a_full_disk_is_a_problem_until_it_is_not(void **state)
{
    world w = {.disk = sim_open(1)};

    (void)state;
    open_world(&w);
    receive(&w, 7, 5);
    sim_limit(w.disk, 100);
    um_replica_store_save_begin(w.store);
    for (int i = 0; i < 200; i++)
        um_replica_store_tick(w.store, ++w.now);
    assert_int_equal(stats_of(&w).error, ENOSPC);
    assert_int_equal(stats_of(&w).saves, 0);
    assert_non_null(strstr(w.log, "could not be saved"));
    assert_null(strstr(strstr(w.log, "could not") + 1, "could not")); /* once */

    sim_limit(w.disk, 0);
    for (int i = 0; i < 400 && !stats_of(&w).saves; i++)
        um_replica_store_tick(w.store, ++w.now);
    assert_int_equal(stats_of(&w).error, 0);
    assert_non_null(strstr(w.log, "saved again"));
    assert_ok(restart(&w));
    assert_int_equal(test_sync_count(&w.here, 7), 5 * OTHERS);
    close_world(&w);
}

static void errors_of_the_disk_do_no_harm(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        world w = {.disk = sim_open(seed)};
        open_world(&w);
        for (uint64_t i = 1; i <= 5; i++) {
            receive(&w, 7, 1);
            sim_fail(w.disk, 10);
            um_replica_store_save_state(w.store);
            um_replica_store_save_begin(w.store);
            for (int k = 0; k < 100; k++)
                um_replica_store_tick(w.store, ++w.now);
            sim_fail(w.disk, 0);
        }
        for (int k = 0; k < 300; k++)
            um_replica_store_tick(w.store, ++w.now);
        assert_ok(restart(&w));
        assert_int_equal(stats_of(&w).bad, 0);
        assert_int_equal(test_sync_count(&w.here, 7), 5 * OTHERS);
        close_world(&w);
    }
}

TEST_GROUP(replica_store)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_has_what_others_said),
        cmocka_unit_test(a_child_saves_while_the_server_goes_on),
        cmocka_unit_test(copies_are_saved_each_interval_if_they_changed),
        cmocka_unit_test(our_own_copies_are_not_saved),
        cmocka_unit_test(files_are_coded),
        cmocka_unit_test(a_damaged_file_is_named_and_removed),
        cmocka_unit_test(a_file_of_another_copy_is_taken_once),
        cmocka_unit_test(files_of_expired_epochs_go),
        cmocka_unit_test(files_of_epochs_that_ended_meanwhile_are_removed),
        cmocka_unit_test(names_of_others_are_left_alone),
        cmocka_unit_test(thousands_of_bad_files_are_removed),
        cmocka_unit_test(a_drop_holds_once_its_ticket_is_saved),
        cmocka_unit_test(a_state_does_not_wait_for_copies),
        cmocka_unit_test(a_stop_saves_the_state_in_any_case),
        cmocka_unit_test(a_damaged_state_is_named_and_kept),
        cmocka_unit_test(a_crash_leaves_the_old_version_or_the_new),
        cmocka_unit_test(a_full_disk_is_a_problem_until_it_is_not),
        cmocka_unit_test(errors_of_the_disk_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
