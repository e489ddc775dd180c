/*
 * host.h - names that an HTTP client calls the server by.
 */
#ifndef UM_NET_HOST_H
#define UM_NET_HOST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns true if a Host header may name this server: an IP address, localhost
 * or a name below it, or one of n names. Any other may be a stranger's, who has
 * pointed it at our address so that a browser takes us for part of a foreign
 * site (DNS rebinding). An IP address cannot be pointed anywhere.
 */
bool um_host_is_ours(const char *host, char *const *names, size_t n);

/* Returns true for letters, digits, hyphens and dots: a name that a Host header
 * can have. */
bool um_host_is_name(const char *text);

#endif
