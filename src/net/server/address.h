/*
 * address.h - addresses of servers and clients, and client networks.
 */
#ifndef UM_NET_ADDRESS_H
#define UM_NET_ADDRESS_H

#include <umbel/base.h>

#include <netinet/in.h>
#include <sys/socket.h>

/* An IPv4 or IPv6 address with its port, or the path of a unix socket. */
typedef struct um_address {
    const char *path; /* NULL: IPv4 or IPv6; "": a client without a name */
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } ip;
    /* For the sender of a datagram: our address that it was sent to, IPv4 in
     * the first bytes; zeros: any. */
    struct in6_addr local;
} um_address;

/* The network that limits are counted for: an IPv6 prefix, padded with zeros.
 * IPv4 is mapped (::ffff:192.0.2.0); all unix clients have 0. */
typedef struct um_network {
    uint64_t hi, lo;
} um_network;

/* Number of address bits that make a network. */
typedef struct um_prefixes {
    unsigned v4, v6;
} um_prefixes;

enum {
    UM_PREFIX_V4 = 24, /* the defaults */
    UM_PREFIX_V6 = 56,
    UM_ADDRESS_TEXT = 128 /* bytes of a printed address or network */
};

/*
 * Parses "127.0.0.1:24441", "[::1]:24441" or "/run/x/socket". Host names are
 * refused, because a listening address must not depend on DNS. A path is not
 * copied: text must outlive *out.
 */
umbel_status um_address_parse(const char *text, um_address *out,
                              umbel_error *err);

/* Formats an address as um_address_parse reads it; a path is cut to fit. */
const char *um_address_print(const um_address *a, char text[UM_ADDRESS_TEXT]);

/* Returns the port, 0 for a unix socket. */
unsigned um_address_port(const um_address *a);

/* Returns the length of a->ip for the system's calls. */
socklen_t um_address_len(const um_address *a);

/* Returns true for 127.0.0.0/8, ::1 and unix sockets. */
bool um_address_is_loopback(const um_address *a);
/* Returns true for the addresses that programs of this machine use unless they
 * choose another: 127.0.0.1, ::1 and unix sockets. */
bool um_address_is_local(const um_address *a);

/* Returns true if both are the same address to listen on. */
bool um_address_equal(const um_address *a, const um_address *b);

/* Returns the network of a client; p may be NULL (the defaults). */
um_network um_address_network(const um_address *a, const um_prefixes *p);

/* Formats "192.0.2.0/24", "2001:db8::/56" or "unix". */
const char *um_network_print(um_network n, const um_prefixes *p,
                             char text[UM_ADDRESS_TEXT]);

/*
 * Parses "192.0.2.0/24", "2001:db8::/32" or a single address. *bits counts from
 * the start of the mapped address: an IPv4 /24 has 120. Refuses bits set after
 * the prefix, and suggests the network that was probably meant.
 */
umbel_status um_network_parse(const char *text, um_network *out, unsigned *bits,
                              umbel_error *err);
/* Returns the first bits of n, 0 to 128. */
um_network um_network_mask(um_network n, unsigned bits);

static inline bool um_network_equal(um_network a, um_network b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

#endif
