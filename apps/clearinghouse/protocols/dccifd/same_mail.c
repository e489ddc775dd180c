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

/* Returns the entry of a key; a new one replaces the oldest of its set. */
static entry *find_entry(um_same_mail *s, uint64_t key, uint64_t now)
{
    entry *set = &s->entry[um_scale(key, ENTRIES / WAYS) * WAYS], *oldest = set;

    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].key == key && now - set[i].last < WINDOW_MS)
            return &set[i];
        if (set[i].last < oldest->last)
            oldest = &set[i];
    }
    *oldest = (entry){.key = key};
    return oldest;
}

/* Returns the program's counter; NULL if the entry has others already. */
static uint64_t *find_program(entry *e, unsigned words)
{
    for (size_t i = 0; i < PROGRAMS; i++)
        if (!e->asked[i] || e->words[i] == words) {
            e->words[i] = words;
            return &e->asked[i];
        }
    return NULL;
}

uint64_t um_same_mail_amount(um_same_mail *s, const um_dccifd_job *job,
                             const um_entry *e, uint64_t now)
{
    entry *known = find_entry(s, key_of(s, job, e), now);
    uint64_t *asked = find_program(known, job->envelope.words);

    known->last = now;
    if (!asked)
        return e->amount;
    *asked += e->amount;
    uint64_t more = *asked > known->counted ? *asked - known->counted : 0;
    known->counted += more;
    return more;
}
