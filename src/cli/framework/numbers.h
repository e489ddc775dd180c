/*
 * numbers.h - parses and formats numbers for people.
 */
#ifndef UM_CLI_NUMBERS_H
#define UM_CLI_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/* Parses a whole number: 5000, 1e6, 850M, 64MiB. Returns false if it is not
 * one. */
bool um_parse_whole(const char *text, uint64_t *out);
/* Parses a number; % or " %" after it, as reports print it, means a
 * hundredth. */
bool um_parse_real(const char *text, double *out);

typedef struct um_text {
    char text[64];
} um_text;

/* Formats "1,234,567". */
um_text um_grouped(uint64_t n);
/* Formats "1 key", "1,234 keys". */
um_text um_counted(uint64_t n, const char *one, const char *many);
/* Formats an error rate: "0.0998 %", and below 1 in 10,000 "1 in 1,430,000". */
um_text um_rate(double share);
/* Formats a rate in the notation that is used for another one. */
um_text um_rate_like(double share, double like);

#endif
