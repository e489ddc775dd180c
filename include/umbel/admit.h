/*
 * admit.h - check a filter that somebody else made before using it.
 *
 * A decoded filter is safe to use, but it may still be wrong: it may match
 * everything, claim keys that it does not hold, or use a different hash than
 * the receiver. Admission compares it with what the receiver demands and
 * reports every violation. Call it for every filter that comes from outside;
 * docs/SECURITY-MODEL.md describes what it can detect and what it cannot.
 *
 * The claimed number of keys is tested against the cells with exact tail
 * bounds: an honest filter is refused for its claim, its blocks, or an error
 * that its shape keeps on average, with probability at most 1e-9. A filter is
 * honest if its cells come from keys that were added, its head is true, and
 * chance did not give it more than twice the allowed error. A filter with more
 * than twice the allowed error is never admitted.
 */
#ifndef UMBEL_ADMIT_H
#define UMBEL_ADMIT_H

#include <umbel/file.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a receiver demands. UMBEL_ADMISSION_INIT makes no demands. */
typedef struct umbel_admission {
    size_t size;            /* sizeof(umbel_admission): lets it grow */
    uint64_t max_bytes;     /* of the whole file, at most */
    const char *kind;       /* the kind it must have */
    const char *addressing; /* the addressing it must have */
    const char *hash;       /* the hash it must have */
    uint64_t secret_id;     /* of the secret it must have been created with; see
                               the field of that name in umbel_describe */
    uint64_t claimed;       /* number of different keys that it should hold */
    double max_error;       /* highest false positive rate, as the mean over
                               blocks; by chance a filter of the right shape may
                               have up to twice this rate; 0 means 0.5 */
} umbel_admission;

#ifdef __cplusplus
#define UMBEL_ADMISSION_INIT                                                   \
    {                                                                          \
        sizeof(umbel_admission), 0, 0, 0, 0, 0, 0, 0                           \
    }
#else
#define UMBEL_ADMISSION_INIT                                                   \
    {                                                                          \
        .size = sizeof(umbel_admission)                                        \
    }
#endif

/* Why a filter is refused. */
typedef enum umbel_refusal {
    UMBEL_REFUSED_ENCODING,    /* truncated, damaged, or not a filter */
    UMBEL_REFUSED_BYTES,       /* too large */
    UMBEL_REFUSED_KIND,        /* not the demanded kind */
    UMBEL_REFUSED_ADDRESSING,  /* not the demanded addressing */
    UMBEL_REFUSED_HASH,        /* not the demanded hash */
    UMBEL_REFUSED_SECRET,      /* not the demanded secret, or none */
    UMBEL_REFUSED_TOO_FULL,    /* more cells set than these keys can account
                                  for */
    UMBEL_REFUSED_TOO_EMPTY,   /* fewer cells set than these keys would set */
    UMBEL_REFUSED_BLOCK,       /* a block is fuller than chance explains */
    UMBEL_REFUSED_UNCONFIRMED, /* a demand that its cells cannot confirm */
    UMBEL_REFUSED_ERROR,       /* false positive rate above the limit */
    UMBEL_REFUSED_COST         /* takes more work to check than is allowed */
} umbel_refusal;

typedef struct umbel_reason {
    umbel_refusal code;
    char text[256]; /* one line for people, safe to print */
} umbel_reason;

enum { UMBEL_MAX_REASONS = 16 };

/* The outcome, with every reason for a refusal. */
typedef struct umbel_ruling {
    bool admitted; /* n is 0 */
    size_t n;
    umbel_reason reason[UMBEL_MAX_REASONS];

    uint64_t bytes;     /* of the whole file; 0: unknown */
    double fill;        /* share of cells that are set; NAN: unknown */
    double error;       /* false positive rate; NAN: unknown */
    double max_error;   /* the limit that was applied */
    uint64_t claimed;   /* number of keys as demanded, or else as in its head;
                           0: none */
    bool claim_checked; /* claimed was tested against the cells */
    bool has_false_negatives;       /* keys that were added may not match */
    uint64_t known_false_negatives; /* recorded in the file (retouching) */
} umbel_ruling;

/*
 * Tests f against the demands. Also tests the number of keys in its head
 * against the cells, unless it is an estimate. E_RANGE or E_UNKNOWN when a
 * demand is invalid; otherwise *out is the ruling. A refusal is not an error.
 * Reads every cell, but at most 64 cells for each byte of the payload and 2^26
 * more; a filter that would take more is refused. f may be locked.
 */
UMBEL_API umbel_status umbel_admit(const umbel_filter *f,
                                   const umbel_admission *wants,
                                   umbel_ruling *out, umbel_error *err);

/*
 * Decodes bytes and tests the filter. *ruling is filled whenever UMBEL_OK is
 * returned; *out owns the filter only if it was admitted, and is untouched
 * otherwise. Bytes that cannot be decoded are a refusal, not an error. Input
 * longer than max_bytes is refused without being read. The payload's checksum
 * is always checked.
 */
UMBEL_API umbel_status umbel_admit_bytes(const void *bytes, size_t len,
                                         const umbel_source *source,
                                         const umbel_admission *wants,
                                         umbel_filter **out,
                                         umbel_ruling *ruling,
                                         umbel_error *err);

/*
 * Reads a filter from a descriptor as umbel_read does, and tests it. A file
 * that is too large is not read; from a stream, only the head is read before
 * the size is checked. For streams, max_bytes is also the memory limit unless
 * source has one. E_IO when it cannot be read.
 */
UMBEL_API umbel_status umbel_admit_read(int fd, uint64_t len,
                                        const umbel_source *source,
                                        const umbel_admission *wants,
                                        umbel_filter **out,
                                        umbel_ruling *ruling, umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif
