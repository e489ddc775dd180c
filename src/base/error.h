/*
 * error.h - errors: status codes and messages.
 */
#ifndef UM_BASE_ERROR_H
#define UM_BASE_ERROR_H

#include <umbel/base.h>

#define UM_COUNT(array) (sizeof(array) / sizeof(array)[0])

/*
 * Fills *err, unless err is NULL, and evaluates to status. A macro, so that
 * compilers and analyzers see which status is returned.
 */
#define um_fail(err, status, ...)                                              \
    (um_set_error(err, status, __VA_ARGS__), (status))
/* Fails with E_IO, and appends ": " and strerror(errno). */
#define um_fail_errno(err, ...) (um_set_errno(err, __VA_ARGS__), UMBEL_E_IO)

/* Fails with a detail that code can act on. */
#define um_fail_detail(err, status, detail, ...)                               \
    (um_set_error(err, status, __VA_ARGS__), um_set_detail(err, detail),       \
     (status))

/* Fails with E_IO and "PATH: " before the reason; shortens a long path. */
#define um_fail_path(err, path) (um_set_error_path(err, path), UMBEL_E_IO)

/*
 * Prepends "PATH: " to the text of a failure and keeps its detail; returns
 * status. Does nothing for UMBEL_OK.
 */
umbel_status um_name_file(umbel_status status, const char *path,
                          umbel_error *err);

/* Fails with E_NOMEM. */
#define um_no_memory(err, len)                                                 \
    um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes", (size_t)(len))

/* Returns from the function if call failed; use it if nothing must be
 * released. */
#define UM_TRY(call)                                                           \
    do {                                                                       \
        umbel_status um_tried_ = (call);                                       \
        if (um_tried_ != UMBEL_OK)                                             \
            return um_tried_;                                                  \
    } while (0)

/* Fill *err only. Control characters in the text are replaced. */
void um_set_error(umbel_error *err, umbel_status status, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));
void um_set_detail(umbel_error *err, umbel_detail detail);
void um_set_errno(umbel_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void um_set_error_path(umbel_error *err, const char *path);

#endif
