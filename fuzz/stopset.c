/*
 * stopset.c - arbitrary stop set files.
 *
 * The bytes are rejected, or read as a set that answers every query; a list has
 * as many members as it claims.
 */
#include "fuzz.h"

#include "stopset/sets/set.h"

static ss_addr address(const uint8_t *data, size_t size)
{
    return size < 16 ? ss_addr_v4((uint32_t)size)
                     : ss_addr_from_bytes(data + size - 16, 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    umbel_error err;
    ss_set s;
    bool hit[2];
    umbel_status status = ss_set_parse(&s, data, size, &err);

    if (status != UMBEL_OK) {
        um_fuzz_check_error(status, &err);
        return 0;
    }
    ss_addr a = address(data, size), b = address(data, size / 2);
    ss_question q[] = {{a, b}, {b, a}};
    UM_WANT(ss_set_query(&s, q, 2, hit, &err) == UMBEL_OK);
    if (!s.filter) {
        UM_WANT(s.list.n == s.info.members);
        UM_WANT(ss_set_add(&s, a, b));
        UM_WANT(ss_set_query(&s, q, 1, hit, &err) == UMBEL_OK && hit[0]);
    }
    ss_set_fini(&s);
    return 0;
}
