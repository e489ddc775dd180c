/*
 * publish.h - writes results as CSV, SVG and one page that shows them all.
 */
#ifndef UM_PAPERS_PUBLISH_H
#define UM_PAPERS_PUBLISH_H

#include "draw/document.h"
#include "papers/frame/paper.h"
#include "papers/frame/sources.h"

#include <umbel/base.h>

#include <stdio.h>

/* Returns the interval of a check as text: "2.48 to 2.72", "at least 3.14", "at
 * most 0.02". */
um_shown um_show_bar(const um_check *c);

/* Writes each check as a dot in its interval. */
void um_svg_checks(FILE *out, const um_record *r);
void um_csv_checks(FILE *out, const um_record *r);

/* Writes a study as a section of a page: its picture first, then the claim and
 * its symbols, the verdict and the table. Its files are in the same
 * directory. */
void um_html_study(FILE *out, const um_study *s);
/* Writes the index entry of a study: picture, claim, verdict, command. */
void um_html_card(FILE *out, const um_study *s);
/* Writes the front page of n studies: each paper on one screen. */
void um_html_front(FILE *out, const um_study *s, size_t n);
/* Returns the name of a paper's part of the front page. */
const char *um_story_id(const um_source *source);
/* Writes the figures of the front page. */
umbel_status um_publish_front_figures(const char *dir, const um_study *s,
                                      size_t n, umbel_error *err);
/* Writes a table of n studies with their verdicts, which links to the cards. */
void um_html_contents(FILE *out, const um_study *s, size_t n);

/* Writes "umbel reproduce NAME --rounds N --seed S": the command that runs this
 * study again. */
void um_write_command(FILE *out, const um_study *s);
/* Writes how many values passed, and how many differ from the paper. */
void um_write_verdicts(FILE *out, const um_record *r);

/*
 * Creates the directory if it is missing. Refuses a path that is not a
 * directory or not writable, or that has an index.html that we did not write.
 */
umbel_status um_publish_begin(const char *dir, umbel_error *err);
/* Writes the files of one study and its page, NAME.html; then index.html: the
 * study itself if there is only one, otherwise the front page, with an index by
 * paper in all.html. Replaces existing files. */
umbel_status um_publish_study(const char *dir, const um_study *s,
                              umbel_error *err);
umbel_status um_publish_page(const char *dir, const um_study *s, size_t n,
                             umbel_error *err);

#endif
