/*
 * files.c - captures in files: pcap and pcapng.
 *
 * A reader has a window of bytes: all of a mapped file, or what was read of a
 * stream. need() makes bytes available in it, skip() passes bytes that nobody
 * looks at, of any number. Both formats are read from the same window:
 *
 *     pcap    header, then per packet 16 bytes and the data
 *     pcapng  blocks: type, length, body, length; a section header states the
 *             byte order, interface blocks the link type and clock
 *
 * Numbers have the byte order of the machine that wrote the file. A capture
 * that ends in the middle of a packet is complete up to there: its writer was
 * stopped. A length that no writer makes is damage, and is refused.
 */
#include "base/bits.h"
#include "base/buffer.h"
#include "base/error.h"
#include "packets/capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* gcc does not follow a reader that is freed as the pk_source in it. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

enum {
    READ_AT_ONCE = 1 << 18,
    PCAP_HEADER = 24,
    RECORD_HEADER = 16,
    MAX_DESCRIPTION = 1 << 16, /* bytes of an interface's block that are used */

    BLOCK_INTERFACE = 1,
    BLOCK_PACKET_OLD = 2,
    BLOCK_PACKET_SIMPLE = 3,
    BLOCK_STATISTICS = 5,
    BLOCK_PACKET = 6,

    OPTION_RESOLUTION = 9, /* of an interface: its clock's unit */
    OPTION_OFFSET = 14,    /* seconds to add */
    OPTION_DROPPED = 5,    /* of statistics: by the interface */
    OPTION_DROPPED_OS = 7
};

static const uint32_t magic_us = 0xA1B2C3D4, magic_ns = 0xA1B23C4D;
static const uint32_t block_section = 0x0A0D0D0A, section_order = 0x1A2B3C4D;
static const uint64_t second = UINT64_C(1000000000); /* in ns */

/* An interface: time = ticks * multiply / divide >> shift, plus the offset. */
typedef struct interface {
    uint32_t link, snap;
    uint64_t multiply, divide, offset, drops;
    unsigned shift;
} interface;

typedef struct reader {
    pk_source source;
    const uint8_t *start, *at, *end; /* the window */
    uint64_t offset;                 /* of start in the file */
    int fd;                          /* of a stream; -1: the window is all */
    void *map;
    size_t map_len;
    um_buffer buffer;
    uint64_t pending; /* rest of the last block: then the length again */
    uint32_t block_len;
    bool swapped, blocks, nanoseconds;
    uint64_t time; /* of the last packet */
    interface *interfaces;
    size_t n, cap, section; /* section: the first interface of this one */
} reader;

static uint32_t get32(const reader *r, const uint8_t *at)
{
    uint32_t x;

    memcpy(&x, at, sizeof x);
    return r->swapped ? __builtin_bswap32(x) : x;
}

static uint16_t get16(const reader *r, const uint8_t *at)
{
    uint16_t x;

    memcpy(&x, at, sizeof x);
    return r->swapped ? __builtin_bswap16(x) : x;
}

static uint64_t get64(const reader *r, const uint8_t *at)
{
    uint64_t x;

    memcpy(&x, at, sizeof x);
    return r->swapped ? __builtin_bswap64(x) : x;
}

/* --- the window -----------------------------------------------------------
 */

static uint64_t position(const reader *r)
{
    return r->offset + (uint64_t)(r->at - r->start);
}

/* Reads more of a stream into the window, until it has n bytes. */
static umbel_status fill(reader *r, size_t n, bool *there, umbel_error *err)
{
    size_t left = (size_t)(r->end - r->at), want = n + READ_AT_ONCE;

    *there = false;
    if (r->fd < 0)
        return UMBEL_OK;
    r->offset = position(r);
    if (left)
        memmove(r->buffer.data, r->at, left);
    r->buffer.len = left;
    if (!um_buffer_reserve(&r->buffer, want - left))
        return um_no_memory(err, want);
    while (r->buffer.len < n) {
        ssize_t got = read(r->fd, r->buffer.data + r->buffer.len,
                           r->buffer.cap - r->buffer.len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return um_fail_errno(err, "cannot read the capture");
        if (got == 0)
            break;
        r->buffer.len += (size_t)got;
    }
    r->start = r->at = r->buffer.data;
    r->end = r->buffer.data + r->buffer.len;
    *there = r->buffer.len >= n;
    return UMBEL_OK;
}

/* Makes n bytes available at r->at; *there is false if the file ends before. */
static inline umbel_status need(reader *r, size_t n, bool *there,
                                umbel_error *err)
{
    *there = (size_t)(r->end - r->at) >= n;
    return *there ? UMBEL_OK : fill(r, n, there, err);
}

static umbel_status skip(reader *r, uint64_t n, bool *there, umbel_error *err)
{
    uint64_t left;

    *there = true;
    while ((left = (uint64_t)(r->end - r->at)) < n) {
        r->at = r->end;
        n -= left;
        UM_TRY(need(r, 1, there, err));
        if (!*there)
            return UMBEL_OK;
    }
    r->at += n;
    return UMBEL_OK;
}

static umbel_status damaged(const reader *r, const char *what, uint64_t value,
                            umbel_error *err)
{
    return um_fail(err, UMBEL_E_FORMAT,
                   "byte %" PRIu64 ": %s %" PRIu64 ": the capture is damaged",
                   position(r), what, value);
}

/* The file has ended: fine between packets, otherwise it was cut. */
static umbel_status end_of_file(reader *r, pk_event *what)
{
    r->source.counts.cut |= r->at < r->end || r->pending;
    r->at = r->end;
    r->pending = 0;
    *what = PK_END;
    return UMBEL_OK;
}

/* --- packets --------------------------------------------------------------
 */

static bool is_decoded(uint32_t link)
{
    switch (link) {
    case PK_NULL:
    case PK_ETHERNET:
    case PK_RAW_OLD:
    case PK_RAW:
    case PK_LOOP:
    case PK_SLL:
    case PK_IPV4:
    case PK_IPV6:
    case PK_SLL2:
        return true;
    default:
        return false;
    }
}

static umbel_status check_packet(const reader *r, uint32_t captured,
                                 uint32_t link, umbel_error *err)
{
    if (captured > PK_MAX_CAPTURED)
        return damaged(r, "a packet of length", captured, err);
    if (!is_decoded(link))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "byte %" PRIu64 ": link type %" PRIu32
                       " is not decoded: capture on Ethernet, a Linux "
                       "\"cooked\" socket, loopback or raw IP",
                       position(r), link);
    return UMBEL_OK;
}

static umbel_status next_record(pk_source *source, pk_packet *p, pk_event *what,
                                umbel_error *err)
{
    reader *r = (reader *)(void *)source;
    const interface *i = r->interfaces;
    uint32_t captured;
    bool there;

    UM_TRY(need(r, RECORD_HEADER, &there, err));
    if (!there)
        return end_of_file(r, what);
    captured = get32(r, r->at + 8);
    if (captured > PK_MAX_CAPTURED || !is_decoded(i->link))
        return check_packet(r, captured, i->link, err);
    UM_TRY(need(r, RECORD_HEADER + captured, &there, err));
    if (!there)
        return end_of_file(r, what);
    *p = (pk_packet){.time = get32(r, r->at) * second +
                             get32(r, r->at + 4) * i->multiply,
                     .data = r->at + RECORD_HEADER,
                     .captured = captured,
                     .length = get32(r, r->at + 12),
                     .link = i->link};
    if (p->length < captured)
        p->length = captured;
    r->at += RECORD_HEADER + captured;
    source->counts.packets++;
    *what = PK_PACKET;
    return UMBEL_OK;
}

/* --- pcapng ---------------------------------------------------------------
 */

/* Returns a time in nanoseconds, at most UINT64_MAX. */
static uint64_t time_of(const interface *i, uint64_t ticks)
{
    um_u128 x = (um_u128)ticks * i->multiply;

    if (i->divide > 1)
        x /= i->divide;
    x >>= i->shift;
    if (x >> 64)
        x = UINT64_MAX;
    return (uint64_t)x + i->offset;
}

static void set_resolution(interface *i, unsigned code)
{
    unsigned n = code & 127;

    i->multiply = i->divide = 1;
    i->shift = 0;
    if (code & 128) {
        i->multiply = second;
        i->shift = n;
        return;
    }
    for (; n < 9; n++)
        i->multiply *= 10;
    for (; n > 9 && i->divide <= UINT64_MAX / 10; n--)
        i->divide *= 10;
}

/* Returns the next option between *at and end; false after the last. */
static bool next_option(const reader *r, const uint8_t **at, const uint8_t *end,
                        unsigned *code, unsigned *len, const uint8_t **value)
{
    size_t padded;

    if (end - *at < 4)
        return false;
    *code = get16(r, *at);
    *len = get16(r, *at + 2);
    padded = (*len + 3u) & ~3u;
    if (!*code || (size_t)(end - *at) - 4 < padded)
        return false;
    *value = *at + 4;
    *at += 4 + padded;
    return true;
}

static umbel_status add_interface(reader *r, const uint8_t *body, size_t len,
                                  umbel_error *err)
{
    const uint8_t *at = body + 8, *value;
    unsigned code, n;
    interface *i;

    if (len < 8)
        return damaged(r, "an interface's block of length", len, err);
    if (r->n == PK_MAX_INTERFACES)
        return um_fail(err, UMBEL_E_RANGE,
                       "byte %" PRIu64 ": more than %d interfaces", position(r),
                       PK_MAX_INTERFACES);
    if (!um_array_reserve(&r->interfaces, &r->cap, r->n + 1,
                          sizeof *r->interfaces))
        return um_no_memory(err, (r->n + 1) * sizeof *r->interfaces);
    i = &r->interfaces[r->n++];
    *i = (interface){.link = get16(r, body), .snap = get32(r, body + 4)};
    set_resolution(i, 6);
    while (next_option(r, &at, body + len, &code, &n, &value)) {
        if (code == OPTION_RESOLUTION && n == 1)
            set_resolution(i, *value);
        if (code == OPTION_OFFSET && n == 8)
            i->offset = get64(r, value) * second;
    }
    return UMBEL_OK;
}

/* Applies an interface's statistics: the latest replace those before. */
static void apply_statistics(reader *r, const uint8_t *body, size_t len)
{
    const uint8_t *at = body + 12, *value;
    unsigned code, n;
    uint64_t drops = 0;
    size_t number;

    if (len < 12)
        return;
    number = r->section + get32(r, body);
    while (next_option(r, &at, body + len, &code, &n, &value))
        if ((code == OPTION_DROPPED || code == OPTION_DROPPED_OS) && n == 8)
            drops += get64(r, value);
    if (number >= r->n)
        return;
    r->source.counts.drops += drops - r->interfaces[number].drops;
    r->interfaces[number].drops = drops;
}

/* Finds the fields of a packet's block; *fixed are the bytes before the
 * data. */
static umbel_status read_packet(reader *r, uint32_t type, uint32_t body_len,
                                uint32_t *fixed, pk_packet *p, umbel_error *err)
{
    const uint8_t *body = r->at + 8;
    size_t number = type == BLOCK_PACKET       ? get32(r, body)
                    : type == BLOCK_PACKET_OLD ? get16(r, body)
                                               : 0;
    uint64_t ticks = 0;

    if (number >= r->n - r->section)
        return damaged(r, "a packet of interface", number, err);
    const interface *i = &r->interfaces[r->section + number];
    *p = (pk_packet){.interface = (uint32_t)(r->section + number),
                     .link = i->link};
    if (type == BLOCK_PACKET_SIMPLE) {
        *fixed = 4;
        p->length = get32(r, body);
        p->captured = p->length;
        if (i->snap && i->snap < p->captured)
            p->captured = i->snap;
        if (p->captured > body_len - *fixed)
            p->captured = body_len - *fixed;
        p->time = r->time;
    } else {
        *fixed = 20;
        ticks = (uint64_t)get32(r, body + 4) << 32 | get32(r, body + 8);
        p->captured = get32(r, body + 12);
        p->length = get32(r, body + 16);
        p->time = time_of(i, ticks);
    }
    if (p->captured > body_len - *fixed)
        return damaged(r, "a packet of length", p->captured, err);
    if (p->length < p->captured)
        p->length = p->captured;
    return check_packet(r, p->captured, p->link, err);
}

/* Begins a section: it states the byte order of its blocks. */
static umbel_status begin_section(reader *r, umbel_error *err)
{
    uint32_t order;

    r->swapped = false;
    order = get32(r, r->at + 8);
    r->swapped = order == __builtin_bswap32(section_order);
    if (!r->swapped && order != section_order)
        return damaged(r, "a section of byte order", order, err);
    r->section = r->n;
    return UMBEL_OK;
}

/* Passes the end of the last block, which repeats its length. */
static umbel_status finish_block(reader *r, bool *there, umbel_error *err)
{
    *there = true;
    if (!r->pending)
        return UMBEL_OK;
    UM_TRY(skip(r, r->pending - 4, there, err));
    if (!*there)
        return UMBEL_OK;
    UM_TRY(need(r, 4, there, err));
    if (!*there)
        return UMBEL_OK;
    if (get32(r, r->at) != r->block_len)
        return damaged(r, "a block that ends with the length", get32(r, r->at),
                       err);
    r->at += 4;
    r->pending = 0;
    return UMBEL_OK;
}

static uint32_t smallest_body(uint32_t type)
{
    switch (type) {
    case BLOCK_PACKET:
    case BLOCK_PACKET_OLD:
        return 20;
    case BLOCK_PACKET_SIMPLE:
        return 4;
    default:
        return 0;
    }
}

/* Reads a block that describes; packets are read by next_block. */
static umbel_status read_block(reader *r, uint32_t type, uint32_t body_len,
                               bool *there, umbel_error *err)
{
    size_t used = body_len < MAX_DESCRIPTION ? body_len : MAX_DESCRIPTION;

    if (type != BLOCK_INTERFACE && type != BLOCK_STATISTICS)
        return UMBEL_OK;
    UM_TRY(need(r, 8 + used, there, err));
    if (!*there)
        return UMBEL_OK;
    if (type == BLOCK_INTERFACE)
        return add_interface(r, r->at + 8, used, err);
    apply_statistics(r, r->at + 8, used);
    return UMBEL_OK;
}

static umbel_status next_block(pk_source *source, pk_packet *p, pk_event *what,
                               umbel_error *err)
{
    reader *r = (reader *)(void *)source;
    uint32_t type, fixed;
    bool there;

    for (;;) {
        UM_TRY(finish_block(r, &there, err));
        if (there)
            UM_TRY(need(r, 12, &there, err));
        if (!there)
            return end_of_file(r, what);
        type = get32(r, r->at);
        if (type == block_section)
            UM_TRY(begin_section(r, err));
        r->block_len = get32(r, r->at + 4);
        if (r->block_len % 4 || r->block_len < 12 + smallest_body(type))
            return damaged(r, "a block of length", r->block_len, err);
        r->pending = r->block_len;
        if (smallest_body(type))
            break;
        UM_TRY(read_block(r, type, r->block_len - 12, &there, err));
        if (!there)
            return end_of_file(r, what);
    }
    UM_TRY(need(r, 8 + smallest_body(type), &there, err));
    if (!there)
        return end_of_file(r, what);
    UM_TRY(read_packet(r, type, r->block_len - 12, &fixed, p, err));
    UM_TRY(need(r, 8 + fixed + p->captured, &there, err));
    if (!there)
        return end_of_file(r, what);
    p->data = r->at + 8 + fixed;
    r->time = p->time;
    r->at += 8 + fixed + p->captured;
    r->pending -= 8 + fixed + p->captured;
    source->counts.packets++;
    *what = PK_PACKET;
    return UMBEL_OK;
}

/* --- opening --------------------------------------------------------------
 */

static void close_reader(pk_source *source)
{
    reader *r = (reader *)(void *)source;

    if (r->map)
        munmap(r->map, r->map_len);
    if (r->fd > STDIN_FILENO)
        close(r->fd);
    um_buffer_fini(&r->buffer);
    free(r->interfaces);
    free(r);
}

/* Reads the header, and with it which format this is. */
static umbel_status begin_file(reader *r, umbel_error *err)
{
    uint32_t magic;
    bool there;

    r->source.next = next_block;
    UM_TRY(need(r, 4, &there, err));
    if (!there)
        return um_fail(err, UMBEL_E_FORMAT,
                       "not a capture: it has less than 4 bytes");
    magic = get32(r, r->at);
    if (magic == block_section)
        return UMBEL_OK;
    r->swapped = magic == __builtin_bswap32(magic_us) ||
                 magic == __builtin_bswap32(magic_ns);
    magic = get32(r, r->at);
    if (r->at[0] == 0x1F && r->at[1] == 0x8B)
        return um_fail(err, UMBEL_E_FORMAT,
                       "compressed with gzip: pipe it, gunzip -c FILE | umbel "
                       "packets ... -");
    if (magic != magic_us && magic != magic_ns)
        return um_fail(err, UMBEL_E_FORMAT,
                       "not a capture: expected pcap or pcapng, as tcpdump -w "
                       "and dumpcap write");
    UM_TRY(need(r, PCAP_HEADER, &there, err));
    if (!there)
        return um_fail(err, UMBEL_E_FORMAT,
                       "a pcap file that ends within its header");
    r->source.next = next_record;
    if (!um_array_reserve(&r->interfaces, &r->cap, 1, sizeof *r->interfaces))
        return um_no_memory(err, sizeof *r->interfaces);
    r->interfaces[r->n++] =
        (interface){.link = get32(r, r->at + 20) & 0xFFFF,
                    .multiply = magic == magic_ns ? 1 : 1000};
    r->at += PCAP_HEADER;
    return UMBEL_OK;
}

static umbel_status begin(reader *r, pk_source **out, umbel_error *err)
{
    umbel_status status = begin_file(r, err);

    if (status)
        close_reader(&r->source);
    else
        *out = &r->source;
    return status;
}

static reader *new_reader(umbel_error *err)
{
    reader *r = calloc(1, sizeof *r);

    if (!r) {
        um_set_error(err, UMBEL_E_NOMEM, "no memory for a reader");
        return NULL;
    }
    r->source.close = close_reader;
    r->fd = -1;
    return r;
}

umbel_status pk_open_bytes(const void *bytes, size_t len, pk_source **out,
                           umbel_error *err)
{
    reader *r = new_reader(err);

    if (!r)
        return UMBEL_E_NOMEM;
    r->start = r->at = bytes;
    r->end = r->at + len;
    return begin(r, out, err);
}

umbel_status pk_open_file(const char *path, pk_source **out, umbel_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    reader *r = new_reader(err);
    struct stat info;

    if (!r)
        return UMBEL_E_NOMEM;
    r->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &info)) {
        umbel_status status = um_fail_errno(err, "cannot open the capture");
        close_reader(&r->source);
        return status;
    }
    if (!standard && S_ISREG(info.st_mode) && info.st_size > 0) {
        r->map_len = (size_t)info.st_size;
        r->map = mmap(NULL, r->map_len, PROT_READ, MAP_PRIVATE, r->fd, 0);
        if (r->map == MAP_FAILED)
            r->map = NULL; /* read it, then */
    }
    if (r->map) {
        (void)madvise(r->map, r->map_len, MADV_SEQUENTIAL);
        close(r->fd);
        r->fd = -1;
        r->start = r->at = r->map;
        r->end = r->at + r->map_len;
    }
    return begin(r, out, err);
}

pk_counts pk_source_counts(pk_source *s)
{
    if (s->update)
        s->update(s);
    return s->counts;
}

void pk_close(pk_source *s)
{
    if (s)
        s->close(s);
}
