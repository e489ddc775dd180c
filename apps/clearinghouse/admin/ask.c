/*
 * ask.c - the commands' side of the control socket.
 */
#include "clearinghouse/admin/ask.h"

#include "base/error.h"
#include "clearinghouse/admin/control.h"
#include "clearinghouse/admin/requests.h"
#include "net/server/control.h"

#include <stdlib.h>
#include <string.h>

enum { ASK_MS = 30000 };

umbel_status um_load_config(um_config *out, const char *path, umbel_error *err)
{
    return path ? um_config_read(out, path, err) : um_config_default(out, err);
}

/* Passes an answer on, or makes an error of it. */
static umbel_status parse_answer(const char *text, size_t len, FILE *out,
                                 umbel_error *err)
{
    static const char error[] = UM_REPLY_ERROR;
    size_t skip = sizeof error - 1;

    if (len <= skip || memcmp(text, error, skip) != 0)
        return !out || fwrite(text, 1, len, out) == len
                   ? UMBEL_OK
                   : um_fail_errno(err, "writing the answer");
    return um_fail(err, UMBEL_E_REFUSED, "%.*s",
                   (int)strcspn(text + skip, "\n"), text + skip);
}

umbel_status um_ask_server(const um_config *c, const char *line,
                           umbel_slice more, FILE *out, umbel_error *err)
{
    char *path = um_server_control_path(c), *text = NULL;
    size_t len = 0;
    FILE *answer = open_memstream(&text, &len);
    umbel_status status = UMBEL_E_NOMEM;
    umbel_error why = {.text = "no memory"};

    if (path && answer)
        status = um_control_ask(path, line, more, ASK_MS, answer, &why);
    if (answer)
        fclose(answer);
    if (status == UMBEL_OK)
        status = parse_answer(text, len, out, err);
    else
        um_set_error(err, status, "no server answers: %s", why.text);
    free(path);
    free(text);
    return status;
}

umbel_status um_ask(const char *config, const char *line, umbel_slice more,
                    FILE *out, umbel_error *err)
{
    um_config c;

    UM_TRY(um_load_config(&c, config, err));
    umbel_status status = um_ask_server(&c, line, more, out, err);
    um_config_fini(&c);
    return status;
}

umbel_status um_read_mail(const char *path, char *bytes, size_t *len,
                          umbel_error *err)
{
    bool standard = !path || strcmp(path, "-") == 0;
    FILE *in = standard ? stdin : fopen(path, "re");

    if (!in)
        return um_fail_path(err, path);
    *len = fread(bytes, 1, UM_REQUEST_MAIL, in);
    umbel_status status =
        ferror(in) ? um_fail_path(err, path ? path : "-") : UMBEL_OK;
    if (!standard)
        fclose(in);
    if (status == UMBEL_OK && *len == 0)
        return um_fail(err, UMBEL_E_RANGE, "the mail is empty");
    return status;
}
