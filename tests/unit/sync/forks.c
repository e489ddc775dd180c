/*
 * forks.c - machines that are restored from a backup, copied, or killed: random
 * schedules of directories of 'umbel sync', in memory and on a disk.
 *
 *   test_sync_forks [SCHEDULES [FIRST SEED [SCHEDULES ON A DISK]]]
 *
 * Three machines take keys, back themselves up, go back to their backups with
 * the clock set back as well, are copied while the original continues, lose
 * their disk, and exchange with each other; exchanges break off, and one or
 * both sides may be killed before they save. Whatever happens:
 *
 *   - a machine never loses a key that it has, in a filter that counts or in
 *     one that was kept because its origin was banned;
 *   - a key stops to match only if the machine reports that it banned an
 *     origin;
 *   - once all exchange, all machines have the same filters, or report whose
 *     they refuse. When filters that were kept or refused are restored, all
 *     machines have the same filters, and all keys that any machine had.
 *
 * Of fifty schedules one has Ed25519; in the others signatures are a keyed
 * hash.
 */
#include "base/rng.h"
#include "support/sync.h"
#include "sync/directory.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MACHINES = 5,
    FIRST = 3, /* that are there from the beginning */
    KEYS = 64, /* bits of a word */
    EVENTS = 40,
    FILES = 256,
    ROUNDS = 12,
    REFUSED = 8,
    JOINED = 2, /* filters of one origin are joined if there are more */
    SIGNED = 50
};

/* A set of keys. */
typedef uint64_t key_set;

/* What a directory holds, in memory. */
typedef struct disk {
    umbel_filter *copy[FILES], *kept[FILES];
    size_t ncopies, nkept;
    uint8_t *state;
    size_t state_len;
    uint64_t incarnation;
} disk;

typedef struct node {
    bool used, has_backup;
    unsigned key; /* machines with the same one are copies of each other */
    disk now, backup;
} node;

typedef struct world {
    um_rng rng;
    umbel_filter *shape;
    umbel_digest digest[KEYS];
    uint64_t keys; /* that were added so far */
    uint64_t sessions, seconds, history;
    node node[MACHINES];
    const char *dir; /* NULL: in memory */
    char path[2 * MACHINES][512];
    /* Origins of which each machine refused a version, as it has less. */
    uint8_t refused[MACHINES][REFUSED][UMBEL_ORIGIN_LEN];
    size_t nrefused[MACHINES];
    const char *failure;
} world;

/* A machine that runs. */
typedef struct live {
    world *w;
    node *n;
    umbel_sync *machine;
    um_sync_dir dir;
    bool open;
    uint64_t banned, resigned;
} live;

static uint64_t schedules = 60, first_seed = 1, on_disk = 6;
static uint64_t renewals, bans, restored, adopted; /* over all schedules */

/* --- signatures ------------------------------------------------------------
 */

static bool real_signatures;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker makes these names */
bool __real_um_sync_is_signed(const uint8_t *origin, const void *text,
                              size_t len, const uint8_t *signature);
bool __wrap_um_sync_is_signed(const uint8_t *origin, const void *text,
                              size_t len, const uint8_t *signature);
bool __wrap_um_sync_is_signed(const uint8_t *origin, const void *text,
                              size_t len, const uint8_t *signature)
{
    return real_signatures
               ? __real_um_sync_is_signed(origin, text, len, signature)
               : test_sync_hash_signed(origin, text, len, signature);
}

void __real_um_sync_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature);
void __wrap_um_sync_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature);
void __wrap_um_sync_sign(const uint8_t *key, const void *text, size_t len,
                         uint8_t *signature)
{
    (real_signatures ? __real_um_sync_sign
                     : test_sync_hash_sign)(key, text, len, signature);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* Directories draw keys and sessions from here: schedules repeat. */
static um_rng drawn;

static const char *name_of_numbers(void)
{
    return "test";
}

static uint32_t draw_number(void)
{
    return (uint32_t)um_random(&drawn);
}

static void draw_bytes(void *out, size_t len)
{
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)out)[i] = (uint8_t)um_random(&drawn);
}

static randombytes_implementation numbers = {.implementation_name =
                                                 name_of_numbers,
                                             .random = draw_number,
                                             .buf = draw_bytes};

/* --- a world ---------------------------------------------------------------
 */

static uint64_t pick(world *w, uint64_t n)
{
    return um_random_below(&w->rng, n);
}

static void note_failure(world *w, const char *what)
{
    if (!w->failure)
        w->failure = what;
}

/* Clocks of machines differ, and are set back. */
static uint64_t clock_of(world *w)
{
    return w->seconds + pick(w, 200);
}

static void clear_disk(disk *d)
{
    for (size_t i = 0; i < d->ncopies; i++)
        umbel_close(d->copy[i]);
    for (size_t i = 0; i < d->nkept; i++)
        umbel_close(d->kept[i]);
    free(d->state);
    *d = (disk){.incarnation = d->incarnation};
}

static void copy_disk(disk *to, const disk *from)
{
    clear_disk(to);
    for (; to->ncopies < from->ncopies; to->ncopies++)
        assert_ok(umbel_copy(from->copy[to->ncopies], &to->copy[to->ncopies],
                             &test_refusal));
    for (; to->nkept < from->nkept; to->nkept++)
        assert_ok(umbel_copy(from->kept[to->nkept], &to->kept[to->nkept],
                             &test_refusal));
    to->state = malloc(from->state_len + 1);
    assert_non_null(to->state);
    if (from->state_len)
        memcpy(to->state, from->state, from->state_len);
    to->state_len = from->state_len;
    to->incarnation = from->incarnation;
}

static const char *path_of(const world *w, const node *n, bool backup)
{
    return w->path[(size_t)(n - w->node) + (backup ? MACHINES : 0)];
}

/* Copies all files. Half of the time no file shows it: as a snapshot of a file
 * system does. */
static void copy_directory(world *w, const char *from, const char *to)
{
    char command[2048], local[600];

    snprintf(command, sizeof command, "rm -rf '%s' && cp -a '%s' '%s'", to,
             from, to);
    assert_int_equal(system(command), 0);
    snprintf(local, sizeof local, "%s/local", to);
    if (pick(w, 2))
        unlink(local);
}

static void copy_node(world *w, node *to, bool to_backup, const node *from,
                      bool from_backup)
{
    if (w->dir)
        copy_directory(w, path_of(w, from, from_backup),
                       path_of(w, to, to_backup));
    else
        copy_disk(to_backup ? &to->backup : &to->now,
                  from_backup ? &from->backup : &from->now);
}

/* --- a machine that runs ---------------------------------------------------
 */

static void note_refused(const live *l, const uint8_t *origin)
{
    size_t i = (size_t)(l->n - l->w->node), *n = &l->w->nrefused[i];

    for (size_t k = 0; k < *n; k++)
        if (memcmp(l->w->refused[i][k], origin, UMBEL_ORIGIN_LEN) == 0)
            return;
    assert_true(*n < REFUSED);
    memcpy(l->w->refused[i][(*n)++], origin, UMBEL_ORIGIN_LEN);
}

static void note_event(void *ctx, const umbel_sync_event *e)
{
    live *l = ctx;

    if (!l->open)
        return;
    l->banned += e->kind == UMBEL_SYNC_CONTRADICTED;
    if (e->kind == UMBEL_SYNC_REFUSED && e->reason == UMBEL_SYNC_SHRANK)
        note_refused(l, e->origin);
    renewals += e->kind == UMBEL_SYNC_RENEWED;
}

static void open_in_memory(live *l, uint64_t now)
{
    world *w = l->w;
    disk *d = &l->n->now;
    umbel_sync_list list = {.name = "keys", .shape = w->shape};
    umbel_sync_params p = UMBEL_SYNC_INIT;

    p.lists = &list;
    p.nlists = 1;
    p.sign_key = test_sync_secret(200 + l->n->key);
    p.incarnation = d->incarnation;
    p.session = um_mix(++w->sessions) | 1;
    p.announce = true;
    p.event = note_event;
    p.ctx = l;
    p.limits = (umbel_sync_limits){
        .incarnations = 4096, .origins = 4096, .history_bytes = w->history};
    assert_ok(umbel_sync_open(&p, &l->machine, &test_refusal));
    umbel_sync_tick(l->machine, now);
    if (d->state_len)
        assert_ok(umbel_sync_import_state(l->machine, d->state, d->state_len,
                                          &test_refusal));
    for (size_t i = 0; i < d->ncopies; i++)
        assert_ok(umbel_sync_import(l->machine, d->copy[i], &test_refusal));
}

static void open_node(world *w, node *n, live *l)
{
    uint64_t now = clock_of(w);

    *l = (live){.w = w, .n = n};
    if (w->dir) {
        assert_ok(um_sync_dir_open(&l->dir, path_of(w, n, false), now,
                                   &test_refusal));
        l->dir.many = JOINED;
        l->machine = l->dir.machine;
    } else {
        open_in_memory(l, now);
    }
    l->open = true;
}

static void close_node(live *l)
{
    renewals += l->dir.renewed;
    for (size_t i = 0; i < l->dir.nrefusals; i++)
        if (l->dir.refusal[i].reason == UMBEL_SYNC_SHRANK &&
            !l->dir.refusal[i].banned)
            note_refused(l, l->dir.refusal[i].origin);
    if (l->w->dir)
        um_sync_dir_close(&l->dir);
    else
        umbel_sync_close(l->machine);
}

/* Which filter of a machine a saved one is. */
static um_sync_id id_of(const umbel_filter *f)
{
    um_reader r = {umbel_data(f).data,
                   (const uint8_t *)umbel_data(f).data + umbel_data(f).len,
                   false};
    um_sync_id id = {.list = 0};
    char magic[12];

    um_get_bytes(&r, magic, sizeof magic);
    id.incarnation = um_get_u64(&r);
    id.epoch = um_get_u64(&r);
    um_get_bytes(&r, id.origin, sizeof id.origin);
    assert_false(r.bad);
    return id;
}

/* As directory.c: what was banned is kept. */
static void save_in_memory(const live *l)
{
    disk *d = &l->n->now, old = *d;
    umbel_sync_replica c;

    *d = (disk){.incarnation = umbel_sync_incarnation(l->machine)};
    for (size_t i = 0; i < old.nkept; i++)
        d->kept[d->nkept++] = old.kept[i];
    old.nkept = 0;
    for (size_t i = 0; i < old.ncopies; i++) {
        um_sync_id id = id_of(old.copy[i]);
        if (um_replica_find(l->machine, &id, NULL) ||
            !um_is_contradicted(l->machine, id.origin, id.incarnation))
            continue;
        assert_true(d->nkept < FILES);
        assert_ok(umbel_copy(old.copy[i], &d->kept[d->nkept++], &test_refusal));
    }
    for (size_t at = 0; umbel_sync_next_replica(l->machine, &at, &c);) {
        assert_true(d->ncopies < FILES);
        if (c.version)
            assert_ok(umbel_sync_export(l->machine, at, &d->copy[d->ncopies++],
                                        &test_refusal));
    }
    umbel_sync_export_state(l->machine, NULL, 0, &d->state_len, NULL);
    d->state = malloc(d->state_len + 1);
    assert_non_null(d->state);
    assert_ok(umbel_sync_export_state(l->machine, d->state, d->state_len,
                                      &d->state_len, &test_refusal));
    clear_disk(&old);
}

static void save_node(live *l)
{
    if (l->w->dir)
        assert_ok(um_sync_dir_save(&l->dir, &test_refusal));
    else
        save_in_memory(l);
}

static void receive(live *l, int peer, umbel_slice m, uint64_t now)
{
    if (l->w->dir) {
        um_sync_dir_receive(&l->dir, peer, m, now, NULL);
        return;
    }
    umbel_sync_receive(l->machine, peer, m.data, m.len, now, NULL);
    if (l->machine->resigned != l->resigned) {
        l->resigned = l->machine->resigned;
        save_in_memory(l);
    }
}

static uint64_t bans_of(const live *l)
{
    uint64_t n = l->banned;

    for (size_t i = 0; i < l->dir.nrefusals; i++)
        n += l->dir.refusal[i].banned;
    return n;
}

/* --- keys ------------------------------------------------------------------
 */

static key_set keys_of(const world *w, const umbel_filter *f)
{
    bool hit[KEYS];
    key_set set = 0;

    assert_ok(
        umbel_query_digests(f, w->digest, (size_t)w->keys, hit, &test_refusal));
    for (size_t i = 0; i < w->keys; i++)
        set |= (key_set)hit[i] << i;
    return set;
}

/* Keys that match. */
static key_set visible(const live *l)
{
    umbel_sync_replica c;
    key_set set = 0;

    for (size_t at = 0; umbel_sync_next_replica(l->machine, &at, &c);)
        set |= keys_of(l->w, c.filter);
    return set;
}

static key_set kept_in_directory(const live *l)
{
    char pattern[600], line[1024];
    umbel_source source = UMBEL_SOURCE_INIT;
    key_set set = 0;

    if (!um_sync_dir_count_kept(&l->dir))
        return 0;
    snprintf(pattern, sizeof pattern, "ls '%s'/kept-*", l->dir.path);
    FILE *list = popen(pattern, "r");
    assert_non_null(list);
    while (fgets(line, sizeof line, list)) {
        umbel_filter *f;
        line[strcspn(line, "\n")] = '\0';
        assert_ok(umbel_load(line, &source, &f, &test_refusal));
        set |= keys_of(l->w, f);
        umbel_close(f);
    }
    pclose(list);
    return set;
}

/* Keys that a machine has, whether they match or not. */
static key_set held(const live *l)
{
    key_set set = visible(l);

    for (size_t i = 0; i < l->n->now.nkept; i++)
        set |= keys_of(l->w, l->n->now.kept[i]);
    return l->w->dir ? set | kept_in_directory(l) : set;
}

/* --- events ----------------------------------------------------------------
 */

static node *pick_node(world *w)
{
    node *n;

    do
        n = &w->node[pick(w, MACHINES)];
    while (!n->used);
    return n;
}

static void add_key(world *w)
{
    umbel_filter *own = NULL;
    umbel_sync_replica c;
    bool fresh;
    live l;

    if (w->keys == KEYS)
        return;
    open_node(w, pick_node(w), &l);
    key_set before = held(&l);
    if (w->dir)
        assert_ok(um_sync_dir_own(&l.dir, &own, &test_refusal));
    for (size_t at = 0; !own && umbel_sync_next_replica(l.machine, &at, &c);)
        if (c.own)
            assert_ok(umbel_copy(c.filter, &own, &test_refusal));
    if (!own)
        assert_ok(umbel_copy(w->shape, &own, &test_refusal));
    w->keys++;
    assert_ok(umbel_add_digests(own, &w->digest[w->keys - 1], 1, &fresh,
                                &test_refusal));
    assert_ok(umbel_sync_publish(l.machine, 0, 0, own, &test_refusal));
    umbel_close(own);
    if (pick(w, 20)) { /* else it is killed */
        save_node(&l);
        if (before & ~held(&l))
            note_failure(w, "an add lost a key");
    }
    close_node(&l);
}

/* Carries messages until both are silent, or `cut` went over. Returns false if
 * they did not end. */
static bool exchange(live *a, live *b, uint64_t cut)
{
    live *side[2] = {a, b};
    int peer[2];
    uint64_t sent = 0, now = clock_of(a->w);
    umbel_slice m;

    for (int i = 0; i < 2; i++)
        assert_ok(
            umbel_sync_connect(side[i]->machine, &peer[i], &test_refusal));
    for (bool quiet = false; !quiet && sent < cut;) {
        quiet = true;
        for (int i = 0; i < 2; i++)
            while (sent < cut &&
                   umbel_sync_next(side[i]->machine, peer[i], now, &m)) {
                quiet = false;
                sent++;
                receive(side[!i], peer[!i], m, now);
            }
    }
    bool fine = umbel_sync_finished(a->machine, peer[0]) &&
                umbel_sync_finished(b->machine, peer[1]);
    for (int i = 0; i < 2; i++)
        umbel_sync_disconnect(side[i]->machine, peer[i]);
    return fine;
}

/* What a machine had before an exchange. */
typedef struct before {
    key_set visible, held;
    uint64_t bans;
} before;

static before look(const live *l)
{
    return (before){visible(l), held(l), bans_of(l)};
}

static void compare(const live *l, const before *b)
{
    if (b->held & ~held(l))
        note_failure(l->w, "an exchange lost a key");
    if ((b->visible & ~visible(l)) && bans_of(l) == b->bans)
        note_failure(l->w, "a key does not match any more, in silence");
}

/* One that is killed does not save; renewals were saved before. */
static void end_exchange(live *l, const before *b, bool killed)
{
    if (!killed) {
        if (l->w->dir)
            assert_ok(um_sync_dir_end_exchange(&l->dir, 0, &test_refusal));
        else
            save_node(l);
        compare(l, b);
    }
    bans += bans_of(l);
    close_node(l);
    open_node(l->w, l->n, l);
    if (b->held & ~held(l))
        note_failure(l->w, "a key is not on the disk any more");
    close_node(l);
}

static void sync_two(world *w)
{
    node *one = pick_node(w), *other = pick_node(w);
    uint64_t cut = pick(w, 3) ? UINT64_MAX : pick(w, 20), kill = pick(w, 8);
    live a, b;

    if (one == other)
        return;
    open_node(w, one, &a);
    open_node(w, other, &b);
    before ba = look(&a), bb = look(&b);
    exchange(&a, &b, cut);
    end_exchange(&a, &ba, cut != UINT64_MAX || kill == 1 || kill == 3);
    end_exchange(&b, &bb, cut != UINT64_MAX || kill == 2 || kill == 3);
}

static void back_up(world *w)
{
    node *n = pick_node(w);

    copy_node(w, n, true, n, false);
    n->has_backup = true;
}

static void restore(world *w)
{
    node *n = pick_node(w);

    if (!n->has_backup)
        return;
    copy_node(w, n, false, n, true);
    if (pick(w, 2))
        w->seconds -= pick(w, 100);
}

/* A copy runs beside its original. */
static void duplicate(world *w)
{
    const node *n = pick_node(w);
    node *to = &w->node[pick(w, MACHINES)];

    if (to->used)
        return;
    to->used = true;
    to->has_backup = false;
    to->key = n->key;
    copy_node(w, to, false, n, n->has_backup && pick(w, 2));
}

static void lose(world *w)
{
    node *n = pick_node(w);
    unsigned left = 0;

    for (unsigned i = 0; i < MACHINES; i++)
        left += w->node[i].used;
    if (left > FIRST)
        n->used = false;
}

static void happen(world *w)
{
    uint64_t what = pick(w, 100);

    w->seconds += pick(w, 3);
    if (what < 38)
        add_key(w);
    else if (what < 70)
        sync_two(w);
    else if (what < 82)
        back_up(w);
    else if (what < 92)
        restore(w);
    else if (what < 98)
        duplicate(w);
    else
        lose(w);
}

/* --- the end ---------------------------------------------------------------
 */

/* A machine that is gone may have left two versions of a filter, neither of
 * which has all. The operator of one that refused the other restores it. */
static void restore_refused(live *l)
{
    size_t at = (size_t)(l->n - l->w->node), n;

    for (size_t i = 0; i < l->w->nrefused[at]; i++) {
        if (l->w->dir)
            assert_ok(um_sync_dir_restore(&l->dir, l->w->refused[at][i], &n,
                                          &test_refusal));
        else
            assert_ok(um_sync_adopt_origin(l->machine, l->w->refused[at][i], &n,
                                           &test_refusal));
        adopted += n;
    }
}

/* Uses what was kept. */
static void restore_kept(live *l)
{
    disk *d = &l->n->now;
    uint8_t origin[UMBEL_ORIGIN_LEN];
    size_t n;

    for (size_t at = 0;
         l->w->dir && um_sync_dir_next_dropped(&l->dir, &at, origin);) {
        assert_ok(um_sync_dir_restore(&l->dir, origin, &n, &test_refusal));
        restored += n;
    }
    for (size_t i = 0; i < d->nkept; i++) {
        umbel_filter *f = d->kept[i];
        assert_ok(umbel_set_data(f, NULL, 0, &test_refusal));
        assert_ok(um_sync_adopt(l->machine, 0, 0, f, &test_refusal));
        umbel_close(f);
        restored++;
    }
    d->nkept = 0;
}

/* All exchange with all, each time as new processes, until all have the same.
 * Returns false if they never have. */
static bool settle(live *all, size_t n)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        bool same = true;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++)
                same &= exchange(&all[i], &all[j], UINT64_MAX);
        for (size_t i = 1; i < n; i++)
            same &= umbel_sync_agreement(all[i].machine, 0) ==
                    umbel_sync_agreement(all[0].machine, 0);
        if (same)
            return true;
        for (size_t i = 0; i < n; i++) {
            bans += bans_of(&all[i]);
            save_node(&all[i]);
            close_node(&all[i]);
            open_node(all[i].w, all[i].n, &all[i]);
        }
    }
    return false;
}

static void finish(world *w)
{
    live all[MACHINES];
    before was[MACHINES];
    key_set any = 0;
    size_t n = 0;

    for (unsigned i = 0; i < MACHINES; i++)
        if (w->node[i].used)
            open_node(w, &w->node[i], &all[n++]);
    for (size_t i = 0; i < n; i++) {
        was[i] = look(&all[i]);
        any |= was[i].held;
    }
    memset(w->nrefused, 0, sizeof w->nrefused);
    bool agreed = settle(all, n), refused = false;
    for (size_t i = 0; i < MACHINES; i++)
        refused |= w->nrefused[i] > 0;
    if (!agreed && !refused)
        note_failure(w, "machines do not agree, in silence");
    for (size_t i = 0; i < n; i++) {
        save_node(&all[i]);
        if (was[i].held & ~held(&all[i]))
            note_failure(w, "a key was lost when all exchanged");
    }
    for (size_t i = 0; i < n; i++) {
        if (!agreed)
            restore_refused(&all[i]);
        restore_kept(&all[i]);
    }
    if (!settle(all, n))
        note_failure(w, "machines do not agree after a restore");
    for (size_t i = 0; i < n; i++) {
        if (any & ~visible(&all[i]))
            note_failure(w, "a key that a machine had does not match");
        bans += bans_of(&all[i]);
        save_node(&all[i]);
        close_node(&all[i]);
    }
}

/* --- schedules -------------------------------------------------------------
 */

static umbel_filter *create_shape(uint64_t seed)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *shape;

    p.addressing = "classic";
    p.cells = 2048;
    p.hashes = 4;
    p.capacity = 4 * KEYS;
    assert_ok(umbel_create(seed % 3 ? "bloom" : "counting", &p, &shape,
                           &test_refusal));
    return shape;
}

static void open_world(world *w, uint64_t seed, const char *dir)
{
    *w = (world){.rng = {seed}, .seconds = 5000, .dir = dir};
    drawn = (um_rng){seed};
    real_signatures = seed % SIGNED == 0;
    w->shape = create_shape(seed);
    w->history = pick(w, 2) ? 0 : 300; /* most versions before are unknown */
    for (uint64_t i = 0; i < KEYS; i++) {
        char key[TEST_KEY_LEN];
        umbel_slice slice = {key, sizeof key};
        test_key(i, key);
        assert_ok(umbel_digest_many(w->shape, &slice, 1, &w->digest[i],
                                    &test_refusal));
    }
    for (unsigned i = 0; dir && i < 2 * MACHINES; i++)
        snprintf(w->path[i], sizeof w->path[i], "%s/%u", dir, i);
    for (unsigned i = 0; i < FIRST; i++) {
        node *n = &w->node[i];
        n->used = true;
        n->key = i;
        n->now.incarnation = w->seconds;
        if (dir)
            assert_ok(um_sync_dir_create(path_of(w, n, false), "test", w->shape,
                                         &um_sync_parameters_standard,
                                         w->seconds, &test_refusal));
    }
}

static void close_world(world *w)
{
    char command[600];

    for (unsigned i = 0; i < MACHINES; i++) {
        clear_disk(&w->node[i].now);
        clear_disk(&w->node[i].backup);
    }
    umbel_close(w->shape);
    if (!w->dir)
        return;
    snprintf(command, sizeof command, "rm -rf '%.500s'/*", w->dir);
    assert_int_equal(system(command), 0);
}

/* Returns what went wrong, or NULL. */
static const char *run_schedule(uint64_t seed, const char *dir)
{
    static world w;

    open_world(&w, seed, dir);
    for (int i = 0; i < EVENTS && !w.failure; i++)
        happen(&w);
    if (!w.failure)
        finish(&w);
    const char *failure = w.failure;
    close_world(&w);
    return failure;
}

static void run_schedules(uint64_t n, const char *dir)
{
    renewals = bans = restored = adopted = 0;
    for (uint64_t i = 0; i < n; i++) {
        const char *failure = run_schedule(first_seed + i, dir);
        if (failure)
            print_error("schedule %" PRIu64 ": %s\n", first_seed + i, failure);
        assert_null(failure);
    }
    print_message("%" PRIu64 " schedules, seed %" PRIu64 ": %" PRIu64
                  " renewals, %" PRIu64 " bans, %" PRIu64
                  " filters restored, %" PRIu64
                  " adopted from machines that are gone, no key lost\n",
                  n, first_seed, renewals, bans, restored, adopted);
}

static void restored_and_copied_machines_lose_nothing(void **state)
{
    (void)state;
    run_schedules(schedules, NULL);
    assert_true(!schedules || renewals > schedules / 4);
}

static void restored_and_copied_directories_lose_nothing(void **state)
{
    char *dir = test_dir_make();

    (void)state;
    run_schedules(on_disk, dir);
    test_dir_remove(dir);
}

TEST_GROUP(forks)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restored_and_copied_machines_lose_nothing),
        cmocka_unit_test(restored_and_copied_directories_lose_nothing),
    };

    if (argc > 1)
        schedules = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    if (argc > 3)
        on_disk = strtoull(argv[3], NULL, 10);
    randombytes_set_implementation(&numbers);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
