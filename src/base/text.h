/*
 * text.h - text for people and programs: UTF-8, lines and words, JSON.
 */
#ifndef UM_BASE_TEXT_H
#define UM_BASE_TEXT_H

#include <umbel/base.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- bytes that people will read ----------------------------------------- */

/* Bytes of the UTF-8 sequence at s, of left bytes; 0 when it is none. */
size_t um_utf8_len(const uint8_t *s, size_t left);

/* Replace what could steer a terminal, and what is not UTF-8, by '?'. */
void um_disarm(char *text);

/* The end of a long path, short enough to leave room for the reason. */
const char *um_path_tail(const char *path);
/* "..." when the tail is not all of it, else "". Use as "%s%s". */
const char *um_path_dots(const char *path);

/* --- text cut into lines and words --------------------------------------- */

/* Cuts the next line off text, without its newline. Returns false at the end.
 */
bool um_next_line(umbel_slice *text, umbel_slice *line);
/* Returns true if the line that was just cut off had a newline. */
bool um_line_is_whole(const umbel_slice *text, const umbel_slice *line);

/*
 * Reads the next line of a file, without its newline or carriage return, as a
 * text that ends with a NUL. Returns false at the end of the file, or if it
 * cannot be read. *whole is false for a line of more than cap - 2 bytes, of
 * which only the first part is read, and for a last line without a newline.
 */
bool um_read_line(FILE *in, char *line, size_t cap, bool *whole);

/* Copies a slice to out, with a NUL; returns false if cap is too small. */
bool um_slice_text(umbel_slice s, char *out, size_t cap);

/* Cuts the next word off text; blanks separate words. Returns false if there is
 * none. */
bool um_next_word(umbel_slice *text, umbel_slice *word);
/* Returns s without blanks at either end. */
umbel_slice um_trim(umbel_slice s);
/* Splits at each colon into n parts, trimmed. Returns false if there are more
 * or fewer. */
bool um_split_colons(umbel_slice line, umbel_slice *part, size_t n);

/* --- values of JSON, printed --------------------------------------------- */

/*
 * Braces, brackets and line breaks are the caller's; what needs escaping, and
 * the comma before every member but the first, is here.
 */

/* Prints a string in quotes. Bytes that are not UTF-8 become U+FFFD; control
 * characters are escaped, also those that could steer a terminal. */
void um_json_string(FILE *out, const void *text, size_t len);

/* The same for a text that ends with a NUL; NULL is printed as null. */
void um_json_text(FILE *out, const char *text);

/* Prints a name and its colon, after a comma unless i is 0. */
void um_json_name(FILE *out, size_t i, const char *name);

/* Prints a name and a text, as um_json_name and um_json_text. */
void um_json_field(FILE *out, size_t i, const char *name, const char *text);

/* Prints the shortest number that reads back as x, which is finite. */
void um_json_real(FILE *out, double x);

#endif
