/* move.c - filters whose allocator moves its blocks. */
#include "support/test.h"

#include "filter/handle.h"

#include <umbel/file.h>

#include <stdlib.h>
#include <string.h>

enum { HEADER = 16, KEYS = 300 };

/* Start and length of a block, stored before the memory. */
typedef struct block {
    uint8_t *raw;
    size_t len;
} block;

static size_t blocks, next_shift;

/*
 * Returns memory aligned to 16 bytes, at varying offsets from a 64-byte
 * boundary.
 */
static void *get_block(void *ctx, size_t align, size_t len)
{
    size_t shift = 16 * (next_shift++ % 4);
    uint8_t *raw = malloc(len + HEADER + 64);
    block head = {raw, len};

    (void)ctx;
    assert_true(raw && align <= 16);
    memcpy(raw + shift, &head, sizeof head);
    blocks++;
    return raw + shift + HEADER;
}

static block head_of(const void *memory)
{
    block head;

    memcpy(&head, (const uint8_t *)memory - HEADER, sizeof head);
    return head;
}

static void free_block(void *ctx, void *memory, size_t len)
{
    (void)ctx;
    assert_int_equal(head_of(memory).len, len);
    free(head_of(memory).raw);
    blocks--;
}

static void *move_block(void *ctx, void *memory)
{
    size_t len = head_of(memory).len;
    unsigned *moves = ctx;
    void *to;

    if (++*moves % 5 == 0)
        return NULL; /* not moved */
    to = get_block(NULL, 16, len);
    memcpy(to, memory, len);
    memset(memory, 0xa5, len);
    free_block(NULL, memory, len);
    return to;
}

static void moves_a_kind(const char *kind)
{
    const umbel_alloc alloc = {NULL, get_block, free_block};
    umbel_params params = UMBEL_PARAMS_INIT;
    unsigned moves = 0;
    umbel_filter *f;

    params.capacity = strcmp(kind, "scalable") == 0 ? 0 : 2 * KEYS;
    params.alloc = &alloc;
    assert_ok(umbel_create(kind, &params, &f, &test_refusal));
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t before = umbel_payload_checksum(f);
        bool hit;

        f = um_filter_move(f, move_block, &moves);
        assert_int_equal(umbel_payload_checksum(f), before);
        assert_ok(umbel_add(f, &i, sizeof i, NULL, &test_refusal));
        assert_ok(umbel_query(f, &i, sizeof i, &hit, &test_refusal));
        assert_true(hit);
    }
    umbel_close(f);
    assert_int_equal(blocks, 0);
}

static void every_kind_works_after_each_move(void **state)
{
    const char *kind;

    (void)state;
    for (size_t i = 0; umbel_kind_at(i, &kind, NULL); i++)
        if (!umbel_is_static(kind))
            moves_a_kind(kind);
}

TEST_GROUP(move)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_works_after_each_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
