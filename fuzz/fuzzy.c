/*
 * fuzzy.c - arbitrary datagrams for a fuzzy storage: rejected with a reason, or
 * parsed completely. A reply has its fixed length whatever it contains.
 */
#include "fuzz.h"

#include "clearinghouse/protocols/fuzzy/internal.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    um_fuzzy_request r;
    um_fuzzy_outcome outcome = um_fuzzy_parse(data, size, &r);
    uint8_t reply[UM_FUZZY_REPLY];

    UM_WANT(outcome < UM_FUZZY_OUTCOMES && r.op < UM_FUZZY_OPS);
    if (outcome != UM_FUZZY_OK)
        return 0;
    size_t least = r.has_shingles ? UM_FUZZY_WHOLE : UM_FUZZY_PLAIN;
    UM_WANT(size >= least && r.digest == data + 12);
    UM_WANT(r.op != UM_FUZZY_OTHER);
    um_fuzzy_print(
        &(um_fuzzy_reply){
            .value = r.value, .tag = r.tag, .flag = r.flag, .digest = r.digest},
        reply);
    UM_WANT(memcmp(reply + 16, r.digest, UM_NEAR_NAME) == 0);
    return 0;
}
