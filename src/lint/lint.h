/*
 * lint.h - finds what is wrong with a filter, of umbel's format or another.
 */
#ifndef UM_LINT_LINT_H
#define UM_LINT_LINT_H

#include "keylist/source.h"

#include <umbel/umbel.h>

typedef enum um_lint_code {
    UM_LINT_OVERFULL,        /* more keys than its capacity */
    UM_LINT_DENIES_MEMBERS,  /* keys of its list do not match */
    UM_LINT_ERROR,           /* false positive rate above the promise */
    UM_LINT_DEPENDENT_CELLS, /* keys share cells more often than chance */
    UM_LINT_WEAK_HASH,       /* hash or seed */
    UM_LINT_WASTED_SPACE,    /* much larger than its keys need */
    UM_LINT_HOSTILE_SHAPE,   /* cells that its head does not explain */
    UM_LINT_NO_CHECKSUM      /* damage would go unnoticed */
} um_lint_code;

typedef enum um_severity {
    UM_SEVERITY_NOTE, /* a property of the format, or of its use */
    UM_SEVERITY_WARNING,
    UM_SEVERITY_ERROR /* wrong answers */
} um_severity;

typedef struct um_lint_finding {
    um_lint_code code;
    um_severity severity;
    const char *part;          /* of the file; NULL: the whole */
    double promised, measured; /* rates, shares, keys or bytes; NAN: none */
    char advice[256];
} um_lint_finding;

/* Return names in reports. */
const char *um_lint_name(um_lint_code code);
const char *um_severity_name(um_severity severity);

/* Receives a finding. */
typedef void um_lint_take(void *ctx, const um_lint_finding *finding);

typedef struct um_lint_job {
    const umbel_filter *filter;
    const char *format;           /* of another program; NULL: umbel's */
    const um_key_source *members; /* keys that must match; NULL: unknown */
    um_lint_take *take;
    void *ctx;
} um_lint_job;

/*
 * Reports every finding. With probability of at most 1e-9 there is a warning or
 * an error for an honest filter: one that holds keys whose digests look random,
 * no more than its capacity.
 */
umbel_status um_lint(const um_lint_job *job, umbel_error *err);

/*
 * Returns the false positive rate that the filter was planned for, and the
 * number of keys; 0: unknown. Formats that record neither (Guava's) imply them:
 * their programs choose the number of hash functions k as round(m/n ln 2), so
 * there were to be at most m ln 2 / (k - 1/2) keys.
 */
double um_lint_promise(const umbel_filter *f, double *capacity);

/* Builds the filter anew from its members, with the same parameters but for the
 * size. */
umbel_status um_lint_rebuild(const um_lint_job *job, umbel_filter **out,
                             umbel_error *err);

#endif
