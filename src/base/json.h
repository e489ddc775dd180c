/*
 * json.h - values of JSON, printed.
 *
 * Braces, brackets and line breaks are the caller's; what needs escaping, and
 * the comma before every member but the first, is here.
 */
#ifndef UM_BASE_JSON_H
#define UM_BASE_JSON_H

#include <stddef.h>
#include <stdio.h>

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
