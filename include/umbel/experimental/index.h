/*
 * index.h - which of many filters contain a key.
 *
 * Experimental: this header may change in any release.
 *
 * An index is a directory with the bits of thousands of filters, arranged so
 * that a question reads a few kilobytes of each thousand, instead of every
 * filter. Its answers are those of the filters themselves.
 *
 *     umbel_index_entry e = {"berlin", berlin};
 *     umbel_index *x;
 *
 *     umbel_index_update("peers.idx", 0, &e, 1, NULL, 0, NULL, &err);
 *     umbel_index_open("peers.idx", NULL, &x, &err);
 *     umbel_index_ask(x, "alpha", 5, hits, NULL, &err);
 *     umbel_index_close(x);
 */
#ifndef UMBEL_EXPERIMENTAL_INDEX_H
#define UMBEL_EXPERIMENTAL_INDEX_H

#include <umbel/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A filter and its name in the index, which is any text of 1 to 4096 bytes. */
typedef struct umbel_index_entry {
    const char *name;
    const umbel_filter *filter;
} umbel_index_entry;

/* What an update did. */
typedef struct umbel_index_changes {
    uint64_t added, replaced, unchanged, removed;
    uint64_t filters, bytes; /* of the index afterwards */
} umbel_index_changes;

/*
 * Adds filters to the index in directory dir, which is created if it does not
 * exist, and removes names. A filter with the name of another replaces it.
 * Either all of this happens or nothing, also after a crash; readers that have
 * the index open keep the state that they opened. Updates wait for each other.
 *
 * The filters must be Bloom filters, or of a kind whose used cells are those of
 * one: E_UNSUPPORTED. E_UNKNOWN if a name to remove is not there. label is any
 * number, recorded with the first filters; E_MISMATCH if the index has another
 * one. out may be NULL.
 */
UMBEL_API umbel_status umbel_index_update(
    const char *dir, uint64_t label, const umbel_index_entry *add, size_t nadd,
    const char *const *remove, size_t nremove, umbel_index_changes *out,
    umbel_error *err);

typedef struct umbel_index umbel_index;

/*
 * Opens an index for questions, in one thread at a time. secret unlocks keyed
 * filters; NULL: there are none. E_UNKNOWN if dir is not an index. Release *out
 * with umbel_index_close.
 */
UMBEL_API umbel_status umbel_index_open(const char *dir, const uint8_t *secret,
                                        umbel_index **out, umbel_error *err);
UMBEL_API void umbel_index_close(umbel_index *x);

/* Returns the label of the index. */
UMBEL_API uint64_t umbel_index_label(const umbel_index *x);
/* Returns the number of slots. Each filter has one; those of removed filters
 * are empty until the space is used again. */
UMBEL_API size_t umbel_index_slots(const umbel_index *x);

/* Bytes for the answers to a question about an index with n slots. */
#define UMBEL_INDEX_HITS(n) (((n) + 7) / 8 + 8)

/*
 * Asks all filters what a user wrote, as umbel_ask does. Bit i % 8 of byte
 * i / 8 of hits is set if the filter of slot i matches, otherwise cleared.
 * lookups, which may be NULL, receives the largest number of keys that a filter
 * was asked. A filter whose keys have another form does not match; E_KEY if the
 * text has the form of none. E_CHECKSUM if the index is damaged.
 */
UMBEL_API umbel_status umbel_index_ask(umbel_index *x, const void *text,
                                       size_t len, uint8_t *hits,
                                       unsigned *lookups, umbel_error *err);

/* The filter of a slot. name is valid until the next call. */
typedef struct umbel_index_slot {
    const char *name;  /* NULL: the slot is empty */
    uint64_t checksum; /* umbel_payload_checksum */
    double error;      /* false positive rate of one key (umbel_predict) */
} umbel_index_slot;
UMBEL_API umbel_status umbel_index_slot_at(umbel_index *x, size_t slot,
                                           umbel_index_slot *out,
                                           umbel_error *err);

#ifdef __cplusplus
}
#endif
#endif
