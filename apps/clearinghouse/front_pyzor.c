/*
 * front_pyzor.c - Pyzor over UDP.
 */
#include "clearinghouse/front_pyzor.h"

#include "clearinghouse/front.h"
#include "clearinghouse/pyzor_rules.h"

static const um_setting settings[] = {
    {"listen", &um_type_addresses, offsetof(um_pyzor_settings, listen),
     "127.0.0.1:24441", .help = "UDP addresses"},
    {"passwd", &um_type_text, offsetof(um_pyzor_settings, passwd), NULL,
     .help = "file of accounts, as pyzord reads it", .live = true},
    {"access", &um_type_text, offsetof(um_pyzor_settings, access), NULL,
     .help = "file of what accounts may do, as pyzord reads it", .live = true},
    {"once_per_reporter", &um_type_flag,
     offsetof(um_pyzor_settings, once_per_reporter), "false",
     .help = "count a digest once for each account, or network without account",
     .live = true},
    {"once_capacity", &um_type_count,
     offsetof(um_pyzor_settings, once_capacity), "1000000",
     .help = "latest reports that once_per_reporter remembers", .low = 1000,
     .high = 1e9},
    {0}};

static const char *const ops[] = {"ping",   "pong",      "check", "info",
                                  "report", "whitelist", "other", NULL};

const um_front um_front_pyzor = {
    .name = "pyzor",
    .summary = "Pyzor clients, over UDP",
    .settings = settings,
    .settings_len = sizeof(um_pyzor_settings),
    .lists = {"pyzor-reports", "pyzor-whitelist"},
    .ops = ops,
    .verdicts = um_pyzor_verdicts,
};
