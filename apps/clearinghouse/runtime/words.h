/*
 * status_words.h - numbers as people read them in status documents.
 */
#ifndef UM_CLEARINGHOUSE_STATUS_WORDS_H
#define UM_CLEARINGHOUSE_STATUS_WORDS_H

#include <stdint.h>

typedef struct um_words {
    char text[64];
} um_words;

/* "1,234,567" */
um_words um_words_count(uint64_t n);
/* "12.3 MB" */
um_words um_words_bytes(uint64_t n);
/* "3 d 4 h", "5 min 10 s" */
um_words um_words_duration(uint64_t seconds);
/* "3 d", "5 min" */
um_words um_words_about(uint64_t seconds);
/* "2026-11-17 06:51 UTC" */
um_words um_words_time(uint64_t seconds);
/* "1 in 123,456", "below 1e-9", "0" */
um_words um_words_chance(double p);

/* What a number counts, and so how people read it. */
typedef enum um_unit {
    UM_UNIT_COUNT,
    UM_UNIT_NUMBER, /* "12.3", "1,234" */
    UM_UNIT_BYTES,
    UM_UNIT_SECONDS,
    UM_UNIT_SHARE, /* "12.3 %" */
    UM_UNIT_CHANCE,
    UM_UNIT_FLAG,
    UM_UNIT_TEXT /* not a number */
} um_unit;

/* A NaN is "-". */
um_words um_words_unit(um_unit unit, double x);

#endif
