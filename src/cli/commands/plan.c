/*
 * cmd_plan.c - umbel plan: how large, how wrong, how many.
 */
#include "cli/commands/plan.h"
#include "cli/framework/table.h"

enum { SIZE, STATIC, COUNTS, WIRE, BOUNDS, NEVER };

static const um_option options[] = {
    {"capacity", 'n', "N", "number of keys that the filter should hold",
     UM_TARGET(plan_args, capacity), .low = 1,
     .modes = UM_MODE(SIZE) | UM_MODE(STATIC) | UM_MODE(WIRE) | UM_MODE(BOUNDS),
     .formerly = "keys"},
    {"bytes", 0, "N", "size of the whole file instead of --bits",
     UM_TARGET(plan_args, bytes), .low = 1, .excludes = "bits cells",
     .modes = UM_MODE(SIZE) | UM_MODE(STATIC) | UM_MODE(NEVER)},
    {"wire", 0, "Z",
     "at most Z bytes when compressed: a larger, sparser filter with a lower "
     "error",
     UM_TARGET(plan_args, wire), .low = 1, .needs = "capacity",
     .excludes = "fpr bits cells bytes counts threshold fp-bound fn-bound "
                 "members never"},
    {"max-memory", 0, "N", "with --wire: bytes in memory",
     UM_TARGET(plan_args, max_memory), .low = 1, .needs = "wire",
     .formerly = "memory"},
    {"clear", 0, "S", "predict what clearing S bits at random costs",
     UM_TARGET(plan_args, clear), .low = 1, .excludes = "retouch",
     .modes = UM_MODE(SIZE)},
    {"retouch", 0, "P", "the same for removing a share P of false positives",
     UM_TARGET(plan_args, retouch), .modes = UM_MODE(SIZE)},
    {"threshold", 0, "T",
     "kinds that count: probability that an absent key seems to have been "
     "added T times",
     UM_TARGET(plan_args, threshold), .low = 1, .needs = "counts",
     .excludes = "fp-bound fn-bound members never"},
    {"counts", 0, "FILE", "with --threshold: how often each key is added",
     UM_TARGET(plan_args, counts), .role = UM_INPUT, .needs = "threshold",
     .excludes = "fp-bound fn-bound members never"},
    {"fp-bound", 0, "X",
     "generalized: largest share of other keys that match, whatever the bits "
     "are",
     UM_TARGET(plan_args, fp_bound), .needs = "fn-bound",
     .excludes = "members never"},
    {"fn-bound", 0, "Y",
     "with --fp-bound: largest share of members that are missed",
     UM_TARGET(plan_args, fn_bound), .needs = "fp-bound",
     .excludes = "members never"},
    {"members", 0, "FILE", "with --never: keys of the set; may be repeated",
     UM_TARGET(plan_args, members), .role = UM_INPUT, .needs = "never"},
    {"never", 0, "FILE",
     "keys that must not match: compare the ways to exclude them; may be "
     "repeated",
     UM_TARGET(plan_args, never), .role = UM_INPUT, .needs = "members"},
    {"weights", 0, NULL, "lines of --never end in a weight (as in *.tsv)",
     UM_TARGET(plan_args, weights), .needs = "never"},
    {"output", 'o', "FILE",
     "with --never: draw the weight that still matches against the size, as "
     "SVG",
     UM_TARGET(plan_args, output), .role = UM_OUTPUT, .needs = "never"},
    {0}};

static unsigned choose_mode(const void *values)
{
    const plan_args *a = values;

    if (a->members.n || a->never.n)
        return UM_MODE(NEVER);
    if (a->fp_bound.given || a->fn_bound.given)
        return UM_MODE(BOUNDS);
    if (a->threshold.given || a->counts)
        return UM_MODE(COUNTS);
    if (a->wire.given)
        return UM_MODE(WIRE);
    return umbel_is_static(a->shape.kind) ? UM_MODE(STATIC) : UM_MODE(SIZE);
}

static int run(const um_args *args)
{
    static umbel_status (*const answers[])(const um_args *, umbel_error *) = {
        [SIZE] = um_plan_size,     [STATIC] = um_plan_size,
        [COUNTS] = um_plan_size,   [WIRE] = um_plan_wire,
        [BOUNDS] = um_plan_bounds, [NEVER] = um_plan_compare};
    unsigned mode = choose_mode(args->values);
    umbel_error err;
    size_t i = 0;

    while (mode != UM_MODE(i))
        i++;
    return answers[i](args, &err) ? um_trouble(args, &err) : UM_EXIT_FINE;
}

/* The options for shapes, in parts that different modes use. */
#define IDENTITY "addressing hash seed fpr "
#define SIZES "bits cells exact-size "
#define CELLS "hashes groups cell-bits update reset set fill "
#define SHAPE um_shape_options, offsetof(plan_args, shape)
#define BUILDS                                                                 \
    (UM_MODE(SIZE) | UM_MODE(STATIC) | UM_MODE(COUNTS) | UM_MODE(WIRE))

const um_command um_cmd_plan = {
    .name = "plan",
    .summary = "predict size, hash functions and error before you build",
    .section = UM_EVERYDAY,
    .values_len = sizeof(plan_args),
    .options = {{.rows = options},
                {SHAPE, BUILDS | UM_MODE(BOUNDS),
                 .ignored = IDENTITY SIZES CELLS "param"},
                {SHAPE, BUILDS | UM_MODE(NEVER),
                 .ignored = "kind " SIZES CELLS "param"},
                {SHAPE, BUILDS & ~UM_MODE(WIRE),
                 .ignored = "kind " IDENTITY CELLS "param"},
                {SHAPE, BUILDS & ~UM_MODE(STATIC),
                 .ignored = "kind " IDENTITY SIZES "param"},
                {SHAPE, BUILDS, .ignored = "kind " IDENTITY SIZES CELLS},
                {um_key_options, offsetof(plan_args, keys),
                 .modes = BUILDS | UM_MODE(NEVER)},
                {um_secret_options, offsetof(plan_args, secret),
                 .modes = BUILDS | UM_MODE(NEVER)}},
    .modes = {[SIZE] = {"to plan a size", "--capacity 1000"},
              [STATIC] = {"for static kinds", "--kind ribbon --capacity 1000"},
              [COUNTS] = {"with --counts",
                          "--kind counting --threshold 2 --counts COUNTS"},
              [WIRE] = {"with --wire", "--wire 2000 --capacity 1000"},
              [BOUNDS] = {"with --fp-bound", "--kind generalized --fp-bound "
                                             "0.01 --fn-bound 0.1"},
              [NEVER] = {"with --never", "--members KEYS --never OTHERS"}},
    .mode = choose_mode,
    .run = run,
    .excess = "-n",
    .example = "--capacity 1e6 --fpr 0.1%",
    .details =
        "Give two of capacity, error and size; the third is computed. Without "
        "--fpr the error is 0.1 %. With --members and --never it compares the "
        "ways to keep listed keys from matching, in files of equal size.",
};
