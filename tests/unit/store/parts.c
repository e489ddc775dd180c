/*
 * parts.c - the parts of the store: records, journals, snapshots, the replay
 * guard and the key-value table, also with invalid bytes.
 */
#include "support/sim_disk.h"
#include "support/test.h"

#include "base/hash.h"
#include "store/internal.h"
#include "store/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 16 };

/* Bytes in memory, for writing and reading. */
typedef struct memory {
    uint8_t bytes[ROOM];
    size_t len, at;
} memory;

static umbel_status write_memory(void *ctx, const void *bytes, size_t len,
                                 umbel_error *err)
{
    memory *m = ctx;

    (void)err;
    assert_true(m->len + len <= ROOM);
    memcpy(m->bytes + m->len, bytes, len);
    m->len += len;
    return UMBEL_OK;
}

static umbel_status read_memory(void *ctx, void *out, size_t len,
                                umbel_error *err)
{
    memory *m = ctx;

    (void)err;
    assert_true(m->at + len <= m->len);
    memcpy(out, m->bytes + m->at, len);
    m->at += len;
    return UMBEL_OK;
}

static um_feed feed_of(memory *m)
{
    m->at = 0;
    return (um_feed){m, read_memory, m->len, false};
}

static umbel_slice text(const char *t)
{
    return (umbel_slice){t, strlen(t)};
}

/* --- records ------------------------------------------------------------- */

static const um_record records[] = {
    {.type = UM_RECORD_COUNT, .list = 3, .amount = 7, .digest = {1, 2}},
    {.type = UM_RECORD_REQUEST, .request_id = 99},
    {.type = UM_RECORD_ADVANCE, .list = 63},
    {.type = UM_RECORD_SET, .key = {"name", 4}, .value = {"value", 5}},
    {.type = UM_RECORD_SET, .key = {"12345678", 8}, .value = {"", 0}},
    {.type = UM_RECORD_REMOVE, .key = {"n", 1}},
    {.type = UM_RECORD_EXTEND, .list = 9},
    {.type = UM_RECORD_COUNT, .reporter = 65535, .digest = {1, 2}},
};

static size_t encode_record(const um_record *r, uint8_t out[64])
{
    um_writer w = {out, out + 64, false};

    um_record_encode(r, &w);
    assert_false(w.bad);
    return (size_t)(w.at - out);
}

static void records_come_back_and_not_when_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(records); i++) {
        uint8_t bytes[64], again[64];
        size_t len = encode_record(&records[i], bytes);
        um_record r;
        for (size_t cut = 0; cut < len; cut++) {
            um_reader from = {bytes, bytes + cut, false};
            assert_false(um_record_decode(&from, &r));
        }
        um_reader from = {bytes, bytes + len, false};
        assert_true(um_record_decode(&from, &r));
        assert_ptr_equal(from.at, from.end);
        assert_int_equal(encode_record(&r, again), len);
        assert_memory_equal(again, bytes, len);
    }
}

static void records_have_one_form(void **state)
{
    (void)state;
    static const struct {
        size_t record, at;
        uint8_t byte;
    } cases[] = {
        {0, 0, 0}, {0, 0, 6},            /* type */
        {1, 1, 1}, {1, 4, 1}, {1, 8, 0}, /* list, padding, a request id of 0 */
        {2, 5, 1},                       /* padding */
        {3, 2, 0}, {3, 3, 9}, {3, 4, 200}, {3, 6, 1}, {3, 23, 1}, /* lengths */
        {5, 4, 1},            /* a value to drop */
        {6, 2, 1}, {6, 5, 1}, /* padding */
    };

    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        uint8_t bytes[64];
        size_t len = encode_record(&records[cases[i].record], bytes);
        um_reader from = {bytes, bytes + len, false};
        um_record r;
        bytes[cases[i].at] = cases[i].byte;
        assert_false(um_record_decode(&from, &r));
    }
}

/* --- journals ------------------------------------------------------------ */

static int read_bytes(void *ctx, uint64_t at, void *out, size_t len,
                      size_t *got)
{
    const memory *m = ctx;

    *got = at < m->len ? m->len - at : 0;
    if (*got > len)
        *got = len;
    memcpy(out, m->bytes + at, *got);
    return 0;
}

/* Writes three blocks; the third records that the first was durable. */
static memory *create_journal(size_t end[3])
{
    static memory m;

    m.len = UM_JOURNAL_HEAD;
    um_journal_head_encode(&(um_journal_head){.number = 5}, m.bytes);
    for (uint64_t i = 0; i < 3; i++) {
        um_block b = {.seq = i + 1, .durable = i / 2, .time = 10, .len = 16};
        memset(m.bytes + m.len + UM_BLOCK_HEAD, (int)i, 16);
        um_block_seal(&b, m.bytes + m.len);
        m.len += UM_BLOCK_HEAD + 16;
        end[i] = m.len;
    }
    return &m;
}

/* Returns the number of blocks, and in *damaged whether one is missing. */
static uint64_t walk(memory *m, bool *damaged)
{
    um_journal_walk w;
    um_block b;
    bool found;
    uint64_t n = 0;

    assert_ok(um_journal_begin(&w, (um_journal_source){m, read_bytes},
                               &test_refusal));
    for (;; n++) {
        assert_ok(um_journal_next(&w, n + 1, &b, &found, &test_refusal));
        if (!found)
            break;
        assert_int_equal(b.records[0], n);
    }
    assert_ok(um_journal_is_damaged(&w, n + 1, damaged, &test_refusal));
    um_journal_end(&w);
    return n;
}

static void a_cut_journal_gives_its_whole_blocks(void **state)
{
    (void)state;
    size_t end[3];
    memory *m = create_journal(end);

    for (size_t len = m->len; len >= UM_JOURNAL_HEAD; len--) {
        bool damaged;
        m->len = len;
        assert_int_equal(walk(m, &damaged),
                         (len >= end[0]) + (len >= end[1]) + (len >= end[2]));
        assert_false(damaged);
    }
}

static void a_hole_below_what_was_durable_is_damage(void **state)
{
    (void)state;
    size_t end[3];
    memory *m = create_journal(end);
    bool damaged;

    for (size_t at = UM_JOURNAL_HEAD; at < end[2]; at++) {
        m->bytes[at] ^= 4;
        uint64_t n = walk(m, &damaged);
        assert_int_equal(n, at < end[0] ? 0 : at < end[1] ? 1 : 2);
        assert_int_equal(damaged, at < end[0]);
        m->bytes[at] ^= 4;
    }
    um_journal_durable_encode(end[1], m->bytes + UM_JOURNAL_DURABLE_AT);
    m->len = end[1] - 1; /* half a journal whose head says more is durable */
    assert_int_equal(walk(m, &damaged), 1);
    assert_true(damaged);
    m->bytes[UM_JOURNAL_DURABLE_AT] ^=
        1; /* a damaged durable_end counts as none */
    walk(m, &damaged);
    assert_false(damaged);
}

/* --- snapshots ----------------------------------------------------------- */

static const um_snapshot_head head = {.number = 1, .seq = 4, .time = 5};

static size_t write_snapshot(sim_disk *d, size_t len)
{
    um_snapshot_writer w;
    uint8_t byte;

    assert_ok(um_snapshot_create(&w, sim_ops(d), &head, &test_refusal));
    for (size_t i = 0; i < len; i++) {
        byte = (uint8_t)(i * 7);
        assert_ok(um_sink_write(&w.sink, &byte, 1, &test_refusal));
    }
    assert_ok(um_snapshot_finish(&w, &test_refusal));
    size_t size = (size_t)w.at;
    um_snapshot_writer_fini(&w);
    return size;
}

/* Reads len bytes in steps. Returns the status of the first failure. */
static umbel_status read_snapshot(sim_disk *d, size_t len, size_t step)
{
    static uint8_t bytes[3 * UM_PIECE_MAX];
    um_snapshot_reader r;
    umbel_status status =
        um_snapshot_open(&r, sim_ops(d), "snapshot-1", &test_refusal);

    for (size_t at = 0; status == UMBEL_OK && at < len; at += step)
        status = um_feed_get(&r.feed, bytes + at,
                             len - at < step ? len - at : step, &test_refusal);
    if (status == UMBEL_OK)
        status = um_snapshot_check_end(&r, &test_refusal);
    for (size_t i = 0; status == UMBEL_OK && i < len; i += 97)
        assert_int_equal(bytes[i], (uint8_t)(i * 7));
    um_snapshot_reader_fini(&r);
    return status;
}

static void snapshots_are_read_in_any_steps(void **state)
{
    (void)state;
    static const size_t lens[] = {0,
                                  1,
                                  UM_PIECE_MAX - 1,
                                  UM_PIECE_MAX,
                                  UM_PIECE_MAX + 1,
                                  2 * UM_PIECE_MAX + 100};
    static const size_t steps[] = {7919, UM_PIECE_MAX, 3 * UM_PIECE_MAX};

    for (size_t i = 0; i < TEST_COUNT(lens); i++) {
        sim_disk *d = sim_open(1);
        write_snapshot(d, lens[i]);
        for (size_t j = 0; j < TEST_COUNT(steps); j++)
            assert_ok(read_snapshot(d, lens[i], steps[j]));
        assert_int_not_equal(read_snapshot(d, lens[i] + 1, 3 * UM_PIECE_MAX),
                             UMBEL_OK);
        if (lens[i])
            assert_int_not_equal(read_snapshot(d, lens[i] - 1, 7919), UMBEL_OK);
        sim_close(d);
    }
}

/* Overwrites the snapshot with these bytes. */
static void replace(sim_disk *d, const uint8_t *bytes, size_t len)
{
    um_disk *disk = sim_ops(d);
    int file;

    assert_int_equal(disk->ops->open(disk, "snapshot-1", UM_DISK_CREATE, &file),
                     0);
    assert_int_equal(disk->ops->write(disk, file, 0, bytes, len), 0);
}

static void a_cut_or_changed_snapshot_is_refused(void **state)
{
    (void)state;
    enum { LEN = 100 };
    sim_disk *d = sim_open(1);
    size_t size = write_snapshot(d, LEN), got;
    uint8_t bytes[1000];
    int file;

    assert_int_equal(
        sim_ops(d)->ops->open(sim_ops(d), "snapshot-1", UM_DISK_READ, &file),
        0);
    sim_ops(d)->ops->read(sim_ops(d), file, 0, bytes, sizeof bytes, &got);
    assert_int_equal(got, size);
    for (size_t i = 0; i < size; i++) {
        replace(d, bytes, i);
        assert_int_not_equal(read_snapshot(d, LEN, LEN), UMBEL_OK);
        bytes[i] ^= 0x10;
        replace(d, bytes, size);
        assert_int_not_equal(read_snapshot(d, LEN, LEN), UMBEL_OK);
        bytes[i] ^= 0x10;
    }
    replace(d, bytes, size + 1);
    assert_int_not_equal(read_snapshot(d, LEN, LEN), UMBEL_OK);
    replace(d, bytes, size);
    assert_ok(read_snapshot(d, LEN, LEN));
    sim_close(d);
}

static void a_snapshot_that_fails_leaves_no_file(void **state)
{
    (void)state;
    sim_disk *d = sim_open(1);
    um_snapshot_writer w;

    sim_limit(d, UM_SNAPSHOT_HEAD + UM_PIECE_HEAD);
    assert_ok(um_snapshot_create(&w, sim_ops(d), &head, &test_refusal));
    assert_ok(um_sink_write(&w.sink, "some bytes", 10, &test_refusal));
    assert_refused(um_snapshot_finish(&w, &test_refusal), UMBEL_E_IO,
                   "No space left");
    um_snapshot_writer_fini(&w);
    assert_int_equal(sim_bytes(d), 0);
    sim_close(d);
}

/* --- replay guard ------------------------------------------------------- */

static void marks_fade_and_make_room(void **state)
{
    (void)state;
    um_replay_guard o = {0};

    for (uint64_t i = 1; i <= 20000; i++) {
        assert_ok(um_replay_guard_reserve(&o, 1, i, &test_refusal));
        um_replay_guard_add(&o, i * 3, i);
    }
    assert_true(um_replay_guard_seen(&o, 3 * 19401, 20000));
    assert_false(um_replay_guard_seen(&o, 3 * 19399, 20000));
    assert_false(um_replay_guard_seen(&o, 3 * 19401 + 1, 20000));
    assert_true(o.cap <= 8192);
    um_replay_guard_fini(&o);
}

static void too_many_marks_are_refused(void **state)
{
    (void)state;
    um_replay_guard o = {0};

    assert_refused(
        um_replay_guard_reserve(&o, UM_REPLAY_GUARD_MAX + 1, 0, &test_refusal),
        UMBEL_E_LIMIT, "signed requests");
    assert_int_equal(o.cap, 0);
}

static void request_ids_come_back_and_not_when_wrong(void **state)
{
    (void)state;
    static memory m;
    um_sink sink = {&m, write_memory};
    um_replay_guard o = {0}, again = {0};

    m.len = 0;
    assert_ok(um_replay_guard_reserve(&o, 2, 1000, &test_refusal));
    um_replay_guard_add(&o, 7, 100); /* too old to be written */
    um_replay_guard_add(&o, 8, 900);
    assert_ok(um_replay_guard_encode(&o, 1000, &sink, &test_refusal));
    assert_int_equal(m.len, 24);
    um_feed feed = feed_of(&m);
    assert_ok(um_replay_guard_decode(&again, &feed, &test_refusal));
    assert_true(um_replay_guard_seen(&again, 8, 1000));
    assert_int_equal(again.used, 1);
    um_replay_guard_fini(&again);
    for (size_t len = 0; len < 24; len++) {
        feed = feed_of(&m);
        feed.left = len;
        assert_int_equal(um_replay_guard_decode(&again, &feed, NULL),
                         UMBEL_E_FORMAT);
        um_replay_guard_fini(&again);
    }
    m.bytes[8] = 0;
    feed = feed_of(&m);
    assert_refused(um_replay_guard_decode(&again, &feed, &test_refusal),
                   UMBEL_E_FORMAT, "a request id of 0");
    um_replay_guard_fini(&again);
    um_replay_guard_fini(&o);
}

/* --- key-value table ---------------------------------------------------- */

static void notes_have_limits(void **state)
{
    (void)state;
    static uint8_t big[UM_KV_VALUE_MAX + 1];
    um_kv_table t = {0};
    umbel_slice value;
    char name[16];
    umbel_status status = UMBEL_OK;

    assert_refused(um_kv_set(&t, text(""), text("x"), &test_refusal),
                   UMBEL_E_RANGE, "1 to 255");
    assert_refused(
        um_kv_set(&t, text("x"), (umbel_slice){big, sizeof big}, &test_refusal),
        UMBEL_E_RANGE, "65535");
    for (unsigned i = 0; status == UMBEL_OK; i++) {
        snprintf(name, sizeof name, "%u", i);
        status = um_kv_set(&t, text(name), (umbel_slice){big, UM_KV_VALUE_MAX},
                           NULL);
    }
    assert_int_equal(status, UMBEL_E_LIMIT);
    assert_true(t.bytes <= UM_KV_MAX_BYTES);
    assert_true(um_kv_remove(&t, text("0")));
    assert_false(um_kv_remove(&t, text("0")));
    assert_false(um_kv_get(&t, text("0"), &value));
    assert_ok(um_kv_set(&t, text(name), (umbel_slice){big, UM_KV_VALUE_MAX},
                        &test_refusal));
    um_kv_fini(&t);
    assert_false(um_kv_remove(&t, text("0")));
}

static void notes_come_back_and_not_when_cut(void **state)
{
    (void)state;
    static memory m;
    um_sink sink = {&m, write_memory};
    um_kv_table t = {0}, again = {0};
    umbel_slice value;

    m.len = 0;
    assert_ok(um_kv_set(&t, text("a"), text("first"), &test_refusal));
    assert_ok(um_kv_set(&t, text("b"), text(""), &test_refusal));
    assert_ok(um_kv_set(&t, text("a"), text("second"), &test_refusal));
    assert_ok(um_kv_encode(&t, &sink, &test_refusal));
    um_feed feed = feed_of(&m);
    assert_ok(um_kv_decode(&again, &feed, &test_refusal));
    assert_int_equal(again.n, 2);
    assert_true(um_kv_get(&again, text("a"), &value));
    assert_int_equal(value.len, 6);
    um_kv_fini(&again);
    for (size_t len = 0; len < m.len; len++) {
        feed = feed_of(&m);
        feed.left = len;
        assert_int_equal(um_kv_decode(&again, &feed, NULL), UMBEL_E_FORMAT);
        um_kv_fini(&again);
    }
    um_kv_fini(&t);
}

TEST_GROUP(parts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_back_and_not_when_cut),
        cmocka_unit_test(records_have_one_form),
        cmocka_unit_test(a_cut_journal_gives_its_whole_blocks),
        cmocka_unit_test(a_hole_below_what_was_durable_is_damage),
        cmocka_unit_test(snapshots_are_read_in_any_steps),
        cmocka_unit_test(a_cut_or_changed_snapshot_is_refused),
        cmocka_unit_test(a_snapshot_that_fails_leaves_no_file),
        cmocka_unit_test(marks_fade_and_make_room),
        cmocka_unit_test(too_many_marks_are_refused),
        cmocka_unit_test(request_ids_come_back_and_not_when_wrong),
        cmocka_unit_test(notes_have_limits),
        cmocka_unit_test(notes_come_back_and_not_when_cut),
    };

    return cmocka_run_group_tests_name("store_parts", tests, NULL, NULL);
}
