/*
 * pyzord_dump.h - what gdbm_dump prints of the file of a pyzord.
 *
 *     #:len=40
 *     MzllYTczZDg4OTM1YTIy...       key, base64: 40 hexadecimal digits
 *     #:len=60
 *     MSw1LDIwMjYtMTEtMTYg...       "1,5,ENTERED,UPDATED,0,None,None"
 *
 * A record is version 1, reports with their times and whitelistings with
 * theirs; of older pyzords "5,ENTERED,UPDATED".
 */
#ifndef UM_CLEARINGHOUSE_PYZORD_DUMP_H
#define UM_CLEARINGHOUSE_PYZORD_DUMP_H

#include "clearinghouse/runtime/digest_text.h"

#include <stdio.h>

typedef struct um_pyzord_record {
    char digest[UM_DIGEST_TEXT];
    uint64_t reports, whitelistings;
    uint64_t updated; /* seconds since 1970; 0: not known */
} um_pyzord_record;

typedef enum um_pyzord_next {
    UM_PYZORD_RECORD,
    UM_PYZORD_SKIPPED, /* why is in *err */
    UM_PYZORD_END,
    UM_PYZORD_BROKEN /* why is in *err; nothing more can be read */
} um_pyzord_next;

typedef struct um_pyzord_dump {
    FILE *in;
    uint64_t line;  /* number of the last one that was read */
    uint64_t items; /* keys and values, as far as they were read */
    bool begun;     /* its head was read */
} um_pyzord_dump;

um_pyzord_next um_pyzord_dump_next(um_pyzord_dump *d, um_pyzord_record *out,
                                   umbel_error *err);

#endif
