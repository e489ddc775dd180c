/*
 * status_problems.h - what is wrong with the server, and what to do about it.
 */
#ifndef UM_CLEARINGHOUSE_STATUS_PROBLEMS_H
#define UM_CLEARINGHOUSE_STATUS_PROBLEMS_H

#include "clearinghouse/status/status.h"

enum { UM_MAX_PROBLEMS = 12, UM_PROBLEM_LEN = 512 };

typedef enum um_level { UM_WELL, UM_WARNING, UM_FAILED } um_level;

typedef struct um_problem {
    um_level level;
    char what[UM_PROBLEM_LEN], advice[UM_PROBLEM_LEN]; /* sentences */
} um_problem;

/* The worst first. */
typedef struct um_problems {
    um_problem item[UM_MAX_PROBLEMS];
    size_t n;
} um_problems;

void um_status_problems(const um_status *s, um_problems *out);
/* Of the worst problem; UM_WELL without one. */
um_level um_problems_level(const um_problems *p);
/* "well", "warning", "failed" */
const char *um_level_name(um_level l);

#endif
