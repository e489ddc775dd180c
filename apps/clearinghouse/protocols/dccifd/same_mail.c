/*
 * same_mail.c - counts a mail once if several programs of a host ask about it.
 *
 * A milter and a plugin of SpamAssassin on one mail server both send each mail.
 * The words of their requests distinguish them. For each signature and
 * host, the table counts how often each program asked in the last minute. The
 * mail has come as often as the program says that asked most often: N copies
 * that pass both programs count N times, not 2 N times.
 *
 * If the table is full, the entry that was not used for longest is replaced,
 * and its mail may count twice.
 */
#include "clearinghouse/protocols/dccifd/internal.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/rng.h"

#include <sodium.h>
#include <stdlib.h>

enum { ENTRIES = 1 << 16, WAYS = 8, PROGRAMS = 3, WINDOW_MS = 60000 };

/* A signature in a list, asked about by a host. */
typedef struct entry {
    uint64_t key;  /* hash of all three */
    uint64_t last; /* request, in milliseconds */
    uint64_t counted;
    uint64_t asked[PROGRAMS]; /* by each program; 0: it is not used */
    unsigned words[PROGRAMS]; /* that identify it */
} entry;

struct um_same_mail {
    uint64_t seed; /* so that clients cannot choose their entries */
    entry entry[ENTRIES];
};

uint64_t um_same_mail_bytes(void)
{
    return sizeof(um_same_mail);
}

umbel_status um_same_mail_open(um_same_mail **out, umbel_error *err)
{
    um_same_mail *s = calloc(1, sizeof *s);

    if (!s)
        return um_no_memory(err, sizeof *s);
    randombytes_buf(&s->seed, sizeof s->seed);
    *out = s;
    return UMBEL_OK;
}

void um_same_mail_close(um_same_mail *s)
{
    free(s);
}

/* All local clients are one host. */
static uint64_t key_of(const um_same_mail *s, const um_dccifd_job *job,
                       const um_entry *e)
{
    static const um_prefixes whole = {32, 128};
    um_network host = {0, 0};

    if (!um_address_is_loopback(&job->client))
        host = um_address_network(&job->client, &whole);
    uint64_t hash = um_mix(um_mix(host.hi ^ s->seed) ^ host.lo);
    return um_mix(um_mix(hash ^ e->digest.lo ^ e->list) ^ e->digest.hi);
}

/* Returns the place of a key's entry, or of the oldest of its set, which a new
 * one replaces. */
static size_t find_entry(const um_same_mail *s, uint64_t key, uint64_t now)
{
    size_t set = (size_t)um_scale(key, ENTRIES / WAYS) * WAYS, oldest = set;

    for (size_t i = set; i < set + WAYS; i++) {
        if (s->entry[i].key == key && now - s->entry[i].last < WINDOW_MS)
            return i;
        if (s->entry[i].last < s->entry[oldest].last)
            oldest = i;
    }
    return oldest;
}

/* Reads the entry of a key, at *place; without one, an empty entry. */
static entry read_entry(const um_same_mail *s, uint64_t key, uint64_t now,
                        size_t *place)
{
    const entry *e = &s->entry[ *place = find_entry(s, key, now)];

    return e->key == key && now - e->last < WINDOW_MS ? *e
                                                      : (entry){.key = key};
}

/* Returns the program's counter; PROGRAMS if the entry has others already. */
static size_t find_program(const entry *e, unsigned words)
{
    size_t i = 0;

    while (i < PROGRAMS && e->asked[i] && e->words[i] != words)
        i++;
    return i;
}

uint64_t um_same_mail_amount(const um_same_mail *s, const um_dccifd_job *job,
                             const um_entry *e, uint64_t now)
{
    size_t place;
    entry known = read_entry(s, key_of(s, job, e), now, &place);
    size_t program = find_program(&known, job->envelope.words);

    if (program == PROGRAMS)
        return e->amount;
    uint64_t asked = known.asked[program] + e->amount;
    return asked > known.counted ? asked - known.counted : 0;
}

void um_same_mail_record(um_same_mail *s, const um_dccifd_job *job,
                         const um_entry *e, uint64_t now)
{
    size_t place;
    entry known = read_entry(s, key_of(s, job, e), now, &place);
    size_t program = find_program(&known, job->envelope.words);

    known.last = now;
    if (program < PROGRAMS) {
        known.words[program] = job->envelope.words;
        known.asked[program] += e->amount;
        if (known.asked[program] > known.counted)
            known.counted = known.asked[program];
    }
    s->entry[place] = known;
}
