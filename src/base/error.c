/*
 * error.c - statuses and their texts.
 */
#include "base/error.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifndef UM_VERSION
#error "the build gives UM_VERSION"
#endif

const char *umbel_version(void)
{
    return UM_VERSION;
}

const char *umbel_status_name(umbel_status status)
{
    switch (status) {
#define NAME(name, number, text)                                               \
    case UMBEL_##name:                                                         \
        return #name;
        UMBEL_STATUS_LIST(NAME)
#undef NAME
    }
    return "E_UNLISTED";
}

const char *umbel_status_text(umbel_status status)
{
    switch (status) {
#define TEXT(name, number, text)                                               \
    case UMBEL_##name:                                                         \
        return text;
        UMBEL_STATUS_LIST(TEXT)
#undef TEXT
    }
    return "unlisted status";
}

/* Ends a text that was cut with "...". len is the length of all of it. */
static void mark_cut(umbel_error *err, size_t len)
{
    if (len >= sizeof err->text)
        memcpy(err->text + sizeof err->text - 4, "...", 4);
}

void um_set_error(umbel_error *err, umbel_status status, const char *format,
                  ...)
{
    va_list args;

    if (!err)
        return;
    va_start(args, format);
    err->status = status;
    err->detail = UMBEL_D_NONE;
    int len = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    mark_cut(err, len < 0 ? 0 : (size_t)len);
    um_disarm(err->text);
}

void um_set_detail(umbel_error *err, umbel_detail detail)
{
    if (err)
        err->detail = detail;
}

void um_set_errno(umbel_error *err, const char *format, ...)
{
    int number = errno;
    va_list args;

    if (!err)
        return;
    va_start(args, format);
    err->status = UMBEL_E_IO;
    err->detail = UMBEL_D_NONE;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t len = strlen(err->text);
    const char *reason = strerror(number);
    snprintf(err->text + len, sizeof err->text - len, ": %s", reason);
    mark_cut(err, len + 2 + strlen(reason));
    um_disarm(err->text);
}

void um_set_error_path(umbel_error *err, const char *path)
{
    um_set_errno(err, "%s%s", um_path_dots(path), um_path_tail(path));
}

umbel_status um_name_file(umbel_status status, const char *path,
                          umbel_error *err)
{
    umbel_error inner;

    if (status == UMBEL_OK || !err)
        return status;
    inner = *err;
    return um_fail_detail(err, status, inner.detail, "%s%s: %s",
                          um_path_dots(path), um_path_tail(path), inner.text);
}
