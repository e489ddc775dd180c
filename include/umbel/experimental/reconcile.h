/*
 * reconcile.h - two hosts whose sets of keys differ find out exactly which keys
 * each lacks.
 *
 * Experimental: this header may change in any release.
 *
 * This is a state machine: bytes in, bytes out. It uses no socket, no disk and
 * no clock. One side is `first`; the program carries bytes between both:
 *
 *     umbel_reconcile_open(&params, &r, &err);
 *     while (umbel_reconcile_state(r) == UMBEL_RECONCILE_TALKING) {
 *         while (umbel_reconcile_next(r, &bytes))
 *             write(out, bytes.data, bytes.len);
 *         n = read(in, buffer, sizeof buffer);
 *         umbel_reconcile_receive(r, buffer, n, &err);
 *     }
 *
 * When it is READY, the differences are known and proved: both sides computed
 * the same hash of the keys that they have in common. Store what was received,
 * then call umbel_reconcile_commit, so that the other side learns it.
 *
 * If few keys differ, the bytes sent depend on their number and not on the size
 * of the sets: about 17 a key, and the key itself. If many differ, filters come
 * first. Sets that are equal take less than 100 bytes.
 */
#ifndef UMBEL_EXPERIMENTAL_RECONCILE_H
#define UMBEL_EXPERIMENTAL_RECONCILE_H

#include <umbel/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which keys travel, seen from here: PULL receives those that we lack, PUSH
 * sends those that the other side lacks. */
enum {
    UMBEL_RECONCILE_COMPARE = 0, /* none: only numbers */
    UMBEL_RECONCILE_PULL = 1,
    UMBEL_RECONCILE_PUSH = 2,
    UMBEL_RECONCILE_BOTH = 3
};

/* Parameters of umbel_reconcile_open. Start with UMBEL_RECONCILE_INIT. */
typedef struct umbel_reconcile_params {
    size_t size;             /* sizeof(umbel_reconcile_params): lets it grow */
    const umbel_slice *keys; /* n of them, in any order; they must outlive the
                                machine. Duplicates are one key */
    size_t n;
    bool first;    /* this side speaks first and decides what travels */
    unsigned want; /* what travels; for the other side, what it permits */
    uint64_t max_missing; /* refuse to receive more keys; 0: no limit */
    uint64_t max_memory;  /* bytes of keys and messages; 0: 1 GiB */
    const uint8_t *nonce; /* 16 random bytes, for tests; NULL: draws them */
} umbel_reconcile_params;

#ifdef __cplusplus
#define UMBEL_RECONCILE_INIT                                                   \
    {                                                                          \
        sizeof(umbel_reconcile_params), 0, 0, false, 0, 0, 0, 0                \
    }
#else
#define UMBEL_RECONCILE_INIT                                                   \
    {                                                                          \
        .size = sizeof(umbel_reconcile_params)                                 \
    }
#endif

typedef enum umbel_reconcile_step {
    UMBEL_RECONCILE_TALKING, /* send what next returns, then receive */
    UMBEL_RECONCILE_READY,   /* store the keys, then commit */
    UMBEL_RECONCILE_DONE     /* send what next returns */
} umbel_reconcile_step;

typedef struct umbel_reconcile_result {
    uint64_t ours_missing, theirs_missing; /* keys that we, that they lack */
    uint64_t bytes_in, bytes_out;
    uint64_t rounds;    /* questions that were answered */
    const char *method; /* "equal", "symbols", "filter" (then symbols) */
    uint64_t agreement; /* a hash of our keys and those received: the same on
                           all hosts that have the same keys. The proof between
                           both sides has 128 bits and is keyed */
} umbel_reconcile_result;

typedef struct umbel_reconcile umbel_reconcile;

/* Opens a machine. Release *out with umbel_reconcile_close. */
UMBEL_API umbel_status
umbel_reconcile_open(const umbel_reconcile_params *params,
                     umbel_reconcile **out, umbel_error *err);
UMBEL_API void umbel_reconcile_close(umbel_reconcile *r);

/*
 * Receives bytes in pieces of any size. A failure is final: E_FORMAT for what
 * is no message, E_REFUSED for what the other side wants and this one does not
 * permit, or for claims that contradict each other, E_LIMIT above a limit.
 */
UMBEL_API umbel_status umbel_reconcile_receive(umbel_reconcile *r,
                                               const void *bytes, size_t len,
                                               umbel_error *err);
/* Returns true and the next bytes to send, valid until the next call. E_NOMEM
 * is reported by the next receive. */
UMBEL_API bool umbel_reconcile_next(umbel_reconcile *r, umbel_slice *out);

UMBEL_API umbel_reconcile_step umbel_reconcile_state(const umbel_reconcile *r);
/* Confirms that the keys received were stored; E_RANGE unless READY. */
UMBEL_API umbel_status umbel_reconcile_commit(umbel_reconcile *r,
                                              umbel_error *err);

/* Returns what is known from READY on. */
UMBEL_API void umbel_reconcile_report(const umbel_reconcile *r,
                                      umbel_reconcile_result *out);
/* Returns key i of those received, or of ours that the other side lacks; false
 * past the end. The first ones are returned only if they travelled. */
UMBEL_API bool umbel_reconcile_received(const umbel_reconcile *r, size_t i,
                                        umbel_slice *out);
UMBEL_API bool umbel_reconcile_lacking(const umbel_reconcile *r, size_t *at,
                                       umbel_slice *out);

#ifdef __cplusplus
}
#endif
#endif
