/*
 * editions.c - loads new editions of filters in a thread of its own.
 *
 * The thread waits for changes of the directories (inotify), and also looks at
 * every file once in a while, for file systems and links that report none. A
 * new edition is read, checked with its checksum, and passed to the event loop,
 * which only exchanges a pointer. An edition that cannot be used is reported
 * once, and the last one stays.
 *
 * Editions are copied into memory instead of being mapped. A mapped file that
 * somebody truncates in place would take the pages of the edition in use with
 * it, so that neither the process nor the old edition could survive; and a page
 * that the kernel has to read again from the disk would stop all clients. So
 * whatever happens to a file, its last valid edition is served.
 *
 * The thread has the lowest priority, because it competes with answers for the
 * processor and nobody waits for it.
 */
#include "serve/internal.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/commands/files.h"
#include "sync/directory.h"

#include <umbel/describe.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__GNUC__) && !defined(__clang__)
/* gcc's analyzer loses track of paths in an array that grows. */
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

enum {
    DEFAULT_SWEEP_MS = 5000,
    MAX_FILTERS = 65536,
    CHANGES = IN_MOVED_TO | IN_MOVED_FROM | IN_CLOSE_WRITE | IN_CREATE |
              IN_DELETE | IN_ATTRIB
};

static const char suffix[] = ".umb";

/* What distinguishes a file from the one that had its name before. */
typedef struct identity {
    dev_t device;
    ino_t inode;
    off_t len;
    struct timespec modified, changed;
} identity;

/* A file that is served. */
typedef struct slot {
    char *path, *name;
    const char *base; /* the last part of path */
    size_t directory;
    bool tried, gone, troubled, served; /* troubled: the last try failed */
    identity last;                      /* what was there at the last try */
    umbel_key_form form;                /* of the editions, if served */
} slot;

/* A directory of such files. */
typedef struct directory {
    char *path;
    bool whole; /* every *.umb in it is served */
    int watch;  /* inotify's number; -1: none */
} directory;

/* A list of filters to free. */
typedef struct retired {
    struct retired *next;
    umbel_filter *filter;
} retired;

struct um_editions {
    um_editions_config config;
    slot **slot; /* pointers: names are used by others */
    size_t nslots, slots_cap;
    directory *directory;
    size_t ndirectories, directories_cap;
    int changes;    /* inotify */
    int news, wake; /* eventfds: for the loop, for the thread */
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; /* of what follows */
    um_edition_news *first, **last;
    retired *old;
    bool sweep, stop;
};

/* --- news ----------------------------------------------------------------- */

static void signal_event(int fd)
{
    uint64_t one = 1;
    ssize_t ignored = write(fd, &one, sizeof one); /* cannot be full */

    (void)ignored;
}

static void clear_event(int fd)
{
    uint64_t n;
    ssize_t ignored = read(fd, &n, sizeof n);

    (void)ignored;
}

void um_edition_news_free(um_edition_news *e)
{
    if (!e)
        return;
    umbel_close(e->filter);
    free(e->problem);
    free(e);
}

/* Passes news on; consumes f. Without memory they are dropped, and the file is
 * tried again. */
static void report(um_editions *e, slot *s, umbel_filter *f,
                   const char *problem, bool refused)
{
    um_edition_news *news = calloc(1, sizeof *news);
    char *copy = problem ? strdup(problem) : NULL;

    if (!news || (problem && !copy)) {
        free(news);
        free(copy);
        umbel_close(f);
        s->tried = false;
        return;
    }
    *news = (um_edition_news){
        .name = s->name, .filter = f, .problem = copy, .refused = refused};
    if (e->config.log)
        e->config.log(e->config.ctx, news);
    pthread_mutex_lock(&e->lock);
    *e->last = news;
    e->last = &news->next;
    pthread_mutex_unlock(&e->lock);
    signal_event(e->news);
}

um_edition_news *um_editions_take(um_editions *e)
{
    um_edition_news *first;

    clear_event(e->news);
    pthread_mutex_lock(&e->lock);
    first = e->first;
    e->first = NULL;
    e->last = &e->first;
    pthread_mutex_unlock(&e->lock);
    return first;
}

bool um_editions_single(const um_editions *e)
{
    return e->nslots == 1 && !e->directory[0].whole;
}

int um_editions_fd(const um_editions *e)
{
    return e->news;
}

void um_editions_retire(um_editions *e, umbel_filter *f)
{
    retired *r = f ? malloc(sizeof *r) : NULL;

    if (!r) {
        umbel_close(f);
        return;
    }
    pthread_mutex_lock(&e->lock);
    *r = (retired){.next = e->old, .filter = f};
    e->old = r;
    pthread_mutex_unlock(&e->lock);
    signal_event(e->wake);
}

static void free_retired(um_editions *e)
{
    pthread_mutex_lock(&e->lock);
    retired *r = e->old;
    e->old = NULL;
    pthread_mutex_unlock(&e->lock);
    for (retired *next; r; r = next) {
        next = r->next;
        umbel_close(r->filter);
        free(r);
    }
}

/* --- loading -------------------------------------------------------------- */

static bool is_same(const identity *a, const identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->len == b->len &&
           a->modified.tv_sec == b->modified.tv_sec &&
           a->modified.tv_nsec == b->modified.tv_nsec &&
           a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Identifies a regular file: others could block, or never end. */
static umbel_status identify(const char *path, identity *out, umbel_error *err)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return um_fail_errno(err, "%s%s", um_path_dots(path),
                             um_path_tail(path));
    if (!S_ISREG(st.st_mode))
        return um_fail(err, UMBEL_E_IO, "%s%s is not a regular file",
                       um_path_dots(path), um_path_tail(path));
    *out = (identity){.device = st.st_dev,
                      .inode = st.st_ino,
                      .len = st.st_size,
                      .modified = st.st_mtim,
                      .changed = st.st_ctim};
    return UMBEL_OK;
}

/* Sets the secret of a keyed filter; other filters need none. */
static umbel_status unlock(const um_open_args *open, const char *path,
                           umbel_filter *f, umbel_error *err)
{
    if (umbel_digest_many(f, NULL, 0, NULL, NULL) != UMBEL_E_SECRET)
        return UMBEL_OK;
    if (!open->key_file)
        return um_fail(err, UMBEL_E_SECRET,
                       "%s%s is keyed: give its secret with --key-file FILE",
                       um_path_dots(path), um_path_tail(path));
    return um_unlock_filter(open, f, err);
}

static umbel_status check_form(const slot *s, const umbel_filter *f,
                               umbel_error *err)
{
    umbel_key_form form = umbel_key_form_of(f);

    if (!s->served || form == s->form)
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_MISMATCH,
                   "its keys are %s, those of the edition in use %s: restart "
                   "the server to serve it",
                   umbel_key_form_name(form), umbel_key_form_name(s->form));
}

static umbel_status load(const um_editions *e, const slot *s,
                         umbel_filter **out, umbel_error *err)
{
    um_open_args plain = *e->config.open;
    umbel_filter *f;

    plain.key_file = NULL;
    UM_TRY(um_load_filter(&plain, s->path, &f, err));
    umbel_status status = unlock(e->config.open, s->path, f, err);
    if (!status)
        status = check_form(s, f, err);
    if (status)
        umbel_close(f);
    else
        *out = f;
    return status;
}

/* Loads a file if it is another one than last time, and reports what changed.
 * Returns why it cannot be served. */
static umbel_status check_slot(um_editions *e, slot *s, umbel_error *err)
{
    umbel_filter *f = NULL;
    identity now;
    bool was_gone = s->gone;
    umbel_status status = identify(s->path, &now, err);

    s->gone = status != UMBEL_OK;
    if (status) {
        s->tried = false;
        if (!was_gone)
            report(e, s, NULL, err->text, false);
        return status;
    }
    if (s->tried && is_same(&now, &s->last))
        return UMBEL_OK;
    bool again = s->troubled && is_same(&now, &s->last);
    s->last = now;
    status = load(e, s, &f, err);
    /* What the machine lacks now it may have later. */
    s->tried = status != UMBEL_E_NOMEM && status != UMBEL_E_IO;
    s->troubled = status != UMBEL_OK;
    if (status) {
        if (!again)
            report(e, s, NULL, err->text, true);
        return status;
    }
    s->form = umbel_key_form_of(f);
    s->served = true;
    report(e, s, f, NULL, false);
    return UMBEL_OK;
}

/* --- files and directories ------------------------------------------------ */

static void watch_directory(um_editions *e, directory *d)
{
    d->watch = inotify_add_watch(e->changes, d->path, CHANGES);
}

static umbel_status add_directory(um_editions *e, const char *path, bool whole,
                                  size_t *index, umbel_error *err)
{
    for (size_t i = 0; i < e->ndirectories; i++)
        if (strcmp(e->directory[i].path, path) == 0) {
            e->directory[i].whole |= whole;
            *index = i;
            return UMBEL_OK;
        }
    if (!um_array_reserve(&e->directory, &e->directories_cap,
                          e->ndirectories + 1, sizeof *e->directory))
        return um_no_memory(err, sizeof *e->directory);
    e->directory[e->ndirectories] =
        (directory){.path = strdup(path), .whole = whole};
    if (!e->directory[e->ndirectories].path)
        return um_no_memory(err, strlen(path));
    *index = e->ndirectories++;
    watch_directory(e, &e->directory[*index]);
    return UMBEL_OK;
}

static bool has_suffix(const char *name)
{
    size_t len = strlen(name), tail = sizeof suffix - 1;

    return len > tail && *name != '.' && strcmp(name + len - tail, suffix) == 0;
}

static slot *find_slot(const um_editions *e, size_t at, const char *base)
{
    for (size_t i = 0; i < e->nslots; i++)
        if (e->slot[i]->directory == at && strcmp(e->slot[i]->base, base) == 0)
            return e->slot[i];
    return NULL;
}

static umbel_status check_name(const um_editions *e, const slot *s,
                               umbel_error *err)
{
    if (!*s->name)
        return um_fail(err, UMBEL_E_RANGE, "%.200s: a filter needs a name",
                       s->path);
    if (e->nslots == MAX_FILTERS)
        return um_fail(err, UMBEL_E_RANGE, "more than %d filters", MAX_FILTERS);
    for (size_t i = 0; i < e->nslots; i++)
        if (strcmp(e->slot[i]->name, s->name) == 0)
            return um_fail(err, UMBEL_E_RANGE,
                           "%.200s and %.200s are both named %.100s: rename "
                           "one",
                           e->slot[i]->path, s->path, s->name);
    return UMBEL_OK;
}

static void free_slot(slot *s)
{
    if (!s)
        return;
    free(s->path);
    free(s->name);
    free(s);
}

static umbel_status add_slot(um_editions *e, size_t at, const char *path,
                             slot **out, umbel_error *err)
{
    const char *base = strrchr(path, '/');
    size_t len;
    slot *s = calloc(1, sizeof *s);
    umbel_status status = UMBEL_OK;

    base = base ? base + 1 : path;
    len = strlen(base) - (has_suffix(base) ? sizeof suffix - 1 : 0);
    if (s) {
        *s = (slot){
            .path = strdup(path), .name = strndup(base, len), .directory = at};
        if (s->path)
            s->base = s->path + (base - path);
    }
    if (!s || !s->path || !s->name ||
        !um_array_reserve(&e->slot, &e->slots_cap, e->nslots + 1,
                          sizeof(slot *)))
        status = um_no_memory(err, sizeof *s);
    if (!status)
        status = check_name(e, s, err);
    if (status) {
        free_slot(s);
        return status;
    }
    e->slot[e->nslots++] = *out = s;
    return UMBEL_OK;
}

/* Looks at a file of a directory that is served as a whole. A file that was not
 * there before becomes a filter, unless its name is taken. */
static void check_entry(um_editions *e, size_t i, const char *base)
{
    char path[PATH_MAX + NAME_MAX + 2];
    slot *s = find_slot(e, i, base);
    umbel_error err;

    if (!s && e->directory[i].whole && has_suffix(base)) {
        snprintf(path, sizeof path, "%s/%s", e->directory[i].path, base);
        if (add_slot(e, i, path, &s, &err) != UMBEL_OK)
            s = NULL;
    }
    if (s)
        (void)check_slot(e, s, &err);
}

static umbel_status scan_directory(um_editions *e, size_t i, umbel_error *err)
{
    DIR *d = opendir(e->directory[i].path);
    struct dirent *entry;

    if (!d)
        return um_fail_errno(err, "%.200s", e->directory[i].path);
    while ((entry = readdir(d)))
        if (has_suffix(entry->d_name))
            check_entry(e, i, entry->d_name);
    closedir(d);
    return UMBEL_OK;
}

/* Looks at every file, and watches directories that were replaced. */
static void sweep(um_editions *e)
{
    umbel_error err;

    for (size_t i = 0; i < e->ndirectories; i++) {
        watch_directory(e, &e->directory[i]);
        if (e->directory[i].whole)
            (void)scan_directory(e, i, &err);
    }
    for (size_t i = 0; i < e->nslots; i++)
        (void)check_slot(e, e->slot[i], &err);
}

/* Adds an operand: a file, which must be valid, or a directory. */
static umbel_status add_path(um_editions *e, const char *path, umbel_error *err)
{
    const char *slash = strrchr(path, '/');
    char parent[PATH_MAX];
    struct stat st;
    size_t i;
    slot *s;

    if (strlen(path) >= sizeof parent)
        return um_fail(err, UMBEL_E_RANGE, "a path of more than %d bytes",
                       PATH_MAX - 1);
    if (um_is_sync_dir(path))
        return um_fail(err, UMBEL_E_UNSUPPORTED,
                       "%.200s is a directory of 'umbel sync': serve a file "
                       "that 'umbel merge' makes of it",
                       path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        UM_TRY(add_directory(e, path, true, &i, err));
        return scan_directory(e, i, err);
    }
    snprintf(parent, sizeof parent, "%.*s",
             slash ? (int)(slash - path) + (slash == path) : 1,
             slash ? path : ".");
    UM_TRY(add_directory(e, parent, false, &i, err));
    UM_TRY(add_slot(e, i, path, &s, err));
    return check_slot(e, s, err);
}

/* --- the thread ----------------------------------------------------------- */

static void handle_event(um_editions *e, const struct inotify_event *event)
{
    if (event->mask & IN_Q_OVERFLOW)
        sweep(e);
    for (size_t i = 0; i < e->ndirectories && event->len; i++)
        if (e->directory[i].watch == event->wd)
            check_entry(e, i, event->name);
}

static void read_events(um_editions *e)
{
    union {
        struct inotify_event event; /* aligns the bytes */
        char bytes[1 << 14];
    } buffer;
    ssize_t len = read(e->changes, buffer.bytes, sizeof buffer.bytes);

    for (ssize_t at = 0; at < len;) {
        struct inotify_event event;
        memcpy(&event, buffer.bytes + at, sizeof event);
        handle_event(e, (const void *)(buffer.bytes + at));
        at += (ssize_t)(sizeof event + event.len);
    }
}

static void *run_thread(void *ctx)
{
    um_editions *e = ctx;
    struct pollfd fds[] = {{.fd = e->wake, .events = POLLIN},
                           {.fd = e->changes, .events = POLLIN}};

    /* Of this thread alone; without permission it has the usual priority. */
    (void)setpriority(PRIO_PROCESS, 0, 19);
    for (;;) {
        int ready = poll(fds, 2, (int)e->config.sweep_ms);

        if (ready > 0 && fds[0].revents)
            clear_event(e->wake);
        pthread_mutex_lock(&e->lock);
        bool all = e->sweep || ready == 0, stop = e->stop;
        e->sweep = false;
        pthread_mutex_unlock(&e->lock);
        if (stop)
            return NULL;
        free_retired(e);
        if (ready > 0 && fds[1].revents)
            read_events(e);
        if (all)
            sweep(e);
    }
}

umbel_status um_editions_start(um_editions *e, umbel_error *err)
{
    int code = pthread_create(&e->thread, NULL, run_thread, e);

    if (code)
        return um_fail(err, UMBEL_E_NOMEM, "no thread: %s", strerror(code));
    e->started = true;
    return UMBEL_OK;
}

static void wake_thread(um_editions *e, bool *flag)
{
    pthread_mutex_lock(&e->lock);
    *flag = true;
    pthread_mutex_unlock(&e->lock);
    signal_event(e->wake);
}

void um_editions_sweep(um_editions *e)
{
    wake_thread(e, &e->sweep);
}

/* --- open and close ------------------------------------------------------- */

umbel_status um_editions_open(const um_editions_config *c, um_editions **out,
                              umbel_error *err)
{
    um_editions *e = calloc(1, sizeof *e);
    umbel_status status = UMBEL_OK;

    if (!e)
        return um_no_memory(err, sizeof *e);
    *e = (um_editions){.config = *c,
                       .changes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC),
                       .news = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
                       .wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
                       .last = &e->first};
    pthread_mutex_init(&e->lock, NULL); /* cannot fail with these attributes */
    if (!e->config.sweep_ms)
        e->config.sweep_ms = DEFAULT_SWEEP_MS;
    if (e->changes < 0 || e->news < 0 || e->wake < 0)
        status = um_fail_errno(err, "inotify");
    for (size_t i = 0; !status && i < c->paths.n; i++)
        status = add_path(e, c->paths.item[i], err);
    if (status)
        um_editions_close(e);
    else
        *out = e;
    return status;
}

static void close_descriptor(int fd)
{
    if (fd >= 0)
        close(fd);
}

void um_editions_close(um_editions *e)
{
    if (!e)
        return;
    if (e->started) {
        wake_thread(e, &e->stop);
        pthread_join(e->thread, NULL);
    }
    free_retired(e);
    for (um_edition_news *n = e->first, *next; n; n = next) {
        next = n->next;
        um_edition_news_free(n);
    }
    for (size_t i = 0; i < e->nslots; i++)
        free_slot(e->slot[i]);
    for (size_t i = 0; i < e->ndirectories; i++)
        free(e->directory[i].path);
    free(e->slot);
    free(e->directory);
    close_descriptor(e->changes);
    close_descriptor(e->news);
    close_descriptor(e->wake);
    pthread_mutex_destroy(&e->lock);
    free(e);
}
