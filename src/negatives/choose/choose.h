/*
 * choose.h - umbel_choose for members that are not in memory.
 */
#ifndef UM_OPS_CHOOSE_H
#define UM_OPS_CHOOSE_H

#include "query/digest_set.h"

#include <umbel/experimental/choose.h>

/*
 * Does the work of umbel_choose with up to that many threads. Reads the members
 * once for each of its steps. Stores a byte for each member, four copies of the
 * filter, and the data of the current step. Unless member is NULL, sets
 * member[i] if key i of never is a member and the first with its digest, even
 * if the call fails with E_KEY for that reason.
 */
umbel_status um_choose(umbel_filter *f, const um_digest_source *members,
                       const umbel_key_list *never,
                       const umbel_choose_params *params, unsigned threads,
                       bool *member, umbel_choose_result *out,
                       umbel_error *err);

#endif
