/*
 * numbers.c - parses and formats numbers for people.
 */
#include "cli/framework/numbers.h"

#include "base/decimal.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the factor of a suffix, or 0 if it is not a unit. */
static double unit_factor(const char *suffix)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"", 1},
                 {"k", 1e3},
                 {"K", 1e3},
                 {"M", 1e6},
                 {"G", 1e9},
                 {"T", 1e12},
                 {"kB", 1e3},
                 {"MB", 1e6},
                 {"GB", 1e9},
                 {"TB", 1e12},
                 {"KiB", 1024},
                 {"MiB", 1048576},
                 {"GiB", 1073741824},
                 {"TiB", 1099511627776}};

    for (size_t i = 0; i < UM_COUNT(units); i++)
        if (strcmp(suffix, units[i].name) == 0)
            return units[i].factor;
    return 0;
}

bool um_parse_whole(const char *text, uint64_t *out)
{
    char *end;

    /* Plain digits are exact up to 2^64 - 1. */
    if (um_decimal_parse(text, UINT64_MAX, out))
        return true;
    double factor, x = strtod(text, &end);
    factor = unit_factor(end);
    x *= factor;
    if (end == text || factor == 0 || !(x >= 0) || x >= 18e18 ||
        fabs(x - round(x)) > 1e-6)
        return false;
    *out = (uint64_t)round(x);
    return true;
}

bool um_parse_real(const char *text, double *out)
{
    char *end;
    double x = strtod(text, &end);
    bool percent = strcmp(end + strspn(end, " "), "%") == 0;

    *out = percent ? x / 100 : x;
    return end != text && (*end == '\0' || percent);
}

um_text um_grouped(uint64_t n)
{
    char digits[24];
    um_text t = {{0}};
    char *out = t.text;
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n);

    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return t;
}

um_text um_counted(uint64_t n, const char *one, const char *many)
{
    um_text t = um_grouped(n);
    size_t len = strlen(t.text);

    snprintf(t.text + len, sizeof t.text - len, " %s", n == 1 ? one : many);
    return t;
}

/* Rounds x to three significant digits, so that it reads well with commas. */
static uint64_t three_digits(double x)
{
    double step = pow(10, floor(log10(x)) - 2);

    return (uint64_t)(step > 1 ? round(x / step) * step : round(x));
}

um_text um_rate(double share)
{
    return um_rate_like(share, share);
}

um_text um_rate_like(double share, double like)
{
    um_text t = {{0}};
    bool small = like > 0 && like < 1e-4;

    if (small && share == 0)
        snprintf(t.text, sizeof t.text, "0");
    else if (small && share > 1e-18)
        snprintf(t.text, sizeof t.text, "1 in %.40s",
                 um_grouped(three_digits(1 / share)).text);
    else
        snprintf(t.text, sizeof t.text, "%.3g %%", share * 100);
    return t;
}
