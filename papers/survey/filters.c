/*
 * filters.c - filters for the survey's applications.
 */
#include "papers/survey/filters.h"

#include <umbel/base.h>
#include <umbel/umbel.h>

umbel_status um_survey_open(const char *kind, uint64_t cells, uint32_t hashes,
                            const umbel_setting *setting, uint64_t seed,
                            umbel_filter **out, umbel_error *err)
{
    umbel_params p = UMBEL_PARAMS_INIT;

    p.addressing = "classic";
    p.cells = cells;
    p.hashes = hashes;
    p.seed = seed;
    p.settings = setting;
    p.nsettings = setting ? 1 : 0;
    return umbel_create(kind, &p, out, err);
}

void um_survey_draw(um_rng *rng, uint64_t *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        keys[i] = um_random_key(rng);
}
