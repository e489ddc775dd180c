/*
 * welcome_edit.c - changes of the welcome file.
 */
#include "clearinghouse/lists/welcome_edit.h"

#include "base/error.h"
#include "filter/save.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* A file that nobody else changes meanwhile. */
typedef struct held_file {
    int fd;
    um_file_text text;
} held_file;

static void release_file(held_file *f)
{
    free(f->text.data);
    close(f->fd);
}

/* Locks the file that has this name; another program may have replaced it
 * meanwhile. */
static umbel_status lock_file(const char *path, int *fd, umbel_error *err)
{
    for (;;) {
        *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (*fd < 0)
            return um_fail_path(err, path);
        if (flock(*fd, LOCK_EX) != 0) {
            close(*fd);
            return um_fail_path(err, path);
        }
        if (um_is_at(*fd, path))
            return UMBEL_OK;
        close(*fd);
    }
}

static umbel_status hold_file(const char *path, held_file *out,
                              umbel_error *err)
{
    UM_TRY(lock_file(path, &out->fd, err));
    umbel_status status = um_file_text_read(&out->text, path, err);
    if (status != UMBEL_OK)
        close(out->fd);
    return status;
}

/* Finds the line of a rule, from number on; false: there is none. */
static bool find_rule(umbel_slice *text, const um_welcome_rule *r,
                      umbel_slice *line, size_t *number)
{
    um_welcome_rule other;
    bool given;

    for (; um_next_line(text, line); ++*number)
        if (um_welcome_rule_read(*line, &other, &given, NULL) == UMBEL_OK &&
            given && um_welcome_rule_equal(&other, r)) {
            ++*number;
            return true;
        }
    return false;
}

/* Refuses what the server would refuse. */
static umbel_status check_text(umbel_slice text, const char *path,
                               umbel_error *err)
{
    um_welcome *w;

    UM_TRY(um_welcome_parse(text, path, NULL, NULL, &w, err));
    um_welcome_close(w);
    return UMBEL_OK;
}

static umbel_status add_to(const held_file *f, const char *path,
                           const um_welcome_rule *r, umbel_error *err)
{
    umbel_slice text = {f->text.data, f->text.len}, line;
    size_t number = 0, room = f->text.len + UM_WELCOME_LINE;
    bool open_line = f->text.len && f->text.data[f->text.len - 1] != '\n';

    if (find_rule(&text, r, &line, &number))
        return um_fail(err, UMBEL_E_REFUSED, "%s:%zu has this rule already",
                       path, number);
    char *fresh = malloc(room);
    if (!fresh)
        return um_no_memory(err, room);
    memcpy(fresh, f->text.data, f->text.len);
    int len = snprintf(fresh + f->text.len, UM_WELCOME_LINE, "%s%s %s\n",
                       open_line ? "\n" : "", um_welcome_type_name(r->type),
                       r->value);
    text = (umbel_slice){fresh, f->text.len + (size_t)len};
    umbel_status status = check_text(text, path, err);
    if (status == UMBEL_OK)
        status = um_save_parts(&text, 1, path, err);
    free(fresh);
    return status;
}

/* Takes out every line with the rule. A mistake elsewhere is named by its line
 * in the file as it is. */
static umbel_status remove_from(held_file *f, const char *path,
                                const um_welcome_rule *r, umbel_error *err)
{
    umbel_slice text = {f->text.data, f->text.len}, line;
    size_t number = 0, removed = 0;

    UM_TRY(check_text(text, path, err));
    while (find_rule(&text, r, &line, &number)) {
        char *to = f->text.data + ((const char *)line.data - f->text.data);
        size_t gone = (size_t)((const char *)text.data - to);
        memmove(to, text.data, text.len);
        f->text.len -= gone;
        text.data = to;
        removed++;
    }
    if (!removed)
        return um_fail(err, UMBEL_E_UNKNOWN,
                       "%s has no rule \"%s %s\"; welcome list prints its "
                       "rules",
                       path, um_welcome_type_name(r->type), r->value);
    text = (umbel_slice){f->text.data, f->text.len};
    return um_save_parts(&text, 1, path, err);
}

umbel_status um_welcome_add(const char *path, const um_welcome_rule *r,
                            umbel_error *err)
{
    held_file f;

    UM_TRY(hold_file(path, &f, err));
    umbel_status status = add_to(&f, path, r, err);
    release_file(&f);
    return status;
}

umbel_status um_welcome_remove(const char *path, const um_welcome_rule *r,
                               umbel_error *err)
{
    held_file f;

    UM_TRY(hold_file(path, &f, err));
    umbel_status status = remove_from(&f, path, r, err);
    release_file(&f);
    return status;
}

umbel_status um_welcome_each(const char *path,
                             void (*each)(void *ctx, const um_welcome_rule *r),
                             void *ctx, umbel_error *err)
{
    um_file_text whole;
    umbel_status status = UMBEL_OK;
    um_welcome_rule r;
    bool given;

    UM_TRY(um_file_text_read(&whole, path, err));
    umbel_slice text = {whole.data, whole.len}, line;
    umbel_error why;
    for (size_t n = 1; um_next_line(&text, &line); n++) {
        status = um_welcome_rule_read(line, &r, &given, &why);
        if (status != UMBEL_OK) {
            um_set_error(err, status, "%s:%zu: %s", path, n, why.text);
            break;
        }
        r.line = n;
        if (given)
            each(ctx, &r);
    }
    free(whole.data);
    return status;
}
