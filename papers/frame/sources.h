/*
 * sources.h - the papers: what each is, and what its symbols mean.
 */
#ifndef UM_PAPERS_SOURCES_H
#define UM_PAPERS_SOURCES_H

#include <stddef.h>

typedef struct um_source {
    const char *prefix;  /* of the names of its studies */
    const char *title;   /* authors, title, year */
    const char *symbols; /* a paragraph */
} um_source;

/* In the order of the table; NULL past the end. */
const um_source *um_source_row(size_t i);
/* The source of the study; every row of the table has one. */
const um_source *um_source_of(const char *study);

#endif
