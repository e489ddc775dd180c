/*
 * format.h - formats numbers for people, in status documents.
 */
#ifndef UM_CLEARINGHOUSE_FORMAT_H
#define UM_CLEARINGHOUSE_FORMAT_H

#include <stdint.h>

typedef struct um_formatted {
    char text[64];
} um_formatted;

/* "1,234,567" */
um_formatted um_format_count(uint64_t n);
/* "12.3 MB" */
um_formatted um_format_bytes(uint64_t n);
/* "3 d 4 h", "5 min 10 s" */
um_formatted um_format_duration(uint64_t seconds);
/* "3 d", "5 min" */
um_formatted um_format_about(uint64_t seconds);
/* "2026-11-17 06:51 UTC" */
um_formatted um_format_time(uint64_t seconds);
/* "1 in 123,456", "below 1e-9", "0" */
um_formatted um_format_chance(double p);

/* The unit of a number, which determines its format. */
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

/* Formats a number in its unit; a NaN is "-". */
um_formatted um_format_unit(um_unit unit, double x);

#endif
