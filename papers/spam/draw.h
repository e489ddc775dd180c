/*
 * draw.h - how much a rate depends on which counts were drawn.
 *
 * The authors drew the counts of Experiments 4 to 8 once and used them for all
 * rounds. Neither more rounds nor their column of standard deviations shows
 * this source of randomness. Its size follows from the experiment alone.
 */
#ifndef UM_SPAM_DRAW_H
#define UM_SPAM_DRAW_H

#include "papers/spam/experiment.h"

typedef enum um_spam_quantity {
    SPAM_OF_PLAIN,   /* the rate of the intuitive extension */
    SPAM_OF_REFINED, /* of the refined one */
    SPAM_OF_FACTOR   /* the first over the second */
} um_spam_quantity;

/*
 * Returns the standard deviation over draws of the counts, as a share of the
 * quantity itself; 0 if counts are not drawn. If given, only draws with the
 * same number of zeros and the same sum count.
 */
double um_spam_draw_spread(const um_spam_experiment *e, size_t shape,
                           um_spam_quantity q, bool given);

#endif
