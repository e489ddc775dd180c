/*
 * sources.c - the table of papers.
 */
#include "papers/frame/sources.h"

#include "base/error.h"

#include <string.h>

static const um_source table[] = {
    {"rbf-", "Donnet, Baynat, Friedman: Retouched Bloom filters, 2006",
     "n members are hashed by k functions into m bits. A false positive is a "
     "key that matches and is no member; F_P is the set of all of them, B "
     "those "
     "that are to be removed, beta the share of B in F_P. Retouching clears "
     "bits, which removes false positives and loses members. chi is the share "
     "of the false positives that is removed, divided by the share of the "
     "members that is lost: above 1 it removes more than it loses."},
    {"rbf-2010",
     "Donnet, Baynat, Friedman: Improving retouched Bloom filter, 2010",
     "As in the paper of 2006; the gain is by how much tracking raises chi. "
     "Only the first pages of the article are known to us."},
    {"spam-",
     "Yan, Cho: Enhancing collaborative spam detection with Bloom filters, "
     "2006",
     "A signature is hashed by k functions into m counters (80K means 80,000); "
     "its count is the least of its counters, and may be too high. The "
     "intuitive extension raises all counters of a signature, the refined one "
     "(heuristic H1) only the least ones. The error rate is the share of "
     "wrong counts, and the reduction is the error rate of the intuitive "
     "extension divided by that of the refined one."},
    {"gbf-", "Laufer, Velloso, Duarte: A generalized Bloom filter, 2011",
     "A key is added by k0 functions g that clear bits and k1 functions h that "
     "set bits, among m bits; n keys are added. p_0 is the share of zeros "
     "before the first key, which an attacker may choose. f_p and f_n are the "
     "rates of false positives and false negatives, F_p and F_n their "
     "bounds, which hold for any p_0."},
    {"survey-",
     "Broder, Mitzenmacher: Network applications of Bloom filters: a survey, "
     "2004",
     "n keys are hashed by k functions into m bits; f is the false positive "
     "rate, and z the number of bits that are sent after compression."},
    {"", "Ours: attacks and forgeries",
     "m bits or cells, k hash functions, n keys. These go beyond the papers: "
     "what an attacker achieves against a filter that the papers call safe, "
     "and against umbel's own checks."},
};

const um_source *um_source_row(size_t i)
{
    return i < UM_COUNT(table) ? &table[i] : NULL;
}

const um_source *um_source_of(const char *study)
{
    const um_source *best = NULL;

    for (size_t i = 0; i < UM_COUNT(table); i++) {
        size_t len = strlen(table[i].prefix);
        if (strncmp(study, table[i].prefix, len) == 0 &&
            (!best || len > strlen(best->prefix)))
            best = &table[i];
    }
    return best;
}
