/*
 * mime.c - reads a mail part by part.
 *
 * GMime divides the mail; its parts point into the mail and are not copied. The
 * work of GMime for hostile mail is limited before it starts: a mail of many
 * lines is cut where it has too many boundaries or header fields.
 * g_mime_multipart_get_boundary is never called (3.2.13 may not return).
 *
 * Python, and so the Pyzor client, ends a header at the first line that is not
 * a field. GMime skips such lines, so an empty line is inserted there.
 */
#include "base/buffer.h"
#include "mail/internal.h"

#include "base/buffer.h"
#include "base/error.h"

#include <gmime/gmime.h>

enum {
    FEW_LINES = 22000, /* limit on lines that are header fields */
    BOUNDARIES = 4000, /* limit on lines that begin with -- */
    KEPT = 1 << 20,    /* largest buffer kept for the next mail */
    HEADER = 65536,    /* bytes of the mail's header */
    FIELD = 8192,      /* bytes of one field */
    PARAMETER = 256,
    MESSAGES_IN_LEAVES = 8 /* message/... parts that GMime does not divide */
};

/* A leaf part: its text is in the mail (or its repaired copy), or in out. */
typedef struct leaf {
    const uint8_t *text; /* NULL: in out */
    size_t at, len;
    bool is_text;
} leaf;

struct um_mail_reader {
    um_charsets *charsets;
    um_buffer repaired;      /* the mail with a line inserted */
    um_buffer decoded, page; /* of one part: bytes, and HTML as UTF-8 */
    um_buffer out;           /* text of all parts */
    leaf *leaf;
    umbel_slice *slice; /* leaves, then texts */
    size_t nleaves, cap;
    /* State of the current mail. */
    um_mail_limits limits;
    const uint8_t *mail;
    size_t len;
    unsigned notes, in_leaves, nheaders;
    bool no_memory;
};

/* --- notes and limits ----------------------------------------------------- */

const char *um_mail_note_text(unsigned i)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one text */
        UM_MAIL_NOTE_LIST(TEXT)
#undef TEXT
    };

    return i < UM_COUNT(texts) ? texts[i] : NULL;
}

um_mail_limits um_mail_limits_or_default(const um_mail_limits *l)
{
    um_mail_limits out = l ? *l : (um_mail_limits){0};

    if (!out.bytes)
        out.bytes = 1000000;
    if (!out.parts)
        out.parts = 1000;
    if (!out.depth)
        out.depth = 64;
    return out;
}

/* --- the bytes passed to GMime -------------------------------------------- */

static bool is_empty_line(const uint8_t *at, const uint8_t *end)
{
    return at == end || *at == '\n' ||
           (*at == '\r' && at + 1 < end && at[1] == '\n');
}

/* Copies the fields of a header that are not too long, up to the limit on all
 * of them. Returns false if some were left out. */
static bool copy_fields(um_buffer *out, const uint8_t *at, const uint8_t *end)
{
    bool all = true;

    for (const uint8_t *next; at < end; at = next) {
        size_t len;

        next = um_field_end(at, end);
        len = (size_t)(next - at);
        if (len <= FIELD && out->len + len <= HEADER)
            um_buffer_append(out, at, len);
        else
            all = false;
    }
    return all;
}

/* Counts lines, and cuts the mail at the limit of boundaries. Returns true if
 * there are more than FEW_LINES, so that header fields must be counted. */
static bool cut_boundaries(um_mail_reader *r)
{
    const uint8_t *at = r->mail, *end = at + r->len;
    size_t lines = 0, boundaries = 0;

    for (; at < end; at = um_line_end(at, end)) {
        lines++;
        if (end - at < 2 || at[0] != '-' || at[1] != '-')
            continue;
        if (++boundaries > BOUNDARIES) {
            r->notes |= UM_MAIL_PARTS;
            r->len = (size_t)(at - r->mail);
            break;
        }
    }
    return lines > FEW_LINES;
}

/* Ends the header where Python does, and drops fields that are too long. */
static void repair_header(um_mail_reader *r)
{
    const uint8_t *end = r->mail + r->len, *body = um_header_end(r->mail, end);
    size_t fields = (size_t)(body - r->mail);
    bool ends = is_empty_line(body, end);

    if (fields <= FIELD && ends)
        return;
    if (!um_buffer_reserve(&r->repaired, r->len + 1)) {
        r->no_memory = true;
        return;
    }
    if (!copy_fields(&r->repaired, r->mail, body))
        r->notes |= UM_MAIL_CUT;
    if (!ends)
        um_buffer_append(&r->repaired, "\n", 1);
    um_buffer_append(&r->repaired, body, (size_t)(end - body));
    r->mail = r->repaired.data;
    r->len = r->repaired.len;
}

/* --- leaves --------------------------------------------------------------- */

/* Reserves space for more leaves; returns false if memory runs out. */
static bool grow_leaves(um_mail_reader *r)
{
    size_t cap = um_next_cap(r->cap, 0);

    if (!um_array_resize(&r->leaf, cap, sizeof *r->leaf) ||
        !um_array_resize(&r->slice, 2 * cap, sizeof *r->slice))
        return false;
    r->cap = cap;
    return true;
}

static leaf *add_leaf(um_mail_reader *r)
{
    if (r->nleaves == r->limits.parts) {
        r->notes |= UM_MAIL_PARTS;
        return NULL;
    }
    if (r->nleaves == r->cap && !grow_leaves(r)) {
        r->no_memory = true;
        return NULL;
    }
    r->leaf[r->nleaves] = (leaf){0};
    return &r->leaf[r->nleaves++];
}

static umbel_slice header_value(GMimeObject *o, const char *name)
{
    GMimeHeaderList *list = g_mime_object_get_header_list(o);
    GMimeHeader *h = list ? g_mime_header_list_get_header(list, name) : NULL;
    const char *raw = h ? g_mime_header_get_raw_value(h) : NULL;

    return raw ? (umbel_slice){raw, strlen(raw)} : (umbel_slice){NULL, 0};
}

/* Strips leading blanks and the end of the line, as Python does. */
static umbel_slice field_value(umbel_slice raw)
{
    const char *at = raw.data;

    while (raw.len && strchr(" \t\r\n", *at)) {
        at++;
        raw.len--;
    }
    while (raw.len && (at[raw.len - 1] == '\r' || at[raw.len - 1] == '\n'))
        raw.len--;
    return (umbel_slice){at, raw.len};
}

static um_transfer *transfer_of(GMimeObject *o)
{
    return um_transfer_find(
        field_value(header_value(o, "Content-Transfer-Encoding")));
}

/* Returns the charset of the part; ASCII if it names none, or an unknown one.
 */
static int charset_of(um_mail_reader *r, umbel_slice type)
{
    char name[PARAMETER];
    size_t len;
    int found;

    if (!type.len ||
        !um_content_param(type, "charset", name, sizeof name, &len) || len == 0)
        return UM_CHARSET_ASCII;
    found = um_charset_find(r->charsets, (umbel_slice){name, len});
    if (found < 0)
        r->notes |= UM_MAIL_CHARSET;
    return found < 0 ? UM_CHARSET_ASCII : found;
}

static bool decode_text(um_mail_reader *r, GMimeObject *o, umbel_slice type,
                        bool html, umbel_slice body)
{
    um_transfer *transfer = transfer_of(o);
    const uint8_t *bytes = body.data;
    size_t len = body.len;
    int charset = charset_of(r, type);

    r->decoded.len = r->page.len = 0;
    if (transfer) {
        if (!um_buffer_reserve(&r->decoded, len))
            return false;
        transfer(&r->decoded, bytes, len);
        bytes = r->decoded.data;
        len = r->decoded.len;
    }
    if (!um_charset_decode(r->charsets, charset, UM_CHARSET_DROP,
                           html ? &r->page : &r->out, bytes, len))
        return false;
    return !html || um_html_to_text(&r->out, r->page.data, r->page.len);
}

/* Uses a part that is not text as it is in the mail, if it is ASCII. */
static bool read_other(um_mail_reader *r, leaf *f, umbel_slice type,
                       umbel_slice body)
{
    const uint8_t *bytes = body.data;

    for (size_t i = 0; i < body.len; i++)
        if (bytes[i] >= 0x80)
            return um_charset_decode(r->charsets, charset_of(r, type),
                                     UM_CHARSET_REPLACE, &r->out, bytes,
                                     body.len);
    f->text = bytes;
    return true;
}

static void read_leaf(um_mail_reader *r, GMimeObject *o, umbel_slice body)
{
    umbel_slice type = header_value(o, "Content-Type");
    um_content_type t = type.data ? um_content_type_read(type)
                                  : um_content_type_read((umbel_slice){"", 0});
    leaf *f = add_leaf(r);
    bool ok;

    if (!f)
        return;
    f->is_text = um_slice_is(t.type, "text");
    f->at = r->out.len;
    ok = f->is_text
             ? decode_text(r, o, type, um_slice_is(t.subtype, "html"), body)
             : read_other(r, f, type, body);
    f->len = f->text ? body.len : r->out.len - f->at;
    r->no_memory |= !ok;
}

/* --- the walk ------------------------------------------------------------- */

static void read_object(um_mail_reader *r, GMimeObject *o, unsigned depth);
static void read_message(um_mail_reader *r, umbel_slice bytes, unsigned depth,
                         um_mail *names);

/* Returns the bytes of a part, in the mail. */
static umbel_slice part_body(GMimePart *part)
{
    GMimeDataWrapper *content = g_mime_part_get_content(part);
    GMimeStream *s = content ? g_mime_data_wrapper_get_stream(content) : NULL;
    GByteArray *array;
    gint64 end;

    if (!s || !GMIME_IS_STREAM_MEM(s))
        return (umbel_slice){"", 0};
    array = g_mime_stream_mem_get_byte_array(GMIME_STREAM_MEM(s));
    end = s->bound_end >= 0 && s->bound_end <= (gint64)array->len
              ? s->bound_end
              : (gint64)array->len;
    if (s->bound_start < 0 || s->bound_start > end)
        return (umbel_slice){"", 0};
    return (umbel_slice){array->data + s->bound_start,
                         (size_t)(end - s->bound_start)};
}

/* Reads the content of a message/... part as a mail. Python does so for all of
 * them, GMime for some. */
static bool read_message_leaf(um_mail_reader *r, GMimeObject *o,
                              umbel_slice body, unsigned depth)
{
    umbel_slice type = header_value(o, "Content-Type");
    um_content_type t;

    if (!type.data)
        return false;
    t = um_content_type_read(type);
    if (!um_slice_is(t.type, "message") || r->in_leaves >= MESSAGES_IN_LEAVES)
        return false;
    if (um_slice_is(t.subtype, "delivery-status"))
        return true; /* header fields, not text */
    r->in_leaves++;
    read_message(r, body, depth + 1, NULL);
    return true;
}

static void read_multipart(um_mail_reader *r, GMimeMultipart *m, unsigned depth)
{
    int n = g_mime_multipart_get_count(m);
    const char *prologue = g_mime_multipart_get_prologue(m);

    for (int i = 0; i < n && r->nleaves < r->limits.parts && !r->no_memory; i++)
        read_object(r, g_mime_multipart_get_part(m, i), depth + 1);
    if (r->nleaves == r->limits.parts)
        r->notes |= UM_MAIL_PARTS;
    if (n > 0 || !prologue)
        return;
    /* The multipart never began: Python uses the body as it is. */
    size_t len = strlen(prologue), at = r->out.len;
    leaf *f = add_leaf(r);
    if (!f)
        return;
    r->no_memory |=
        !um_charset_decode(r->charsets, UM_CHARSET_ASCII, UM_CHARSET_REPLACE,
                           &r->out, (const uint8_t *)prologue, len);
    *f = (leaf){.at = at, .len = r->out.len - at};
}

static void read_object(um_mail_reader *r, GMimeObject *o, unsigned depth)
{
    if (!o)
        return;
    if (depth > r->limits.depth) {
        r->notes |= UM_MAIL_DEPTH;
        return;
    }
    if (GMIME_IS_MULTIPART(o))
        read_multipart(r, GMIME_MULTIPART(o), depth);
    else if (GMIME_IS_MESSAGE_PART(o)) {
        GMimeMessage *m =
            g_mime_message_part_get_message(GMIME_MESSAGE_PART(o));

        if (m)
            read_object(r, g_mime_message_get_mime_part(m), depth + 1);
    } else if (GMIME_IS_PART(o)) {
        umbel_slice body = part_body(GMIME_PART(o));

        if (!read_message_leaf(r, o, body, depth))
            read_leaf(r, o, body);
    }
}

/* --- header fields of the mail -------------------------------------------- */

static void read_names(GMimeMessage *m, um_mail *out)
{
    InternetAddressList *from = g_mime_message_get_from(m);
    umbel_slice list = header_value(GMIME_OBJECT(m), "List-Id");
    umbel_slice received = header_value(GMIME_OBJECT(m), "Received");
    InternetAddress *first =
        from ? internet_address_list_get_address(from, 0) : NULL;

    if (first && INTERNET_ADDRESS_IS_MAILBOX(first)) {
        const char *address =
            internet_address_mailbox_get_addr(INTERNET_ADDRESS_MAILBOX(first));

        if (address)
            um_address_domain(address, out->from_domain,
                              sizeof out->from_domain);
    }
    if (list.data)
        um_list_id(list, out->list_id, sizeof out->list_id);
    if (received.data)
        um_received_client(received, out->received, sizeof out->received);
}

/* --- reading -------------------------------------------------------------- */

/* Counts the header fields of a mail with many lines, and ends the mail at the
 * limit. */
static void count_header(GMimeParser *parser, const char *header,
                         const char *value, gint64 offset, gpointer data)
{
    GMimeStream *stream = data;

    (void)parser;
    (void)header;
    (void)value;
    (void)offset;
    gint64 left = g_mime_stream_tell(stream);
    unsigned *n = g_object_get_data(G_OBJECT(stream), "umbel-headers");

    if (++*n > FEW_LINES && left >= 0)
        stream->bound_end = left;
}

/* Reads the parts of a mail, and its names if they are wanted. */
static void read_message(um_mail_reader *r, umbel_slice bytes, unsigned depth,
                         um_mail *names)
{
    GMimeStream *stream;
    GMimeParser *parser;
    GMimeMessage *m;
    union {
        const void *in;
        guint8 *plain;
    } u = {bytes.data};
    /* The stream borrows the bytes: it does not own its array. */
    GByteArray array = {u.plain, (guint)bytes.len};

    stream = g_mime_stream_mem_new();
    g_mime_stream_mem_set_byte_array(GMIME_STREAM_MEM(stream), &array);
    parser = g_mime_parser_new_with_stream(stream);
    if (r->nheaders) {
        r->nheaders = 1;
        g_object_set_data(G_OBJECT(stream), "umbel-headers", &r->nheaders);
        g_mime_parser_set_header_regex(parser, ".", count_header, stream);
    }
    m = g_mime_parser_construct_message(parser, NULL);
    if (r->nheaders > FEW_LINES)
        r->notes |= UM_MAIL_CUT;
    if (m) {
        read_object(r, g_mime_message_get_mime_part(m), depth);
        if (names)
            read_names(m, names);
        g_object_unref(m);
    }
    g_object_unref(parser);
    g_object_unref(stream);
}

static void fill_slices(um_mail_reader *r, um_mail *out)
{
    if (!r->slice)
        return;
    out->leaves = r->slice;
    out->texts = r->slice + r->cap;
    for (size_t i = 0; i < r->nleaves; i++) {
        leaf *f = &r->leaf[i];
        umbel_slice s = {f->text ? f->text : r->out.data + f->at, f->len};

        r->slice[out->nleaves++] = s;
        if (f->is_text)
            r->slice[r->cap + out->ntexts++] = s;
    }
}

umbel_status um_mail_read(um_mail_reader *r, const uint8_t *mail, size_t len,
                          const um_mail_limits *l, um_mail *out,
                          umbel_error *err)
{
    um_mail found = {0};

    r->limits = um_mail_limits_or_default(l);
    r->notes = len > r->limits.bytes ? UM_MAIL_CUT : 0;
    r->mail = mail;
    r->len = len > r->limits.bytes ? (size_t)r->limits.bytes : len;
    r->nleaves = r->in_leaves = 0;
    r->no_memory = false;
    um_buffer_clear(&r->repaired, KEPT);
    um_buffer_clear(&r->decoded, KEPT);
    um_buffer_clear(&r->page, KEPT);
    um_buffer_clear(&r->out, KEPT);
    r->nheaders = cut_boundaries(r);
    repair_header(r);
    if (!r->no_memory)
        read_message(r, (umbel_slice){r->mail, r->len}, 0, &found);
    if (r->no_memory)
        return um_no_memory(err, r->len);
    if (r->nleaves == 0)
        r->notes |= UM_MAIL_NO_BODY;
    fill_slices(r, &found);
    found.notes = r->notes;
    *out = found;
    return UMBEL_OK;
}

umbel_status um_mail_reader_open(um_mail_reader **out, umbel_error *err)
{
    um_mail_reader *r = calloc(1, sizeof *r);

    if (!r)
        return um_no_memory(err, sizeof *r);
    g_mime_init();
    umbel_status status = um_charsets_open(&r->charsets, err);
    if (status == UMBEL_OK)
        *out = r;
    else
        free(r);
    return status;
}

void um_mail_reader_close(um_mail_reader *r)
{
    if (!r)
        return;
    um_charsets_close(r->charsets);
    um_buffer_fini(&r->repaired);
    um_buffer_fini(&r->decoded);
    um_buffer_fini(&r->page);
    um_buffer_fini(&r->out);
    free(r->leaf);
    free(r->slice);
    free(r);
}
