/*
 * protocol_table.c - the table of protocols. Its order is that of status
 * documents and of the line "ready".
 */
#include "clearinghouse/protocols/protocol.h"

#define PROTOCOLS(X)                                                           \
    X(pyzor) X(http) X(dccifd) X(scan) X(razor) X(milter) X(fuzzy)

#define ROW(name) &um_protocol_##name,
const um_protocol *const um_protocols[] = {PROTOCOLS(ROW) NULL};

/* For config/, which stands below the protocols. */
#define SECTION(name) &um_section_##name,
const um_protocol_section *const um_protocol_sections[] = {PROTOCOLS(SECTION)
                                                               NULL};
