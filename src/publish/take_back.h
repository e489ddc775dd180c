/*
 * take_back.h - umbel_take_back on members that are not in memory.
 */
#ifndef UM_EXCHANGE_TAKE_BACK_H
#define UM_EXCHANGE_TAKE_BACK_H

#include "query/digest_set.h"

#include <umbel/exchange.h>

/*
 * As umbel_take_back. Goes through the members a few times. member[i] becomes
 * true if reported key i is a member and the first of its digest; it has room
 * for one more than there are reported keys, and begins zeroed.
 */
umbel_status um_parse_back(umbel_filter *f, const um_digest_source *members,
                           const umbel_key_list *reported,
                           const umbel_filter *like, bool *member,
                           umbel_taken_back *out, umbel_error *err);

#endif
