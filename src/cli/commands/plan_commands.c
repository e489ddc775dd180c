/*
 * plan_commands.c - umbel plan --never: the command that builds each way.
 */
#include "base/error.h"
#include "cli/commands/plan.h"

#include <inttypes.h>
#include <string.h>

/* A command in the making. */
typedef struct typing {
    FILE *out;
    const um_args *args;
    const plan_args *a;
    const umbel_strategy *way;
    uint64_t bytes; /* that no way exceeds */
} typing;

static void write_files(const typing *t, const char *prefix, um_list files)
{
    for (size_t i = 0; i < files.n; i++) {
        fprintf(t->out, " %s", prefix);
        um_print_quoted(t->out, files.item[i]);
    }
}

static void write_text(const typing *t, const char *option, const char *value)
{
    if (!value)
        return;
    fprintf(t->out, " --%s ", option);
    um_print_quoted(t->out, value);
}

static void write_input(const typing *t)
{
    um_print_given(t->out, t->args, um_key_options, NULL);
    um_print_given(t->out, t->args, um_secret_options, NULL);
}

static void write_never(const typing *t)
{
    write_files(t, "--never ", t->a->never);
    if (t->a->weights)
        fputs(" --weights", t->out);
}

static void write_hash(const typing *t)
{
    write_text(t, "hash", t->a->shape.hash);
    if (t->a->shape.seed.given)
        fprintf(t->out, " --seed %" PRIu64, t->a->shape.seed.n);
}

static void write_shape(const typing *t, uint64_t cells, uint32_t hashes)
{
    write_text(t, "addressing",
               t->way->addressing ? t->way->addressing
                                  : t->a->shape.addressing);
    write_hash(t);
    fprintf(t->out, " --bits %" PRIu64 " --hashes %" PRIu32, cells, hashes);
}

/* The members alone, where a delimiter means nothing without a field. */
static void write_members(const typing *t)
{
    write_files(t, "", t->a->members);
    um_print_given(t->out, t->args, um_key_options,
                   t->a->keys.field.given ? NULL : "delimiter");
    um_print_given(t->out, t->args, um_secret_options, NULL);
}

static void write_plain(const typing *t)
{
    fputs("umbel build", t->out);
    write_members(t);
    write_shape(t, t->way->cells, t->way->hashes);
    fputs(" -q -o FILE", t->out);
}

static void write_retouch(const typing *t)
{
    write_plain(t);
    fputs(" && umbel retouch FILE", t->out);
    write_files(t, "--members ", t->a->members);
    write_never(t);
    write_input(t);
    fputs(" -o FILE", t->out);
}

static void write_groups(const typing *t)
{
    fputs("umbel build", t->out);
    write_files(t, "", t->a->members);
    write_never(t);
    write_input(t);
    fputs(" --groups 2", t->out);
    write_shape(t, t->way->cells, t->way->hashes);
    fputs(" -o FILE", t->out);
}

static bool has_weights(const plan_args *a)
{
    for (size_t i = 0; i < a->never.n; i++) {
        size_t len = strlen(a->never.item[i]);
        if (len > 4 && strcmp(a->never.item[i] + len - 4, ".tsv") == 0)
            return true;
    }
    return a->weights;
}

/* 'check' prints whole lines: the weight is still behind the key. */
static void write_listed(const typing *t)
{
    write_input(t);
    if (has_weights(t->a) && !t->a->keys.field.given)
        fputs(" --field 1", t->out);
}

/* The heaviest lines that match, those of the same weight in their order. */
static void write_heaviest(const typing *t)
{
    if (!t->way->second_lines)
        return;
    if (has_weights(t->a)) {
        const char *delimiter = t->a->keys.delimiter;
        char fields[8] = "\\t";
        if (delimiter && strcmp(delimiter, "^") == 0) /* no class of its own */
            strcpy(fields, "\\\\^");
        else if (delimiter && strcmp(delimiter, "\\") == 0)
            strcpy(fields, "\\\\\\\\");
        else if (delimiter && delimiter[1] == '\0') /* no blank, no pattern */
            snprintf(fields, sizeof fields, "[%s]", delimiter);
        fputs(" | awk -F ", t->out);
        um_print_quoted(t->out, fields);
        fputs(" '{ print $NF \"\\t\" $0 }' | LC_ALL=C sort -s -k 1,1gr | cut "
              "-f 2-",
              t->out);
    }
    fprintf(t->out, " | head -n %" PRIu64, t->way->second_lines);
}

static void write_exceptions(const typing *t)
{
    write_plain(t);
    fputs(" && umbel check FILE", t->out);
    write_files(t, "-f ", t->a->never);
    write_listed(t);
    write_heaviest(t);
    fputs(" > REVOKED.keys; umbel build REVOKED.keys", t->out);
    write_listed(t);
    write_shape(t, t->way->second_cells, t->way->second_hashes);
    fprintf(t->out,
            " -n %" PRIu64 " -o REVOKED; umbel check FILE --unless REVOKED",
            t->way->second_keys ? t->way->second_keys : 1);
}

static void write_ribbon(const typing *t)
{
    fputs("umbel build", t->out);
    write_files(t, "", t->a->members);
    fputs(" --kind ribbon", t->out);
    write_never(t);
    write_input(t);
    write_hash(t);
    fprintf(t->out, " --bytes %" PRIu64 " -o FILE", t->bytes);
}

static void write_plain_ribbon(const typing *t)
{
    fputs("umbel build", t->out);
    write_members(t);
    fputs(" --kind ribbon", t->out);
    write_hash(t);
    fprintf(t->out, " --bytes %" PRIu64 " -o FILE", t->bytes);
}

void um_print_strategy(FILE *out, const um_args *args,
                       const umbel_strategy *way, uint64_t bytes)
{
    static const struct {
        const char *name;
        void (*put)(const typing *t);
    } rows[] = {{"retouch", write_retouch},
                {"retouch-classic", write_retouch},
                {"groups", write_groups},
                {"groups-classic", write_groups},
                {"anti-filter", write_exceptions},
                {"anti-filter-classic", write_exceptions},
                {"ribbon", write_ribbon},
                {"ribbon-plain", write_plain_ribbon}};
    const typing t = {out, args, args->values, way, bytes};

    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (strcmp(rows[i].name, way->name) == 0)
            rows[i].put(&t);
}
