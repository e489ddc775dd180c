/*
 * status_json.c - /status.json and /health.
 */
#include "clearinghouse/status.h"

#include <inttypes.h>
#include <string.h>

static void put_string(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        if ((unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", (unsigned)*text);
        else
            putc(*text, out);
    }
    putc('"', out);
}

/* A name that is not the first is behind a comma. */
static void put_name(FILE *out, size_t i, const char *name)
{
    fputs(i ? ",\n    " : "\n    ", out);
    put_string(out, name);
    fputs(": ", out);
}

static void put_front(FILE *out, const um_front_stats *f)
{
    fprintf(out,
            "{\"requests\": %" PRIu64 ", \"hits\": %" PRIu64
            ", \"refused\": %" PRIu64 "}",
            um_front_requests(f), f->hits, um_front_refused(f));
}

static void put_list(FILE *out, const um_list_stats *l)
{
    fprintf(out,
            "{\"digests\": %" PRIu64 ", \"fill\": %.6g, \"error\": %.6g, "
            "\"max_error\": %.6g, \"bytes\": %" PRIu64
            ", \"epochs\": %u, \"since\": %" PRIu64 ", \"kind\": ",
            l->digests, l->fill, l->error, l->max_error, l->bytes, l->n,
            l->n ? l->epoch[l->n - 1].begin : 0);
    put_string(out, l->kind);
    putc('}', out);
}

static void put_store(FILE *out, const um_store_stats *s)
{
    fprintf(out,
            "{\"journal_bytes\": %" PRIu64 ", \"snapshot_bytes\": %" PRIu64
            ", \"snapshot_time\": %" PRIu64 ", \"snapshots\": %" PRIu64
            ", \"recent_bytes\": %" PRIu64 ", \"durability\": ",
            s->journal_bytes, s->snapshot_bytes, s->snapshot_time, s->snapshots,
            s->recent_bytes);
    put_string(out, um_durability_name(s->durability));
    fprintf(out,
            ", \"failed\": %s, \"failure\": ", s->failed ? "true" : "false");
    if (s->failed)
        put_string(out, s->failed);
    else
        fputs("null", out);
    putc('}', out);
}

void um_status_print_json(FILE *out, const um_status *s)
{
    fprintf(out, "{\n  \"uptime\": %" PRIu64 ",\n  \"fronts\": {", s->uptime);
    for (size_t i = 0; i < s->nfronts; i++) {
        put_name(out, i, s->front[i]->front->name);
        put_front(out, s->front[i]);
    }
    fputs("\n  },\n  \"lists\": {", out);
    for (size_t i = 0; i < s->nlists; i++) {
        put_name(out, i, s->list[i].name);
        put_list(out, &s->list[i]);
    }
    fputs("\n  },\n  \"store\": ", out);
    put_store(out, &s->store);
    fprintf(out,
            ",\n  \"memory\": {\"bytes\": %" PRIu64 ", \"limit\": %" PRIu64
            "},\n  \"version\": ",
            s->memory, s->memory_limit);
    put_string(out, umbel_version());
    fputs("\n}\n", out);
}

unsigned um_status_health(const um_status *s)
{
    return s->store.failed ? 503 : 200;
}

void um_status_print_health(FILE *out, const um_status *s)
{
    fputs(s->store.failed
              ? "failed: the disk cannot be written, reports are refused\n"
              : "ok\n",
          out);
}
