/*
 * list_format.c - the keys in lines of common lists.
 */
#include "keylist/list_format.h"

#include "base/decimal.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/text.h"
#include "keylist/json.h"
#include "keylist/ranges.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool begins(umbel_slice s, const char *text)
{
    size_t len = strlen(text);

    return s.len >= len && memcmp(s.data, text, len) == 0;
}

static bool equals(umbel_slice s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.data, text, s.len) == 0;
}

static void cut_front(umbel_slice *s, size_t n)
{
    s->data = (const char *)s->data + n;
    s->len -= n;
}

/* Removes a comment: # at the beginning or after a blank. */
static void cut_comment(umbel_slice *line)
{
    const char *at = line->data;

    for (size_t i = 0; i < line->len; i++)
        if (at[i] == '#' && (i == 0 || at[i - 1] == ' ' || at[i - 1] == '\t')) {
            line->len = i;
            break;
        }
    *line = um_trim(*line);
}

/* Returns true for bytes that occur in domain names, in any spelling: ASCII
 * letters, digits, hyphens and underscores, and all of UTF-8. */
static bool is_name(umbel_slice s)
{
    const uint8_t *at = s.data;

    for (size_t i = 0; i < s.len; i++)
        if (!(at[i] >= 0x80 || at[i] == '.' || at[i] == '-' || at[i] == '_' ||
              (at[i] >= '0' && at[i] <= '9') ||
              ((at[i] | 0x20) >= 'a' && (at[i] | 0x20) <= 'z')))
            return false;
    return s.len > 0;
}

static bool is_address(umbel_slice s)
{
    uint8_t bytes[16];
    char text[INET6_ADDRSTRLEN + 16]; /* a zone may follow: fe80::1%lo0 */

    if (!um_slice_text(s, text, sizeof text))
        return false;
    text[strcspn(text, "%")] = '\0';
    return inet_pton(AF_INET, text, bytes) == 1 ||
           inet_pton(AF_INET6, text, bytes) == 1;
}

/* --- hosts files: ADDRESS NAME... ----------------------------------------- */

/* Returns true for the names of the machine itself, which most lists repeat
 * from the file that they replace. */
static bool is_own_name(umbel_slice name)
{
    static const char *const own[] = {
        "localhost",      "localhost.localdomain", "local",
        "broadcasthost",  "ip6-localhost",         "ip6-loopback",
        "ip6-localnet",   "ip6-mcastprefix",       "ip6-allnodes",
        "ip6-allrouters", "ip6-allhosts",          "0.0.0.0"};

    for (size_t i = 0; i < UM_COUNT(own); i++)
        if (equals(name, own[i]))
            return true;
    return false;
}

static const char *hosts_names(umbel_slice *line)
{
    umbel_slice address, name;

    cut_comment(line);
    if (!um_next_word(line, &address))
        return NULL;
    umbel_slice rest = *line;
    *line = address;
    if (!is_address(address))
        return "a line of a hosts file is an address, then names; "
               "--list-format "
               "domains takes names alone";
    umbel_slice names = rest;
    while (um_next_word(&rest, &name))
        if (!is_name(name)) {
            *line = name;
            return "not a domain name after the address";
        }
    *line = names;
    return NULL;
}

/* --- domains -------------------------------------------------------------- */

static const char *domain_name(umbel_slice *line)
{
    if (begins(*line, "!") || begins(*line, ";"))
        line->len = 0;
    cut_comment(line);
    if (begins(*line, "*."))
        cut_front(line, 2);
    else if (begins(*line, "."))
        cut_front(line, 1);
    if (!line->len || is_name(*line))
        return NULL;
    umbel_slice rest = *line, word;
    if (um_next_word(&rest, &word) && is_address(word))
        return "not a domain name alone; --list-format hosts takes addresses "
               "with names";
    return begins(*line, "||")
               ? "not a domain name alone; --list-format adblock takes rules"
               : "not a domain name";
}

/* --- adblock rules -------------------------------------------------------- */

/* Options after which a rule still blocks a whole domain. */
static bool is_whole_domain(umbel_slice options)
{
    static const char *const harmless[] = {"important", "all", "document",
                                           "doc"};
    const char *at = options.data, *end = at + options.len;

    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        umbel_slice option = {at, (size_t)((comma ? comma : end) - at)};
        size_t i = 0;
        while (i < UM_COUNT(harmless) && !equals(option, harmless[i]))
            i++;
        if (i == UM_COUNT(harmless))
            return false;
        at = comma ? comma + 1 : end;
    }
    return true;
}

/* ||NAME^, with or without options that do not restrict it */
static bool parse_rule(umbel_slice *rule)
{
    const char *at = rule->data;
    const char *end = begins(*rule, "||") ? memchr(at, '^', rule->len) : NULL;

    if (!end)
        return false;
    umbel_slice name = {at + 2, (size_t)(end - at) - 2};
    umbel_slice rest = {end + 1, rule->len - (size_t)(end + 1 - at)};
    if (begins(rest, "|"))
        cut_front(&rest, 1);
    if (rest.len && !begins(rest, "$"))
        return false;
    if (rest.len)
        cut_front(&rest, 1);
    if (begins(name, "*."))
        cut_front(&name, 2);
    if (!is_name(name) || !is_whole_domain(rest))
        return false;
    *rule = name;
    return true;
}

static const char *adblock_name(umbel_slice *line, um_left_out *left_out)
{
    *line = um_trim(*line);
    bool comment = begins(*line, "!") || begins(*line, "[Adblock") ||
                   begins(*line, "# ") || equals(*line, "#");

    if (line->len && !comment && parse_rule(line))
        return NULL;
    if (line->len && !comment && begins(*line, "@@"))
        left_out->exceptions++;
    else if (line->len && !comment)
        left_out->rules++;
    line->len = 0;
    return NULL;
}

bool um_left_out_report(const um_left_out *n, char *out, size_t cap)
{
    char rules[80] = "", exceptions[120] = "";

    if (n->rules)
        snprintf(rules, sizeof rules,
                 " %" PRIu64 " that do not block a whole domain%s", n->rules,
                 n->exceptions ? "," : "");
    if (n->exceptions)
        snprintf(exceptions, sizeof exceptions,
                 " %" PRIu64 " with an exception (@@): make a filter of their "
                 "names, and ask with check --unless",
                 n->exceptions);
    snprintf(out, cap, "lines that were left out:%s%s", rules, exceptions);
    return n->rules || n->exceptions;
}

const char *um_list_names(um_list_format list, umbel_slice *line,
                          um_left_out *left_out)
{
    return list == UM_LIST_HOSTS     ? hosts_names(line)
           : list == UM_LIST_DOMAINS ? domain_name(line)
                                     : adblock_name(line, left_out);
}

bool um_list_next(um_list_format list, umbel_slice *names, umbel_slice *out)
{
    while (um_next_word(names, out))
        if (list != UM_LIST_HOSTS || !is_own_name(*out))
            return true;
    return false;
}

/* --- Have I Been Pwned: HASH:COUNT ---------------------------------------- */

const char *um_hibp_hash(umbel_slice *line, const char *range, uint8_t *out)
{
    enum { NTLM_DIGITS = 32 };
    const char *at = line->data, *colon = memchr(at, ':', line->len);
    size_t len = colon ? (size_t)(colon - at) : line->len;
    size_t whole = len + strlen(range);
    uint64_t count = 1;

    if (colon &&
        !um_decimal_read(colon + 1, line->len - len - 1, UINT64_MAX, &count))
        return "not HASH:COUNT";
    if (len == UM_HIBP_DIGITS || len == NTLM_DIGITS) {
        *line = (umbel_slice){at, len};
    } else if (*range && (whole == UM_HIBP_DIGITS || whole == NTLM_DIGITS)) {
        memcpy(out, range, UM_RANGE_DIGITS);
        memcpy(out + UM_RANGE_DIGITS, at, len);
        *line = (umbel_slice){out, whole};
    } else {
        return !*range && len + UM_RANGE_DIGITS == UM_HIBP_DIGITS
                   ? "the first 5 digits are missing: the name of a range "
                     "file is these digits, such as 00000.txt"
                   : "not HASH:COUNT: the hash has 40 digits (SHA-1) or 32 "
                     "(NTLM)";
    }
    if (count == 0) /* padding, which hides how many hashes a range has */
        line->len = 0;
    return NULL;
}

/* --- JSON lines ----------------------------------------------------------- */

/* Reads the value that comes next. */
static const char *read_value(um_json *j, uint8_t *out, size_t cap, size_t *len)
{
    uint8_t c = um_json_peek(j);
    um_json_slice text;

    *len = 0;
    if (c == '{' || c == '[') {
        um_json_skip(j);
        return "the member is not a string or number";
    }
    text = c == '"' ? um_json_read_string(j) : um_json_read_word(j);
    if (um_json_bad(j) ||
        (c != '"' && equals((umbel_slice){text.at, text.len}, "null")))
        return NULL;
    size_t n = um_json_copy(&text, (char *)out, cap);
    if (n == UM_JSON_INVALID)
        return "an escape in the string is invalid";
    *len = n;
    return NULL;
}

const char *um_json_member_key(umbel_slice line, const char *name, uint8_t *out,
                               size_t *len)
{
    const uint8_t *at = line.data;
    um_json j = {.at = at, .end = at + line.len};
    const char *wrong = "no such member in this line";
    um_json_slice key;

    *len = 0;
    if (um_json_peek(&j) == '[')
        return "a line is one JSON object: jq -c '.[]' FILE makes them of an "
               "array";
    for (bool first = true; um_json_member(&j, &first, &key);)
        if (um_json_is(&key, name, strlen(name)))
            wrong = read_value(&j, out, line.len, len);
        else
            um_json_skip(&j);
    if (um_json_bad(&j))
        return "not a JSON object in one line";
    while (j.at < j.end && um_json_blank(*j.at))
        j.at++;
    return j.at < j.end ? "something follows the JSON object" : wrong;
}
