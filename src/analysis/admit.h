/*
 * admit.h - what the ways into admission share.
 */
#ifndef UM_OPS_ADMIT_H
#define UM_OPS_ADMIT_H

#include <umbel/admit.h>

/* *wants, or none when it is NULL; E_RANGE, E_UNKNOWN: they make no sense. */
umbel_status um_check_admission(const umbel_admission **wants,
                                umbel_error *err);

/* Nothing is wrong so far. */
umbel_ruling um_ruling_begin(const umbel_admission *wants);
/* Something is. */
void um_add_reason(umbel_ruling *out, umbel_refusal code, const char *text);

/* False: it is refused for its size. */
bool um_hold_bytes(const umbel_admission *wants, uint64_t bytes,
                   umbel_ruling *out);

#endif
