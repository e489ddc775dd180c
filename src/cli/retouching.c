/*
 * retouching.c - the bill of umbel retouch.
 */
#include "cli/retouching.h"

#include "base/error.h"
#include "cli/files.h"
#include "cli/report.h"

#include <math.h>
#include <stdio.h>

static void report_json(FILE *out, const um_retouching *r)
{
    const umbel_retouch_result *b = &r->bill;
    umbel_info info = {0};

    um_info_count(&info, "never", b->never);
    um_info_count(&info, "matched", b->matched);
    um_info_count(&info, "removed", b->removed);
    um_info_count(&info, "left", b->left);
    um_info_count(&info, "outside_removed", b->outside_removed);
    um_info_count(&info, "members", b->members);
    um_info_count(&info, "lost", b->lost);
    um_info_real(&info, "lost_share", b->lost_share);
    um_info_count(&info, "bits_cleared", b->bits_cleared);
    um_info_real(&info, "chi", b->chi);
    um_info_real(&info, "seconds", b->seconds);
    um_info_count(&info, "outside", b->outside);
    um_info_count(&info, "denied_before", b->denied_before);
    um_info_real(&info, "matched_weight", b->matched_weight);
    um_info_real(&info, "left_weight", b->left_weight);
    um_info_real(&info, "members_weight", b->members_weight);
    um_info_real(&info, "lost_weight", b->lost_weight);
    um_info_count(&info, "denied_members", umbel_denied(r->filter));
    um_info_count(&info, "bytes", umbel_encoded_len(r->filter));
    um_info_real(&info, "predicted_error", umbel_predict(r->filter));
    um_info_flag(&info, "stopped", b->stopped);
    um_print_json(out, &info);
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static bool has_weights(double weight, uint64_t n)
{
    return weight != (double)n;
}

static void print_step(FILE *out, const um_retouching *r, uint64_t lost,
                       const umbel_retouch_step *at)
{
    const umbel_retouch_result *b = &r->bill;
    double left = um_weight_left(b, at);

    fprintf(out, "  %-9s lost: %s left",
            um_percent(share((double)lost, (double)b->members)).text,
            um_grouped(b->matched - at->removed).text);
    if (has_weights(b->matched_weight, b->matched))
        fprintf(out, ", %s of their weight",
                um_percent(share(left, b->matched_weight)).text);
    fputc('\n', out);
}

/* What the next percents would buy, and what all would cost. */
static void report_further(FILE *out, const um_retouching *r)
{
    static const double more[] = {0.01, 0.02, 0.05, 0.1, 0.2};
    const um_curve *c = &r->further;
    const umbel_retouch_result *b = &r->bill;

    if (c->n == 0)
        return;
    const umbel_retouch_step *end = &c->steps[c->n - 1];
    fprintf(out, "what more would buy, about:\n");
    for (size_t i = 0; i < UM_COUNT(more); i++) {
        uint64_t lost = b->lost + (uint64_t)ceil(more[i] * (double)b->members);
        umbel_retouch_step at = um_curve_at(c, lost);
        if (lost >= end->lost)
            break;
        print_step(out, r, lost, &at);
    }
    print_step(out, r, end->lost, end);
}

static void report_losses(FILE *out, const um_retouching *r)
{
    const umbel_retouch_result *b = &r->bill;

    fprintf(out, "members lost     %s of %s", um_grouped(b->lost).text,
            um_grouped(b->members).text);
    fprintf(out, " (%s)", um_percent(b->lost_share).text);
    if (has_weights(b->members_weight, b->members))
        fprintf(out, ", %s of their weight",
                um_percent(share(b->lost_weight, b->members_weight)).text);
    fputc('\n', out);
    if (b->denied_before)
        fprintf(out, "denied before    %s\n",
                um_counted(b->denied_before, "member", "members").text);
}

static bool has_limit(const um_args *args)
{
    return um_has_budget(args) || um_has(args, "all");
}

static void report_text(FILE *out, const um_retouching *r)
{
    const umbel_retouch_result *b = &r->bill;

    fprintf(out, "never            %s, %s matched: %s removed, ",
            um_counted(b->never, "key", "keys").text,
            um_grouped(b->matched).text, um_grouped(b->removed).text);
    fprintf(out, "%s left", um_grouped(b->left).text);
    if (b->left && has_weights(b->matched_weight, b->matched))
        fprintf(out, " (%s of their weight)",
                um_percent(share(b->left_weight, b->matched_weight)).text);
    fputc('\n', out);
    if (b->outside)
        fprintf(
            out, "outside          %s of %s other false positives removed\n",
            um_grouped(b->outside_removed).text, um_grouped(b->outside).text);
    report_losses(out, r);
    fprintf(out, "bits cleared     %s; size unchanged, %s bytes\n",
            um_grouped(b->bits_cleared).text,
            um_grouped(umbel_encoded_len(r->filter)).text);
    if (isfinite(b->chi))
        fprintf(out, "chi              %.3g\n", b->chi);
    else
        fprintf(out, "chi              none: nothing was lost\n");
    fprintf(out, "seconds          %.3g\n", b->seconds);
    if (b->stopped)
        fprintf(out, "stopped early: this is the best so far\n");
    if (b->left && !b->stopped && !has_limit(r->args))
        fprintf(out, "stopped at 1 %% of the members, unless told otherwise: "
                     "--max-fn P, or --all\n");
    report_further(out, r);
    if (um_has(r->args, "dry-run"))
        fprintf(out, "no filter was written\n");
}

void um_print_retouching(const um_retouching *r)
{
    FILE *out = um_report_to(r->args);

    if (um_has(r->args, "json"))
        report_json(out, r);
    else if (!um_has(r->args, "quiet"))
        report_text(out, r);
}
