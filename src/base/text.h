/*
 * text.h - text for people and programs: UTF-8, lines and words, JSON.
 */
#ifndef UM_BASE_TEXT_H
#define UM_BASE_TEXT_H

#include <umbel/base.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- bytes that people will read ------------------------------------------ */

/* Returns the length of the UTF-8 sequence at s, which has left bytes; 0 if it
 * is invalid. */
size_t um_utf8_len(const uint8_t *s, size_t left);

/* Converts ASCII letters to lower case; copies other bytes. */
void um_fold_case(const uint8_t *from, size_t len, uint8_t *to);

/* Replaces control characters, and bytes that are not UTF-8, by '?'. */
void um_disarm(char *text);

/* Returns the end of a long path, short enough to leave space for the
 * reason. */
const char *um_path_tail(const char *path);
/* Returns "..." when um_path_tail cut the path, otherwise "". Use as "%s%s". */
const char *um_path_dots(const char *path);

/* --- text cut into lines and words ---------------------------------------- */

/* Cuts the next line off text, without its newline. Returns false at the end.
 */
bool um_next_line(umbel_slice *text, umbel_slice *line);
/* Returns true if the line that was just cut off had a newline. */
bool um_line_is_whole(const umbel_slice *text, const umbel_slice *line);

/*
 * Reads the next line of a file, without its newline or carriage return, as a
 * NUL-terminated string. Returns false at the end of the file, or if it cannot
 * be read. *whole is false for a line of more than cap - 2 bytes, of which only
 * the first part is read, and for a last line without a newline.
 */
bool um_read_line(FILE *in, char *line, size_t cap, bool *whole);

/* Copies a slice to out, with a NUL; returns false if cap is too small. */
bool um_slice_text(umbel_slice s, char *out, size_t cap);

/* Cuts the next word off text; blanks separate words. Returns false if there is
 * none. */
bool um_next_word(umbel_slice *text, umbel_slice *word);
/* Returns s without blanks at either end. */
umbel_slice um_trim(umbel_slice s);
/* Splits a line at each colon into n trimmed parts. Returns false if there are
 * more or fewer. */
bool um_split_colons(umbel_slice line, umbel_slice *part, size_t n);

/* --- lists of texts ------------------------------------------------------- */

typedef struct um_texts {
    char **item;
    size_t n;
} um_texts;

/* Appends a copy of the text; returns false if memory runs out. */
bool um_texts_add(um_texts *t, const char *text);
bool um_texts_has(const um_texts *t, const char *text);
void um_texts_fini(um_texts *t);

/* --- values of JSON, printed ---------------------------------------------- */

/*
 * The caller prints braces, brackets and line breaks; these functions escape
 * strings and print the comma before every member but the first.
 */

/* Prints a string in quotes. Bytes that are not UTF-8 become U+FFFD; control
 * characters are escaped, including U+0080 to U+009F. */
void um_json_string(FILE *out, const void *text, size_t len);

/* Prints a NUL-terminated string as um_json_string does; NULL as null. */
void um_json_text(FILE *out, const char *text);

/* Prints a name and its colon, after a comma unless i is 0. */
void um_json_name(FILE *out, size_t i, const char *name);

/* Prints a name and a string, as um_json_name and um_json_text do. */
void um_json_field(FILE *out, size_t i, const char *name, const char *text);

/* Prints a member without a comma: NAME and a string, or NAME_hex and digits
 * for bytes that are not UTF-8. um_json_key prints "key". */
void um_json_bytes(FILE *out, const char *name, const umbel_slice *bytes);
void um_json_key(FILE *out, const umbel_slice *key);

/* Prints the shortest number that reads back as x, which is finite. */
void um_json_real(FILE *out, double x);

#endif
