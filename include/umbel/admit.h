/*
 * admit.h - what may be believed of a filter that somebody else made.
 *
 * A decoded filter is safe to use, whatever it holds; that does not make it
 * true. It may match everything, claim keys that it does not hold, or be of
 * another hash than ours. Admission holds it against what the receiver demands,
 * and says each thing that is wrong. Every path that takes a filter from
 * outside should go through here; docs/SECURITY-MODEL.md tells what is bounded
 * by it, and what is not.
 *
 * How many keys a filter claims is held against its cells by tails that are
 * never too small: an honest filter is refused for its claim, its blocks, or an
 * error that its shape keeps on average, with a chance of 1e-9 at most. Honest
 * means: keys were added to it, and what it says of itself is so.
 */
#ifndef UMBEL_ADMIT_H
#define UMBEL_ADMIT_H

#include <umbel/file.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a receiver demands. Zero: no demand; start with UMBEL_ADMISSION_INIT. */
typedef struct umbel_admission {
    size_t size;            /* sizeof(umbel_admission): lets it grow */
    uint64_t max_bytes;     /* of the whole file */
    const char *kind;       /* must be this one */
    const char *addressing; /* must be this one */
    const char *hash;       /* must be this one */
    uint64_t secret_id;     /* identifier of the secret it is made with, as
                               umbel_describe tells it */
    uint64_t claimed;       /* different keys that it should hold */
    double max_error;       /* most chance that a key never added matches,
                               the mean over blocks; 0 means 0.5 */
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

typedef enum umbel_refusal {
    UMBEL_REFUSED_ENCODING,   /* cut short, damaged, not a filter at all */
    UMBEL_REFUSED_BYTES,      /* too large */
    UMBEL_REFUSED_KIND,       /* another kind */
    UMBEL_REFUSED_ADDRESSING, /* another addressing */
    UMBEL_REFUSED_HASH,       /* another hash */
    UMBEL_REFUSED_SECRET,     /* another secret, or none */
    UMBEL_REFUSED_TOO_FULL,   /* more cells in use than so many keys use */
    UMBEL_REFUSED_TOO_EMPTY,  /* fewer */
    UMBEL_REFUSED_BLOCK,      /* a block has more than chance puts there */
    UMBEL_REFUSED_UNTOLD,     /* cells that do not tell what was demanded */
    UMBEL_REFUSED_ERROR       /* errs more than the receiver allows */
} umbel_refusal;

typedef struct umbel_reason {
    umbel_refusal code;
    char text[256]; /* a line for people, of plain characters */
} umbel_reason;

enum { UMBEL_MAX_REASONS = 16 };

/* Every reason is told, not only the first. */
typedef struct umbel_ruling {
    bool admitted; /* no reasons */
    size_t n;
    umbel_reason reason[UMBEL_MAX_REASONS];

    uint64_t bytes;   /* of the whole file; 0: not known */
    double fill;      /* share of cells in use; NAN: not known */
    double error;     /* chance that a key never added matches; NAN */
    double max_error; /* that it was held against */
    uint64_t claimed; /* keys: as demanded, else as its head says; 0: none */
    bool held;        /* ... against the cells; false: they do not tell */
    bool may_deny;    /* keys that were added: it says so itself, */
    uint64_t denied;  /* ... and so many members, when it was retouched */
} umbel_ruling;

/*
 * Judge f. The head's own number of keys is held against the cells, too, unless
 * it is an estimate. E_RANGE or E_UNKNOWN when a demand makes no sense,
 * E_NOMEM; else *out is the ruling. Reads every cell. f may be locked.
 */
UMBEL_API umbel_status umbel_admit(const umbel_filter *f,
                                   const umbel_admission *wants,
                                   umbel_ruling *out, umbel_error *err);

/*
 * Decode and judge. *ruling is filled whenever UMBEL_OK is returned; the filter
 * is given to *out only when it was admitted, and is then the caller's. Bytes
 * that cannot be decoded are refused, not an error. Too many bytes are refused
 * before one is looked at. The payload is always held against its checksum.
 */
UMBEL_API umbel_status umbel_admit_bytes(const void *bytes, size_t len,
                                         const umbel_source *source,
                                         const umbel_admission *wants,
                                         umbel_filter **out,
                                         umbel_ruling *ruling,
                                         umbel_error *err);

/*
 * The same from an open descriptor, from where it stands to its end, by copy. A
 * file that is too large is not read at all; what is no file is read up to its
 * head and refused by what that says: unless source has a memory limit, the
 * most bytes allowed are also that. E_IO when it cannot be read.
 */
UMBEL_API umbel_status umbel_admit_read(int fd, const umbel_source *source,
                                        const umbel_admission *wants,
                                        umbel_filter **out,
                                        umbel_ruling *ruling, umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif
