/*
 * stop_set.c - the description of a stop set, which is the data of its filter.
 */
#include "query/stop_set.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEAD "umbel-stopset set "

bool um_is_stop_set(umbel_slice text)
{
    return text.len >= sizeof HEAD - 1 &&
           memcmp(text.data, HEAD, sizeof HEAD - 1) == 0;
}

size_t um_stop_set_format(const um_stop_set *s, char out[UM_STOP_SET_TEXT])
{
    return (size_t)snprintf(
        out, UM_STOP_SET_TEXT,
        HEAD "1\nset %s\nkey %s\nprefix %u %u\nform %s\nmonitors %" PRIu64
             "\nlearned %" PRIu64 " %" PRIu64 "\nmembers %" PRIu64 "\n",
        s->set, s->key, s->prefix4, s->prefix6, s->form, s->monitors, s->first,
        s->last, s->members);
}

static bool is_word(const char *word)
{
    for (; *word; word++)
        if (*word <= ' ' || *word > '~') /* it is printed in messages */
            return false;
    return true;
}

bool um_stop_set_parse(umbel_slice text, size_t *used, um_stop_set *out)
{
    char copy[UM_STOP_SET_TEXT] = "", again[UM_STOP_SET_TEXT];
    um_stop_set s;

    memcpy(copy, text.data,
           text.len < sizeof copy - 1 ? text.len : sizeof copy - 1);
    if (sscanf(copy,
               HEAD "1 set %15s key %15s prefix %3u %3u form %15s monitors "
                    "%20" SCNu64 " learned %20" SCNu64 " %20" SCNu64
                    " members %20" SCNu64,
               s.set, s.key, &s.prefix4, &s.prefix6, s.form, &s.monitors,
               &s.first, &s.last, &s.members) != 9 ||
        !is_word(s.set) || !is_word(s.key) || !is_word(s.form))
        return false;
    size_t len = um_stop_set_format(&s, again);
    if (len > text.len || memcmp(again, text.data, len) != 0)
        return false;
    *used = len;
    *out = s;
    return true;
}

static umbel_status differ(const char *name, const char *one, const char *other,
                           umbel_error *err)
{
    return um_fail(err, UMBEL_E_MISMATCH,
                   "it is a stop set with \"%s %s\", and the first one has "
                   "\"%s %s\": build both alike",
                   name, other, name, one);
}

umbel_status um_stop_set_merge(um_stop_set *into, const um_stop_set *other,
                               uint64_t members, umbel_error *err)
{
    char one[32], two[32];

    if (strcmp(into->set, other->set) != 0)
        return differ("set", into->set, other->set, err);
    if (strcmp(into->key, other->key) != 0)
        return differ("key", into->key, other->key, err);
    snprintf(one, sizeof one, "%u %u", into->prefix4, into->prefix6);
    snprintf(two, sizeof two, "%u %u", other->prefix4, other->prefix6);
    if (strcmp(one, two) != 0)
        return differ("prefix", one, two, err);
    if (strcmp(into->form, other->form) != 0)
        return differ("form", into->form, other->form, err);
    if (into->monitors > UINT64_MAX - other->monitors)
        return um_fail(err, UMBEL_E_RANGE,
                       "it is a stop set with %" PRIu64
                       " monitors: its description is damaged",
                       other->monitors);
    into->monitors += other->monitors;
    if (!into->first || (other->first && other->first < into->first))
        into->first = other->first;
    if (other->last > into->last)
        into->last = other->last;
    into->members = members;
    return UMBEL_OK;
}
