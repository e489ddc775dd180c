/*
 * welcome.c - arbitrary welcome files: rejected with a line of plain text, or
 * rules each of which matches the mail that it names.
 */
#include "fuzz.h"

#include "clearinghouse/lists/welcome.h"

#include <string.h>

/*
 * Returns a mail that the rule matches: its value, without the leading dot of a
 * domain rule, which matches the domain itself, too.
 */
static um_welcome_mail mail_of(const um_welcome_rule *r, char room[],
                               umbel_slice *digest)
{
    const char *text = r->value;
    um_welcome_mail m = {.digest = digest, .ndigests = 1};
    size_t len = strcspn(text, r->type == UM_WELCOME_CLIENT ? "/" : "");
    bool at = r->type == UM_WELCOME_SENDER && text[0] == '@';
    bool dot = text[at] == '.' && (at || r->type != UM_WELCOME_SENDER);
    char *to = room;

    if (at) {
        *to++ = 'a';
        *to++ = '@';
    }
    memcpy(to, text + at + dot, len - at - dot);
    to += len - at - dot;
    umbel_slice value = {room, (size_t)(to - room)};
    *digest = (umbel_slice){"", 0};
    if (r->type == UM_WELCOME_SENDER)
        m.sender = value;
    else if (r->type == UM_WELCOME_FROM)
        m.from_domain = value;
    else if (r->type == UM_WELCOME_LIST_ID)
        m.list_id = value;
    else if (r->type == UM_WELCOME_CLIENT)
        m.client = value;
    else
        *digest = value;
    return m;
}

static void check_rule(const um_welcome *w, const um_welcome_rule *r)
{
    char room[UM_WELCOME_VALUE + 1];
    um_welcome_rule which;
    umbel_slice digest;
    um_welcome_mail m = mail_of(r, room, &digest);

    UM_WANT(um_welcome_match(w, &m, &which));
    UM_WANT(which.type == r->type && which.line > 0);
}

/* Queries with arbitrary bytes in every field of a mail. */
static void ask_all(const um_welcome *w, umbel_slice any)
{
    um_welcome_mail m = {any, any, any, any, &any, 1};

    um_welcome_match(w, &m, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    umbel_slice text = {data, len}, line;
    um_welcome_rule r;
    um_welcome *w;
    umbel_error err;
    size_t rules = 0;
    bool given;

    umbel_status status = um_welcome_parse(text, "fuzz", NULL, NULL, &w, &err);
    if (status != UMBEL_OK) {
        um_fuzz_check_error(status, &err);
        return 0;
    }
    while (um_next_line(&text, &line)) {
        UM_WANT(um_welcome_rule_read(line, &r, &given, NULL) == UMBEL_OK);
        if (given)
            check_rule(w, &r);
        rules += given;
        ask_all(w, line);
    }
    UM_WANT(um_welcome_rules(w) <= rules);
    UM_WANT((um_welcome_rules(w) > 0) == (rules > 0));
    um_welcome_close(w);
    return 0;
}
