/*
 * umb.h - the functions of the commands UMB.*; umb.c has their rows.
 */
#ifndef UM_MODULE_UMB_H
#define UM_MODULE_UMB_H

#include "module/command.h"

um_command_run um_umb_check, um_umb_mcheck;

#endif
