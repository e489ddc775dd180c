/*
 * client.c - the commands' side of the control socket.
 */
#include "clearinghouse/admin/internal.h"

#include "base/error.h"
#include "net/server/control_socket.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_MS = 30000, NGROUPS = 256, ADVICE = 256 };

umbel_status um_load_config(um_config *out, const char *path, umbel_error *err)
{
    return path ? um_config_read(out, path, err) : um_config_default(out, err);
}

char *um_admin_path(const um_config *c)
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

umbel_status um_admin_check(const um_config *c, umbel_error *err)
{
    if (!c->control_group)
        return UMBEL_OK;
    if (!c->control)
        return um_fail(err, UMBEL_E_RANGE,
                       "control_group: other users cannot enter the data "
                       "directory %s; set control to a socket elsewhere, such "
                       "as \"/run/umbel-clearinghouse/control\"",
                       c->data);
    if (!getgrnam(c->control_group))
        return um_fail(err, UMBEL_E_RANGE,
                       "control_group: there is no group \"%s\" on this "
                       "machine; getent group lists them",
                       c->control_group);
    return UMBEL_OK;
}

/* Returns true if this process has the rights of a group. */
static bool is_member(gid_t group)
{
    gid_t groups[NGROUPS];
    int n = getgroups(NGROUPS, groups);
    bool found = getegid() == group;

    for (int i = 0; i < n; i++)
        found |= groups[i] == group;
    return found;
}

bool um_admin_forbids(const um_config *c, const char *path, char *advice,
                      size_t cap)
{
    const struct group *g =
        c->control_group ? getgrnam(c->control_group) : NULL;

    if (access(path, W_OK) == 0 || errno != EACCES)
        return false;
    if (!c->control_group)
        snprintf(advice, cap,
                 "run this as the server's user or root; with control_group, "
                 "members of a group may report");
    else if (g && is_member(g->gr_gid))
        snprintf(advice, cap,
                 "this user is in the group %s, so a directory above the "
                 "socket keeps it out: namei -l PATH shows which one",
                 c->control_group);
    else
        snprintf(advice, cap,
                 "join the group %s (usermod -aG %s USER, then log in again), "
                 "or run this as the server's user or root",
                 c->control_group, c->control_group);
    return true;
}

/* Copies a reply to out, or turns it into an error. */
static umbel_status parse_reply(const char *text, size_t len, FILE *out,
                                umbel_error *err)
{
    static const char error[] = UM_REPLY_ERROR;
    size_t skip = sizeof error - 1;

    if (len <= skip || memcmp(text, error, skip) != 0)
        return !out || fwrite(text, 1, len, out) == len
                   ? UMBEL_OK
                   : um_fail_errno(err, "writing the reply");
    return um_fail(err, UMBEL_E_REFUSED, "%.*s",
                   (int)strcspn(text + skip, "\n"), text + skip);
}

umbel_status um_admin_query(const um_config *c, const char *line,
                            umbel_slice bytes, FILE *out, umbel_error *err)
{
    char *path = um_admin_path(c), *text = NULL;
    size_t len = 0;
    FILE *reply = open_memstream(&text, &len);
    umbel_status status = UMBEL_E_NOMEM;
    umbel_error why = {.text = "no memory"};
    char advice[ADVICE];

    if (path && reply)
        status = um_control_query(path, line, bytes, TIMEOUT_MS, reply, &why);
    if (reply)
        fclose(reply);
    if (status == UMBEL_OK)
        status = parse_reply(text, len, out, err);
    else if (path && um_admin_forbids(c, path, advice, sizeof advice))
        um_set_error(err, UMBEL_E_REFUSED, "%s: Permission denied; %s", path,
                     advice);
    else
        um_set_error(err, status, "no server answers: %s", why.text);
    free(path);
    free(text);
    return status;
}
