/*
 * pull.h - what a reader makes of a manifest: whether to believe it, what to
 * fetch, and how what was fetched becomes the filter. No clock, disk or
 * network.
 */
#ifndef UM_EXCHANGE_PULL_H
#define UM_EXCHANGE_PULL_H

#include "exchange/manifest.h"

enum { UM_TAG_MAX = 256, UM_MEMORY_MAX = 1024 };

/* What a reader remembers of its last pull. */
typedef struct um_memory {
    uint64_t serial;  /* 0: it never pulled */
    uint64_t expires; /* as the manifest said; 0: never */
    uint8_t filter[UM_DIGEST_LEN];
    bool is_signed;
    uint8_t key[UM_TRUST_KEY_LEN]; /* whose signature it took */
    char tag[UM_TAG_MAX]; /* of the manifest, as the server called it; "" */
} um_memory;

/* As text, into UM_MEMORY_MAX bytes, and back; E_FORMAT when it is none. */
size_t um_memory_write(const um_memory *m, char out[UM_MEMORY_MAX]);
umbel_status um_memory_read(const char *text, size_t len, um_memory *out,
                            umbel_error *err);

/*
 * Whether a manifest is to be believed at the time now: it is signed by trust
 * (NULL: by whom it was signed before, if at all), has not expired, and is not
 * older than what the reader has. E_REFUSED else.
 */
umbel_status um_judge(const um_manifest *m, const um_memory *last,
                      const uint8_t *trust, uint64_t now, umbel_error *err);

/* The same when the server says that nothing changed: only time did. */
umbel_status um_judge_again(const um_memory *last, uint64_t now,
                            umbel_error *err);

/* What to fetch. */
typedef struct um_route {
    bool current;  /* nothing: the reader has it */
    bool by_steps; /* steps from `first` on; else the whole file */
    size_t first;
    uint64_t bytes; /* of all that */
} um_route;

/* The cheaper way from the filter that a reader has; NULL: it has none. */
um_route um_route_from(const um_manifest *m, const uint8_t *have);

#endif
