/*
 * text.h - bytes that people will read.
 */
#ifndef UM_BASE_TEXT_H
#define UM_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 sequence at s, of left bytes; 0 when it is none. */
size_t um_utf8_len(const uint8_t *s, size_t left);

/* Replace what could steer a terminal, and what is not UTF-8, by '?'. */
void um_disarm(char *text);

/* The end of a long path, short enough to leave room for the reason. */
const char *um_path_tail(const char *path);
/* "..." when the tail is not all of it, else "". Use as "%s%s". */
const char *um_path_dots(const char *path);

#endif
