/*
 * front_pyzor.h - the settings of the Pyzor front.
 */
#ifndef UM_CLEARINGHOUSE_FRONT_PYZOR_H
#define UM_CLEARINGHOUSE_FRONT_PYZOR_H

#include "clearinghouse/config/setting.h"

typedef struct um_pyzor_settings {
    um_texts listen;
    char *passwd, *access;
    bool once_per_reporter;
    uint64_t once_capacity;
} um_pyzor_settings;

/* Numbers of the front's lists among its own. */
enum { UM_PYZOR_REPORTS, UM_PYZOR_WHITELISTED };

#endif
