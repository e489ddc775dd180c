/*
 * classes.h - error of layouts whose classes follow from each other.
 */
#ifndef UM_FILTER_CLASSES_H
#define UM_FILTER_CLASSES_H

#include "filter/addressing.h"

/*
 * As um_model_error, which is independent if the cells of a key were: never
 * less than that.
 */
double um_classes_error(const um_layout *l, double keys, double independent);

#endif
