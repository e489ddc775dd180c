/*
 * host.c - names that an HTTP client calls the server by.
 */
#include "net/server/host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

enum { HOST_MAX = 256 }; /* names have at most 253 bytes */

/* Copies the host without its port and final dot; false: it has no place. */
static bool copy_name(const char *host, char out[HOST_MAX])
{
    size_t len = *host == '[' ? strcspn(host, "]") : strcspn(host, ":");

    if (len >= HOST_MAX)
        return false;
    if (len && *host != '[' && host[len - 1] == '.')
        len--;
    memcpy(out, host, len);
    out[len] = '\0';
    return true;
}

static bool is_ip(const char *name)
{
    struct in6_addr room;

    return *name == '[' ? inet_pton(AF_INET6, name + 1, &room) == 1
                        : inet_pton(AF_INET, name, &room) == 1;
}

static bool is_localhost(const char *name)
{
    static const char local[] = "localhost";
    size_t len = strlen(name), tail = sizeof local - 1;

    if (len < tail || strcasecmp(name + len - tail, local) != 0)
        return false;
    return len == tail || name[len - tail - 1] == '.';
}

bool um_host_is_ours(const char *host, char *const *names, size_t n)
{
    char name[HOST_MAX];

    if (!copy_name(host, name))
        return false;
    if (is_ip(name) || is_localhost(name))
        return true;
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(names[i], name) == 0)
            return true;
    return false;
}

bool um_host_is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
    size_t len = strlen(text);

    return len > 0 && len < HOST_MAX && strspn(text, letters) == len;
}
