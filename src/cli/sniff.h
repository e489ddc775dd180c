/*
 * sniff.h - what a file is, by how it begins: for who gave the wrong one.
 */
#ifndef UM_CLI_SNIFF_H
#define UM_CLI_SNIFF_H

#include <umbel/base.h>

/* Refuses a file that is certainly no list of keys; fd stays where it is. */
umbel_status um_check_is_keys(int fd, const char *path, umbel_error *err);

/* What a file is that is no filter, and what to do; NULL: nobody knows. */
const char *um_why_no_filter(int fd);

/* Path was refused as a filter: *err says what it is instead, when known. */
void um_sniff_filter(const char *path, umbel_error *err);

#endif
