/*
 * config_rows.h - the settings that belong to no front, for config.c.
 */
#ifndef UM_CLEARINGHOUSE_CONFIG_ROWS_H
#define UM_CLEARINGHOUSE_CONFIG_ROWS_H

#include "clearinghouse/config/config.h"

extern const um_setting um_top_settings[];
extern const um_setting um_limit_rows[];
extern const um_setting um_mail_rows[];
extern const um_setting um_list_rows[];
extern const um_setting um_account_rows[];
extern const um_setting um_peers_rows[];
extern const um_setting um_peer_rows[];

#endif
