/*
 * house_control.c - one line in, one document out.
 */
#include "clearinghouse/house_control.h"

#include "base/error.h"
#include "net/control.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line and the document that answers it. */
static const struct {
    const char *line;
    void (*print)(FILE *out, const um_status *s);
} rows[] = {
    {"status", um_status_print_text},
    {"status --json", um_status_print_json},
    {"metrics", um_status_print_metrics},
};

struct um_house_control {
    um_control *control;
    char *path;
};

void um_house_control_answer(const um_house *h, const char *line, FILE *out)
{
    um_status s;

    for (size_t i = 0; i < UM_COUNT(rows); i++)
        if (strcmp(rows[i].line, line) == 0) {
            um_house_status(h, &s);
            rows[i].print(out, &s);
            return;
        }
    fputs("not known; known are:", out);
    for (size_t i = 0; i < UM_COUNT(rows); i++)
        fprintf(out, "%s %s", i ? "," : "", rows[i].line);
    putc('\n', out);
}

static void answer(void *ctx, const char *line, FILE *out)
{
    um_house_control_answer(ctx, line, out);
}

char *um_house_control_path(const um_config *c)
{
    const char *path = c->control ? c->control : c->data;
    char here[PATH_MAX] = "";

    if (path[0] != '/' && !getcwd(here, sizeof here))
        return NULL;
    size_t len = strlen(here) + strlen(path) + sizeof "//control";
    char *whole = malloc(len);
    if (whole)
        snprintf(whole, len, "%s%s%s%s", here, here[0] ? "/" : "", path,
                 c->control ? "" : "/control");
    return whole;
}

umbel_status um_house_control_open(um_house *h, um_house_control **out,
                                   umbel_error *err)
{
    um_house_control *c = calloc(1, sizeof *c);

    if (!c)
        return um_no_memory(err, sizeof *c);
    *out = c; /* closed with the house */
    c->path = um_house_control_path(&h->config);
    if (!c->path)
        return um_no_memory(err, 1);
    return um_control_open(
        h->loop,
        &(um_control_config){
            .path = c->path, .fd = -1, .answer = answer, .ctx = h},
        &c->control, err);
}

void um_house_control_close(um_house_control *c)
{
    if (!c)
        return;
    um_control_close(c->control);
    free(c->path);
    free(c);
}
