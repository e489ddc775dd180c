/*
 * suggest.h - the name that was meant, by the one that was typed.
 */
#ifndef UM_CLI_SUGGEST_H
#define UM_CLI_SUGGEST_H

#include <stddef.h>

/* The best so far; begins as zero. */
typedef struct um_suggestion {
    const char *name; /* NULL: none is near */
    size_t edits;
} um_suggestion;

/* Is name nearer to what was typed, of len bytes, than the best so far? */
void um_suggest(um_suggestion *best, const char *typed, size_t len,
                const char *name);

#endif
