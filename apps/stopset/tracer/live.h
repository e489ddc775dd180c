/*
 * live.h - the sets of a run of the tracer: read from files, read again when
 * they are replaced, and joined by what the run finds.
 */
#ifndef UM_STOPSET_LIVE_H
#define UM_STOPSET_LIVE_H

#include "stopset/sets/set.h"
#include "stopset/tracer/rules.h"

#include <sys/types.h>
#include <time.h>

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
 * Opens files again that were replaced. One that cannot be read leaves the old
 * set in use: the status says so, and the file is not tried again until it
 * changes.
 */
umbel_status ss_live_refresh(ss_live *l, umbel_error *err);

/* Says which sets have a node, and adds it to the local one. */
umbel_status ss_live_ask(ss_live *l, ss_addr hop, ss_addr dst, ss_reply *reply,
                         umbel_error *err);
/* A trace is over: its nodes join the global set. */
umbel_status ss_live_learn(ss_live *l, const ss_trace *t, umbel_error *err);

#endif
