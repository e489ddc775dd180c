/*
 * set.c - stop sets in files.
 */
#include "stopset/sets/set.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "query/stop_set.h"
#include "stopset/formats/input.h"

#include <umbel/file.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

const char *const ss_kind_names[] = {"red", "global", NULL};
const char *const ss_key_names[] = {"hop", "hop+prefix", "hop+destination",
                                    NULL};
const char *const ss_form_names[] = {"list",   "bloom", "retouched",
                                     "groups", "exact", NULL};

/* --- keys ----------------------------------------------------------------- */

ss_prefix_len ss_key_prefix(ss_key key, uint8_t v4, uint8_t v6)
{
    if (key == SS_HOP)
        return (ss_prefix_len){0, 0};
    if (key == SS_HOP_DESTINATION)
        return (ss_prefix_len){32, 128};
    return (ss_prefix_len){v4 ? v4 : SS_PREFIX4, v6 ? v6 : SS_PREFIX6};
}

ss_addr ss_key_target(const ss_set_info *info, ss_addr dst)
{
    if (info->key == SS_HOP)
        return (ss_addr){0, 0};
    return info->key == SS_HOP_PREFIX ? ss_addr_mask(dst, info->prefix) : dst;
}

size_t ss_key_format(const ss_set_info *info, ss_addr hop, ss_addr target,
                     char out[SS_KEY_TEXT])
{
    size_t len = ss_addr_format(hop, out);

    if (info->key == SS_HOP)
        return len;
    out[len++] = ' ';
    len += ss_addr_format(target, out + len);
    if (info->key == SS_HOP_PREFIX)
        len += (size_t)snprintf(out + len, SS_KEY_TEXT - len, "/%u",
                                (unsigned)(ss_addr_is_v4(target)
                                               ? info->prefix.v4
                                               : info->prefix.v6));
    return len;
}

/* --- descriptions --------------------------------------------------------- */

size_t ss_info_format(const ss_set_info *info, char out[SS_INFO_TEXT])
{
    um_stop_set s = {.prefix4 = info->prefix.v4,
                     .prefix6 = info->prefix.v6,
                     .monitors = info->monitors,
                     .first = info->first,
                     .last = info->last,
                     .members = info->members};

    snprintf(s.set, sizeof s.set, "%s", ss_kind_names[info->kind]);
    snprintf(s.key, sizeof s.key, "%s", ss_key_names[info->key]);
    snprintf(s.form, sizeof s.form, "%s", ss_form_names[info->form]);
    return um_stop_set_format(&s, out);
}

static int find_name(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

umbel_status ss_info_parse(const char *text, size_t len, size_t *used,
                           ss_set_info *out, umbel_error *err)
{
    um_stop_set s = {.prefix4 = 0};
    bool sound = um_stop_set_parse((umbel_slice){text, len}, used, &s) &&
                 s.prefix4 <= 32 && s.prefix6 <= 128;
    int kind = find_name(ss_kind_names, s.set),
        key = find_name(ss_key_names, s.key),
        form = find_name(ss_form_names, s.form);

    if (!sound || kind < 0 || key < 0 || form < 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "not a stop set: 'umbel stopset build' makes them");
    *out = (ss_set_info){.kind = (ss_kind)kind,
                         .key = (ss_key)key,
                         .prefix = {(uint8_t)s.prefix4, (uint8_t)s.prefix6},
                         .form = (ss_form)form,
                         .members = s.members,
                         .monitors = s.monitors,
                         .first = s.first,
                         .last = s.last};
    return UMBEL_OK;
}

/* --- lists ---------------------------------------------------------------- */

bool ss_set_add(ss_set *s, ss_addr hop, ss_addr dst)
{
    uint32_t a = ss_index_add(&s->hops, hop);
    uint32_t b = ss_index_add(&s->targets, ss_key_target(&s->info, dst));

    return a != SS_NO_NUMBER && b != SS_NO_NUMBER &&
           ss_index_add(&s->list, ss_pair(a, b)) != SS_NO_NUMBER;
}

static bool is_listed(const ss_set *s, const ss_question *q)
{
    uint32_t a = ss_index_find(&s->hops, q->hop);
    uint32_t b =
        a == SS_NO_NUMBER
            ? a
            : ss_index_find(&s->targets, ss_key_target(&s->info, q->dst));

    return b != SS_NO_NUMBER &&
           ss_index_find(&s->list, ss_pair(a, b)) != SS_NO_NUMBER;
}

/* Adds a line of a list; the key must be written exactly as it is hashed. */
static bool add_line(ss_set *s, const char *line, size_t len)
{
    const char *blank = memchr(line, ' ', len);
    size_t first = blank ? (size_t)(blank - line) : len;
    char again[SS_KEY_TEXT];
    ss_addr hop, dst = {0};

    if ((s->info.key != SS_HOP) != (blank != NULL) ||
        !ss_addr_parse(line, first, &hop))
        return false;
    if (blank) {
        size_t rest = len - first - 1;
        const char *slash = memchr(blank + 1, '/', rest);
        if (!ss_addr_parse(blank + 1,
                           slash ? (size_t)(slash - blank - 1) : rest, &dst))
            return false;
    }
    return ss_key_format(&s->info, hop, ss_key_target(&s->info, dst), again) ==
               len &&
           memcmp(again, line, len) == 0 && ss_set_add(s, hop, dst);
}

static umbel_status read_list(ss_set *s, const char *text, size_t len,
                              umbel_error *err)
{
    size_t at;

    UM_TRY(ss_info_parse(text, len, &at, &s->info, err));
    if (s->info.form != SS_LIST)
        return um_fail(err, UMBEL_E_FORMAT,
                       "a list that says it is another "
                       "form");
    for (umbel_slice rest = {text + at, len - at}, line;
         um_next_line(&rest, &line); at += line.len + 1)
        if (!um_line_is_whole(&rest, &line) ||
            !add_line(s, line.data, line.len))
            return um_fail(err, UMBEL_E_FORMAT,
                           "byte %zu: not a member of a list by %s", at,
                           ss_key_names[s->info.key]);
    if (s->list.n != s->info.members)
        return um_fail(err, UMBEL_E_FORMAT,
                       "a list of %u different members says that it has "
                       "%" PRIu64,
                       s->list.n, s->info.members);
    return UMBEL_OK;
}

/* --- files ---------------------------------------------------------------- */

enum { MAX_FILE = 1 << 30 };

static umbel_status read_whole(int fd, char **bytes, size_t *len,
                               umbel_error *err)
{
    size_t cap = 0;

    for (*len = 0;;) {
        if (*len == cap) {
            cap = cap ? 2 * cap : 1 << 16;
            if (cap > MAX_FILE)
                return um_fail(err, UMBEL_E_LIMIT, "larger than 1 GiB");
            if (!um_array_resize(bytes, cap, 1))
                return um_no_memory(err, cap);
        }
        ssize_t got = read(fd, *bytes + *len, cap - *len);
        if (got == 0)
            return UMBEL_OK;
        if (got < 0 && errno != EINTR)
            return um_fail_errno(err, "cannot read");
        *len += got > 0 ? (size_t)got : 0;
    }
}

static umbel_status parse_set(ss_set *s, const char *bytes, size_t len,
                              umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    size_t used;

    if (um_is_stop_set((umbel_slice){bytes, len}))
        return read_list(s, bytes, len, err);
    if (len >= sizeof SS_TABLE_HEAD - 1 &&
        memcmp(bytes, SS_TABLE_HEAD, sizeof SS_TABLE_HEAD - 1) == 0)
        return um_fail(err, UMBEL_E_FORMAT,
                       "this is a table: make a set of it with 'umbel stopset "
                       "build'");
    source.verify = true;
    UM_TRY(umbel_decode(bytes, len, &source, &s->filter, err));
    umbel_slice data = umbel_data(s->filter);
    UM_TRY(ss_info_parse(data.data, data.len, &used, &s->info, err));
    if (used != data.len || s->info.form == SS_LIST)
        return um_fail(err, UMBEL_E_FORMAT,
                       "the description of the stop set is damaged");
    /* Fails for a keyed filter without its secret, or one for other keys. */
    return umbel_query(s->filter, "192.0.2.1", 9, &(bool){false}, err);
}

umbel_status ss_set_parse(ss_set *s, const void *bytes, size_t len,
                          umbel_error *err)
{
    *s = (ss_set){.bytes = len};
    umbel_status status = parse_set(s, bytes, len, err);
    if (status != UMBEL_OK)
        ss_set_fini(s);
    return status;
}

umbel_status ss_set_open(ss_set *s, const char *path, umbel_error *err)
{
    char *bytes = NULL;
    size_t len;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return um_fail_path(err, path);
    umbel_status status = read_whole(fd, &bytes, &len, err);
    close(fd);
    if (status == UMBEL_OK)
        status = ss_set_parse(s, bytes, len, err);
    free(bytes);
    return um_name_file(status, path, err);
}

void ss_set_fini(ss_set *s)
{
    umbel_close(s->filter);
    ss_index_fini(&s->hops);
    ss_index_fini(&s->targets);
    ss_index_fini(&s->list);
    *s = (ss_set){0};
}

/* --- queries -------------------------------------------------------------- */

enum { BATCH = 256 };

static umbel_status query_batch(const ss_set *s, const ss_question *q, size_t n,
                                bool *hit, umbel_error *err)
{
    char text[BATCH][SS_KEY_TEXT];
    umbel_slice keys[BATCH];

    for (size_t i = 0; i < n; i++) {
        size_t len = ss_key_format(&s->info, q[i].hop,
                                   ss_key_target(&s->info, q[i].dst), text[i]);
        keys[i] = (umbel_slice){text[i], len};
    }
    return umbel_query_many(s->filter, keys, n, hit, err);
}

umbel_status ss_set_query(const ss_set *s, const ss_question *question,
                          size_t n, bool *hit, umbel_error *err)
{
    for (size_t i = 0; i < n; i += BATCH) {
        size_t some = n - i < BATCH ? n - i : BATCH;
        if (s->filter)
            UM_TRY(query_batch(s, question + i, some, hit + i, err));
        else
            for (size_t j = i; j < i + some; j++)
                hit[j] = is_listed(s, &question[j]);
    }
    return UMBEL_OK;
}
