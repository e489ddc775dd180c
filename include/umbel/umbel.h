/*
 * umbel.h - all of libumbel.
 */
#ifndef UMBEL_UMBEL_H
#define UMBEL_UMBEL_H

#include <umbel/admit.h>
#include <umbel/base.h>
#include <umbel/build.h>
#include <umbel/choose.h>
#include <umbel/compare.h>
#include <umbel/counting.h>
#include <umbel/diff.h>
#include <umbel/estimate.h>
#include <umbel/exact.h>
#include <umbel/exchange.h>
#include <umbel/file.h>
#include <umbel/filter.h>
#include <umbel/foreign.h>
#include <umbel/generalized.h>
#include <umbel/plan.h>
#include <umbel/retouch.h>
#include <umbel/unless.h>
#include <umbel/verify.h>

#endif
