/* memory.c - an allocator that counts, poisons, and fails on demand. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

/*
 * SPACE bytes before a block hold its length. Blocks have exactly the alignment
 * that the library is promised.
 */
enum { ALIGN = 16, SPACE = 64 + ALIGN };

static void *get(void *ctx, size_t align, size_t len)
{
    test_memory *m = ctx;
    uint8_t *p;

    assert_true(len > 0 && align > 0 && align <= ALIGN);
    assert_int_equal(align & (align - 1), 0);
    if (++m->calls == m->fail_at ||
        posix_memalign((void **)&p, 64, SPACE + len))
        return NULL;
    memcpy(p, &len, sizeof len);
    memset(p + SPACE, 0xA5, len); /* memory need not be zeroed */
    m->live_bytes += len;
    m->live_blocks++;
    return p + SPACE;
}

static void put(void *ctx, void *memory, size_t len)
{
    test_memory *m = ctx;
    uint8_t *p = (uint8_t *)memory - SPACE;
    size_t was;

    memcpy(&was, p, sizeof was);
    assert_int_equal(was, len);
    m->live_bytes -= len;
    m->live_blocks--;
    free(p);
}

umbel_alloc test_alloc(test_memory *m)
{
    return (umbel_alloc){.ctx = m, .get = get, .put = put};
}
