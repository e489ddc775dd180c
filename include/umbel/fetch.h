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

/* Zero means the default everywhere; start with UMBEL_FETCH_INIT. */
typedef struct umbel_fetch_params {
    size_t size;    /* sizeof(umbel_fetch_params): lets it grow */
    const char *ca; /* certificates that https may have, a PEM file; NULL: those
                       that the system trusts */
    uint64_t timeout;  /* seconds: a server may be silent as long; 0 means 30 */
    uint64_t min_rate; /* bytes a second; 0 means 10,000 */
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
 * Every byte from a server counts: at most 9/8 of the file's limit
 * (umbel_request.max) and 256 KiB are received, headers, trailers, pages of
 * redirects and failures and TLS included. A transfer ends with E_IO when the
 * server is silent for `timeout` seconds, or as soon as the time exceeds
 * timeout + bytes received / min_rate seconds.
 */
UMBEL_API umbel_fetcher umbel_fetch_curl(const umbel_fetch_params *params);

#ifdef __cplusplus
}
#endif
#endif
