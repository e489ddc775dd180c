/*
 * front_dccifd.h - the settings of the dccifd front.
 */
#ifndef UM_CLEARINGHOUSE_FRONT_DCCIFD_H
#define UM_CLEARINGHOUSE_FRONT_DCCIFD_H

#include "clearinghouse/protocols/protocol.h"

/* What a look-up counts. */
typedef enum um_dccifd_counting {
    UM_DCCIFD_PER_MAIL,
    UM_DCCIFD_PER_RECIPIENT
} um_dccifd_counting;

typedef struct um_dccifd_settings {
    um_texts listen;
    uint64_t many;
    unsigned count; /* um_dccifd_counting */
    uint64_t connections;
    uint64_t largest; /* bytes of a mail */
    uint64_t mails;   /* bytes of all mails that are being received */
} um_dccifd_settings;

#endif
