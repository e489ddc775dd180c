/*
 * umb.c - the rows of the commands UMB.*.
 */
#include "module/umb/umb.h"

#define KEY UM_ARG_THE_KEY
#define TEXT(n)                                                                \
    {                                                                          \
        .name = (n), .type = UM_ARG_STRING                                     \
    }
#define WHOLE(n)                                                               \
    {                                                                          \
        .name = (n), .type = UM_ARG_INTEGER                                    \
    }
#define OPTION(n, t, word)                                                     \
    {                                                                          \
        .name = (n), .type = (t), .token = (word), .flags = UM_ARG_OPTIONAL    \
    }
#define WORD(n, word)                                                          \
    {                                                                          \
        .name = (n), .type = UM_ARG_TOKEN, .token = (word),                    \
        .flags = UM_ARG_OPTIONAL                                               \
    }
#define END                                                                    \
    {                                                                          \
        0                                                                      \
    }

static const um_arg key[] = {KEY, END};
static const um_arg item[] = {KEY, TEXT("item"), END};
static const um_arg items[] = {
    KEY,
    {.name = "item", .type = UM_ARG_STRING, .flags = UM_ARG_MULTIPLE},
    END};
static const um_arg pair[] = {TEXT("item"), WHOLE("increment"), END};
static const um_arg pairs[] = {KEY,
                               {.name = "data",
                                .type = UM_ARG_BLOCK,
                                .flags = UM_ARG_MULTIPLE,
                                .subargs = pair},
                               END};
static const um_arg setting[] = {TEXT("name"), WHOLE("value"), END};
static const um_arg reserve[] = {
    KEY,
    OPTION("kind", UM_ARG_STRING, NULL),
    OPTION("keys", UM_ARG_INTEGER, "CAPACITY"),
    OPTION("rate", UM_ARG_DOUBLE, "FPR"),
    OPTION("bits", UM_ARG_INTEGER, "BITS"),
    OPTION("hashes", UM_ARG_INTEGER, "HASHES"),
    OPTION("addressing", UM_ARG_STRING, "ADDRESSING"),
    OPTION("hash", UM_ARG_STRING, "HASH"),
    OPTION("seed", UM_ARG_STRING, "SEED"),
    WORD("keyed", "KEYED"),
    WORD("exact-size", "EXACT-SIZE"),
    {.name = "setting",
     .type = UM_ARG_BLOCK,
     .flags = UM_ARG_OPTIONAL | UM_ARG_MULTIPLE,
     .subargs = setting},
    END};
static const um_arg merge[] = {{.name = "destination", .type = UM_ARG_KEY},
                               WHOLE("numkeys"),
                               {.name = "source",
                                .type = UM_ARG_KEY,
                                .key_spec_index = 1,
                                .flags = UM_ARG_MULTIPLE},
                               OPTION("operation", UM_ARG_STRING, "OP"),
                               OPTION("rate", UM_ARG_DOUBLE, "MAXERROR"),
                               END};
static const um_arg estimate[] = {KEY,
                                  {.name = "other",
                                   .type = UM_ARG_KEY,
                                   .key_spec_index = 0,
                                   .flags = UM_ARG_OPTIONAL},
                                  END};
static const um_arg info[] = {KEY, WORD("full", "FULL"), END};
static const um_arg fold[] = {KEY, OPTION("by", UM_ARG_INTEGER, NULL),
                              OPTION("rate", UM_ARG_DOUBLE, "FPR"), END};
static const um_arg retouch[] = {KEY,
                                 {.name = "members",
                                  .type = UM_ARG_KEY,
                                  .key_spec_index = 1,
                                  .token = "MEMBERS"},
                                 {.name = "never",
                                  .type = UM_ARG_KEY,
                                  .key_spec_index = 2,
                                  .token = "NEVER"},
                                 OPTION("share", UM_ARG_DOUBLE, "MAXFN"),
                                 END};
static const um_arg export[] = {KEY, OPTION("offset", UM_ARG_INTEGER, NULL),
                                END};
static const um_arg import[] = {KEY,
                                WHOLE("offset"),
                                WHOLE("total"),
                                TEXT("bytes"),
                                OPTION("bytes", UM_ARG_INTEGER, "MAXBYTES"),
                                OPTION("rate", UM_ARG_DOUBLE, "MAXERROR"),
                                END};

/* Key specs of commands whose keys are neither first nor counted. */
static const um_key_spec estimate_keys[] = {
    {.flags = UM_SPEC_RO | UM_SPEC_ACCESS,
     .begin_search = UM_BEGIN_INDEX,
     .begin.index.pos = 1,
     .find_keys = UM_FIND_RANGE,
     .find.range = {-1, 1, 0}},
    END};
#define SET_AT(position)                                                       \
    {                                                                          \
        .flags = UM_SPEC_RO | UM_SPEC_ACCESS, .begin_search = UM_BEGIN_INDEX,  \
        .begin.index.pos = (position), .find_keys = UM_FIND_RANGE,             \
        .find.range = {                                                        \
            0,                                                                 \
            1,                                                                 \
            0                                                                  \
        }                                                                      \
    }
const um_key_spec um_keys_retouch[] = {
    {.flags = UM_SPEC_RW | UM_SPEC_ACCESS | UM_SPEC_UPDATE,
     .begin_search = UM_BEGIN_INDEX,
     .begin.index.pos = 1,
     .find_keys = UM_FIND_RANGE,
     .find.range = {0, 1, 0}},
    SET_AT(3),
    SET_AT(5),
    END};

#define WRITES "write deny-oom"
#define READS "readonly"

const um_module_command um_module_umb[] = {
    {"umb.reserve", um_umb_reserve, -2, WRITES, um_keys_create,
     "Creates an empty filter.", "O(M) for a filter of M bytes", reserve},
    {"umb.add", um_umb_add, -3, WRITES " fast", um_keys_change,
     "Adds an item; replies 1 if it was certainly new.", "O(1)", item},
    {"umb.madd", um_umb_madd, -3, WRITES " fast", um_keys_change,
     "Adds several items.", "O(N) for N items", items},
    {"umb.check", um_umb_check, -3, READS " fast", um_keys_read,
     "Replies 1 if the item matches: it was added, or is a false positive.",
     "O(1)", item},
    {"umb.mcheck", um_umb_mcheck, -3, READS " fast", um_keys_read,
     "Checks several items.", "O(N) for N items", items},
    {"umb.count", um_umb_count, -3, READS " fast", um_keys_read,
     "Replies how often the item was added, or more.", "O(1)", item},
    {"umb.mcount", um_umb_mcount, -3, READS " fast", um_keys_read,
     "Counts several items.", "O(N) for N items", items},
    {"umb.incrby", um_umb_incrby, -4, WRITES " fast", um_keys_change,
     "Adds items several times; replies with their counts.", "O(N) for N items",
     pairs},
    {"umb.remove", um_umb_remove, -3, "write fast", um_keys_change,
     "Removes each item once, or none of them.", "O(N) for N items", items},
    {"umb.clear", um_umb_clear, 2, WRITES, um_keys_change, "Removes all items.",
     "O(M) for a filter of M bytes, in a thread", key},
    {"umb.turn", um_umb_rotate, 2, WRITES, um_keys_change,
     "Forgets the older generation of an aging filter.",
     "O(M) for a filter of M bytes, in a thread", key},
    {"umb.info", um_umb_info, -2, READS, um_keys_read,
     "Describes a filter; FULL reads its cells.",
     "O(1); FULL: O(M) for a filter of M bytes, in a thread", info},
    {"umb.merge", um_umb_merge, -4, WRITES " getkeys-api", um_keys_merge,
     "Merges filters into one; replies with its error.",
     "O(N*M) for N filters of M bytes, in a thread", merge},
    {"umb.estimate", um_umb_estimate, -2, READS, estimate_keys,
     "Estimates the items of a filter, or of two.",
     "O(M) for a filter of M bytes, in a thread", estimate},
    {"umb.fold", um_umb_fold, -3, "write", um_keys_change,
     "Makes a filter smaller; replies with its error.",
     "O(M) for a filter of M bytes, in a thread", fold},
    {"umb.retouch", um_umb_retouch, -6, WRITES " getkeys-api", um_keys_retouch,
     "Clears bits so that items of a set no longer match.",
     "O(N) for N items of both sets; the search in a thread", retouch},
    {"umb.export", um_umb_export, -2, READS, um_keys_read,
     "Replies with a piece of the filter's file.",
     "O(1) a piece; the first: O(M) for a filter of M bytes, in a thread",
     export},
    {"umb.import", um_umb_import, -3, WRITES, um_keys_create,
     "Takes a piece of a filter's file.",
     "O(1) a piece; the last: O(M) for a filter of M bytes, in a thread",
     import},
    END};
