/*
 * choose.h - umbel_choose on members that are not in memory.
 */
#ifndef UM_OPS_CHOOSE_H
#define UM_OPS_CHOOSE_H

#include "query/digest_set.h"

#include <umbel/experimental/choose.h>

/*
 * As umbel_choose, by up to that many threads. Goes through the members once
 * for each of its steps; keeps a byte of each, four copies of the filter, and
 * what it works on.
 * member[i], unless NULL, becomes true if key i of never is a member and the
 * first of its digest; also when the call fails with E_KEY for that.
 */
umbel_status um_choose(umbel_filter *f, const um_digest_source *members,
                       const umbel_key_list *never,
                       const umbel_choose_params *params, unsigned threads,
                       bool *member, umbel_choose_result *out,
                       umbel_error *err);

#endif
