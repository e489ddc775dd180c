/*
 * pages.h - the cells of a filter in pages, for replication.
 *
 * Pages have about the same size; each is a part of one section, in whole words
 * and whole entries. User data is in no page.
 */
#ifndef UM_FILTER_PAGES_H
#define UM_FILTER_PAGES_H

#include "coding/section.h"
#include "filter/handle.h"

enum { UM_MIN_PAGE = 512, UM_MAX_PAGE = 1 << 20 }; /* requested size in bytes */

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
    size_t max_page; /* size of the largest page in bytes */
    size_t bytes;    /* of all pages */
} um_pages;

typedef struct um_page {
    unsigned section;
    size_t offset, len; /* in the payload; len in whole words */
    uint64_t n;         /* entries */
} um_page;

/* Divides a shape into pages. E_UNSUPPORTED, with the reason, if entries of the
 * kind do not only grow. */
umbel_status um_pages_init(um_pages *p, const um_shape *s, size_t page_bytes,
                           umbel_error *err);
/* Returns a page; number is below p->n. */
um_page um_page_of(const um_pages *p, uint64_t number);
/* Returns n pages of one section, starting at number, as packed cells in a
 * payload. */
um_packed um_pages_cells(const um_pages *p, uint64_t number, uint64_t n,
                         uint8_t *payload);

#endif
