/*
 * doctor_print.c - the table of the doctor, and its JSON.
 */
#include "clearinghouse/admin/doctor.h"

#include "cli/framework/report.h"

#include <string.h>

static const char *const words[] = {
    [UM_WORKS] = "works", [UM_LIMITED] = "limited", [UM_BROKEN] = "broken"};

static size_t count_of(const um_doctor *d, um_health health)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++)
        n += d->finding[i].health == health;
    return n;
}

/* The longest name and address, for columns. */
static void measure(const um_doctor *d, int *name, int *address)
{
    *name = *address = 0;
    for (size_t i = 0; i < d->n; i++) {
        int n = (int)strlen(d->finding[i].name);
        int a = (int)strlen(d->finding[i].address);
        *name = n > *name ? n : *name;
        *address = a > *address ? a : *address;
    }
}

void um_doctor_print_text(FILE *out, const um_doctor *d)
{
    int name, address;

    measure(d, &name, &address);
    for (size_t i = 0; i < d->n; i++) {
        const um_finding *f = &d->finding[i];
        fprintf(out, "%-7s  %-*s  %-*s  %s%s%s\n", words[f->health], name,
                f->name, address, f->address, f->text,
                f->advice[0] ? "; do: " : "", f->advice);
    }
    fprintf(out,
            "%zu work, %zu limited, %zu broken. Nothing was counted: the "
            "look-ups do not count, and the only report was of the empty "
            "text\n",
            count_of(d, UM_WORKS), count_of(d, UM_LIMITED),
            count_of(d, UM_BROKEN));
}

static void write_field(FILE *out, const char *name, const char *text)
{
    fprintf(out, "\"%s\": ", name);
    um_print_json_string(out, text, strlen(text));
}

void um_doctor_print_json(FILE *out, const um_doctor *d)
{
    fprintf(out, "{\"well\": %s, \"findings\": [",
            um_doctor_is_well(d) ? "true" : "false");
    for (size_t i = 0; i < d->n; i++) {
        const um_finding *f = &d->finding[i];
        fprintf(out, "%s\n  {\"state\": \"%s\", ", i ? "," : "",
                words[f->health]);
        write_field(out, "front", f->name);
        fputs(", ", out);
        write_field(out, "address", f->address);
        fputs(", ", out);
        write_field(out, "text", f->text);
        fputs(", ", out);
        if (f->advice[0])
            write_field(out, "advice", f->advice);
        else
            fputs("\"advice\": null", out);
        putc('}', out);
    }
    fputs("\n]}\n", out);
}
