/*
 * inline.h - functions that the compiler copies into their callers.
 *
 * The loops over many keys are written once, with constants as arguments, and
 * copied for each set of constants. They stay functions under a sanitizer,
 * whose checks make each copy ten times as large (one file took a minute to
 * compile, and now takes a second), without optimisation, and where
 * UM_NO_COPIES asks for it: on emulated instructions.
 */
#ifndef UM_BASE_INLINE_H
#define UM_BASE_INLINE_H

#if defined(UM_NO_COPIES)
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UM_NO_COPIES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UM_NO_COPIES 1
#endif
#endif

#if defined(__OPTIMIZE__) && !defined(UM_NO_COPIES)
#define UM_INLINE static inline __attribute__((always_inline))
#else
#define UM_INLINE static inline
#endif

#endif
