/*
 * tracer_run.h - runs the tracer: targets, sets, clock, prober and output.
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
 * The sets of a run: read from files, read again when the files are replaced,
 * and extended by what the run finds.
 */

/* The file of a set, and the version in use. */
typedef struct ss_live_file {
    const char *path; /* NULL if there is no such set */
    ss_set set;
    bool open;
    dev_t device;
    ino_t inode;
    struct timespec changed;
} ss_live_file;

/* Starts zeroed except for the paths and flags. */
typedef struct ss_live {
    ss_live_file red, global;
    bool use_own;   /* pairs that this run finds join the global set */
    bool use_local; /* nodes that this run finds stop traces going backwards */
    ss_set own, local;
} ss_live;

/* Opens the files that have a path. Refuses a file with another kind of set. */
umbel_status ss_live_open(ss_live *l, umbel_error *err);
void ss_live_fini(ss_live *l);

/*
 * Reopens files that were replaced. If a new file cannot be read, returns an
 * error and keeps the old set; the file is not tried again until it changes.
 */
umbel_status ss_live_refresh(ss_live *l, umbel_error *err);

/* Sets the members of *reply for sets that contain a node, and adds the node to
 * the local set. */
umbel_status ss_live_ask(ss_live *l, ss_addr hop, ss_addr dst, ss_reply *reply,
                         umbel_error *err);
/* Adds the nodes of a finished trace to the global set. */
umbel_status ss_live_learn(ss_live *l, const ss_trace *t, umbel_error *err);

/* --- destinations, and allowed prefixes ----------------------------------- */

/*
 * Every destination must be in an allowed prefix and in no denied one, and must
 * be a host's address. The first that is not is reported before any packet is
 * sent.
 */

typedef struct ss_prefix {
    ss_addr base;
    ss_prefix_len len; /* the same for both versions, of which one is used */
    bool v4;
} ss_prefix;

/* Starts zeroed. */
typedef struct ss_prefixes {
    ss_prefix *item;
    size_t n;
} ss_prefixes;

/*
 * Appends prefixes or addresses, separated by commas: "10.0.0.0/8,fd00::/8".
 * The error for E_RANGE quotes text that is not a prefix, or has bits set after
 * its length.
 */
umbel_status ss_prefixes_parse(ss_prefixes *p, const char *text,
                               umbel_error *err);
void ss_prefixes_fini(ss_prefixes *p);
bool ss_prefixes_have(const ss_prefixes *p, ss_addr a);
/*
 * Returns true if one of the prefixes contains every address of its IP version.
 */
bool ss_prefixes_have_all(const ss_prefixes *p);

/* The different destinations, in order of appearance. Starts zeroed. */
typedef struct ss_targets {
    ss_index set;
    bool v4, v6; /* whether some are of that version */
} ss_targets;

/*
 * Adds an address, or the addresses in a file, one per line; "-" is standard
 * input. Ignores blank lines and text after a '#'.
 */
umbel_status ss_targets_read(ss_targets *t, const char *operand,
                             umbel_error *err);
void ss_targets_fini(ss_targets *t);

/* Returns E_RANGE, naming the first destination that must not be probed, and
 * why. */
umbel_status ss_targets_check(const ss_targets *t, const ss_prefixes *allow,
                              const ss_prefixes *deny, umbel_error *err);

/*
 * Orders the destinations so that those of one prefix are far apart:
 * simultaneous traces cannot learn from each other. Returns the number of
 * prefixes, 0 without memory.
 */
uint32_t ss_targets_spread(ss_targets *t, ss_prefix_len len);

/*
 * A run of the tracer: the clock, a prober, the sets, the output.
 */

typedef struct ss_session {
    /* Set by the caller. */
    const ss_tracer_config *config; /* limits and rates; callbacks are ours */
    const ss_prober *prober;
    const ss_targets *targets;
    ss_live *live;
    const ss_output_format *format;
    const ss_run_facts *facts;
    FILE *out;
    const volatile sig_atomic_t *interrupted;
    /* Called during the run with a sentence: a set could not be read. */
    void (*note)(const char *text);

    /* Results. */
    ss_tracer_counts counts;
    uint64_t refused; /* destinations that the system refuses to send to */
    uint32_t begun;   /* number of targets begun, in order */

    /* Private. */
    ss_tracer *tracer;
    umbel_status failed;
    umbel_error error;
    uint64_t looked; /* when the sets' files were last checked */
} ss_session;

/* Traces all targets, or until it is interrupted. */
umbel_status ss_session_run(ss_session *s, umbel_error *err);

#endif
