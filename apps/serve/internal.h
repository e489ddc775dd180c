/*
 * internal.h - what the files of umbel-serve share.
 *
 *     serve.c       the process: sockets, signals, the command's row
 *     site.c        the filters, and the answers: paths, bodies, lines
 *     editions.c    the files of the filters, loaded in a thread
 */
#ifndef UM_SERVE_INTERNAL_H
#define UM_SERVE_INTERNAL_H

#include "cli/framework/option_groups.h"
#include "net/server/http.h"
#include "query/query.h"

/* --- the files (editions.c) ----------------------------------------------- */

typedef struct um_editions um_editions;

/* News of a file: a new edition, a problem, or (both NULL) the end of one. */
typedef struct um_edition_news {
    struct um_edition_news *next;
    const char *name;     /* of the filter; lives as long as um_editions */
    umbel_filter *filter; /* the new edition; NULL: the last one stays */
    char *problem;        /* NULL: none */
    bool refused;         /* the problem is one of the file's content */
} um_edition_news;

typedef struct um_editions_config {
    um_list paths; /* files, and directories whose *.umb are served */
    const um_open_args *open;
    uint64_t sweep_ms; /* between two looks at every file; 0: 5 s */
    /* Reports news, in the thread that loads. */
    void (*log)(void *ctx, const um_edition_news *e);
    void *ctx;
} um_editions_config;

/*
 * Loads every file. Fails if a path cannot be loaded, or two filters have the
 * same name. A damaged file in a directory is a problem, and no failure.
 */
umbel_status um_editions_open(const um_editions_config *c, um_editions **out,
                              umbel_error *err);
/* Starts the thread that waits for changes. */
umbel_status um_editions_start(um_editions *e, umbel_error *err);
/* Stops the thread. NULL is accepted. */
void um_editions_close(um_editions *e);

/* Returns true if there is one file, and no directory that may get more. */
bool um_editions_single(const um_editions *e);
/* Returns a descriptor that is readable when there are news. */
int um_editions_fd(const um_editions *e);
/* Returns the news, oldest first; the caller owns the list and its filters. */
um_edition_news *um_editions_take(um_editions *e);
void um_edition_news_free(um_edition_news *e);

/* Frees a filter that is no longer used, in the thread: unmapping a gigabyte
 * takes longer than a question may. */
void um_editions_retire(um_editions *e, umbel_filter *f);
/* Makes the thread look at every file now. */
void um_editions_sweep(um_editions *e);

/* --- the filters and the answers (site.c); uses no socket ----------------- */

enum {
    UM_SITE_KEYS = 10000,   /* keys of a POST */
    UM_SITE_BODY = 4 << 20, /* bytes of a POST */
    UM_SITE_CODES = 600     /* status codes of HTTP, all below */
};

/* A filter. */
typedef struct um_served {
    const char *name;
    umbel_filter *filter; /* NULL: it never had a valid edition */
    char *problem;        /* with its file; NULL: none */
    uint64_t answers[UM_ANSWERED_REFUSED + 1]; /* by um_answered */
    uint64_t editions, refused;                /* refused: editions */
    double since; /* when the edition was loaded, in seconds */
} um_served;

/* Zero-initialise; the lines of a connection need one name, others several. */
typedef struct um_site {
    um_served **served; /* sorted by name */
    size_t n, cap;
    bool single; /* lines are keys: there is one filter, and always will be */
    um_question question;
    um_buffer name, key;

    uint64_t requests[UM_SITE_CODES]; /* by status */
    uint64_t ends[UM_END_COUNT];      /* connections */
    size_t connections;               /* now, set before metrics are written */
} um_site;

void um_site_fini(um_site *s);

/* Applies news of a file. Returns the edition that was in use until now, which
 * the caller frees; NULL: none. */
umbel_filter *um_site_apply(um_site *s, um_edition_news *news, double now);

/* Answers a request of HTTP: um_http_config.answer, with an um_site as ctx. */
unsigned um_site_answer(void *ctx, const um_http_request *r, const char **type,
                        FILE *out);
/* Answers a line: a key, or NAME, a tab and a key if there are several. */
void um_site_line(um_site *s, umbel_slice line, bool too_long, FILE *out);

/* Documents. */
unsigned um_site_health(void *ctx, FILE *out);
unsigned um_site_metrics(void *ctx, FILE *out);

#endif
