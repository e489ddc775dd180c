/*
 * filters.h - library filters that the survey's applications share.
 */
#ifndef UM_SURVEY_FILTERS_H
#define UM_SURVEY_FILTERS_H

#include "papers/frame/paper.h"

#include <umbel/base.h>
#include <umbel/umbel.h>

#define SURVEY_SOURCE "Broder, Mitzenmacher 2004, "

/* Creates a filter of that kind with addressing classic and this many cells;
 * hashes 0 means the library's default. setting may be NULL. */
umbel_status um_survey_open(const char *kind, uint64_t cells, uint32_t hashes,
                            const umbel_setting *setting, uint64_t seed,
                            umbel_filter **out, umbel_error *err);

/* Draws n random keys. */
void um_survey_draw(um_rng *rng, uint64_t *keys, size_t n);

#endif
