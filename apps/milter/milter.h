/*
 * milter.h - umbel-milter: a mail filter (milter) that queries a clearinghouse.
 */
#ifndef UM_MILTER_MILTER_H
#define UM_MILTER_MILTER_H

#include "net/dccifd.h"
#include "net/server/address.h"

enum {
    UM_MILTER_NETWORKS = 64,
    UM_MILTER_KEPT = 1 << 20 /* bytes of a mail that are sent to the server */
};

#define UM_MILTER_HEADER "X-Umbel"

typedef struct um_milter_settings {
    const char *socket; /* in libmilter's syntax */
    um_address server;
    uint64_t timeout_ms;
    uint64_t reject_at;  /* a count; 0 means never */
    const char *contact; /* printed in rejections */
    struct {
        um_network network;
        unsigned bits;
    } own[UM_MILTER_NETWORKS]; /* whose mail passes */
    size_t nown;
} um_milter_settings;

extern um_milter_settings um_milter;

/* Registers the callbacks; returns false if libmilter refuses. */
bool um_milter_register(void);
/* Returns the number of mails that have begun and have no verdict yet. */
unsigned um_milter_open_mails(void);

#endif
