/*
 * accounts.c - accounts, in the key-value table of the store.
 *
 *   name   "razor/account/" and the name of the account
 *   value  its password
 *
 *   name   "razor/state"
 *   value  8 bytes, little-endian: the serial; and the state, as it is sent
 */

#include "clearinghouse/protocols/razor/internal.h"

#include "base/bytes.h"
#include "base/hex.h"

#include <sodium.h>
#include <string.h>

#define PREFIX "razor/account/"
#define STATE "razor/state"
enum { PREFIX_LEN = sizeof PREFIX - 1, SERIAL_LEN = 8 };

bool um_razor_is_name(umbel_slice text)
{
    const char *at = text.data;

    if (text.len < 1 || text.len > UM_RAZOR_NAME)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (at[i] <= ' ' || at[i] > '~')
            return false;
    return true;
}

/* --- records -------------------------------------------------------------- */

typedef struct note_name {
    char bytes[PREFIX_LEN + UM_RAZOR_NAME];
    size_t len;
} note_name;

static umbel_slice name_note(umbel_slice name, note_name *n)
{
    memcpy(n->bytes, PREFIX, PREFIX_LEN);
    memcpy(n->bytes + PREFIX_LEN, name.data, name.len);
    return (umbel_slice){n->bytes, PREFIX_LEN + name.len};
}

bool um_razor_account_find(const um_store *s, umbel_slice name,
                           umbel_slice *password)
{
    note_name note;

    return um_razor_is_name(name) &&
           um_store_get(s, name_note(name, &note), password);
}

umbel_status um_razor_account_append(um_store *s, umbel_slice name,
                                     umbel_slice password, uint64_t now,
                                     uint64_t *ticket, umbel_error *err)
{
    note_name note;

    return um_store_set(s, name_note(name, &note), password, now, ticket, err);
}

bool um_razor_account_next(const um_store *s, size_t *at, umbel_slice *name,
                           umbel_slice *password)
{
    while (um_store_next(s, at, name, password))
        if (name->len > PREFIX_LEN && name->len <= PREFIX_LEN + UM_RAZOR_NAME &&
            password->len <= UM_RAZOR_PASSWORD &&
            memcmp(name->data, PREFIX, PREFIX_LEN) == 0) {
            name->data = (const char *)name->data + PREFIX_LEN;
            name->len -= PREFIX_LEN;
            return true;
        }
    return false;
}

size_t um_razor_account_count(const um_store *s)
{
    umbel_slice name, password;
    size_t n = 0;

    for (size_t at = 0; um_razor_account_next(s, &at, &name, &password);)
        n++;
    return n;
}

/* --- random texts --------------------------------------------------------- */

void um_razor_invent(char out[UM_RAZOR_INVENTED + 1])
{
    static const char alphabet[] = "abcdefghijkmnpqrstuvwxyz23456789";

    for (size_t i = 0; i < UM_RAZOR_INVENTED; i++)
        out[i] = alphabet[randombytes_random() % (sizeof alphabet - 1)];
    out[UM_RAZOR_INVENTED] = '\0';
}

void um_razor_invent_challenge(char out[UM_RAZOR_CHALLENGE + 1])
{
    uint8_t bytes[UM_RAZOR_CHALLENGE / 2];

    randombytes_buf(bytes, sizeof bytes);
    um_hex_write(bytes, sizeof bytes, out);
}

/* --- the serial ----------------------------------------------------------- */

umbel_status um_razor_serial(um_store *s, umbel_slice state, uint64_t now,
                             uint64_t *serial, umbel_error *err)
{
    umbel_slice name = {STATE, sizeof STATE - 1}, old;
    uint8_t bytes[SERIAL_LEN + UM_RAZOR_REPLY];
    um_writer w = {bytes, bytes + sizeof bytes, false};
    uint64_t last = 0, ticket;

    if (um_store_get(s, name, &old) && old.len >= SERIAL_LEN) {
        um_reader r = {old.data, (const uint8_t *)old.data + old.len, false};
        last = um_get_u64(&r);
        if (old.len - SERIAL_LEN == state.len &&
            memcmp(r.at, state.data, state.len) == 0) {
            *serial = last;
            return UMBEL_OK;
        }
    }
    *serial = now > last ? now : last + 1;
    um_write_u64(&w, *serial);
    um_write_bytes(&w, state.data, state.len);
    return um_store_set(s, name, (umbel_slice){bytes, (size_t)(w.at - bytes)},
                        now, &ticket, err);
}
