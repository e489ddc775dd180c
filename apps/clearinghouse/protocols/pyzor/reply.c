/*
 * pyzor_reply.c - the answer to a Pyzor client.
 *
 * Written without printf: a server that answers from memory would spend a
 * third of its time there.
 */
#include "clearinghouse/protocols/pyzor/reply.h"

#include <string.h>

static char *write_bytes(char *at, const void *data, size_t len)
{
    memcpy(at, data, len);
    return at + len;
}

static char *write_text(char *at, const char *text)
{
    return write_bytes(at, text, strlen(text));
}

static char *write_number(char *at, uint64_t n)
{
    char digits[20];
    size_t i = sizeof digits;

    do
        digits[--i] = (char)('0' + n % 10);
    while ((n /= 10));
    return write_bytes(at, digits + i, sizeof digits - i);
}

/* LF, the name of a field and its value. */
static char *write_field(char *at, const char *name, uint64_t n)
{
    return write_number(write_text(at, name), n);
}

static char *write_thread(char *at, umbel_slice thread)
{
    const char *c = thread.data;

    if (thread.len > UM_PYZOR_THREAD_MAX)
        return at;
    for (size_t i = 0; i < thread.len; i++)
        if (c[i] < ' ' || c[i] > '~')
            return at;
    return thread.len ? write_bytes(at, c, thread.len) : at;
}

static char *write_times(char *at, const um_pyzor_times *t)
{
    at = write_field(at, "\nEntered: ", t->entered);
    at = write_field(at, "\nUpdated: ", t->updated);
    at = write_field(at, "\nWL-Entered: ", t->wl_entered);
    return write_field(at, "\nWL-Updated: ", t->wl_updated);
}

size_t um_pyzor_print(const um_pyzor_reply *r, char out[UM_PYZOR_REPLY_MAX])
{
    char *at = write_field(out, "Code: ", r->code);

    at = write_text(write_text(at, "\nDiag: "), r->diag);
    at = write_thread(write_text(at, "\nPV: 2.1\nThread: "), r->thread);
    if (r->body == UM_PYZOR_TIMES_AND_COUNTS)
        at = write_times(at, &r->times);
    if (r->body != UM_PYZOR_NOTHING) {
        at = write_field(at, "\nCount: ", r->count);
        at = write_field(at, "\nWL-Count: ", r->wl_count);
    }
    return (size_t)(write_text(at, "\n\n") - out);
}
