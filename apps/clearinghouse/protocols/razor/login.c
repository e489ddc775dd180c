/*
 * login.c - registration, challenge and answer.
 */
#include "clearinghouse/protocols/razor/internal.h"

#include "base/error.h"
#include "base/hash.h"

#include <sha1.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

static bool find_account(const um_razor_service *f, umbel_slice name,
                         umbel_slice *password)
{
    return um_razor_account_find(f->env->store, name, password) ||
           (um_razor_settings_of(f)->accounts && um_razor_is_name(name) &&
            um_razor_shared_find(f->shared, f->env, name, password));
}

/* --- the MAC -------------------------------------------------------------- */

static void hash_padded(umbel_slice password, uint8_t pad, umbel_slice text,
                        uint8_t out[UM_DIGEST_BYTES])
{
    uint8_t block[UM_RAZOR_PASSWORD];
    const uint8_t *key = password.data;
    SHA1_CTX ctx;

    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (uint8_t)(pad ^ (i < password.len ? key[i] : 0));
    SHA1Init(&ctx);
    SHA1Update(&ctx, block, sizeof block);
    SHA1Update(&ctx, text.data, text.len);
    SHA1Final(out, &ctx);
}

void um_razor_mac(umbel_slice password, umbel_slice challenge,
                  char out[UM_RAZOR_TEXT + 1])
{
    uint8_t digest[UM_DIGEST_BYTES];
    char inner[UM_DIGEST_TEXT];

    hash_padded(password, 0x5c, challenge, digest);
    hash_padded(password, 0x36, um_signature_print(digest, inner), digest);
    um_razor_encode(digest, out);
}

/* --- names and passwords -------------------------------------------------- */

typedef struct credentials {
    char name[UM_RAZOR_NAME + 1], password[UM_RAZOR_PASSWORD + 1];
    umbel_slice name_slice, password_slice;
} credentials;

/* Unescapes a name or a password; false if it is not valid. */
static bool read_text(umbel_slice value, char out[UM_RAZOR_NAME + 1],
                      umbel_slice *slice)
{
    size_t len;

    if (!um_razor_unescape(value, out, UM_RAZOR_NAME, &len))
        return false;
    out[len] = '\0';
    *slice = (umbel_slice){out, len};
    return um_razor_is_name(*slice);
}

/* --- registration --------------------------------------------------------- */

/* Reads the credentials, and generates those that the client leaves out. */
static bool read_credentials(const um_razor_query *q, credentials *c)
{
    char invented[UM_RAZOR_INVENTED + 1];
    umbel_slice name = q->value[UM_RAZOR_USER];
    umbel_slice password = q->value[UM_RAZOR_PASS];
    char other[UM_RAZOR_INVENTED + 1];

    um_razor_invent(invented);
    um_razor_invent(other);
    if (!name.data)
        name = (umbel_slice){invented, UM_RAZOR_INVENTED};
    if (!password.data)
        password = (umbel_slice){other, UM_RAZOR_INVENTED};
    return read_text(name, c->name, &c->name_slice) &&
           read_text(password, c->password, &c->password_slice);
}

/* Returns true if the network may register another account, or (of the other
 * limit) learn once more that an account does not exist. Each consumes 1/N of
 * an hour's tokens, where N is the setting. */
static bool is_within_signups(um_razor_session *s, um_limit which)
{
    const um_razor_settings *set = um_razor_settings_of(s->service);

    return !set->registrations ||
           um_limits_consume(s->service->signup, um_stream_peer(s->stream),
                             which,
                             UM_RAZOR_SIGNUP_SECONDS / set->registrations,
                             um_clock_ms(s->service->env->clock));
}

static um_razor_outcome
judge_registration(um_razor_session *s, const um_razor_query *q, credentials *c)
{
    um_razor_service *f = s->service;
    umbel_slice old;

    if (um_razor_settings_of(f)->registration)
        return UM_RAZOR_CLOSED;
    if (!read_credentials(q, c))
        return UM_RAZOR_MALFORMED;
    if (f->accounts >= UM_RAZOR_ACCOUNTS)
        return UM_RAZOR_ACCOUNTS_FULL;
    if (!is_within_signups(s, UM_LIMIT_REQUESTS))
        return UM_RAZOR_SIGNUP_LIMIT;
    return find_account(f, c->name_slice, &old) ? UM_RAZOR_NAME_TAKEN
                                                : UM_RAZOR_OK;
}

static size_t print_credentials(const credentials *c, char out[UM_RAZOR_REPLY])
{
    char name[3 * UM_RAZOR_NAME + 1], password[3 * UM_RAZOR_PASSWORD + 1];

    um_razor_escape(c->name_slice, name);
    um_razor_escape(c->password_slice, password);
    return (size_t)snprintf(out, UM_RAZOR_REPLY, "pass=%s&res=1&user=%s\r\n",
                            password, name);
}

/* Writes an account, and with accounts = "shared" an entry for peers. */
static umbel_status store_account(um_razor_service *f, const credentials *c,
                                  uint64_t *ticket)
{
    const um_environment *env = f->env;

    UM_TRY(um_razor_account_append(env->store, c->name_slice, c->password_slice,
                                   env->clock->now, ticket, NULL));
    f->accounts++;
    if (!um_razor_settings_of(f)->accounts || !env->peers)
        return UMBEL_OK;
    /* If the log accepts no entry now, um_razor_shared_publish appends it
     * later. */
    if (um_razor_shared_append(env, c->name_slice, c->password_slice, ticket,
                               NULL) != UMBEL_OK)
        um_razor_shared_again(f->shared);
    return UMBEL_OK;
}

void um_razor_register(um_razor_session *s, const um_razor_query *q)
{
    um_razor_service *f = s->service;
    const uint8_t counted[UM_RAZOR_OPS] = {[UM_RAZOR_OP_REGISTER] = 1};
    const um_razor_answer not_stored = {.outcome = UM_RAZOR_NOT_STORED};
    credentials c;
    char text[UM_RAZOR_REPLY], failed[UM_RAZOR_REPLY];
    uint64_t ticket;
    um_razor_outcome outcome = judge_registration(s, q, &c);

    if (outcome == UM_RAZOR_OK && store_account(f, &c, &ticket) != UMBEL_OK)
        outcome = UM_RAZOR_NOT_STORED;
    if (outcome != UM_RAZOR_OK) {
        um_razor_refuse(s, UM_RAZOR_OP_REGISTER, outcome);
        return;
    }
    um_razor_send_committed(
        s, ticket, counted, (umbel_slice){text, print_credentials(&c, text)},
        (umbel_slice){failed, um_razor_print(&not_stored, failed)});
}

/* --- challenge and answer ------------------------------------------------- */

/* Returns true if the client gets to know that an account does not exist, so
 * that it registers: only where it may, and not often, on loopback as well.
 * Other unknown names get a challenge, and fail like those with a wrong
 * password. */
static bool reveals_unknown(um_razor_session *s)
{
    const um_razor_service *f = s->service;
    um_network network = um_limits_network(f->tries, um_stream_peer(s->stream));

    return !um_razor_settings_of(f)->registration &&
           is_within_signups(s, UM_LIMIT_REPORTS) &&
           um_limits_consume_of(f->tries, network, UM_LIMIT_REPORTS,
                                UM_RAZOR_NETWORK_TRY,
                                um_clock_ms(f->env->clock));
}

void um_razor_challenge(um_razor_session *s, const um_razor_query *q)
{
    char text[UM_RAZOR_CHALLENGE + 16];
    umbel_slice name, password;
    bool known = read_text(q->value[UM_RAZOR_USER], s->user, &name);

    s->authenticated = false;
    s->challenge[0] = '\0';
    if (!known) {
        s->user[0] = '\0';
        um_razor_refuse(s, UM_RAZOR_OP_LOGIN, UM_RAZOR_MALFORMED);
        return;
    }
    if (!find_account(s->service, name, &password) && reveals_unknown(s)) {
        um_razor_refuse(s, UM_RAZOR_OP_LOGIN, UM_RAZOR_UNKNOWN_USER);
        return;
    }
    um_razor_invent_challenge(s->challenge);
    int len = snprintf(text, sizeof text, "achal=%s\r\n", s->challenge);
    um_razor_send(s, (umbel_slice){text, (size_t)len});
}

/* Checks the answer to the challenge. */
static bool is_right_answer(um_razor_session *s, umbel_slice answer)
{
    umbel_slice password = {"", 0};
    umbel_slice challenge = {s->challenge, UM_RAZOR_CHALLENGE};
    char right[UM_RAZOR_TEXT + 1], given[UM_RAZOR_TEXT];
    size_t len;

    /* An unknown name takes the same time. */
    bool known = find_account(s->service, um_razor_user_of(s), &password);
    um_razor_mac(password, challenge, right);
    return um_razor_unescape(answer, given, sizeof given, &len) &&
           len == sizeof given &&
           sodium_memcmp(given, right, sizeof given) == 0 && known;
}

/* The tries of a client: for one account, and for all. */
typedef struct login_tries {
    um_network account, network;
    bool limited; /* of all accounts: not on loopback */
} login_tries;

/* Takes a try; returns false if none is left. */
static bool begin_try(const um_razor_session *s, login_tries *t)
{
    const um_razor_service *f = s->service;
    const um_address *client = um_stream_peer(s->stream);
    uint64_t now = um_clock_ms(f->env->clock);

    t->network = t->account = um_limits_network(f->tries, client);
    t->account.hi ^= um_checksum(s->user, strlen(s->user)) | 1;
    t->limited =
        f->env->config->limits.loopback || !um_address_is_loopback(client);
    /* The network first: one without tries left must not fill the table with
     * accounts. */
    return (!t->limited ||
            um_limits_consume_of(f->tries, t->network, UM_LIMIT_REPORTS,
                                 UM_RAZOR_NETWORK_TRY, now)) &&
           um_limits_consume_of(f->tries, t->account, UM_LIMIT_REQUESTS,
                                UM_RAZOR_ACCOUNT_TRY, now);
}

/* Only wrong passwords count. */
static void refund_try(const um_razor_session *s, const login_tries *t)
{
    um_limits *l = s->service->tries;

    um_limits_refund(l, t->account, UM_LIMIT_REQUESTS, UM_RAZOR_ACCOUNT_TRY);
    if (t->limited)
        um_limits_refund(l, t->network, UM_LIMIT_REPORTS, UM_RAZOR_NETWORK_TRY);
}

void um_razor_authenticate(um_razor_session *s, const um_razor_query *q)
{
    static const umbel_slice accepted = {"res=1\r\n", 7};
    login_tries tries;

    if (!s->challenge[0]) {
        um_razor_refuse(s, UM_RAZOR_OP_LOGIN, UM_RAZOR_NOT_AUTHENTICATED);
        return;
    }
    if (!begin_try(s, &tries)) {
        s->challenge[0] = '\0';
        um_razor_refuse(s, UM_RAZOR_OP_LOGIN, UM_RAZOR_LOGIN_LIMIT);
        return;
    }
    s->authenticated = is_right_answer(s, q->value[UM_RAZOR_ARESP]);
    s->challenge[0] = '\0';
    if (!s->authenticated) {
        um_razor_refuse(s, UM_RAZOR_OP_LOGIN, UM_RAZOR_WRONG_PASSWORD);
        return;
    }
    refund_try(s, &tries);
    um_razor_note(s->service, UM_RAZOR_OP_LOGIN, UM_RAZOR_OK,
                  um_stream_peer(s->stream), (umbel_slice){NULL, 0});
    um_razor_send(s, accepted);
}
