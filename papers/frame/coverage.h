/*
 * coverage.h - checks papers/COVERAGE.md: what it names must exist.
 */
#ifndef UM_PAPERS_COVERAGE_H
#define UM_PAPERS_COVERAGE_H

#include <umbel/base.h>

enum { UM_STATUSES = 4 };

typedef struct um_coverage {
    size_t items[UM_STATUSES]; /* by status: shipped, study, parts, no */
    size_t claims;             /* names that were looked up */
    size_t faults;             /* those that cannot be followed */
    /* Called for each fault, with the line of the file; 0 for the whole. */
    void (*report)(void *ctx, size_t line, const char *claim, const char *why);
    void *ctx;
} um_coverage;

/* Returns "shipped", "study", "parts" or "no". */
const char *um_coverage_status(size_t i);

/*
 * Checks papers/COVERAGE.md below the directory root, the source tree, and
 * fills the numbers of *c. command is the program umbel, which is asked for the
 * help of the commands that the file names. Fails only if the file cannot be
 * read.
 */
umbel_status um_coverage_check(um_coverage *c, const char *root,
                               const char *command, umbel_error *err);

#endif
