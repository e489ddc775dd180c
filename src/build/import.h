/*
 * import.h - filters of other programs, plain or compressed with gzip.
 */
#ifndef UM_KEYS_IMPORT_H
#define UM_KEYS_IMPORT_H

#include <umbel/foreign.h>

enum { UM_IMPORT_LIMIT = 256 << 20 }; /* bytes, unless told otherwise */

/*
 * Makes a filter of the bytes of a file, as umbel_import does; they may be
 * compressed. At most limit bytes of memory are used; 0: UM_IMPORT_LIMIT for
 * what is decompressed, and no limit for plain bytes. If a compressed file
 * exceeds it, the detail of E_LIMIT is UMBEL_D_COMPRESSED.
 */
umbel_status um_import(const char *format, const void *bytes, size_t len,
                       uint64_t limit, umbel_filter **out, umbel_error *err);

#endif
