/*
 * umbel.h - the stable part of libumbel: all of it but <umbel/experimental.h>
 * and <umbel/fetch.h>, which is a library of its own.
 *
 *   base.h      statuses, errors, version      build.h     static filters
 *   filter.h    create, add, query, merge      counting.h  filters that count
 *   file.h      save, load, decode             foreign.h   other file formats
 *   plan.h      size before building           keys.h      lists of keys
 *   estimate.h  keys in a filter, overlap      verify.h    measure the errors
 *   diff.h      differences of two filters     admit.h     filters of strangers
 *   exchange.h  publish and pull               sync.h      many writers
 *
 * umbel(3) has an example of each.
 */
#ifndef UMBEL_UMBEL_H
#define UMBEL_UMBEL_H

#include <umbel/admit.h>
#include <umbel/base.h>
#include <umbel/build.h>
#include <umbel/counting.h>
#include <umbel/diff.h>
#include <umbel/estimate.h>
#include <umbel/exchange.h>
#include <umbel/file.h>
#include <umbel/filter.h>
#include <umbel/foreign.h>
#include <umbel/keys.h>
#include <umbel/plan.h>
#include <umbel/sync.h>
#include <umbel/verify.h>

#endif
