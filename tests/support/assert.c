/* assert.c - assertions that print the reason. */
#include "support/test.h"

#include <math.h>
#include <string.h>

umbel_error test_refusal;

void test_assert_ok(umbel_status status, const char *call, const char *file,
                    int line)
{
    if (status == UMBEL_OK)
        return;
    print_error("%s\n    gave %s: %s\n", call, umbel_status_name(status),
                test_refusal.text);
    _fail(file, line);
}

void test_assert_refused(umbel_status status, umbel_status want,
                         const char *word, const char *call, const char *file,
                         int line)
{
    bool fine = status == want && test_refusal.status == want &&
                strstr(test_refusal.text, word);

    if (fine) {
        /* The next refusal must set its own text. */
        memset(&test_refusal, 0, sizeof test_refusal);
        return;
    }
    print_error("%s\n    gave %s, not %s with \"%s\"; the last text is: %s\n",
                call, umbel_status_name(status), umbel_status_name(want), word,
                test_refusal.text);
    _fail(file, line);
}

void test_assert_near(double got, double want, double tolerance,
                      const char *what, const char *file, int line)
{
    if (fabs(got - want) <= tolerance)
        return;
    print_error("%s is %.10g, should be %.10g +- %.3g\n", what, got, want,
                tolerance);
    _fail(file, line);
}

void test_spread_add(test_spread *s, double x)
{
    double off = x - s->mean;

    s->n++;
    s->mean += off / s->n;
    s->squares += off * (x - s->mean);
}

double test_variance(const test_spread *s)
{
    return s->squares / (s->n - 1);
}

double test_ln_binomial(double n, double k, double p)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) +
           (n - k) * log1p(-p);
}
