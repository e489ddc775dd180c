/*
 * meter.h - what a transfer may cost: bytes of any sort, and time.
 */
#ifndef UM_NET_METER_H
#define UM_NET_METER_H

#include <umbel/base.h>

#include <curl/curl.h>

enum {
    UM_METER_TIMEOUT = 30,     /* seconds */
    UM_METER_MIN_RATE = 10000, /* bytes a second */
    UM_METER_EXTRA = 1 << 18,  /* bytes beside the file: headers, pages, TLS */
    UM_METER_SOCKETS = 8       /* that are open at the same time */
};

typedef struct um_meter {
    uint64_t timeout, min_rate;
    uint64_t max;     /* bytes of the file */
    uint64_t headers; /* bytes of status lines, headers and trailers */
    uint64_t began, heard, got;
    int open[UM_METER_SOCKETS];
    size_t nopen;
    uint64_t closed; /* bytes that closed sockets received */
} um_meter;

/* Sets the limits of c, which uses *m until it is cleaned up. 0: default. */
void um_meter_attach(um_meter *m, CURL *c, uint64_t timeout, uint64_t min_rate,
                     uint64_t max);

/* Counts a status line, a header or a trailer; E_IO: too many, or folded. */
umbel_status um_meter_header(um_meter *m, const char *line, size_t len,
                             umbel_error *err);

/* Checks bytes and time, of which libcurl knows now bytes of a body. */
umbel_status um_meter_check(um_meter *m, uint64_t now, umbel_error *err);

#endif
