/*
 * targets.h - whom a run probes, and whom it may.
 *
 * Every destination lies in the allowed prefixes, in none of the denied ones,
 * and is the address of one host. The first that does not is named before any
 * packet is sent.
 */
#ifndef UM_STOPSET_TARGETS_H
#define UM_STOPSET_TARGETS_H

#include "stopset/sets/index.h"

#include <umbel/base.h>

typedef struct ss_prefix {
    ss_addr base;
    ss_prefix_len len; /* the same in both: it is of one version */
    bool v4;
} ss_prefix;

/* Zeroed: empty. */
typedef struct ss_prefixes {
    ss_prefix *item;
    size_t n;
} ss_prefixes;

/*
 * Appends prefixes or addresses, separated by commas:
 * "10.0.0.0/8,fd00::/8". E_RANGE quotes what is not a prefix, or has bits set
 * behind its length.
 */
umbel_status ss_prefixes_parse(ss_prefixes *p, const char *text,
                               umbel_error *err);
void ss_prefixes_fini(ss_prefixes *p);
bool ss_prefixes_have(const ss_prefixes *p, ss_addr a);
/* Is there one that holds every address of its version? */
bool ss_prefixes_have_all(const ss_prefixes *p);

/* Different destinations in the order in which they came. Zeroed: empty. */
typedef struct ss_targets {
    ss_index set;
    bool v4, v6; /* some are of that version */
} ss_targets;

/*
 * Adds an address, or the addresses of a file, one a line; "-" is standard
 * input. Blank lines and what follows a '#' are passed over.
 */
umbel_status ss_targets_read(ss_targets *t, const char *operand,
                             umbel_error *err);
void ss_targets_fini(ss_targets *t);

/* E_RANGE names the first that must not be probed, and why. */
umbel_status ss_targets_check(const ss_targets *t, const ss_prefixes *allow,
                              const ss_prefixes *deny, umbel_error *err);

/*
 * Orders them so that those of a prefix lie far apart: traces under way at the
 * same time do not learn from each other. Returns the number of prefixes, 0
 * when there is no memory.
 */
uint32_t ss_targets_spread(ss_targets *t, ss_prefix_len len);

#endif
