/*
 * error.h - errors: status codes and messages.
 */
#ifndef UM_BASE_ERROR_H
#define UM_BASE_ERROR_H

#include <umbel/base.h>

#define UM_COUNT(array) (sizeof(array) / sizeof(array)[0])

/*
 * Fill *err, when given, and give status: one line at the place of failure.
 * Macros, so that compilers and analyzers see which status it is.
 */
#define um_fail(err, status, ...)                                              \
    (um_set_error(err, status, __VA_ARGS__), (status))
/* The same with E_IO, and ": " and strerror(errno) appended. */
#define um_fail_errno(err, ...) (um_set_errno(err, __VA_ARGS__), UMBEL_E_IO)

/* The same with a detail that code can act on. */
#define um_fail_detail(err, status, detail, ...)                               \
    (um_set_error(err, status, __VA_ARGS__), um_set_detail(err, detail),       \
     (status))

/* The same with "PATH: ", shortened so that the reason has room. */
#define um_fail_path(err, path) (um_set_error_path(err, path), UMBEL_E_IO)

/*
 * Puts "PATH: " before the text of a failure, and keeps its detail; returns
 * status. UMBEL_OK passes through.
 */
umbel_status um_name_file(umbel_status status, const char *path,
                          umbel_error *err);

/* The same with E_NOMEM. */
#define um_no_memory(err, len)                                                 \
    um_fail(err, UMBEL_E_NOMEM, "no memory for %zu bytes", (size_t)(len))

/* Passes a failure on, where nothing must be released first. */
#define UM_TRY(call)                                                           \
    do {                                                                       \
        umbel_status um_tried_ = (call);                                       \
        if (um_tried_ != UMBEL_OK)                                             \
            return um_tried_;                                                  \
    } while (0)

/* Only fill *err. Nothing in it can steer a terminal. */
void um_set_error(umbel_error *err, umbel_status status, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));
void um_set_detail(umbel_error *err, umbel_detail detail);
void um_set_errno(umbel_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void um_set_error_path(umbel_error *err, const char *path);

#endif
