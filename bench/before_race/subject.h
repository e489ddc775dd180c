/*
 * subject.h - one version of the library, as the race sees it.
 *
 * subject.c is compiled once for each version, with the version's own public
 * headers, into an object that main.c loads. So both are measured by the same
 * loops, in one process.
 */
#ifndef UM_BENCH_SUBJECT_H
#define UM_BENCH_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A filter to make; without capacity, static. */
typedef struct subject_shape {
    const char *kind, *addressing;
    const char *name[2]; /* of settings; NULL: none */
    uint64_t value[2];
    uint64_t capacity, cells; /* cells 0: as many as the keys take */
    double fpr;
} subject_shape;

/* Serves n keys of width bytes each. Queries put their answers into hit: one
 * each, or those for one key all into the same. */
typedef void subject_work(void *filter, const void *keys, size_t width,
                          size_t n, bool *hit);

/* How to serve keys. */
enum {
    SUBJECT_QUERY,
    SUBJECT_ADD,
    SUBJECT_QUERY_ONE, /* a call for each key */
    SUBJECT_ADD_ONE,
    SUBJECT_QUERY_INLINE, /* umbel/inline.h */
    SUBJECT_WORKS
};

/* Functions that make something return NULL where they fail. */
typedef struct subject {
    void *(*create)(const subject_shape *s);
    /* A static filter of n keys of 8 bytes. */
    void *(*build)(const subject_shape *s, const uint64_t *keys, size_t n);
    void *(*copy_shared)(const void *filter);
    /* Leaves the keys of from in a shared filter; NULL: none. */
    bool (*renew)(void *filter, const void *from);
    void (*close)(void *filter);
    subject_work *work[SUBJECT_WORKS]; /* NULL: this version cannot */
} subject;

#define SUBJECT_SYMBOL "subject_table"
extern const subject subject_table;

#endif
