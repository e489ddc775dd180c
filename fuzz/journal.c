/*
 * journal.c - arbitrary journals.
 *
 * The first byte selects the form. Even: the rest is a journal file. Odd: the
 * rest is cut into blocks of records with correct heads, and the next two bytes
 * select a byte of the file to change.
 *
 * The walk must end and return only blocks with correct checksums, in order,
 * and none from the changed byte on. A record that decodes must encode to the
 * same bytes. Replaying the records works or is rejected with a line of plain
 * text.
 */
#include "fuzz.h"

#include "store/internal.h"
#include "store/journal.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 16, SETUP = 3 };

static int read_slice(void *ctx, uint64_t at, void *out, size_t len,
                      size_t *got)
{
    const umbel_slice *s = ctx;

    *got = at < s->len ? (len < s->len - at ? len : (size_t)(s->len - at)) : 0;
    if (*got)
        memcpy(out, (const uint8_t *)s->data + at, *got);
    return 0;
}

/*
 * Decodes the records of a block, and checks that each encodes to the same
 * bytes.
 */
static void use_records(const um_block *b)
{
    static uint8_t again[UM_RECORD_MAX];
    um_reader from = {b->records, b->records + b->len, false};
    um_near_write mail;
    um_record r;

    while (from.at < from.end) {
        const uint8_t *start = from.at;
        um_writer to = {again, again + sizeof again, false};
        if (!um_record_decode(&from, &r))
            return;
        if (r.type == UM_RECORD_MAIL) {
            um_record_mail(&r, &mail);
            r.mail = &mail;
        }
        um_record_encode(&r, &to);
        UM_WANT(!to.bad && to.at - again == from.at - start);
        UM_WANT(memcmp(again, start, (size_t)(to.at - again)) == 0);
    }
}

/* Returns the number of blocks, and in *at where the walk ended. */
static uint64_t walk(umbel_slice file, um_replay *replay, uint64_t *at)
{
    um_journal_source source = {&file, read_slice};
    um_journal_walk w;
    umbel_error err;
    um_block b;
    uint64_t seq = 0;
    bool found, damaged;

    umbel_status status = um_journal_begin(&w, source, &err);
    if (status != UMBEL_OK) {
        um_fuzz_check_error(status, &err);
        um_journal_end(&w);
        return 0;
    }
    while (um_journal_next(&w, seq + 1, &b, &found, NULL) == UMBEL_OK &&
           found) {
        seq++;
        UM_WANT(b.seq == seq && b.len <= UM_BLOCK_MAX);
        use_records(&b);
        status = um_replay_block(replay, b.records, b.len, b.time, &err);
        if (status != UMBEL_OK)
            um_fuzz_check_error(status, &err);
    }
    UM_WANT(w.at <= file.len);
    *at = w.at;
    UM_WANT(um_journal_is_damaged(&w, seq + 1, &damaged, NULL) == UMBEL_OK);
    um_journal_end(&w);
    return seq;
}

/*
 * Writes the records as a journal: a byte before each block gives its length.
 */
static size_t create_journal(const uint8_t *data, size_t len, uint8_t *out,
                             uint64_t *blocks)
{
    size_t used = UM_JOURNAL_HEAD;

    um_journal_head_encode(&(um_journal_head){.number = 1}, out);
    for (*blocks = 0; len > 0; ++*blocks) {
        size_t n = 8 * (size_t)data[0];
        data++, len--;
        if (n > len)
            n = len & ~(size_t)7;
        if (used + UM_BLOCK_HEAD + n > ROOM)
            break;
        um_block b = {*blocks + 1, *blocks / 2, 1000 + *blocks, NULL, n};
        memcpy(out + used + UM_BLOCK_HEAD, data, n);
        um_block_seal(&b, out + used);
        used += UM_BLOCK_HEAD + n;
        data += n, len -= n;
    }
    return used;
}

static void use_made(const uint8_t *data, size_t len, um_replay *replay)
{
    static uint8_t file[ROOM];
    uint64_t blocks, end;
    size_t used = create_journal(data + SETUP, len - SETUP, file, &blocks);
    size_t change = (data[1] | (size_t)data[2] << 8) % used;

    UM_WANT(walk((umbel_slice){file, used}, replay, &end) == blocks);
    UM_WANT(end == used);
    file[change] ^= 0x40;
    if (change < UM_JOURNAL_DURABLE_AT) {
        UM_WANT(walk((umbel_slice){file, used}, replay, &end) == 0);
    } else if (change >= UM_JOURNAL_HEAD) {
        UM_WANT(walk((umbel_slice){file, used}, replay, &end) < blocks);
        UM_WANT(end <= change);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    um_state state = {0};
    um_replay replay;
    uint64_t end;

    if (len < SETUP)
        return 0;
    UM_WANT(um_replay_init(&replay, &state, NULL, 0, NULL) == UMBEL_OK);
    if (data[0] % 2 == 0)
        walk((umbel_slice){data + 1, len - 1}, &replay, &end);
    else
        use_made(data, len, &replay);
    um_replay_fini(&replay);
    um_state_fini(&state);
    return 0;
}
