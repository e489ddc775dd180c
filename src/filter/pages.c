/*
 * pages.c - divides the cells of a filter into pages.
 */
#include "filter/pages.h"

#include "base/error.h"

static void forms_of_cells(const um_shape *s,
                           um_entry_form out[UM_MAX_SECTIONS])
{
    um_section section[UM_MAX_SECTIONS];
    size_t n = s->kind->sections(s, section);

    for (size_t i = 0; i < n; i++)
        out[i] = (um_entry_form){.n = section[i].cells,
                                 .count_bits = section[i].cell_bits};
}

const um_row_paged um_paged_cells = {forms_of_cells};

static umbel_status refuse_pages(const um_kind *kind, umbel_error *err)
{
    const um_unsupported_reason *why = &kind->unsupported_reason;

    return um_fail(err, UMBEL_E_UNSUPPORTED,
                   "filters of kind %s cannot be copied page by page: %s",
                   kind->name,
                   why->grow  ? why->grow
                   : why->any ? why->any
                              : "their cells do not only grow");
}

static void page_section(um_paged_section *p, const um_section *s,
                         size_t page_bytes)
{
    size_t unit = um_entry_unit_bytes(&p->form);
    uint64_t units = page_bytes / unit ? page_bytes / unit : 1;

    p->cells = s->cells;
    p->cell_bits = s->cell_bits;
    p->len = (size_t)(um_section_bytes(s) + 7) / 8 * 8;
    p->page_bytes = (size_t)units * unit;
    p->page_entries = units * um_entry_unit(&p->form);
    p->pages = (p->len + p->page_bytes - 1) / p->page_bytes;
}

umbel_status um_pages_init(um_pages *p, const um_shape *s, size_t page_bytes,
                           umbel_error *err)
{
    um_section section[UM_MAX_SECTIONS];
    um_entry_form form[UM_MAX_SECTIONS];
    size_t offset = 0;

    if (!s->kind->paged)
        return refuse_pages(s->kind, err);
    *p = (um_pages){.nsections = s->kind->sections(s, section)};
    s->kind->paged->forms(s, form);
    for (size_t i = 0; i < p->nsections; i++) {
        um_paged_section *at = &p->section[i];
        at->form = form[i];
        page_section(at, &section[i], page_bytes);
        at->offset = offset;
        at->first = p->n;
        offset += (size_t)um_section_space(&section[i]);
        p->n += at->pages;
        p->bytes += at->len;
        if (at->page_bytes > p->max_page)
            p->max_page = at->page_bytes;
    }
    return UMBEL_OK;
}

um_page um_page_of(const um_pages *p, uint64_t number)
{
    unsigned i = 0;

    while (number >= p->section[i].first + p->section[i].pages)
        i++;
    const um_paged_section *s = &p->section[i];
    uint64_t k = number - s->first;
    size_t start = (size_t)k * s->page_bytes;
    uint64_t entry = k * s->page_entries, left = s->form.n - entry;
    return (um_page){.section = i,
                     .offset = s->offset + start,
                     .len = s->len - start < s->page_bytes ? s->len - start
                                                           : s->page_bytes,
                     .n = left < s->page_entries ? left : s->page_entries};
}

um_packed um_pages_cells(const um_pages *p, uint64_t number, uint64_t n,
                         uint8_t *payload)
{
    um_page first = um_page_of(p, number);
    const um_paged_section *s = &p->section[first.section];
    uint64_t per = (uint64_t)s->page_bytes * 8 / s->cell_bits;
    uint64_t from = (number - s->first) * per, left = s->cells - from;

    return (um_packed){.at = payload + first.offset,
                       .n = n * per < left ? n * per : left,
                       .bits = s->cell_bits};
}
