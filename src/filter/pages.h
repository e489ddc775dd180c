/*
 * pages.h - the cells of a filter in pages, for copies that follow it.
 *
 * A page is a part of one section of about the same number of bytes, in whole
 * words and whole entries. Data that a filter carries is in none.
 */
#ifndef UM_FILTER_PAGES_H
#define UM_FILTER_PAGES_H

#include "coding/section.h"
#include "filter/handle.h"

enum { UM_MIN_PAGE = 512, UM_MAX_PAGE = 1 << 20 }; /* bytes asked for */

typedef struct um_paged_section {
    um_entry_form form;
    unsigned cell_bits;
    size_t offset; /* in the payload */
    size_t len;    /* in whole words */
    uint64_t cells;
    uint64_t first, pages; /* numbers of its pages */
    size_t page_bytes;
    uint64_t page_entries;
} um_paged_section;

typedef struct um_pages {
    size_t nsections;
    um_paged_section section[UM_MAX_SECTIONS];
    uint64_t n;      /* pages */
    size_t max_page; /* bytes of the largest */
    size_t bytes;    /* of all */
} um_pages;

typedef struct um_page {
    unsigned section;
    size_t offset, len; /* in the payload; len in whole words */
    uint64_t n;         /* entries */
} um_page;

/* E_UNSUPPORTED, with the reason, if entries of the kind do not only grow. */
umbel_status um_pages_init(um_pages *p, const um_shape *s, size_t page_bytes,
                           umbel_error *err);
/* number is below p->n. */
um_page um_page_of(const um_pages *p, uint64_t number);
/* n pages from number on, of one section, as cells in a payload. */
um_packed um_pages_cells(const um_pages *p, uint64_t number, uint64_t n,
                         uint8_t *payload);

#endif
