/*
 * table.c - arbitrary tables of umbel-stopset.
 *
 * A text is rejected, or parsed into a table: written, it reads back as the
 * same table, and the sets built from it contain its members.
 */
#include "fuzz.h"

#include "stopset/sets/build_set.h"
#include "stopset/sets/node_table.h"

#include <stdlib.h>
#include <string.h>

static umbel_status parse_line(void *ctx, const char *line, size_t len,
                               umbel_error *err)
{
    return ss_table_line(ctx, line, len, err);
}

static umbel_status no_trace(void *ctx, const ss_trace *t, umbel_error *err)
{
    return ss_table_learn(ctx, t, err);
}

static umbel_status no_end(void *ctx, umbel_error *err)
{
    (void)ctx, (void)err;
    return UMBEL_OK;
}

static umbel_status read_table(ss_table *t, const void *text, size_t len)
{
    ss_sink sink = {t, no_trace, parse_line, no_end};
    ss_input_counts counts = {0};
    ss_feed *f = ss_feed_open(&sink, &counts);
    umbel_error err;

    ss_table_init(t, (ss_prefix_len){SS_PREFIX4, SS_PREFIX6});
    UM_WANT(f);
    umbel_status status = ss_feed_push(f, text, len, &err);
    if (status == UMBEL_OK)
        status = ss_feed_end(f, &err);
    if (status != UMBEL_OK)
        um_fuzz_check_error(status, &err);
    ss_feed_close(f);
    return status;
}

static char *write_table(const ss_table *t, size_t *len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, len);

    UM_WANT(out && ss_table_write(t, out));
    fclose(out);
    return text;
}

static void check_written(const ss_table *t)
{
    ss_table again;
    size_t len, len_again;
    char *text = write_table(t, &len);

    UM_WANT(read_table(&again, text, len) == UMBEL_OK);
    char *text_again = write_table(&again, &len_again);
    UM_WANT(len == len_again && memcmp(text, text_again, len) == 0);
    free(text);
    free(text_again);
    ss_table_fini(&again);
}

/*
 * Checks that the built sets can be parsed and, unless retouched, lose no
 * member.
 */
static void check_sets(const ss_table *t, ss_key key)
{
    ss_set_info info = {
        .kind = SS_RED, .key = key, .prefix = {t->prefix.v4, t->prefix.v6}};
    ss_build_params p = {.bytes = 4096};
    ss_task task;
    umbel_error err;

    if (ss_task_init(&task, t, &info, 0, &err) == UMBEL_OK &&
        task.nmembers < 64)
        for (size_t form = 0; form < SS_FORMS; form++) {
            char *bytes;
            size_t len;
            ss_build_result made;
            ss_set set;
            if (ss_build_set(&task, (ss_form)form, &p, &bytes, &len, &made,
                             &err))
                continue;
            UM_WANT(made.lost == 0 || form == SS_RETOUCHED);
            UM_WANT(ss_set_parse(&set, bytes, len, &err) == UMBEL_OK);
            UM_WANT(set.info.members == task.nmembers);
            ss_set_fini(&set);
            free(bytes);
        }
    ss_task_fini(&task);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ss_table t;

    if (read_table(&t, data, size) == UMBEL_OK) {
        check_written(&t);
        if (um_fuzz_one_in(16, data, size)) {
            check_sets(&t, SS_HOP);
            check_sets(&t, SS_HOP_PREFIX);
        }
    }
    ss_table_fini(&t);
    return 0;
}
