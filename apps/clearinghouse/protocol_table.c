/*
 * protocol_table.c - the table of protocols. Status documents and the line
 * "ready" have the same order.
 */
#include "clearinghouse/protocols/protocol.h"

#define PROTOCOLS(X)                                                           \
    X(pyzor) X(http) X(dccifd) X(scan) X(razor) X(milter) X(fuzzy)

#define ROW(name) &um_protocol_##name,
const um_protocol *const um_protocols[] = {PROTOCOLS(ROW) NULL};

/* Used by config/, a layer below the protocols. */
#define SECTION(name) &um_section_##name,
const um_protocol_section *const um_protocol_sections[] = {PROTOCOLS(SECTION)
                                                               NULL};
