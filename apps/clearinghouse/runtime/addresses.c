/*
 * addresses.c - the addresses on which the server listens.
 */
#include "clearinghouse/runtime/addresses.h"

#include "base/error.h"
#include "net/server/socket.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct um_addresses {
    um_passed passed;
    um_listen_address item[UM_MAX_ADDRESSES];
    size_t n;
};

umbel_status um_addresses_open(um_addresses **out, umbel_error *err)
{
    um_addresses *a = calloc(1, sizeof *a);

    if (!a)
        return um_no_memory(err, sizeof *a);
    *out = a; /* the caller closes it, even on failure */
    return um_passed_open(&a->passed, err);
}

void um_addresses_remove_paths(const um_addresses *a)
{
    for (size_t i = 0; a && i < a->n; i++)
        if (a->item[i].made && a->item[i].text[0] == '/')
            unlink(a->item[i].text);
}

void um_addresses_close(um_addresses *a)
{
    free(a);
}

/* Adds the address of a socket, with its real port. */
static umbel_status add_address(um_addresses *a, const um_service *service,
                                int fd, bool made, umbel_error *err)
{
    char path[UM_ADDRESS_TEXT];
    um_address address;

    if (a->n == UM_MAX_ADDRESSES)
        return um_fail(err, UMBEL_E_LIMIT,
                       "more than %d addresses to listen on", UM_MAX_ADDRESSES);
    UM_TRY(um_socket_address(fd, path, &address, err));
    um_listen_address *to = &a->item[a->n++];
    to->service = service;
    to->made = made;
    um_address_print(&address, to->text);
    return UMBEL_OK;
}

umbel_status um_addresses_listen(um_addresses *a, const um_service *service,
                                 const char *text, int type, unsigned mode,
                                 int *fd, umbel_error *err)
{
    um_address address;

    UM_TRY(um_address_parse(text, &address, err));
    *fd = um_passed_acquire(&a->passed, &address, type);
    bool made = *fd < 0;
    if (made)
        UM_TRY(um_socket_listen(&address, type, 0, fd, err));
    if (made && address.path && mode)
        chmod(address.path, (mode_t)mode);
    umbel_status status = add_address(a, service, *fd, made, err);
    if (status != UMBEL_OK)
        close(*fd);
    return status;
}

bool um_addresses_close_unused(um_addresses *a)
{
    return um_passed_close(&a->passed);
}

const char *um_addresses_first(const um_addresses *a, const um_service *service)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->item[i].service == service)
            return a->item[i].text;
    return NULL;
}

const um_listen_address *um_addresses_all(const um_addresses *a, size_t *n)
{
    *n = a->n;
    return a->item;
}
