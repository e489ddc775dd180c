/*
 * fetch.h - fetch http, https and file addresses with libcurl.
 *
 * A library of its own, libumbel-fetch (pkg-config umbel-fetch), so that
 * libumbel needs no libcurl. Not included by umbel/umbel.h.
 */
#ifndef UMBEL_FETCH_H
#define UMBEL_FETCH_H

#include <umbel/experimental/exchange.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How to fetch. Zero means the default; start with UMBEL_FETCH_INIT. */
typedef struct umbel_fetch_params {
    size_t size;       /* sizeof(umbel_fetch_params): lets it grow */
    const char *ca;    /* PEM file of the certificates to trust for https; NULL:
                          those that the system trusts */
    uint64_t timeout;  /* seconds that a server may be silent; 0 means 30 */
    uint64_t min_rate; /* lowest average, bytes per second; 0 means 10,000 */
} umbel_fetch_params;

#ifdef __cplusplus
#define UMBEL_FETCH_INIT                                                       \
    {                                                                          \
        sizeof(umbel_fetch_params), 0, 0, 0                                    \
    }
#else
#define UMBEL_FETCH_INIT                                                       \
    {                                                                          \
        .size = sizeof(umbel_fetch_params)                                     \
    }
#endif

/*
 * Returns a fetcher for umbel_pull_open. params must outlive it; NULL means the
 * defaults. It follows up to 5 redirects, never from https to http.
 *
 * It receives at most 9/8 of the file's limit (umbel_request.max) plus 256 KiB.
 * Every byte from the server counts, including headers, trailers, redirects,
 * error pages and TLS. A transfer ends with E_IO when the server is silent for
 * `timeout` seconds, or as soon as the time exceeds timeout + bytes received /
 * min_rate seconds.
 */
UMBEL_API umbel_fetcher umbel_fetch_curl(const umbel_fetch_params *params);

#ifdef __cplusplus
}
#endif
#endif
