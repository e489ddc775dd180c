/*
 * folder.h - a directory that figures, tables and a page are written to.
 */
#ifndef UM_DRAW_FOLDER_H
#define UM_DRAW_FOLDER_H

#include <umbel/base.h>

#include <stdio.h>

/* A file's content, and the function that writes it. */
typedef struct um_folder_page {
    const void *what;
    void (*write)(FILE *out, const void *what);
} um_folder_page;

/* Creates the directory, or checks that it is writable and that its index.html,
 * if any, was written by the same generator (um_html_begin). */
umbel_status um_folder_begin(const char *dir, const char *generator,
                             umbel_error *err);
umbel_status um_folder_write(const char *dir, const char *name,
                             const um_folder_page *p, umbel_error *err);

#endif
