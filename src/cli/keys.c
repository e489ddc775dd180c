/*
 * keys.c - all keys of the input, in order, by a crew of threads.
 *
 * The input is cut into pieces of whole lines (input.c). Splitting them,
 * hashing and asking is done by whoever is free (base/pipeline.h); what changes
 * something, and the search for the first mistake, follows the order of the
 * pieces.
 */
#include "cli/keys.h"

#include "base/error.h"
#include "base/pipeline.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* With results a piece takes up to 3 MB; few enough to stay below 64 MB. */
enum { MOST_PIECES = 16 };

const um_option um_threads_options[] = {
    {"threads", 0, "N", "use N threads; 0: one per core (default 1)"}, {0}};

umbel_status um_threads(const um_args *args, unsigned *out, umbel_error *err)
{
    uint64_t n = 1;
    umbel_status status = um_value_count(args, "threads", &n, err);

    if (status != UMBEL_OK)
        return status;
    if (n > UM_MAX_THREADS)
        return um_fail(err, UMBEL_E_RANGE, "--threads must be 0..%d, got %s",
                       UM_MAX_THREADS, um_value(args, "threads"));
    *out = n ? (unsigned)n : um_cores();
    return UMBEL_OK;
}

bool um_keys_again(const char *const *paths, size_t npaths)
{
    struct stat st;

    for (size_t i = 0; i < npaths; i++)
        if (strcmp(paths[i], "-") == 0 ||
            (stat(paths[i], &st) == 0 && !S_ISREG(st.st_mode)))
            return false;
    return npaths > 0;
}

/* None at all is standard input. */
static const char *const *some_paths(const char *const *paths, size_t *npaths)
{
    static const char *const only_stdin[] = {"-"};

    if (*npaths)
        return paths;
    *npaths = 1;
    return only_stdin;
}

/* --- the crew's steps ------------------------------------------------------
 */

typedef struct place {
    um_piece piece;
    void *result;
} place;

typedef struct reading {
    um_input *input;
    um_rule rule;
    const um_key_job *job;
    const bool *stop;
    uint64_t line; /* number of the last one of the pieces used so far */
    umbel_status status;
    umbel_error *err;
} reading;

static um_batch batch_of(const place *p)
{
    const um_piece *piece = &p->piece;
    return (um_batch){piece->n, piece->keys, piece->lines, piece->weights,
                      piece->amounts};
}

static bool fill(void *ctx, void *piece)
{
    reading *r = ctx;
    return um_input_next(r->input, &((place *)piece)->piece);
}

static void work(void *ctx, void *piece)
{
    const reading *r = ctx;
    place *p = piece;

    um_split(&r->rule, &p->piece);
    if (!p->piece.n || !r->job->work)
        return;
    um_batch batch = batch_of(p);
    umbel_error err;
    umbel_status status = r->job->work(r->job->ctx, &batch, p->result, &err);
    if (status != UMBEL_OK) { /* earlier than what stopped the splitting */
        p->piece.status = status;
        p->piece.err = err;
    }
}

/* What is wrong with a piece; only in its turn the number of a line is known.
 */
static umbel_status judge(reading *r, const um_piece *p)
{
    r->line = (p->first ? 0 : r->line) + p->nlines;
    if (p->status != UMBEL_OK) {
        *r->err = p->err;
        return p->status;
    }
    if (!p->bad)
        return UMBEL_OK;
    return um_fail(r->err, UMBEL_E_KEY, "%s%s, line %" PRIu64 ": %s",
                   um_path_dots(p->file), um_path_tail(p->file), r->line,
                   p->bad);
}

static bool use(void *ctx, void *piece)
{
    reading *r = ctx;
    place *p = piece;
    um_batch batch = batch_of(p);

    if (batch.n)
        r->status = r->job->use(r->job->ctx, &batch, p->result, r->err);
    if (r->status == UMBEL_OK)
        r->status = judge(r, &p->piece);
    bool go_on = r->status == UMBEL_OK && !(r->stop && *r->stop);
    if (!go_on)
        um_input_stop(r->input);
    return go_on;
}

/* --- all of it -------------------------------------------------------------
 */

static void close_places(place *places, size_t n, const um_key_job *job)
{
    for (size_t i = 0; places && i < n; i++) {
        um_piece_fini(&places[i].piece);
        if (places[i].result && job->fini)
            job->fini(places[i].result);
        free(places[i].result);
    }
    free(places);
}

static place *open_places(size_t n, const um_key_job *job)
{
    place *places = calloc(n, sizeof *places);

    for (size_t i = 0; places && job->result_len && i < n; i++)
        if (!(places[i].result = calloc(1, job->result_len))) {
            close_places(places, n, job);
            return NULL;
        }
    return places;
}

static umbel_status read_all(reading *r, unsigned threads)
{
    size_t n = threads < 2 ? 1 : 2 * (size_t)threads;
    void *pieces[MOST_PIECES];
    um_pipeline crew = {.threads = threads,
                        .pieces = pieces,
                        .npieces = n < MOST_PIECES ? n : MOST_PIECES,
                        .ctx = r,
                        .fill = fill,
                        .work = work,
                        .drain = use};
    place *places = open_places(crew.npieces, r->job);

    if (!places)
        return um_fail(r->err, UMBEL_E_NOMEM, "no memory to read keys");
    for (size_t i = 0; i < crew.npieces; i++)
        pieces[i] = &places[i];
    um_pipeline_run(&crew);
    close_places(places, crew.npieces, r->job);
    return r->status;
}

static umbel_status each_key(const um_args *args, const char *const *paths,
                             size_t npaths, const um_key_job *job,
                             um_weigh weigh, uint64_t amount, const bool *stop,
                             umbel_error *err)
{
    reading r = {.job = job, .stop = stop, .err = err};
    unsigned threads;
    umbel_status status = um_threads(args, &threads, err);

    if (status == UMBEL_OK)
        status = um_rule_init(&r.rule, args, err);
    if (status == UMBEL_OK) {
        r.rule.weigh = weigh;
        r.rule.amount = amount;
        if (amount && !r.rule.field)
            r.rule.field = 1;
        paths = some_paths(paths, &npaths);
        status = um_input_open(args, paths, npaths, r.rule.end, threads > 1,
                               &r.input, err);
    }
    if (status != UMBEL_OK)
        return status;
    status = read_all(&r, threads);
    um_input_close(r.input);
    return status;
}

umbel_status um_each_key(const um_args *args, const char *const *paths,
                         size_t npaths, const um_key_job *job, const bool *stop,
                         umbel_error *err)
{
    return each_key(args, paths, npaths, job, UM_WEIGH_NONE, 0, stop, err);
}

typedef struct taking {
    um_take_batch *take;
    void *ctx;
} taking;

static umbel_status take_batch(void *ctx, const um_batch *batch, void *result,
                               umbel_error *err)
{
    const taking *t = ctx;

    (void)result;
    return t->take(t->ctx, batch, err);
}

umbel_status um_each_batch(const um_args *args, const char *const *paths,
                           size_t npaths, um_take_batch *take, void *ctx,
                           umbel_error *err)
{
    taking t = {take, ctx};
    um_key_job job = {.ctx = &t, .use = take_batch};

    return um_each_key(args, paths, npaths, &job, NULL, err);
}

umbel_status um_each_weighed(const um_args *args, const char *const *paths,
                             size_t npaths, um_take_batch *take, void *ctx,
                             umbel_error *err)
{
    taking t = {take, ctx};
    um_key_job job = {.ctx = &t, .use = take_batch};
    um_weigh weigh = um_has(args, "weights") ? UM_WEIGH_ALL : UM_WEIGH_TSV;

    return each_key(args, paths, npaths, &job, weigh, 0, NULL, err);
}

umbel_status um_each_amount(const um_args *args, const char *const *paths,
                            size_t npaths, uint64_t field, um_take_batch *take,
                            void *ctx, umbel_error *err)
{
    taking t = {take, ctx};
    um_key_job job = {.ctx = &t, .use = take_batch};

    return each_key(args, paths, npaths, &job, UM_WEIGH_NONE, field, NULL, err);
}

/* --- counting --------------------------------------------------------------
 */

static umbel_status count_batch(void *ctx, const um_batch *batch,
                                umbel_error *err)
{
    (void)err;
    *(uint64_t *)ctx += batch->n;
    return UMBEL_OK;
}

/*
 * Ends of lines that hold something, where two bytes stand before p. No branch,
 * so that compilers make vectors of it.
 */
static uint64_t count_ends(const uint8_t *p, size_t len)
{
    uint64_t n = 0;

    for (size_t i = 0; i < len; i++) {
        bool empty =
            (p[i - 1] == '\n') | ((p[i - 1] == '\r') & (p[i - 2] == '\n'));
        n += (p[i] == '\n') & !empty;
    }
    return n;
}

enum { COUNTED = 1 << 18 }; /* bytes at a time */

static umbel_status count_file(um_input *in, uint8_t *buffer, uint64_t *n,
                               umbel_error *err)
{
    uint8_t *start = buffer + 2;
    umbel_status status;
    size_t got;

    start[-1] = start[-2] = '\n';
    while ((status = um_input_read(in, start, COUNTED, &got, err)) ==
               UMBEL_OK &&
           got) {
        *n += count_ends(start, got);
        uint8_t last[2] = {start[got - 2], start[got - 1]};
        memcpy(buffer, last, 2);
    }
    start[0] = '\n'; /* the last line may lack its end */
    *n += count_ends(start, 1);
    return status;
}

static umbel_status count_lines(um_input *in, uint64_t *n, umbel_error *err)
{
    uint8_t *buffer = malloc(COUNTED + 2);
    umbel_status status = UMBEL_OK;
    bool more = true;

    if (!buffer)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to count keys");
    while (status == UMBEL_OK && more) {
        status = um_input_next_file(in, &more, err);
        if (status == UMBEL_OK && more)
            status = count_file(in, buffer, n, err);
    }
    free(buffer);
    return status;
}

umbel_status um_count_all(const um_args *args, const char *const *paths,
                          size_t npaths, uint64_t *n, umbel_error *err)
{
    um_rule rule;
    um_input *in;
    umbel_status status = um_rule_init(&rule, args, err);

    if (status == UMBEL_OK && !um_rule_is_plain(&rule))
        return um_each_batch(args, paths, npaths, count_batch, n, err);
    if (status == UMBEL_OK)
        status = um_input_open(args, paths, npaths, rule.end, false, &in, err);
    if (status != UMBEL_OK)
        return status;
    status = count_lines(in, n, err);
    um_input_close(in);
    return status;
}

/* --- adding ----------------------------------------------------------------
 */

typedef struct adding {
    umbel_filter *filter;
    uint64_t n;
} adding;

umbel_status um_hash_batch(const umbel_filter *f, const um_batch *batch,
                           um_digests *out, umbel_error *err)
{
    out->n = 0;
    if (batch->n > out->room) {
        free(out->d);
        out->d = malloc(batch->n * sizeof *out->d);
        out->room = out->d ? batch->n : 0;
    }
    if (!out->d)
        return um_fail(err, UMBEL_E_NOMEM, "no memory to hash keys");
    umbel_status status =
        umbel_digest_many(f, batch->keys, batch->n, out->d, err);
    if (status == UMBEL_OK)
        out->n = batch->n;
    return status;
}

void um_digests_fini(void *result)
{
    free(((um_digests *)result)->d);
}

static umbel_status hash_keys(const void *ctx, const um_batch *batch,
                              void *result, umbel_error *err)
{
    return um_hash_batch(((const adding *)ctx)->filter, batch, result, err);
}

static umbel_status add_keys(void *ctx, const um_batch *batch, void *result,
                             umbel_error *err)
{
    adding *a = ctx;
    const um_digests *in = result;

    (void)batch;
    a->n += in->n;
    return umbel_add_digests(a->filter, in->d, in->n, NULL, err);
}

umbel_status um_add_all(const um_args *args, const char *const *paths,
                        size_t npaths, umbel_filter *f, uint64_t *n,
                        umbel_error *err)
{
    adding a = {.filter = f};
    um_key_job job = {.ctx = &a,
                      .result_len = sizeof(um_digests),
                      .work = hash_keys,
                      .use = add_keys,
                      .fini = um_digests_fini};
    umbel_status status = um_each_key(args, paths, npaths, &job, NULL, err);

    *n = a.n;
    return status;
}
