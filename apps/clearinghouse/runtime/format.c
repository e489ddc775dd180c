/*
 * format.c - formats numbers for people, in status documents.
 */
#include "clearinghouse/runtime/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

um_formatted um_format_count(uint64_t n)
{
    um_formatted w = {""};
    char digits[24]; /* at most 20 and six commas */
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    char *at = w.text;

    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return w;
}

um_formatted um_format_bytes(uint64_t n)
{
    static const char *const names[] = {"bytes", "kB", "MB", "GB", "TB"};
    double x = (double)n;
    unsigned i = 0;
    um_formatted w = {""};

    for (; x >= 999.95 && i < 4; i++)
        x /= 1000;
    snprintf(w.text, sizeof w.text, i ? "%.1f %s" : "%.0f %s", x, names[i]);
    return w;
}

static const struct {
    const char *name;
    uint64_t seconds;
} units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};

/* Returns the largest unit that is not longer than the duration. */
static unsigned unit_of(uint64_t seconds)
{
    unsigned i = 0;

    while (i < 3 && seconds < units[i].seconds)
        i++;
    return i;
}

um_formatted um_format_about(uint64_t seconds)
{
    unsigned i = unit_of(seconds);
    um_formatted w = {""};

    snprintf(w.text, sizeof w.text, "%" PRIu64 " %s",
             seconds / units[i].seconds, units[i].name);
    return w;
}

um_formatted um_format_duration(uint64_t seconds)
{
    unsigned i = unit_of(seconds);
    um_formatted w = {""};
    uint64_t whole = seconds / units[i].seconds;
    uint64_t rest = seconds % units[i].seconds;
    if (i == 3 || rest / units[i + 1].seconds == 0)
        return um_format_about(seconds);
    snprintf(w.text, sizeof w.text, "%" PRIu64 " %s %" PRIu64 " %s", whole,
             units[i].name, rest / units[i + 1].seconds, units[i + 1].name);
    return w;
}

um_formatted um_format_time(uint64_t seconds)
{
    time_t t = (time_t)seconds;
    struct tm tm;
    um_formatted w = {"?"};

    if (gmtime_r(&t, &tm))
        strftime(w.text, sizeof w.text, "%Y-%m-%d %H:%M UTC", &tm);
    return w;
}

um_formatted um_format_chance(double p)
{
    um_formatted w = {""};

    if (!(p > 0))
        snprintf(w.text, sizeof w.text, "0");
    else if (p < 1e-9)
        snprintf(w.text, sizeof w.text, "below 1e-9");
    else
        snprintf(w.text, sizeof w.text, "1 in %.32s",
                 um_format_count((uint64_t)(1 / p + 0.5)).text);
    return w;
}

um_formatted um_format_unit(um_unit unit, double x)
{
    um_formatted w = {"-"};

    if (isnan(x))
        return w;
    switch (unit) {
    case UM_UNIT_COUNT:
        return um_format_count((uint64_t)x);
    case UM_UNIT_BYTES:
        return um_format_bytes((uint64_t)x);
    case UM_UNIT_SECONDS:
        return um_format_duration((uint64_t)x);
    case UM_UNIT_CHANCE:
        return um_format_chance(x);
    case UM_UNIT_NUMBER:
        if (x >= 100)
            return um_format_count((uint64_t)(x + 0.5));
        snprintf(w.text, sizeof w.text, "%.1f", x);
        break;
    case UM_UNIT_SHARE:
        snprintf(w.text, sizeof w.text, "%.1f %%", 100 * x);
        break;
    case UM_UNIT_FLAG:
        snprintf(w.text, sizeof w.text, "%s", x != 0 ? "yes" : "no");
        break;
    case UM_UNIT_TEXT:
        break;
    }
    return w;
}
