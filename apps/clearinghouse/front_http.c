/*
 * front_http.c - status documents over HTTP.
 */
#include "clearinghouse/front.h"

typedef struct http_settings {
    um_texts listen;
} http_settings;

static const um_setting settings[] = {
    {"listen", &um_type_addresses, offsetof(http_settings, listen),
     "127.0.0.1:8053", .help = "TCP addresses"},
    {0}};

const um_front um_front_http = {
    .name = "http",
    .summary = "status documents, over HTTP",
    .settings = settings,
    .settings_len = sizeof(http_settings),
};
