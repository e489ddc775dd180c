/*
 * config_text.h - what libconfuse does not check in the text of a file.
 */
#ifndef UM_CLEARINGHOUSE_CONFIG_TEXT_H
#define UM_CLEARINGHOUSE_CONFIG_TEXT_H

#include <umbel/base.h>

/*
 * Replaces comments by blanks, and refuses NUL bytes, strings, comments and
 * sections without an end, and what stands twice in a section, with their line.
 * path is for messages. The text has no NUL behind it yet.
 */
umbel_status um_config_prepare(char *text, size_t len, const char *path,
                               umbel_error *err);

#endif
