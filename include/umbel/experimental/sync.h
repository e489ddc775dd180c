/*
 * sync.h - replicated filters with many writers.
 *
 * Experimental: this header may change in any release.
 *
 * An origin is a server that accepts keys, named by its public key (Ed25519).
 * Only the origin writes its filter. Replicas on other servers are never ahead
 * of it, and only grow. A count is the sum of the counts in the filters of all
 * origins, so nothing is counted twice, even if messages are lost, repeated,
 * delayed or forwarded.
 *
 * Filters are exchanged in pages. For each version that it sends, an origin
 * signs the root of a hash tree over its pages; a receiver applies a version
 * completely if the root is right, and otherwise not at all. So any peer may
 * forward the data of any origin without being able to change it.
 *
 * This is a state machine: messages in, messages out, events. It uses no
 * socket, no disk and no clock. It may be used by one thread at a time.
 * docs/PROTOCOL.md describes the messages.
 *
 *     umbel_sync_publish        publishes our own filter
 *     umbel_sync_receive        receives a message from a peer
 *     umbel_sync_next           returns the next message for a peer
 *     umbel_sync_count          sums over origins
 *     umbel_sync_agreement      equal on two servers that give the same answers
 */
#ifndef UMBEL_EXPERIMENTAL_SYNC_H
#define UMBEL_EXPERIMENTAL_SYNC_H

#include <umbel/admit.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    UMBEL_ORIGIN_LEN = 32,        /* an Ed25519 public key */
    UMBEL_ORIGIN_SECRET_LEN = 64, /* umbel_sign_keygen */
    UMBEL_SYNC_MAX_LISTS = 64,
    UMBEL_SYNC_MAX_NAME = 64, /* of a list, with its NUL */
    UMBEL_SYNC_MAX_AGREE = 64 /* of umbel_sync_list.agree, with its NUL */
};

/* Limits; 0 means the default. */
typedef struct umbel_sync_limits {
    uint64_t memory;          /* bytes of replicas and of updates that are being
                                 received; 1 GiB. Empty pages of a replica
                                 above 1 MiB take no memory;
                                 umbel_sync_full_memory computes what full
                                 replicas take */
    uint32_t origins;         /* number of origins that have replicas here;
                                 256 */
    uint32_t incarnations;    /* per origin in one epoch of a list; 4 */
    uint32_t peers;           /* 256 */
    uint32_t message_bytes;   /* the largest message; 2 MiB, at least 4 pages */
    uint64_t history_bytes;   /* per replica, for sending differences; 1 MiB, or
                                 an eighth of the filter if that is more. All
                                 histories together use at most an eighth of
                                 memory */
    uint32_t log_entries;     /* per origin and incarnation; 65,536 */
    uint32_t log_entry_bytes; /* 4096 */
    uint64_t log_bytes;       /* of all logs; 16 MiB */
    uint32_t clock_skew;    /* seconds that a peer's clock may be ahead; 3600 */
    uint32_t retry_seconds; /* seconds without an answer until a message is
                               repeated; 30 */
    uint32_t slice_pages;   /* pages that one call reads or writes;
                               umbel_sync_work does the rest. 0: all of them */
} umbel_sync_limits;

/* A list: filters of one shape, one for each origin and epoch. */
typedef struct umbel_sync_list {
    const char *name;          /* 1 to 63 letters, digits and . _ - */
    const umbel_filter *shape; /* an empty filter, which is copied: kind, size,
                                  hash, seed, secret; its capacity limits what
                                  an origin may hold */
    uint64_t epoch_seconds;    /* 0: a single epoch, number 0, that never
                                  ends */
    uint32_t epochs;           /* number of live epochs, which count; 0 means
                                  1 */
    uint32_t page_bytes;       /* 512 to 2^20; 0 means 65,536 */
    uint32_t quorum;           /* number of origins that must have a key, for
                                  umbel_sync_query; 0 means 1 */
    bool indexed;        /* build an index of which replicas may hold a key, so
                            that look-ups in many replicas cost little more than
                            in one. Kinds table, counting and countmin; ignored
                            for others. For 8, 16, 32 or 64 replicas it takes a
                            fourth of their memory (table), or a bit for each of
                            their cells. Totals for umbel_sync_reaches take a
                            byte for each cell, or as much as two tables. Both
                            count towards limits.memory, and are released when
                            replicas need it */
    uint64_t origin_cap; /* the most that one origin adds to a count; 0: no
                            limit */
    double max_error;    /* for admission; 0: the shape's own rate if it has a
                            capacity, else 0.5 */
    const char *agree;   /* another setting that must be the same on all
                            servers, a name and a value: "seed=7542-10". Up to
                            63 printable characters without blanks, copied.
                            NULL: none */
} umbel_sync_list;

/* Reasons for a refusal, with their names in logs and metrics. */
#define UMBEL_SYNC_REASON_LIST(X)                                              \
    X(FORMAT, "format")     /* not a message */                                \
    X(CHECKSUM, "checksum") /* damaged */                                      \
    X(SHAPE, "shape")       /* a list of another shape, secret or agree */     \
    X(LIST, "list")         /* a list that we do not have */                   \
    X(ORIGIN, "origin")     /* dropped, or not allowed */                      \
    X(INCARNATION, "incarnation") /* one that contradicted itself */           \
    X(EPOCH, "epoch")             /* expired, or in the future */              \
    X(VERSION, "version")         /* out of range */                           \
    X(PAGE, "page")               /* past the end, or damaged */               \
    X(ROOT, "root")               /* the pages do not have the signed root */  \
    X(SHRANK, "shrank")           /* a cell became smaller */                  \
    X(ADMISSION, "admission")     /* cells that the claimed keys do not        \
                                     explain */                                \
    X(CAPACITY, "capacity") /* more keys than the capacity of the list */      \
    X(LOG, "log")           /* an entry out of order, or not signed */         \
    X(MEMORY, "memory")     /* no memory left */                               \
    X(LIMIT, "limit")       /* too many origins */                             \
    X(INCARNATIONS, "incarnations") /* too many of one origin */               \
    X(DISPUTED, "disputed") /* a claim about a filter of ours, not proved */

typedef enum umbel_sync_reason {
#define UMBEL_SYNC_REASON_ENUM(name, text) UMBEL_SYNC_##name,
    UMBEL_SYNC_REASON_LIST(UMBEL_SYNC_REASON_ENUM)
#undef UMBEL_SYNC_REASON_ENUM
        UMBEL_SYNC_REASONS
} umbel_sync_reason;

/* Returns the name of a reason, such as "root"; never NULL. */
UMBEL_API const char *umbel_sync_reason_name(umbel_sync_reason reason);

typedef enum umbel_sync_event_kind {
    UMBEL_SYNC_APPLIED,      /* a new version of a replica: changed entries */
    UMBEL_SYNC_REFUSED,      /* reason and text; at most one a minute for each
                                peer and reason, or with announce all of them.
                                Counters count every one */
    UMBEL_SYNC_CONTRADICTED, /* an incarnation signed two roots for one version:
                                every server bans it */
    UMBEL_SYNC_HELD,         /* an origin is at its capacity */
    UMBEL_SYNC_RENEWED,      /* peers have versions of our own filters that we
                                do not have: we continue as a new incarnation
                                with an empty filter */
    UMBEL_SYNC_LOGGED,       /* an entry of a log was added: seq, type, body */
    UMBEL_SYNC_DROPPED,      /* an origin was dropped by drop_quorum notices */
    UMBEL_SYNC_EXPIRED       /* an epoch of a list is over: its replicas were
                                freed */
} umbel_sync_event_kind;

/* What happened. Texts and bytes are valid during the call. */
typedef struct umbel_sync_event {
    umbel_sync_event_kind kind;
    int peer;              /* -1: none */
    const uint8_t *origin; /* UMBEL_ORIGIN_LEN bytes, or NULL */
    uint64_t incarnation, epoch, version;
    int list;         /* -1: none */
    uint64_t changed; /* entries */
    umbel_sync_reason reason;
    const char *text; /* for people; or NULL */
    uint64_t seq;
    uint8_t type;
    umbel_slice body;
} umbel_sync_event;

/* Parameters of umbel_sync_open. Start with UMBEL_SYNC_INIT. */
typedef struct umbel_sync_params {
    size_t size; /* sizeof(umbel_sync_params): lets it grow */
    const umbel_sync_list *lists;
    size_t nlists;
    const uint8_t *sign_key; /* UMBEL_ORIGIN_SECRET_LEN bytes; NULL: receives
                                and forwards, but writes nothing */
    uint64_t incarnation; /* of our own filters, not 0; use a larger one after
                             they were lost */
    uint64_t session;     /* a random number, not 0, new for each
                             umbel_sync_open */
    bool strict;          /* accept only origins that umbel_sync_allow named */
    bool announce;        /* notify a peer when it has all that we have, for
                             exchanges that end: umbel_sync_finished. Peers are
                             asked not to send an origin again that a limit
                             refused in the same session */
    uint32_t drop_quorum; /* number of origins whose notices together drop an
                             origin; 0: notices are only events */
    umbel_sync_limits limits;
    void (*event)(void *ctx, const umbel_sync_event *event); /* or NULL */
    void *ctx;
} umbel_sync_params;

#ifdef __cplusplus
#define UMBEL_SYNC_INIT                                                        \
    {                                                                          \
        sizeof(umbel_sync_params), 0, 0, 0, 0, 0, false, false, 0, {}, 0, 0    \
    }
#else
#define UMBEL_SYNC_INIT                                                        \
    {                                                                          \
        .size = sizeof(umbel_sync_params)                                      \
    }
#endif

/* What limits.memory should be. */
typedef struct umbel_sync_memory {
    uint64_t
        replicas;   /* of replicas and updates; with less, some are refused */
    uint64_t index; /* of the index and totals; without it, look-ups take
                       longer */
} umbel_sync_memory;

/*
 * Computes the memory that replicas of our own and of `origins` other origins
 * need once every live epoch of every list is full. E_UNSUPPORTED as for
 * umbel_sync_open.
 */
UMBEL_API umbel_status umbel_sync_full_memory(const umbel_sync_list *list,
                                              size_t n, uint64_t origins,
                                              umbel_sync_memory *out,
                                              umbel_error *err);

typedef struct umbel_sync umbel_sync;

/*
 * Opens a machine without replicas. E_RANGE names the parameter, E_UNSUPPORTED
 * the kind of a list that cannot be replicated by pages, and the reason.
 * Release *out with umbel_sync_close.
 */
UMBEL_API umbel_status umbel_sync_open(const umbel_sync_params *params,
                                       umbel_sync **out, umbel_error *err);
UMBEL_API void umbel_sync_close(umbel_sync *s);

/* Returns the public key of our own origin; NULL without a sign_key. */
UMBEL_API const uint8_t *umbel_sync_origin(const umbel_sync *s);
UMBEL_API uint64_t umbel_sync_incarnation(const umbel_sync *s);

/* Sets the time, in seconds since 1970, and frees epochs that are over. */
UMBEL_API void umbel_sync_tick(umbel_sync *s, uint64_t now);
/* Continues building the index of indexed lists, for a short time, as
 * umbel_sync_tick does. Returns true if there was something to do. */
UMBEL_API bool umbel_sync_index(umbel_sync *s);
/* Returns the number of the current epoch of a list. */
UMBEL_API uint64_t umbel_sync_epoch(const umbel_sync *s, size_t list);

/*
 * Publishes our own filter of this list and epoch, as a new version if it
 * changed. f must have the shape of the list, and no cell may be smaller than
 * when it was last published (E_MISMATCH). Publish only data that survives a
 * restart. E_FULL when f has more keys than its capacity.
 */
UMBEL_API umbel_status umbel_sync_publish(umbel_sync *s, size_t list,
                                          uint64_t epoch, const umbel_filter *f,
                                          umbel_error *err);
/* The result of umbel_sync_publish_pages. */
typedef struct umbel_sync_slice {
    uint64_t version;    /* of the replica, changed or not; 0: the pages are
                            empty, and nothing was published before */
    uint64_t first, end; /* range of pages that changed; the requested range if
                            none did. Publishing this range again, for example
                            after a restart, makes the same version */
} umbel_sync_slice;

/*
 * Publishes only the pages first to end - 1, so that a filter can be published
 * in slices and no call takes long. A version claims umbel_added(f) keys. If
 * only that number changed, a new version is made only when all pages are
 * published.
 */
UMBEL_API umbel_status umbel_sync_publish_pages(
    umbel_sync *s, size_t list, uint64_t epoch, const umbel_filter *f,
    uint64_t first, uint64_t end, umbel_sync_slice *out, umbel_error *err);
/* Returns the number of pages of a filter of this list. */
UMBEL_API uint64_t umbel_sync_pages(const umbel_sync *s, size_t list);
/*
 * Restores, at startup, our own filter as it was when this version was
 * published as a whole. Signs it again; signatures are deterministic, so
 * repeating the later publishes makes the same versions as before. E_RANGE if
 * this filter already has versions here.
 */
UMBEL_API umbel_status umbel_sync_restore(umbel_sync *s, size_t list,
                                          uint64_t epoch, uint64_t version,
                                          const umbel_filter *f,
                                          umbel_error *err);

/* --- peers -----------------------------------------------------------------
 */

/* Adds a peer; *peer is its number until umbel_sync_disconnect. E_LIMIT when
 * there are too many. */
UMBEL_API umbel_status umbel_sync_connect(umbel_sync *s, int *peer,
                                          umbel_error *err);
UMBEL_API void umbel_sync_disconnect(umbel_sync *s, int peer);

/*
 * Finds the end of the first message in bytes of a stream. *used is its length;
 * 0: it is incomplete. E_FORMAT or E_LIMIT when the bytes cannot begin a
 * message: close the connection.
 */
UMBEL_API umbel_status umbel_sync_split(const umbel_sync *s, const void *bytes,
                                        size_t len, size_t *used,
                                        umbel_error *err);
/*
 * Receives one message. A bad message is refused, counted and reported as an
 * event; the peer may continue. With slice_pages the machine may still be busy
 * with the message afterwards, and reports the outcome only by events.
 */
UMBEL_API umbel_status umbel_sync_receive(umbel_sync *s, int peer,
                                          const void *message, size_t len,
                                          uint64_t now, umbel_error *err);
/*
 * Returns true and the next message for a peer, valid until the next call;
 * false if there is nothing to send now. Messages are not queued: call it only
 * when the message can be sent. With slice_pages the machine may still be busy
 * composing it: call again for the same peer once it is not; a call for another
 * peer discards the message.
 */
UMBEL_API bool umbel_sync_next(umbel_sync *s, int peer, uint64_t now,
                               umbel_slice *message);
/*
 * Returns true if slice_pages left work: a received message, or one that is
 * being composed. Until it is done umbel_sync_next returns no message, and
 * umbel_sync_receive finishes it first; all other calls may be made.
 */
UMBEL_API bool umbel_sync_busy(const umbel_sync *s);
/* Continues that work for another slice_pages pages. Returns true if there is
 * more. */
UMBEL_API bool umbel_sync_work(umbel_sync *s);
/* Returns true if, as far as we know, the peer has everything we have. */
UMBEL_API bool umbel_sync_settled(const umbel_sync *s, int peer);
/* Returns true if the exchange is complete: umbel_sync_settled, and both sides
 * announced that the other has everything. */
UMBEL_API bool umbel_sync_finished(const umbel_sync *s, int peer);

typedef struct umbel_sync_peer_stats {
    bool known; /* it has announced what it has */
    bool ahead; /* it has later versions of our own filters than we do: we were
                   restored from a backup */
    uint64_t messages_in, messages_out, bytes_in, bytes_out;
    uint64_t changed_in, changed_out; /* entries, in updates */
    uint64_t behind;                  /* replicas for which it lacks a
                                         version */
    uint64_t lacks_since; /* when the oldest version that it lacks arrived here,
                             in seconds, as far back as history goes; 0: it
                             lacks none */
    uint64_t refused[UMBEL_SYNC_REASONS];
} umbel_sync_peer_stats;

UMBEL_API void umbel_sync_peer_stats_get(const umbel_sync *s, int peer,
                                         umbel_sync_peer_stats *out);

/* --- answers ---------------------------------------------------------------
 */

/*
 * Sums counts over the origins of a list and its live epochs. For kinds that do
 * not count, an origin that has the key counts once. origins[i], when given,
 * becomes the number of origins that have it. Digests are those of
 * umbel_digest_many with the list's shape.
 */
UMBEL_API umbel_status umbel_sync_count(const umbel_sync *s, size_t list,
                                        const umbel_digest *digests, size_t n,
                                        uint64_t *counts, uint32_t *origins,
                                        umbel_error *err);
/*
 * Counts as umbel_sync_count does, for answering clients: our own current
 * filters count as own[i], not as published (NULL: as published), and a digest
 * that fewer than quorum origins have counts 0.
 */
UMBEL_API umbel_status umbel_sync_count_with(const umbel_sync *s, size_t list,
                                             const umbel_digest *digests,
                                             size_t n, const uint64_t *own,
                                             uint64_t *counts,
                                             umbel_error *err);
/*
 * Sets reached[i] if umbel_sync_count_with would count digest i at least
 * threshold times. If the list is indexed and few digests reach it, this takes
 * one look-up for all origins together: the machine keeps totals of the cells
 * of all replicas, and queries replicas only for digests whose totals reach the
 * threshold.
 */
UMBEL_API umbel_status umbel_sync_reaches(const umbel_sync *s, size_t list,
                                          const umbel_digest *digests, size_t n,
                                          const uint64_t *own,
                                          uint64_t threshold, bool *reached,
                                          umbel_error *err);
/* Changes quorum and origin_cap of a list (see umbel_sync_list). */
UMBEL_API void umbel_sync_set_trust(umbel_sync *s, size_t list, uint32_t quorum,
                                    uint64_t origin_cap);
/* Sets hit[i] if at least quorum origins have digest i. */
UMBEL_API umbel_status umbel_sync_query(const umbel_sync *s, size_t list,
                                        const umbel_digest *digests, size_t n,
                                        bool *hit, umbel_error *err);
/*
 * Returns the agreement hash of a list: equal on two servers if they hold the
 * same cells of the same origins and the same log entries, and use the same
 * settings.
 */
UMBEL_API uint64_t umbel_sync_agreement(const umbel_sync *s, size_t list);

/* --- origins ---------------------------------------------------------------
 */

/* A replica: the filter of an origin, incarnation, epoch and list. */
typedef struct umbel_sync_replica {
    const uint8_t *origin;
    uint64_t incarnation, epoch;
    uint64_t begin, end; /* of the epoch, seconds; both 0: it never ends */
    size_t list;
    uint64_t version;
    uint64_t keys; /* as its origin claims */
    bool own, muted;
    bool held;      /* at its capacity */
    uint64_t bytes; /* of memory */
    uint64_t seen;  /* when its last version arrived, seconds */
    const umbel_filter *filter;
} umbel_sync_replica;

/* Iterates over all replicas in a fixed order; start with *at = 0. */
UMBEL_API bool umbel_sync_next_replica(const umbel_sync *s, size_t *at,
                                       umbel_sync_replica *out);

/*
 * Removes all data of an origin and refuses it from now on. With notice, an
 * entry in our log asks other servers to do the same. umbel_sync_mute only
 * excludes it from answers. umbel_sync_allow undoes both, and admits the origin
 * even if the machine is strict or its limit of origins is reached.
 */
UMBEL_API umbel_status umbel_sync_drop(umbel_sync *s, const uint8_t *origin,
                                       bool notice, umbel_error *err);
UMBEL_API umbel_status umbel_sync_mute(umbel_sync *s, const uint8_t *origin,
                                       umbel_error *err);
UMBEL_API umbel_status umbel_sync_allow(umbel_sync *s, const uint8_t *origin,
                                        umbel_error *err);

/* An origin's status, as set by umbel_sync_drop, _mute or _allow. */
typedef struct umbel_sync_origin_status {
    const uint8_t *origin; /* valid until the next call of one of these */
    bool dropped, muted;   /* neither: allowed */
} umbel_sync_origin_status;

/* Iterates over origins that were dropped, muted or allowed; start with *at =
 * 0. */
UMBEL_API bool umbel_sync_next_origin_status(const umbel_sync *s, size_t *at,
                                             umbel_sync_origin_status *out);

/* --- logs ------------------------------------------------------------------
 */

/* Types of log entries; from UMBEL_SYNC_LOG_FIRST on they are the caller's. */
enum {
    UMBEL_SYNC_LOG_RETRACT = 0, /* body: incarnation (8), seq (8) of an entry
                                     of the same origin */
    UMBEL_SYNC_LOG_DROP = 1,    /* body: an origin */
    UMBEL_SYNC_LOG_FIRST = 16   /* the first that callers may use */
};

/* Signs an entry and appends it to our own log; *seq is its number, from 1. */
UMBEL_API umbel_status umbel_sync_log_append(umbel_sync *s, uint8_t type,
                                             umbel_slice body, uint64_t *seq,
                                             umbel_error *err);
typedef struct umbel_sync_entry {
    const uint8_t *origin;
    uint64_t incarnation, seq;
    uint8_t type;
    umbel_slice body;
} umbel_sync_entry;

/* Iterates over the entries that were not retracted, of origins that count;
 * start with *at = 0. */
UMBEL_API bool umbel_sync_next_entry(const umbel_sync *s, size_t *at,
                                     umbel_sync_entry *out);
/* Returns a number that changes whenever these entries do. */
UMBEL_API uint64_t umbel_sync_log_changes(const umbel_sync *s);

/* --- restarts --------------------------------------------------------------
 */

/*
 * Exports replica number at - 1 of umbel_sync_next_replica as a filter, with
 * everything that umbel_sync_import needs in its data. Save it like any filter.
 * umbel_sync_import checks the signature and the root; E_REFUSED for expired
 * epochs.
 */
UMBEL_API umbel_status umbel_sync_export(const umbel_sync *s, size_t at,
                                         umbel_filter **out, umbel_error *err);
UMBEL_API umbel_status umbel_sync_import(umbel_sync *s, const umbel_filter *f,
                                         umbel_error *err);
/* Exports everything else: logs, contradictions, dropped and muted origins.
 * Writes to out, which has cap bytes; sets *len even if that is too small
 * (E_RANGE). */
UMBEL_API umbel_status umbel_sync_export_state(const umbel_sync *s, void *out,
                                               size_t cap, size_t *len,
                                               umbel_error *err);
UMBEL_API umbel_status umbel_sync_import_state(umbel_sync *s, const void *bytes,
                                               size_t len, umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif
