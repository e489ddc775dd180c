/*
 * error.h - how our files report failure.
 */
#ifndef UM_BASE_ERROR_H
#define UM_BASE_ERROR_H

#include <umbel/base.h>

#define UM_COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Fill *err, when given, and return status: one line at the place of failure.
 */
umbel_status um_fail(umbel_error *err, umbel_status status, const char *format,
                     ...) __attribute__((format(printf, 3, 4)));

/* The same with ": " and strerror(errno) appended. */
umbel_status um_fail_errno(umbel_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
