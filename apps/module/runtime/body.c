/*
 * body.c - filters that keys and threads hold together.
 */
#include "module/runtime/body.h"

#include "base/error.h"
#include "module/runtime/memory.h"

#include <umbel/describe.h>

#include <string.h>

static _Atomic uint64_t bodies;

umbel_status um_body_open(umbel_filter *f, um_body **out, umbel_error *err)
{
    um_body *b = um_api.TryAlloc(sizeof *b);

    if (!b) {
        umbel_close(f);
        return um_no_memory(err, sizeof *b);
    }
    b->filter = f;
    atomic_init(&b->holders, 1);
    bodies++;
    *out = b;
    return UMBEL_OK;
}

umbel_status um_body_copy(const um_body *from, um_body **out, umbel_error *err)
{
    umbel_filter *f;

    UM_TRY(umbel_copy(from->filter, &f, err));
    return um_body_open(f, out, err);
}

um_body *um_body_hold(um_body *b)
{
    b->holders++;
    return b;
}

void um_body_release(um_body *b)
{
    if (!b || --b->holders > 0)
        return;
    umbel_close(b->filter);
    um_api.Free(b);
    bodies--;
}

uint64_t um_body_count(void)
{
    return bodies;
}

uint64_t um_body_bytes(const um_body *b)
{
    umbel_info info;

    umbel_describe_shape(b->filter, &info);
    for (size_t i = 0; i < info.n; i++)
        if (strcmp(info.field[i].name, "payload_bytes") == 0)
            return info.field[i].value.count;
    return 0;
}
