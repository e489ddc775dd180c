/*
 * mark.h - routers that add themselves to a filter in the packet, and the way
 * back from it.
 *
 * mark.c edits packets, queue.c gets them from the kernel, trace_back.c finds
 * the routers that a packet passed.
 */
#ifndef UM_PACKETS_MARK_H
#define UM_PACKETS_MARK_H

#include <umbel/base.h>
#include <umbel/umbel.h>

#include <signal.h>

/* --- marks ---------------------------------------------------------------- */

enum {
    PK_MARK_BITS = 256,
    PK_MARK_BYTES = PK_MARK_BITS / 8,
    PK_MARK_GROWTH = 40, /* bytes by which a packet may grow */
    PK_MARK_HASHES = 15  /* at most, of each sort */
};

/* What all routers of a network must agree on. */
typedef struct pk_mark_shape {
    unsigned reset, set;   /* set 1 to 15, reset 0 to 15; 0: a plain filter */
    const uint8_t *secret; /* UMBEL_SECRET_LEN bytes; NULL: none */
} pk_mark_shape;

typedef struct pk_marker_config {
    pk_mark_shape shape;
    const char *router;
    unsigned suspicions; /* drop a packet that this number of routers in a row
                            did not change; 0: never */
    uint32_t mtu;        /* packets do not become longer */
    bool drop;           /* packets that cannot be marked */
} pk_marker_config;

typedef struct pk_marker_counts {
    uint64_t packets, marked;
    uint64_t added;                          /* of these, the option was new */
    uint64_t suspicious;                     /* the router changed nothing */
    uint64_t loops;                          /* dropped for that */
    uint64_t no_space, too_large, malformed; /* not marked */
} pk_marker_counts;

typedef enum pk_verdict { PK_PASS, PK_CHANGED, PK_DROP } pk_verdict;

typedef struct pk_marker pk_marker;

/* Opens a marker. config is copied, but router must outlive it. */
umbel_status pk_marker_open(const pk_marker_config *config, pk_marker **out,
                            umbel_error *err);
/* NULL is accepted. */
void pk_marker_close(pk_marker *m);
/*
 * Adds the router to a packet that begins with its IP header and has *len
 * bytes, in memory for PK_MARK_GROWTH more. Any bytes are safe.
 */
pk_verdict pk_mark(pk_marker *m, uint8_t *packet, uint32_t *len);
pk_marker_counts pk_marker_count(const pk_marker *m);

/* Finds the filter in a packet that begins with its IP header; NULL if it has
 * none of this shape. */
const uint8_t *pk_mark_find(const pk_mark_shape *shape, const uint8_t *packet,
                            size_t len);

/*
 * Writes the key of a router in a packet. It contains the packet's addresses
 * and identification, so that a router has other cells in every packet. Returns
 * its length; 0 if the packet is too short.
 */
enum { PK_MARK_KEY = 128 };
size_t pk_mark_key(const uint8_t *packet, size_t len, const char *router,
                   uint8_t out[PK_MARK_KEY]);

/* --- packets from the kernel ---------------------------------------------- */

typedef struct pk_queue_counts {
    uint64_t packets, drops; /* that the kernel dropped, because we were slow */
} pk_queue_counts;

/* Decides on a packet, which it may change: *len and the bytes. */
typedef pk_verdict pk_decide(void *ctx, uint8_t *packet, uint32_t *len);

/*
 * Decides on the packets of an NFQUEUE until *stop is true; calls ready when
 * the queue exists. If the process is root's, it becomes that user, and keeps
 * CAP_NET_ADMIN only. E_UNSUPPORTED if it was built without
 * libnetfilter_queue.
 */
umbel_status pk_queue_run(uint16_t number, const char *user, pk_decide *decide,
                          void *ctx, void (*ready)(void *ctx),
                          const volatile sig_atomic_t *stop,
                          pk_queue_counts *counts, umbel_error *err);

/* --- topologies ----------------------------------------------------------- */

enum { PK_ROUTER_LEN = 64, PK_MAX_NODES = 1 << 16, PK_MAX_LINKS = 1 << 20 };

/* Returns true if a router may have this name: 1 to 63 printable characters
 * other than blanks, '#', '"' and '\\'. */
bool pk_router_name(const char *name);

/*
 * Routers and their links, from lines of text: "A B" for a link, "victim A" for
 * each router that the victim is attached to, comments after '#'.
 */
typedef struct pk_topology {
    char (*name)[PK_ROUTER_LEN];
    uint32_t n;
    uint32_t *first; /* neighbours of i: link[first[i]] .. link[first[i + 1]] */
    uint32_t *link;
    uint32_t *victims; /* at least one */
    uint32_t nvictims;
} pk_topology;

umbel_status pk_topology_parse(umbel_slice text, pk_topology *out,
                               umbel_error *err);
umbel_status pk_topology_load(const char *path, pk_topology *out,
                              umbel_error *err);
void pk_topology_fini(pk_topology *t);
/* Returns the number of the router with this name; t->n if it is unknown. */
uint32_t pk_topology_find(const pk_topology *t, const char *name);

/* --- the way back --------------------------------------------------------- */

typedef struct pk_tracer_config {
    pk_mark_shape shape;
    bool wildcards; /* cells of routers nearer to the victim do not count */
    bool every;     /* test all routers, without following links */
    uint32_t limit; /* of tests for a packet */
} pk_tracer_config;

typedef struct pk_trace {
    const uint32_t *path; /* from the victim to the source; the tracer's */
    uint32_t npath;
    const uint32_t *candidates; /* all routers that match */
    uint32_t ncandidates;
    double expected_false; /* number of those that are wrong by chance */
    bool cut;              /* the limit ended the search */
} pk_trace;

typedef struct pk_tracer pk_tracer;

/* t must outlive the tracer. */
umbel_status pk_tracer_open(const pk_topology *t, const pk_tracer_config *c,
                            pk_tracer **out, umbel_error *err);
void pk_tracer_close(pk_tracer *t);
/* Traces a packet that begins with its IP header; returns false if it is not
 * marked. out is valid until the next call. */
bool pk_trace_packet(pk_tracer *t, const uint8_t *packet, size_t len,
                     pk_trace *out);

#endif
