/*
 * tracer_run.h - a run of the tracer: its targets, its sets, the clock, a
 * prober, the output.
 */
#ifndef UM_STOPSET_TRACER_RUN_H
#define UM_STOPSET_TRACER_RUN_H

#include "stopset/formats/output.h"
#include "stopset/formats/trace.h"
#include "stopset/sets/address_index.h"
#include "stopset/sets/set.h"
#include "stopset/tracer/prober.h"
#include "stopset/tracer/tracer.h"

#include <umbel/base.h>

#include <signal.h>
#include <sys/types.h>
#include <time.h>

/*
 * the sets of a run of the tracer: read from files, read again when they are
 * replaced, and joined by what the run finds.
 */

/* A file of a set, and the version of it that is in use. */
typedef struct ss_live_file {
    const char *path; /* NULL: no such set */
    ss_set set;
    bool open;
    dev_t device;
    ino_t inode;
    struct timespec changed;
} ss_live_file;

/* Zeroed, but for the paths and flags: not open. */
typedef struct ss_live {
    ss_live_file red, global;
    bool use_own;   /* pairs that this run finds join the global set */
    bool use_local; /* nodes that this run finds stop its way back */
    ss_set own, local;
} ss_live;

/* Opens what has a path. Files that are not what they are given as are refused.
 */
umbel_status ss_live_open(ss_live *l, umbel_error *err);
void ss_live_fini(ss_live *l);

/*
 * Reopens files that were replaced. If a new file cannot be read, returns an
 * error and keeps the old set; the file is not tried again until it changes.
 */
umbel_status ss_live_refresh(ss_live *l, umbel_error *err);

/* Says which sets have a node, and adds it to the local one. */
umbel_status ss_live_ask(ss_live *l, ss_addr hop, ss_addr dst, ss_reply *reply,
                         umbel_error *err);
/* A trace is over: its nodes join the global set. */
umbel_status ss_live_learn(ss_live *l, const ss_trace *t, umbel_error *err);

/* --- whom a run probes, and whom it may ---------------------------------- */

/*
 * Every destination lies in the allowed prefixes, in none of the denied ones,
 * and is the address of one host. The first that does not is named before any
 * packet is sent.
 */

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
/*
 * Returns true if one of the prefixes contains every address of its IP version.
 */
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

/*
 * a run of the tracer: the clock, a prober, the sets, the output.
 */

typedef struct ss_session {
    /* Given. */
    const ss_tracer_config *config; /* limits and rates; callbacks are ours */
    const ss_prober *prober;
    const ss_targets *targets;
    ss_live *live;
    const ss_output_format *format;
    const ss_run_facts *facts;
    FILE *out;
    const volatile sig_atomic_t *interrupted;
    /* Told in a sentence, while the run goes on: a set could not be read. */
    void (*note)(const char *text);

    /* Results. */
    ss_tracer_counts counts;
    uint64_t refused; /* destinations that the system does not send to */
    uint32_t begun;   /* of the targets, in their order */

    /* Its own. */
    ss_tracer *tracer;
    umbel_status failed;
    umbel_error error;
    uint64_t looked; /* when the sets' files were looked at last */
} ss_session;

/* Traces all targets, or until it is interrupted. */
umbel_status ss_session_run(ss_session *s, umbel_error *err);

#endif
