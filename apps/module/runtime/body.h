/*
 * body.h - a filter as the server's keys hold it.
 *
 * A body is counted by its holders: keys (COPY gives a second one) and threads
 * that read it. Only a body with one holder may be changed; a change to any
 * other is made to a copy, which takes its place in the key (write.h). So a
 * thread that holds a body has the filter of one moment, however long it takes.
 */
#ifndef UM_MODULE_BODY_H
#define UM_MODULE_BODY_H

#include <stdatomic.h>
#include <umbel/filter.h>

typedef struct um_body {
    umbel_filter *filter;
    atomic_uint holders;
} um_body;

/* Takes the filter, which is closed when there is no memory. */
umbel_status um_body_open(umbel_filter *f, um_body **out, umbel_error *err);
/* Copies the filter into a body of its own. */
umbel_status um_body_copy(const um_body *from, um_body **out, umbel_error *err);
um_body *um_body_hold(um_body *b);
/* The last holder closes the filter. Any thread may call it; NULL is fine. */
void um_body_release(um_body *b);

/* Returns the number of bodies. */
uint64_t um_body_count(void);

/* Bytes of the filter's cells: what work on all of it is linear in. */
uint64_t um_body_bytes(const um_body *b);

#endif
