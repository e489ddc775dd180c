/*
 * ranges.h - the range files of Have I Been Pwned: one for each prefix of five
 * hexadecimal digits, in a directory or a tar archive.
 */
#ifndef UM_KEYLIST_RANGES_H
#define UM_KEYLIST_RANGES_H

#include <umbel/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UM_RANGE_DIGITS = 5,
    UM_RANGES = 1 << 20,   /* files of a whole set */
    UM_RANGE_NAME_CAP = 16 /* 00000.txt.zst */
};

/*
 * Returns true if a path ends with the name of a range file: the prefix, then
 * .txt or nothing; then, if packed is true, the suffix of a compressed file or
 * nothing. Only then copies the prefix to out, as upper case.
 */
bool um_range_of(const char *path, bool packed, char out[UM_RANGE_DIGITS + 1]);

/* Counts range files, so that missing and doubled ones are found. */
typedef struct um_range_count {
    uint64_t seen[UM_RANGES / 64];
    size_t n, doubled;
    size_t others; /* files with other names, which were left out */
    char first_doubled[UM_RANGE_DIGITS + 1], first_other[64];
} um_range_count;

void um_range_count_add(um_range_count *c, const char *range);
void um_range_count_other(um_range_count *c, const char *name);
/* Formats what is missing, doubled or left out. Returns false if nothing is. */
bool um_range_report(const um_range_count *c, char *out, size_t cap);

/* The range files of a directory, in the order of their names. */
typedef struct um_range_dir {
    char (*names)[UM_RANGE_NAME_CAP];
    size_t n, next, cap;
} um_range_dir;

/* Lists a directory. E_FORMAT if it has no range files. */
umbel_status um_range_dir_open(um_range_dir *d, const char *path,
                               um_range_count *c, umbel_error *err);
void um_range_dir_close(um_range_dir *d);

/*
 * A tar archive: blocks of 512 bytes. A member is a header, and its bytes in
 * whole blocks.
 */
enum { UM_TAR_BLOCK = 512 };

typedef struct um_tar_member {
    char name[101];
    bool file; /* a regular file, unlike directories and extended headers */
    uint64_t len;
} um_tar_member;

/* Returns true if a file that begins with these bytes is a tar archive. */
bool um_is_tar(const void *bytes, size_t len);
/* Parses a header. Returns false if it is damaged. *end is true if it is the
 * block of zeros at the end. */
bool um_tar_parse(const uint8_t block[UM_TAR_BLOCK], um_tar_member *out,
                  bool *end);

#endif
