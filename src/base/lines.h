/*
 * lines.h - text cut into lines and words.
 */
#ifndef UM_BASE_LINES_H
#define UM_BASE_LINES_H

#include <umbel/base.h>

#include <stdio.h>

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

#endif
