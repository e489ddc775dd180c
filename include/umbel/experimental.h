/*
 * experimental.h - the part of libumbel that may change in any release.
 *
 * Research results as an API: they work and are tested, but functions, types
 * and results may change or be removed without notice. Programs that use them
 * should check the version of umbel that they need (UMBEL_VERSION).
 */
#ifndef UMBEL_EXPERIMENTAL_H
#define UMBEL_EXPERIMENTAL_H

#include <umbel/experimental/choose.h>
#include <umbel/experimental/clearing.h>
#include <umbel/experimental/compare.h>
#include <umbel/experimental/exact.h>
#include <umbel/experimental/exchange.h>
#include <umbel/experimental/flows.h>
#include <umbel/experimental/generalized.h>
#include <umbel/experimental/index.h>
#include <umbel/experimental/reconcile.h>
#include <umbel/experimental/retouch.h>
#include <umbel/experimental/sync.h>
#include <umbel/experimental/unless.h>

#endif
