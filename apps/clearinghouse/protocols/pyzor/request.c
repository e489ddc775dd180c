/*
 * request.c - requests and replies of the Pyzor protocol.
 *
 * pyzord replaces every LF LF by LF, because old clients send a blank line
 * before Sig, and passes the rest to Python's parser for mail headers. So one
 * blank line between fields is skipped; a second one ends the request, as does
 * a line that is not a field. A line that begins with a blank continues the
 * value before it.
 *
 * Replies are written without printf, which would take a third of the server's
 * time.
 */
#include "clearinghouse/protocols/pyzor/internal.h"

#include <string.h>
#include <strings.h>

/* --- requests ------------------------------------------------------------- */

bool um_pyzor_is(umbel_slice s, const char *text)
{
    return s.data && s.len == strlen(text) && memcmp(s.data, text, s.len) == 0;
}

bool um_pyzor_is_named(const um_pyzor_field *f, const char *name)
{
    return f->name.len == strlen(name) &&
           strncasecmp(f->name.data, name, f->name.len) == 0;
}

um_pyzor_walk um_pyzor_begin(umbel_slice text)
{
    const char *at = text.data;

    return (um_pyzor_walk){at, at + text.len};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Returns the end of a line: its LF, or the end of the text. */
static const char *line_end(const char *at, const char *end)
{
    const char *lf = memchr(at, '\n', (size_t)(end - at));

    return lf ? lf : end;
}

/* Returns the start of the line after lf, skipping one blank line. */
static const char *skip_line_end(const char *lf, const char *end)
{
    const char *at = lf < end ? lf + 1 : end;

    return lf < end && at < end && *at == '\n' ? at + 1 : at;
}

/* Returns the colon after a field's name; NULL if the line is not a field. */
static const char *find_colon(const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at == ':')
            return at;
        if (*at <= ' ' || *at > '~')
            return NULL;
    }
    return NULL;
}

/* Returns the end of a value, with its continuation lines. */
static const char *value_end(const char *at, const char *end)
{
    const char *lf = line_end(at, end);

    while (lf + 1 < end && is_blank(lf[1]))
        lf = line_end(lf + 1, end);
    return lf;
}

bool um_pyzor_next(um_pyzor_walk *w, um_pyzor_field *out)
{
    const char *colon = NULL, *lf, *from;

    do { /* fields without a name are skipped */
        if (w->at == w->end || !(colon = find_colon(w->at, w->end)))
            return w->at = w->end, false;
        out->name = (umbel_slice){w->at, (size_t)(colon - w->at)};
        lf = value_end(colon, w->end);
        w->at = skip_line_end(lf, w->end);
    } while (out->name.len == 0);
    for (from = colon + 1; from < lf && is_blank(*from); from++)
        ;
    while (lf > from && lf[-1] == '\r')
        lf--;
    out->value = (umbel_slice){from, (size_t)(lf - from)};
    return true;
}

bool um_pyzor_next_digest(um_pyzor_walk *w, umbel_slice *out)
{
    um_pyzor_field f;

    while (um_pyzor_next(w, &f))
        if (um_pyzor_is_named(&f, "Op-Digest"))
            return *out = f.value, true;
    return false;
}

static void set_first(umbel_slice *kept, umbel_slice value)
{
    if (!kept->data)
        *kept = value;
}

static void set_field(um_pyzor_request *r, const um_pyzor_field *f)
{
    const struct {
        const char *name;
        umbel_slice *target;
    } rows[] = {
        {"Op", &r->op},     {"Thread", &r->thread}, {"PV", &r->pv},
        {"User", &r->user}, {"Time", &r->time},     {"Sig", &r->sig},
        {"Code", &r->code},
    };

    if (um_pyzor_is_named(f, "Op-Digest")) {
        set_first(&r->digest, f->value);
        r->ndigests++;
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (um_pyzor_is_named(f, rows[i].name))
            set_first(rows[i].target, f->value);
}

void um_pyzor_parse(const void *bytes, size_t len, um_pyzor_request *out)
{
    um_pyzor_field f;

    *out = (um_pyzor_request){.text = {bytes, len}};
    for (um_pyzor_walk w = um_pyzor_begin(out->text); um_pyzor_next(&w, &f);)
        set_field(out, &f);
}

/* --- replies -------------------------------------------------------------- */

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

/* Appends a field; name includes the LF before it and the colon. */
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
