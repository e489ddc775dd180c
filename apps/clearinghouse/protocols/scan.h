/*
 * front_scan.h - the settings of the scanner sockets of rspamd.
 */
#ifndef UM_CLEARINGHOUSE_FRONT_SCAN_H
#define UM_CLEARINGHOUSE_FRONT_SCAN_H

#include "clearinghouse/config/setting.h"

typedef struct um_scan_settings {
    um_texts pyzor, razor; /* addresses */
    uint64_t reports;      /* that make a mail spam */
    uint64_t connections;
    uint64_t largest; /* bytes of a mail */
    uint64_t mails;   /* bytes of all mails that are being received */
} um_scan_settings;

#endif
