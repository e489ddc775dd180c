/*
 * subject.h - the interface to one version of the library.
 *
 * subject.c is compiled once for each version, with the version's own public
 * headers, into a shared object that main.c loads. So the same loops measure
 * both, in one process.
 */
#ifndef UM_BENCH_SUBJECT_H
#define UM_BENCH_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parameters of a filter; it is static if capacity is 0. */
typedef struct subject_shape {
    const char *kind, *addressing;
    const char *name[2]; /* of settings; NULL if none */
    uint64_t value[2];
    uint64_t capacity, cells; /* cells 0 means as many as the keys need */
    double fpr;
} subject_shape;

/* Processes n keys of width bytes each. Batch queries write one answer per key
 * to hit; single queries write all answers to *hit. */
typedef void subject_work(void *filter, const void *keys, size_t width,
                          size_t n, bool *hit);

/* Ways to process keys. */
enum {
    SUBJECT_QUERY,
    SUBJECT_ADD,
    SUBJECT_QUERY_ONE, /* one call per key */
    SUBJECT_ADD_ONE,
    SUBJECT_QUERY_INLINE, /* umbel/inline.h */
    SUBJECT_WORKS
};

/* Functions that create something return NULL on failure. */
typedef struct subject {
    void *(*create)(const subject_shape *s);
    /* Builds a static filter of n keys of 8 bytes. */
    void *(*build)(const subject_shape *s, const uint64_t *keys, size_t n);
    void *(*copy_shared)(const void *filter);
    /* Replaces the contents of a shared filter by those of from, or by nothing
     * if it is NULL. */
    bool (*renew)(void *filter, const void *from);
    void (*close)(void *filter);
    subject_work *work[SUBJECT_WORKS]; /* NULL if this version cannot */
} subject;

#define SUBJECT_SYMBOL "subject_table"
extern const subject subject_table;

#endif
