/*
 * exact_size.h - how many columns the first of two levels has.
 */
#ifndef UM_OPS_EXACT_SIZE_H
#define UM_OPS_EXACT_SIZE_H

#include "kinds/ribbon/ribbon.h"

#include <umbel/experimental/exact.h>

/* Returns the columns that give the smallest file. */
uint32_t um_exact_smallest(double n, double listed);

/* A limited size: the bits of levels, which depend on the length of the head,
 * and those of them that two levels must not take. */
typedef struct um_exact_room {
    double (*bits)(const void *ctx, const um_ribbon_form *first, bool two);
    const void *ctx;
    double spare;
} um_exact_room;

typedef struct um_exact_form {
    um_ribbon_form form; /* of the first level */
    bool two;            /* there is a second */
    bool all;            /* which has room for all keys of the list that pass */
} um_exact_form;

/*
 * Chooses the levels that leave the least weight of the list, then the least
 * error on other keys. Classes come by descending weight. Returns false when
 * not even the members fit.
 */
bool um_exact_within(double n, const umbel_exact_class *classes,
                     size_t nclasses, const um_exact_room *room,
                     um_exact_form *out);
/* Returns bits of a second level for all keys that pass the first. */
double um_exact_second(double n, double listed, const um_ribbon_form *first);
/* Returns bits that hold the members. */
double um_exact_least(double n);

/* Returns the weight left of a list of which a share p passes, if the heaviest
 * `room` keys that do are taken away. */
double um_weight_beyond(const umbel_exact_class *classes, size_t n, double p,
                        double room);

enum { UM_WEIGHT_CLASSES = 4096 };

/* Keys of a list counted by weight, eight classes to a factor of two. */
typedef struct um_weight_counts {
    uint64_t all;
    struct {
        uint64_t keys;
        double weight; /* of all of them */
    } of[UM_WEIGHT_CLASSES];
} um_weight_counts;

/* weights may be NULL: all weigh 1. */
void um_weight_counts_add(um_weight_counts *c, const double *weights, size_t n);
/* Fills classes by descending weight, as if `listed` keys had been counted;
 * returns how many there are. */
size_t um_weight_classes(const um_weight_counts *c, uint64_t listed,
                         umbel_exact_class out[UM_WEIGHT_CLASSES]);

#endif
