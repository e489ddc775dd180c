/*
 * sources.h - the table of papers, with the meaning of their symbols.
 */
#ifndef UM_PAPERS_SOURCES_H
#define UM_PAPERS_SOURCES_H

#include <stddef.h>

typedef struct um_source {
    const char *prefix;  /* of its studies' names; the longest counts */
    const char *title;   /* authors, title, year */
    const char *symbols; /* a paragraph */
} um_source;

/* Returns row i of the table; NULL past the end. */
const um_source *um_source_row(size_t i);
/* Returns the paper of a study; every study has one. */
const um_source *um_source_of(const char *study);

#endif
