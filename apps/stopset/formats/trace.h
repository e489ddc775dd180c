/*
 * trace.h - traced routes, their addresses, and where a trace stops.
 */
#ifndef UM_STOPSET_TRACE_H
#define UM_STOPSET_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- IPv4 and IPv6 addresses, and their prefixes ------------------------- */

/*
 * An IPv4 address is stored as the IPv4-mapped IPv6 address ::ffff:a.b.c.d, so
 * that it makes no difference which of the two a tool writes.
 */

/* Both halves as numbers; zero means no address. */
typedef struct ss_addr {
    uint64_t hi, lo;
} ss_addr;

enum {
    SS_ADDR_TEXT = 48, /* bytes for the text of an address or prefix */
    SS_PREFIX4 = 24,   /* default length of a prefix */
    SS_PREFIX6 = 48
};

/* Lengths of prefixes, in bits of the address. */
typedef struct ss_prefix_len {
    uint8_t v4, v6;
} ss_prefix_len;

static inline bool ss_addr_equal(ss_addr a, ss_addr b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

static inline bool ss_addr_none(ss_addr a)
{
    return (a.lo | a.hi) == 0;
}

static inline ss_addr ss_addr_v4(uint32_t address)
{
    return (ss_addr){0, UINT64_C(0xffff00000000) | address};
}

static inline bool ss_addr_is_v4(ss_addr a)
{
    return a.hi == 0 && a.lo >> 32 == 0xffff;
}

/* Returns the address of 4 or 16 bytes in network order. */
ss_addr ss_addr_from_bytes(const uint8_t *bytes, size_t len);

/* Writes the 16 bytes in network order; the last four are an IPv4 address. */
void ss_addr_to_bytes(ss_addr a, uint8_t out[16]);

/* Returns the first bits of an address: v4 of an IPv4 address, v6 of others. */
ss_addr ss_addr_mask(ss_addr a, ss_prefix_len len);

/* Parses "192.0.2.1" or "2001:db8::1", len characters; false if it is
 * neither. */
bool ss_addr_parse(const char *text, size_t len, ss_addr *out);

/* Writes the text of an address to out, SS_ADDR_TEXT bytes; returns its
 * length. */
size_t ss_addr_format(ss_addr a, char *out);

/* Monitors are identified by their address, or by the number of their RIPE
 * Atlas probe. The latter is stored as an address in 100::/64, which no host
 * has (RFC 6666), and printed as "probe-6019". */
ss_addr ss_monitor_probe(uint64_t number);
bool ss_monitor_parse(const char *text, size_t len, ss_addr *out);
size_t ss_monitor_format(ss_addr monitor, char *out);

/* Orders addresses, for qsort: IPv4 before IPv6, then by number. */
int ss_addr_compare(const void *a, const void *b);

/* --- traces --------------------------------------------------------------- */

enum {
    SS_MAX_TTL = 255,
    SS_MAX_REPLIES = 4096, /* in a trace; one with more is skipped */
    SS_MAX_ADDRESSES = SS_MAX_REPLIES + 64
};

/* Why a trace ended. The names appear in traces; they are scamper's where it
 * has the same reason. */
#define SS_STOP_LIST(X)                                                        \
    X(NONE)                                                                    \
    X(COMPLETED)                                                               \
    X(UNREACH)                                                                 \
    X(ICMP)                                                                    \
    X(LOOP)                                                                    \
    X(GAPLIMIT)                                                                \
    X(ERROR)                                                                   \
    X(HOPLIMIT)                                                                \
    X(GSS)                                                                     \
    X(HALTED)                                                                  \
    X(RED)                                                                     \
    X(OTHER)

#define SS_STOP_ENUM(name) SS_STOP_##name,
typedef enum ss_stop { SS_STOP_LIST(SS_STOP_ENUM) SS_STOPS } ss_stop;

/* Returns the name, such as "COMPLETED". */
const char *ss_stop_name(ss_stop stop);
/* Returns the stop of that name, or SS_STOP_OTHER. */
ss_stop ss_stop_find(const char *name, size_t len);

/* A reply. */
typedef struct ss_hop {
    ss_addr addr;
    uint32_t rtt;    /* microseconds; 0 if unknown */
    uint8_t ttl;     /* of the probe */
    uint8_t attempt; /* from 0 */
    uint8_t icmp_type, icmp_code;
    /* Of the reply's IP packet; 0 if unknown. */
    uint8_t reply_ttl, reply_tos;
    uint16_t reply_size, reply_id;
    bool aside; /* not on the path that ss_paths_end chose */
} ss_hop;

typedef struct ss_trace {
    ss_addr monitor; /* src, or a probe of RIPE Atlas */
    ss_addr src, dst;
    uint64_t start;      /* seconds since 1970; 0 if unknown */
    uint32_t start_us;   /* and microseconds */
    uint16_t probe_size; /* bytes of a probe's IP packet; 0 if unknown */
    ss_stop stop;
    uint8_t first, last; /* smallest and largest TTL that were probed */
    uint8_t probed[32];  /* a bit for each TTL that was probed */
    ss_hop *hop;         /* in the order of the file */
    size_t nhops;
} ss_trace;

/* Memory for a trace, reused for the next one. Starts zeroed. */
typedef struct ss_trace_buffer {
    ss_trace trace;
    ss_hop hop[SS_MAX_REPLIES];
    /* For readers. */
    ss_addr address[SS_MAX_ADDRESSES];
    ss_addr node[SS_MAX_REPLIES]; /* of a trace along several paths */
    ss_addr from[SS_MAX_REPLIES]; /* of each hop: the node before it */
} ss_trace_buffer;

/* Clears the buffer, and returns its trace. */
ss_trace *ss_trace_begin(ss_trace_buffer *buffer);
/* Appends a reply; false if there are too many. */
bool ss_trace_add(ss_trace *t, const ss_hop *hop);
/* Marks these TTLs as probed, whether or not a reply came. */
void ss_trace_probed(ss_trace *t, unsigned from, unsigned to);

/*
 * A trace along several paths (scamper's tracelb): routers that share load
 * answer with several nodes at one TTL. Its replies are added with the node
 * before them, which answered `distance` TTLs earlier: more than 1 if those
 * between are silent. The first reply is after the node that is nearest to the
 * monitor; first is that node, in case there is no reply.
 *
 * ss_paths_end chooses one of the shortest paths to the destination, or one to
 * the last node; all other replies are aside: nodes of the network, but not of
 * the path. Those that look like penultimate nodes but lie on a longer path are
 * left out.
 */
bool ss_paths_add(ss_trace_buffer *buffer, const ss_hop *hop, ss_addr from,
                  unsigned distance);
/* Both return false if there are too many replies. */
bool ss_paths_end(ss_trace_buffer *buffer, ss_addr first);

/* Returns the smallest TTL at which the destination replied; 0 if it did
 * not. */
uint8_t ss_trace_reached(const ss_trace *t);

/* --- where a trace continues, and where it stops -------------------------- */

/*
 * All decisions are made here. The tracer, the scamper driver and replay call
 * it hop by hop, so that the same sets stop the same trace at the same hop. It
 * uses no packets, no files and no clock.
 *
 *     red set     forwards from the first hop; stop at a node that is in the
 *                 set: it lies one hop before a destination.
 *     Doubletree  forwards from the first hop; stop at a node that is in the
 *                 global set, where others have gone on. Then backwards from
 *                 the hop before the first; stop at a node that is in the
 *                 local set, where this monitor comes from anyway.
 *
 * A trace is a walk: read the next TTL, probe it, pass in the reply.
 */

/* Settings for all traces of a run. Zeroed: forwards from TTL 1 to 255, with no
 * gap limit. */
typedef struct ss_policy {
    uint8_t first;     /* TTL to begin at; 0 means 1 */
    uint8_t max_ttl;   /* 0 means 255 */
    uint8_t gap_limit; /* silent hops in a row that end a trace; 0: no limit */
    bool backwards;    /* then go backwards from the hop before the first */
} ss_policy;

/* The result of a probe. Members for sets that are not used are false. */
typedef struct ss_reply {
    bool silent;      /* no reply to any attempt */
    bool destination; /* the destination itself replied */
    bool unreachable; /* a router reported it unreachable */
    bool seen;        /* this node replied earlier in this trace, forwards */
    bool red, global; /* (node, destination) is in the set */
    bool local;       /* the node is in the monitor's own set */
} ss_reply;

typedef struct ss_walk {
    ss_policy policy;
    uint8_t ttl;     /* to probe next; 0 if the walk is over */
    uint8_t gap;     /* consecutive silent hops */
    bool back;       /* going backwards */
    ss_stop stop;    /* why it stopped forwards */
    uint8_t at;      /* TTL where it stopped forwards */
    uint8_t back_at; /* TTL where the local set stopped it; 0 if it did not */
} ss_walk;

void ss_walk_begin(ss_walk *w, const ss_policy *policy);
/* Applies the reply to the probe of w->ttl, and chooses the next TTL. */
void ss_walk_apply(ss_walk *w, const ss_reply *reply);

#endif
