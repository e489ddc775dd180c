/*
 * doctor.c - tries the addresses of a configuration, finds out why one does not
 * answer, and prints the report.
 */
#include "clearinghouse/admin/doctor.h"

#include "base/decimal.h"
#include "base/error.h"
#include "base/text.h"
#include "clearinghouse/admin/control.h"
#include "clearinghouse/protocols/protocol.h"
#include "clearinghouse/runtime/format.h"
#include "clearinghouse/status/status.h"
#include "cli/framework/report.h"
#include "net/server/socket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

um_finding *um_doctor_add(um_doctor *d, const char *name, const char *address)
{
    um_finding *f = &d->finding[d->n < UM_FINDINGS ? d->n++ : UM_FINDINGS - 1];

    *f = (um_finding){.health = UM_WORKS};
    snprintf(f->name, sizeof f->name, "%s", name);
    snprintf(f->address, sizeof f->address, "%s", address);
    return f;
}

/* --- the server ----------------------------------------------------------- */

/*
 *     listens PROTOCOL ADDRESS
 *     razor-accounts N
 *     uptime SECONDS
 *     silent PROTOCOL             no client has used it since the start
 *     problem LEVEL WHAT <tab> ADVICE
 */
void um_doctor_describe(FILE *out, const um_status *s)
{
    um_problems p;

    for (size_t i = 0; i < s->naddresses; i++)
        fprintf(out, "listens %s %s\n", s->address[i].service->name,
                s->address[i].text);
    fprintf(out, "razor-accounts %zu\nuptime %" PRIu64 "\n", s->razor.accounts,
            s->uptime);
    for (size_t i = 0; i < s->nservices; i++) {
        const um_service *of = s->service[i]->service;
        if ((of->counts_mail || of->relays_mail) &&
            !um_service_client_requests(s->service[i]))
            fprintf(out, "silent %s\n", of->name);
    }
    um_status_problems(s, &p);
    for (size_t i = 0; i < p.n; i++)
        fprintf(out, "problem %s %s\t%s\n", um_level_name(p.item[i].level),
                p.item[i].what, p.item[i].advice);
}

static void parse_address(um_doctor *d, const char *text)
{
    size_t len = strcspn(text, " ");

    if (d->nlistening == UM_MAX_ADDRESSES || !text[len])
        return;
    um_doctor_address *p = &d->listening[d->nlistening++];
    snprintf(p->protocol, sizeof p->protocol, "%.*s", (int)len, text);
    snprintf(p->address, sizeof p->address, "%s", text + len + 1);
}

static void parse_problem(um_doctor *d, const char *control, const char *text)
{
    um_finding *f = um_doctor_add(d, "server", control);
    size_t level = strcspn(text, " ");
    const char *what = text + level + (text[level] == ' ');
    size_t len = strcspn(what, "\t");
    bool failed = strncmp(text, um_level_name(UM_FAILED), level) == 0;

    f->health = failed ? UM_BROKEN : UM_LIMITED;
    UM_SAY(f->text, "%.*s", (int)len, what);
    UM_SAY(f->advice, "%s", what[len] ? what + len + 1 : "");
}

static void parse_lines(um_doctor *d, const char *control, char *text)
{
    static const char listens[] = "listens ", accounts[] = "razor-accounts ",
                      uptime[] = "uptime ", silent[] = "silent ",
                      problem[] = "problem ";
    char *rest = NULL;
    bool well = true;

    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        um_disarm(line + strcspn(line, "\t") + (strchr(line, '\t') != NULL));
        if (strncmp(line, listens, sizeof listens - 1) == 0)
            parse_address(d, line + sizeof listens - 1);
        else if (strncmp(line, accounts, sizeof accounts - 1) == 0)
            um_decimal_parse(line + sizeof accounts - 1, UINT64_MAX,
                             &d->context.razor_accounts);
        else if (strncmp(line, uptime, sizeof uptime - 1) == 0)
            um_decimal_parse(line + sizeof uptime - 1, UINT64_MAX, &d->uptime);
        else if (strncmp(line, silent, sizeof silent - 1) == 0 &&
                 d->nsilent < UM_MAX_SERVICES)
            snprintf(d->silent[d->nsilent++], sizeof d->silent[0], "%s",
                     line + sizeof silent - 1);
        else if (strncmp(line, problem, sizeof problem - 1) == 0) {
            parse_problem(d, control, line + sizeof problem - 1);
            well = false;
        }
    }
    if (well)
        UM_SAY(um_doctor_add(d, "server", control)->text,
               "running, no problems");
}

/* Checks what umbel-clearinghouse --check does, and prints nothing. */
static umbel_status check_all(const um_config *c, umbel_error *err)
{
    FILE *nowhere = fopen("/dev/null", "we");
    umbel_status status = um_protocols_check(c, err);

    if (status == UMBEL_OK && nowhere)
        status = um_protocols_check_files(c, nowhere, err);
    if (nowhere)
        fclose(nowhere);
    return status;
}

/* Reports why the server would not start, or how to start it. */
static void explain_absence(um_doctor *d, const char *control)
{
    um_finding *f = um_doctor_add(d, "server", control);
    umbel_error err;

    f->health = UM_BROKEN;
    if (um_admin_forbids(d->context.config, control, f->advice,
                         sizeof f->advice)) {
        d->server = UM_SERVER_FORBIDDEN;
        UM_SAY(f->text, "this user may not ask it: Permission denied");
        return;
    }
    d->server = UM_SERVER_AWAY;
    umbel_status status = check_all(d->context.config, &err);

    UM_SAY(f->text, "not running%s%s",
           status == UMBEL_OK ? "" : ", and would not start: ",
           status == UMBEL_OK ? "" : err.text);
    UM_SAY(f->advice, "umbel-clearinghouse%s%s%s", d->path ? " --config " : "",
           d->path ? d->path : "", status == UMBEL_OK ? "" : " --check");
}

static void ask_server(um_doctor *d)
{
    char *control = um_admin_path(d->context.config), *text = NULL;
    size_t len = 0;
    FILE *answer = open_memstream(&text, &len);
    umbel_error err = {.text = "no memory"};
    umbel_status status = UMBEL_E_NOMEM;

    if (control && answer)
        status = um_admin_query(d->context.config, "doctor",
                                (umbel_slice){NULL, 0}, answer, &err);
    if (answer)
        fclose(answer);
    if (status == UMBEL_OK)
        parse_lines(d, control, text);
    else
        explain_absence(d, control ? control : "");
    free(control);
    free(text);
}

/* --- an address that does not answer -------------------------------------- */

/* Tries to listen on an address. Returns the errno, or 0 if it worked. A path
 * is not tried, because that would create its file. */
static int try_to_listen(const um_address *at, int type)
{
    int fd;

    if (at->path)
        return access(at->path, W_OK) == 0 ? EADDRINUSE : errno;
    errno = 0;
    if (um_socket_listen(at, type, 0, &fd, NULL) != UMBEL_OK)
        return errno ? errno : EIO;
    close(fd);
    return 0;
}

static void report_other_program(um_finding *f, const um_address *at, int type)
{
    f->health = UM_BROKEN;
    UM_SAY(f->text, "another program has this address");
    if (at->path)
        UM_SAY(f->advice,
               "ss -lpx src %s shows it; end it, or configure "
               "another path",
               at->path);
    else
        UM_SAY(f->advice,
               "ss -lp%sn 'sport = :%u' shows it; end it, or configure another "
               "port",
               type == SOCK_DGRAM ? "u" : "t", um_address_port(at));
}

/* Explains why nothing answers at an address on which the server does not
 * listen, or while it is not running. */
static void explain_silence(const um_doctor *d, const um_address *at, int type,
                            um_finding *f)
{
    int code = try_to_listen(at, type);

    f->health = UM_BROKEN;
    if (code == EADDRINUSE) {
        report_other_program(f, at, type);
    } else if (code == EACCES || code == EPERM) {
        UM_SAY(f->text, "this user may not use the address: %s",
               strerror(code));
        UM_SAY(f->advice, "%s",
               at->path ? "ls -ld shows who may use the path and its "
                          "directories"
                        : "configure a port from 1024 on, or give the server "
                          "the capability CAP_NET_BIND_SERVICE");
    } else if (code == EADDRNOTAVAIL) {
        UM_SAY(f->text, "this machine does not have the address");
        UM_SAY(f->advice, "ip address shows those that it has");
    } else if (d->server == UM_SERVER_AWAY) {
        UM_SAY(f->text, "nothing listens: the server is not running");
        UM_SAY(f->advice, "start the server");
    } else {
        UM_SAY(f->text, "the running server does not listen there: the "
                        "configuration was changed since its start");
        UM_SAY(f->advice, "restart the server");
    }
}

static bool is_permitted(const um_address *at, um_finding *f)
{
    if (!at->path || access(at->path, W_OK) == 0 || errno != EACCES)
        return true;
    f->health = UM_BROKEN;
    UM_SAY(f->text, "this user may not connect: permission denied");
    UM_SAY(f->advice,
           "ls -ld %s and its directories: clients need write permission for "
           "the socket; or run this command as their user",
           at->path);
    return false;
}

static void try_address(um_doctor *d, const um_doctor_row *row,
                        const um_address *at, um_finding *f)
{
    umbel_error err;

    if (!is_permitted(at, f) ||
        row->probe(&d->context, at, f, &err) == UMBEL_OK)
        return;
    f->health = UM_BROKEN;
    um_disarm(err.text);
    UM_SAY(f->text, "%s", err.text);
    if (!f->advice[0])
        UM_SAY(f->advice, "see the log of the server; %s",
               d->path ? "umbel clearinghouse status --config FILE shows its "
                         "state"
                       : "umbel clearinghouse status shows its state");
}

static void try_one(um_doctor *d, const um_doctor_row *row, const char *address)
{
    um_finding *f = um_doctor_add(d, row->name, address);
    um_address at;
    umbel_error err;

    if (um_address_parse(address, &at, &err) != UMBEL_OK) {
        f->health = UM_BROKEN;
        UM_SAY(f->text, "%s", err.text);
        return;
    }
    if (d->server != UM_SERVER_AWAY)
        try_address(d, row, &at, f);
    else
        explain_silence(d, &at, row->type, f);
}

/* --- protocols ------------------------------------------------------------ */

/* Returns the i-th address of a protocol in the running server, or NULL. */
static const char *real_address(const um_doctor *d, const um_protocol *f,
                                size_t i)
{
    for (size_t p = 0; p < d->nlistening; p++)
        if (strcmp(d->listening[p].protocol, f->service.name) == 0 && i-- == 0)
            return d->listening[p].address;
    return NULL;
}

static bool is_real_address(const um_doctor *d, const um_protocol *f,
                            const char *text)
{
    const char *address;

    for (size_t i = 0; (address = real_address(d, f, i)); i++)
        if (strcmp(address, text) == 0)
            return true;
    return false;
}

/* Tries an address of the configuration. Port 0 stands for the port that the
 * server got. */
static void try_listen(um_doctor *d, const um_protocol *f,
                       const um_doctor_row *row, const char *text, size_t i)
{
    um_address at;
    char shown[UM_ADDRESS_TEXT];
    const char *real = text;

    if (um_address_parse(text, &at, NULL) != UMBEL_OK) {
        try_one(d, row, text); /* which reports why */
        return;
    }
    if (!at.path && um_address_port(&at) == 0 && real_address(d, f, i))
        real = real_address(d, f, i);
    else
        real = um_address_print(&at, shown);
    if (d->server == UM_SERVER_ANSWERS && !is_real_address(d, f, real))
        explain_silence(d, &at, row->type, um_doctor_add(d, row->name, real));
    else
        try_one(d, row, real);
}

/* Tries a protocol whose single address has a form of its own. */
static void try_configured(um_doctor *d, const um_doctor_row *row)
{
    char address[UM_ADDRESS_TEXT];
    const char *configured;
    umbel_error err;
    umbel_status status =
        row->address(d->context.config, &configured, address, &err);

    if (!configured)
        return;
    if (status == UMBEL_OK) {
        try_one(d, row, address);
        return;
    }
    um_finding *f = um_doctor_add(d, row->name, configured);
    f->health = UM_LIMITED;
    UM_SAY(f->text, "not tried: %s", err.text);
    UM_SAY(f->advice, "give the address as a number, not as a name");
}

/* Adds to the findings of a protocol that no client has used it. */
static void note_silence(um_doctor *d, const um_protocol *f, size_t first)
{
    for (size_t i = 0; i < d->nsilent; i++) {
        if (strcmp(d->silent[i], f->service.name) != 0)
            continue;
        for (size_t j = first; j < d->n; j++) {
            char *text = d->finding[j].text;
            size_t len = strlen(text);
            if (d->finding[j].health != UM_BROKEN)
                snprintf(text + len, UM_FINDING_TEXT - len,
                         "; no client has used %s since the start, %s ago",
                         f->service.name, um_format_about(d->uptime).text);
        }
    }
}

static void try_protocol(um_doctor *d, size_t number)
{
    const um_protocol *f = um_protocols[number];
    const char *settings = d->context.config->section[number];
    size_t before = 0; /* addresses of the rows above */
    size_t first = d->n;

    for (const um_doctor_row *row = f->doctor; row && row->name; row++) {
        if (row->address) {
            try_configured(d, row);
            continue;
        }
        const um_texts *listen = (const void *)(settings + row->listen);
        for (size_t i = 0; i < listen->n; i++)
            try_listen(d, f, row, listen->item[i], before + i);
        before += listen->n;
    }
    note_silence(d, f, first);
}

void um_doctor_run(um_doctor *d, const um_config *c, const char *path)
{
    *d = (um_doctor){.context = {.config = c}, .path = path};
    ask_server(d);
    d->context.server_answers = d->server == UM_SERVER_ANSWERS;
    for (size_t i = 0; um_protocols[i]; i++)
        try_protocol(d, i);
    if (d->server == UM_SERVER_ANSWERS)
        um_admin_query(c, "doctor end", (umbel_slice){NULL, 0}, NULL, NULL);
}

bool um_doctor_is_well(const um_doctor *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->finding[i].health == UM_BROKEN)
            return false;
    return true;
}

/* --- the report ----------------------------------------------------------- */

static const char *const health_name[] = {
    [UM_WORKS] = "works", [UM_LIMITED] = "limited", [UM_BROKEN] = "broken"};

static size_t count_findings(const um_doctor *d, um_health health)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++)
        n += d->finding[i].health == health;
    return n;
}

/* Finds the widths of the name and address columns. */
static void measure_columns(const um_doctor *d, int *name, int *address)
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

    measure_columns(d, &name, &address);
    for (size_t i = 0; i < d->n; i++) {
        const um_finding *f = &d->finding[i];
        fprintf(out, "%-7s  %-*s  %-*s  %s%s%s\n", health_name[f->health], name,
                f->name, address, f->address, f->text,
                f->advice[0] ? "; do: " : "", f->advice);
    }
    fprintf(out,
            "%zu work, %zu limited, %zu broken. Nothing was counted: the "
            "look-ups do not count, and the only report was of the empty "
            "text\n",
            count_findings(d, UM_WORKS), count_findings(d, UM_LIMITED),
            count_findings(d, UM_BROKEN));
}

void um_doctor_print_json(FILE *out, const um_doctor *d)
{
    fprintf(out, "{\"well\": %s, \"findings\": [",
            um_doctor_is_well(d) ? "true" : "false");
    for (size_t i = 0; i < d->n; i++) {
        const um_finding *f = &d->finding[i];
        fprintf(out, "%s\n  {\"state\": \"%s\", ", i ? "," : "",
                health_name[f->health]);
        um_json_field(out, 0, "protocol", f->name);
        fputs(", ", out);
        um_json_field(out, 0, "address", f->address);
        fputs(", ", out);
        um_json_field(out, 0, "text", f->text);
        fputs(", ", out);
        if (f->advice[0])
            um_json_field(out, 0, "advice", f->advice);
        else
            fputs("\"advice\": null", out);
        putc('}', out);
    }
    fputs("\n]}\n", out);
}
