/*
 * pull.h - what a reader makes of a manifest: whether to believe it, what to
 * fetch, and how what was fetched becomes the filter. No clock, disk or
 * network.
 */
#ifndef UM_EXCHANGE_PULL_H
#define UM_EXCHANGE_PULL_H

#include "exchange/manifest.h"

enum { UM_TAG_MAX = 256, UM_MEMORY_MAX = 1024 };

/* What a reader remembers of the newest manifest that it believed. */
typedef struct um_memory {
    char name[UM_NAME_MAX + 1];
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

/* What a reader asks for, and when. */
typedef struct um_terms {
    const char *name;
    const uint8_t *trust; /* the key that must sign; NULL: as before, if any */
    uint64_t now;         /* seconds since 1970 */
} um_terms;

/*
 * Whether a manifest is to be believed: it is about the name, signed as the
 * terms say, has not expired, and is not older than what the reader believed.
 * E_REFUSED else. Whoever names another key than before begins anew with it:
 * serial numbers are its own.
 */
umbel_status um_judge(const um_manifest *m, const um_memory *last,
                      const um_terms *terms, umbel_error *err);

/*
 * Whether the memory meets the terms, time apart: only then a server may answer
 * that nothing changed. um_judge_again is for time.
 */
bool um_memory_fits(const um_memory *last, const um_terms *terms);
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
