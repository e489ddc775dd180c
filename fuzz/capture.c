/*
 * capture.c - arbitrary captures: pcap and pcapng, whose packets have any
 * headers.
 *
 * Input: the bytes of a file. It is refused, or ends; every packet lies inside
 * the file, and what is decoded inside the packet. A packet of which fewer
 * bytes were captured is decoded the same, or not at all.
 */
#include "fuzz.h"

#include "base/error.h"
#include "packets/capture/capture.h"

#include <stdlib.h>
#include <string.h>

/* Decodes a copy of exactly the captured bytes, so that a sanitizer finds a
 * read past them. */
static void check_packet(const pk_packet *p, pk_fragments *fragments)
{
    uint8_t whole[PK_INVARIANT], part[PK_INVARIANT];
    pk_headers h, less;
    pk_packet copy = *p;
    uint8_t *bytes = malloc(p->captured + 1u);

    if (!bytes)
        abort();
    memcpy(bytes, p->data, p->captured);
    bytes = realloc(bytes, p->captured ? p->captured : 1);
    copy.data = bytes;
    if (bytes && pk_decode(&copy, &h)) {
        UM_WANT(h.version == 4 || h.version == 6);
        UM_WANT(h.payload <= copy.captured && h.ip < h.payload);
        UM_WANT(h.src >= bytes &&
                h.dst + pk_address_len(&h) <= bytes + copy.captured);
        UM_WANT(h.fragment || h.first);
        size_t n = pk_invariant(&copy, &h, whole);
        UM_WANT(n <= PK_INVARIANT);
        pk_fragments_apply(fragments, &copy, &h);
        copy.captured -= copy.captured / 4;
        if (pk_decode(&copy, &less)) {
            UM_WANT(less.version == h.version && less.ip == h.ip);
            UM_WANT(h.fragment || less.protocol == h.protocol);
            size_t m = pk_invariant(&copy, &less, part);
            UM_WANT(m == 0 || (m == n && memcmp(whole, part, n) == 0));
        }
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pk_source *s = NULL;
    pk_fragments *fragments = NULL;
    pk_event what = PK_PACKET;
    pk_packet p;
    umbel_error err;
    uint64_t packets = 0;

    if (pk_open_bytes(data, size, &s, &err))
        return 0;
    if (pk_fragments_open(&fragments, &err))
        abort();
    while (pk_next(s, &p, &what, &err) == UMBEL_OK && what != PK_END) {
        UM_WANT(p.data >= data && p.data + p.captured <= data + size);
        UM_WANT(p.length >= p.captured);
        check_packet(&p, fragments);
        packets++;
    }
    UM_WANT(packets == pk_source_counts(s).packets);
    pk_close(s);
    pk_fragments_close(fragments);
    return 0;
}
