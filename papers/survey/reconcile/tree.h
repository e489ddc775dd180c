/*
 * tree.h - approximate reconciliation trees (Byers, Considine, Mitzenmacher
 * 2002): finds the items that another peer lacks, without a look-up of each.
 *
 * Items are hashed twice. The first hash is the item's place in a binary search
 * tree; a node's value is the exclusive or of the second hashes below it. Equal
 * subtrees have equal values, so a peer that has the filters of the other's
 * values descends only where a node does not match. A node may match falsely:
 * the search gives up a subtree after more than CORRECTION consecutive matches.
 */
#ifndef UM_SURVEY_TREE_H
#define UM_SURVEY_TREE_H

#include "papers/frame/paper.h"

#include <umbel/base.h>

enum { TREE_CORRECTION = 1 };

typedef struct um_item {
    uint64_t place, value;
} um_item;

/* The filters that are sent: values of inner nodes, and of leaves. */
typedef struct um_tree_filters {
    umbel_filter *nodes, *leaves;
} um_tree_filters;

/* Hashes items and sorts them in the order of the tree. */
void um_tree_items(const uint64_t *keys, size_t n, um_item *out);
umbel_status um_tree_send(const um_item *item, size_t n, um_tree_filters *f,
                          umbel_error *err);
/* Counts the leaves that the search finds missing, and the nodes that it looks
 * up. */
umbel_status um_tree_search(const um_item *item, size_t n,
                            const um_tree_filters *f, uint64_t *missing,
                            uint64_t *asked, umbel_error *err);

#endif
