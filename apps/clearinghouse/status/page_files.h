/*
 * page_files.h - the files of page/, compiled in (cmake/embed.cmake).
 */
#ifndef UM_CLEARINGHOUSE_PAGE_FILES_H
#define UM_CLEARINGHOUSE_PAGE_FILES_H

extern const char um_page_html[]; /* a template of status_page.c */
extern const char um_page_css[], um_page_js[], um_icon_svg[];

#endif
