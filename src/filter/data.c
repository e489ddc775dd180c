/*
 * data.c - user data that travels with a filter, such as a text that says where
 * it comes from: the last section of the payload, which no kind sees.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "filter/handle.h"

#include <umbel/file.h>

#include <string.h>

size_t um_data_room(const umbel_filter *f)
{
    um_section data = {.cells = f->attached, .cell_bits = 8};
    return (size_t)um_section_room(&data);
}

umbel_slice umbel_data(const umbel_filter *f)
{
    size_t room = um_data_room(f);

    return (umbel_slice){f->payload + f->payload_len - room,
                         (size_t)f->attached};
}

/* Moves the cells to new memory, and puts the data behind them. */
static void move_cells(umbel_filter *f, uint8_t *payload, size_t len,
                       size_t cells, umbel_slice data)
{
    memcpy(payload, f->payload, cells);
    if (data.len)
        memcpy(payload + cells, data.data, data.len);
    um_payload_free(f);
    f->owner = UM_OWNED;
    f->payload = payload;
    f->payload_len = len;
    f->attached = data.len;
    um_filter_attach(f);
}

umbel_status umbel_set_data(umbel_filter *f, const void *data, size_t len,
                            umbel_error *err)
{
    um_shape s = *um_shape_of(f);
    size_t cells = f->payload_len - um_data_room(f), room;

    UM_TRY(um_check_writable(f, err));
    if (f->gate)
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "a shared filter is in use by others: give it its data "
                       "before");
    s.attached = len;
    uint8_t *payload =
        um_payload_len(&s, &room) ? um_get(&f->alloc, room) : NULL;
    if (!payload)
        return um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes of data",
                       len);
    move_cells(f, payload, room, cells, (umbel_slice){data, len});
    return UMBEL_OK;
}

umbel_status um_pass_data(umbel_filter *to, const umbel_filter *from,
                          umbel_error *err)
{
    umbel_slice data = umbel_data(from);

    return data.len ? umbel_set_data(to, data.data, data.len, err) : UMBEL_OK;
}
