/*
 * ribbon_parts.c - keys in partitions: an index, and widths.
 *
 * The share of members differs from partition to partition, and with it the
 * number of columns that makes the file smallest. The index is a map from the
 * hash of a partition (hi of its keys) to how its keys are answered. It holds
 * no names: a partition that was not there when it was built gets some entry.
 */
#include "kinds/ribbon/ribbon.h"

void um_ribbon_lay_parts(um_ribbon_parts *p, const um_ribbon_form *form,
                         const um_ribbon_sizes *members, uint32_t bits,
                         const um_ribbon_sizes *index, uint8_t *memory)
{
    um_ribbon_form entries = {bits, 0};

    um_ribbon_lay(&p->index, &entries, index, memory);
    p->most = um_ribbon_max_more(form, members->steps);
    for (uint32_t i = 0; i <= p->most; i++)
        p->share[i] = um_ribbon_share_of(form, members->steps, i);
}

uint32_t um_ribbon_part_of(const um_ribbon_parts *p, const umbel_digest *d)
{
    um_ribbon_place at;

    um_ribbon_find(&p->index, d->hi, d->hi, &at);
    uint32_t entry = (uint32_t)um_ribbon_get(&p->index, &at);
    uint32_t last = UM_RIBBON_FIRST + p->most;
    return entry < last ? entry : last; /* whatever the index says */
}

bool um_ribbon_pass_part(const um_ribbon_parts *p, const um_ribbon_level *l,
                         const umbel_digest *d)
{
    uint32_t how = um_ribbon_part_of(p, d);
    um_ribbon_place at;

    if (how < UM_RIBBON_FIRST)
        return how != UM_RIBBON_NONE;
    um_ribbon_find_in(l, &p->share[how - UM_RIBBON_FIRST], d->lo, d->hi, &at);
    uint64_t got = um_ribbon_get(l, &at);
    return ((got ^ um_ribbon_part_print(d)) & um_ribbon_mask(at.columns)) == 0;
}
