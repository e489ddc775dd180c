/*
 * alike.h - the name that was meant, by the one that was typed.
 */
#ifndef UM_CLI_ALIKE_H
#define UM_CLI_ALIKE_H

#include <stddef.h>

/* The best so far; begins as zero. */
typedef struct um_alike {
    const char *name; /* NULL: none is near */
    size_t edits;
} um_alike;

/* Is name nearer to what was typed, of len bytes, than the best so far? */
void um_alike_try(um_alike *best, const char *typed, size_t len,
                  const char *name);

#endif
