/*
 * razor_accounts.h - names and passwords that Razor2 clients registered.
 *
 * They are notes of the store, so they survive whatever reports survive, and
 * lie in files that only the server's user can read. The protocol needs the
 * password in clear: the server computes the same MAC as the client.
 */
#ifndef UM_CLEARINGHOUSE_RAZOR_ACCOUNTS_H
#define UM_CLEARINGHOUSE_RAZOR_ACCOUNTS_H

#include "clearinghouse/protocols/razor/code.h"
#include "store/store.h"

enum {
    UM_RAZOR_NAME = 64, /* bytes of a name, at most */
    UM_RAZOR_ACCOUNTS = 20000,
    UM_RAZOR_CHALLENGE = 16, /* hexadecimal digits */
    UM_RAZOR_INVENTED = 16   /* characters of an invented name or password */
};

/* Returns true if a name, or a password, is one: 1 to 64 printable characters,
 * without blanks. */
bool um_razor_is_name(umbel_slice text);

/* The password is valid until the store changes. */
bool um_razor_account_find(const um_store *s, umbel_slice name,
                           umbel_slice *password);
umbel_status um_razor_account_append(um_store *s, umbel_slice name,
                                     umbel_slice password, uint64_t now,
                                     uint64_t *ticket, umbel_error *err);
size_t um_razor_account_count(const um_store *s);
/* Walks them; *at is 0 at first. */
bool um_razor_account_next(const um_store *s, size_t *at, umbel_slice *name,
                           umbel_slice *password);

/* Writes random characters that nobody guesses. */
void um_razor_invent(char out[UM_RAZOR_INVENTED + 1]);
void um_razor_invent_challenge(char out[UM_RAZOR_CHALLENGE + 1]);

/*
 * Clients ask for the state of a server when its serial has grown. Returns the
 * serial of a state: the one it has in the store, or the present time, which is
 * larger, if the state is another than the last.
 */
umbel_status um_razor_serial(um_store *s, umbel_slice state, uint64_t now,
                             uint64_t *serial, umbel_error *err);

#endif
