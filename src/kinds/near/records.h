/*
 * near_records.h - records of kind near, for its own files.
 */
#ifndef UM_KINDS_NEAR_RECORDS_H
#define UM_KINDS_NEAR_RECORDS_H

#include "kinds/near/lines.h"
#include "kinds/near/near.h"

enum {
    UM_NEAR_INDEXED = 10, /* positions that have entries */
    UM_NEAR_PRINT = UM_NEAR_NAME,
    UM_NEAR_FLAG = UM_NEAR_PRINT + 3,
    UM_NEAR_NAME_ROOM = UM_NEAR_FLAG + 1,
    UM_NEAR_NUMBER_ROOM = 8,
    UM_NEAR_MARK_ROOM = 2 * UM_NEAR_SHINGLES
};

typedef struct um_near {
    um_near_lines lines;
    uint8_t *names, *numbers, *marks;
    uint64_t mails;
} um_near;

/* 16 bits of each shingle, as records have them. */
typedef struct um_near_marks {
    uint8_t at[UM_NEAR_MARK_ROOM];
} um_near_marks;

/* Returns false if it is free: its page may not have come yet. */
bool um_near_read(const um_near *t, uint64_t i, um_near_record *out);
/* Writes a record that is free. */
void um_near_write_record(const um_near *t, const um_near_write *w,
                          int32_t value, uint64_t i);
/* Sets a value and a stamp, neither below what is there. */
void um_near_raise(const um_near *t, uint64_t i, uint32_t stamp, int32_t value);

um_near_marks um_near_marks_of(const uint64_t shingle[UM_NEAR_SHINGLES]);
/* Returns a bit for each position at which a record has the same mark. */
uint32_t um_near_agree(const um_near *t, uint64_t i, const um_near_marks *m);
bool um_near_agrees_at(const um_near *t, uint64_t i, const um_near_marks *m,
                       unsigned position);

/* Returns true if a record is of that name; NULL: of one with that digest. */
bool um_near_is_of(const um_near *t, uint64_t i, const umbel_digest *d,
                   const uint8_t *name);
/* Returns true if an entry of that tag may be the one of the record's name. */
bool um_near_may_be_name(const um_near *t, uint64_t i, uint8_t tag);

/* Finds the entry of a name; *out leads to its latest record. */
bool um_near_find_name(const um_near *t, const umbel_digest *d,
                       const uint8_t *name, um_voice *out);

#endif
