/*
 * capture.h - packets from files, standard input and interfaces, and what
 * their headers contain.
 *
 *     pk_source *s;
 *     UM_TRY(pk_open_file("-", &s, err));       or pk_open_live
 *     UM_TRY(pk_drop_privileges("nobody", err));
 *     for (pk_event what = PK_PACKET; what != PK_END;) {
 *         UM_TRY(pk_next(s, &packet, &what, err));
 *         if (what == PK_PACKET && pk_decode(&packet, &headers))
 *             ...
 *     }
 *
 * The readers are our own and not libpcap: a capture that was cut off is not
 * an error, each interface of a pcapng file has its own link type and clock,
 * no packet is copied, and every length is checked before it is used.
 */
#ifndef UM_PACKETS_CAPTURE_H
#define UM_PACKETS_CAPTURE_H

#include <umbel/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Link types that are decoded, by the numbers of capture files. */
typedef enum pk_link {
    PK_NULL = 0, /* BSD loopback: a family of 4 bytes */
    PK_ETHERNET = 1,
    PK_RAW_OLD = 12, /* as PK_RAW, in files of some systems */
    PK_RAW = 101,    /* begins with the IP header */
    PK_LOOP = 108,   /* OpenBSD loopback */
    PK_SLL = 113,    /* Linux "cooked", of the interface "any" */
    PK_IPV4 = 228,
    PK_IPV6 = 229,
    PK_SLL2 = 276
} pk_link;

enum {
    PK_MAX_CAPTURED = 1 << 20, /* bytes of a packet; more is refused */
    PK_MAX_INTERFACES = 4096   /* of a pcapng file */
};

typedef struct pk_packet {
    uint64_t time;       /* nanoseconds since 1970 */
    const uint8_t *data; /* valid until the next packet is read */
    uint32_t captured;   /* bytes at data */
    uint32_t length;     /* bytes that the packet had on the wire */
    uint32_t interface;  /* number in its file, from 0 */
    uint32_t link;       /* pk_link */
} pk_packet;

/* --- sources --------------------------------------------------------------
 */

typedef enum pk_event {
    PK_PACKET,
    PK_IDLE, /* live: no packet for a while, or a signal came */
    PK_END   /* of a file */
} pk_event;

typedef struct pk_counts {
    uint64_t packets;
    uint64_t drops; /* lost before we saw them: by the kernel, or by the program
                       that wrote the file, as far as the file states it */
    bool cut;       /* the file ends in the middle of a packet */
} pk_counts;

typedef struct pk_source pk_source;

/* A source of packets: files.c and live.c each define one. */
struct pk_source {
    umbel_status (*next)(pk_source *s, pk_packet *p, pk_event *what,
                         umbel_error *err);
    void (*update)(pk_source *s); /* reads the drops; NULL: always current */
    void (*close)(pk_source *s);
    pk_counts counts;
};

/*
 * Opens a pcap or pcapng file; "-" is standard input. Other
 * content is refused with E_FORMAT.
 * Regular files are mapped, and one that is truncated meanwhile ends the
 * process with a message (um_program_begin).
 */
umbel_status pk_open_file(const char *path, pk_source **out, umbel_error *err);
/* Opens the bytes of a file, which must outlive the source. */
umbel_status pk_open_bytes(const void *bytes, size_t len, pk_source **out,
                           umbel_error *err);

/* Settings of a live capture; 0 is the default. */
typedef struct pk_live {
    uint32_t snap;    /* bytes captured of each packet: 256 */
    size_t ring;      /* bytes shared with the kernel: 16 MiB */
    unsigned idle_ms; /* longest wait until PK_IDLE: 100 */
} pk_live;

/*
 * Opens an interface (AF_PACKET, TPACKET_V3), promiscuous, both directions.
 * E_IO without the privilege, which the message names.
 */
umbel_status pk_open_live(const char *interface, const pk_live *settings,
                          pk_source **out, umbel_error *err);

/*
 * Reads the next packet, or sets *what to say why there is none. E_FORMAT for a
 * damaged file, with the offset, and for a link type that is not decoded.
 */
static inline umbel_status pk_next(pk_source *s, pk_packet *p, pk_event *what,
                                   umbel_error *err)
{
    return s->next(s, p, what, err);
}

/* Returns what was counted so far. */
pk_counts pk_source_counts(pk_source *s);
/* NULL is accepted. */
void pk_close(pk_source *s);

/*
 * Becomes this user for good, with its groups, if the process is root's, and
 * gives up all capabilities. Children cannot regain them. Call it when
 * everything that needs a privilege is open.
 */
umbel_status pk_drop_privileges(const char *user, umbel_error *err);

/* --- headers --------------------------------------------------------------
 */

typedef struct pk_headers {
    uint8_t version;  /* of IP: 4 or 6 */
    uint8_t protocol; /* of the payload: 6 TCP, 17 UDP, behind all extensions */
    bool fragment;    /* the packet is a fragment */
    bool first;       /* the first fragment, or not one */
    bool more;        /* more fragments follow */
    bool ports;       /* sport and dport are known */
    uint16_t sport, dport;
    uint32_t ip;              /* offset of the IP header */
    uint32_t payload;         /* offset of the payload; at most `captured` */
    uint32_t payload_length;  /* its bytes on the wire, as IP states them */
    uint32_t ident;           /* of the fragments of one packet */
    uint32_t fragment_offset; /* in bytes */
    const uint8_t *src, *dst; /* in the packet: 4 or 16 bytes */
} pk_headers;

/*
 * Finds the headers: through Ethernet, VLAN tags (any number), MPLS labels,
 * IPv4 with options and IPv6 with extension headers. Returns false if the
 * packet is not IP, or was captured too short for its addresses and its chain
 * of extensions. Of a packet in a tunnel these are the outer headers.
 */
bool pk_decode(const pk_packet *p, pk_headers *h);

/* Returns the bytes of an address. */
static inline size_t pk_address_len(const pk_headers *h)
{
    return h->version == 4 ? 4 : 16;
}

/*
 * Ports of fragments: a later fragment has no ports, the first one has them.
 * A table of fixed size remembers the first ones for 30 seconds; when it is
 * full, the oldest of a few is replaced. It takes less than
 * UMBEL_FLOWS_FRAGMENTS bytes.
 */
typedef struct pk_fragments pk_fragments;

umbel_status pk_fragments_open(pk_fragments **out, umbel_error *err);
/* Remembers the ports of a first fragment; sets those of a later one, if its
 * first one is known. Other packets stay as they are. */
void pk_fragments_apply(pk_fragments *f, const pk_packet *p, pk_headers *h);
/* NULL is accepted. */
void pk_fragments_close(pk_fragments *f);

/*
 * The bytes of a packet that routers do not change: what SPIE digests. The
 * header is written as if the packet had no options and no extensions but a
 * fragment header; the traffic class, TTL, checksum and flow label are 0. The
 * first 8 bytes of the payload follow, or all if there are less.
 *
 *     IPv4  20 bytes of header, up to 8 of payload
 *     IPv6  40 bytes of header, 8 of a fragment header if it has one, up to 8
 *
 * Returns the number of bytes; 0 if the packet was captured too short.
 */
enum { PK_INVARIANT = 56 };
size_t pk_invariant(const pk_packet *p, const pk_headers *h,
                    uint8_t out[PK_INVARIANT]);

#endif
