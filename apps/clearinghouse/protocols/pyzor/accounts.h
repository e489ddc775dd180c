/*
 * pyzor_accounts.h - accounts and what they may do, from the files of pyzord.
 *
 *   passwd   user : key
 *   access   operations : users : allow|deny
 *
 * In the access file the last line that matches wins, and what no line allows
 * is denied. "all" operations are the six of the protocol; "all" users are
 * those of the passwd file, so not anonymous. Lines of the access file are read
 * in lower case, names of users in requests are not.
 */
#ifndef UM_CLEARINGHOUSE_PYZOR_ACCOUNTS_H
#define UM_CLEARINGHOUSE_PYZOR_ACCOUNTS_H

#include "clearinghouse/protocols/pyzor/sign.h"
#include "clearinghouse/runtime/file_text.h"

/* The operations of the protocol. */
typedef enum um_pyzor_op {
    UM_PYZOR_PING,
    UM_PYZOR_PONG,
    UM_PYZOR_CHECK,
    UM_PYZOR_INFO,
    UM_PYZOR_REPORT,
    UM_PYZOR_WHITELIST,
    UM_PYZOR_OPS, /* from here on: others that an access file names */
    UM_PYZOR_MAX_OPS = 64
} um_pyzor_op;

extern const char *const um_pyzor_op_names[UM_PYZOR_OPS];

#define UM_PYZOR_ANONYMOUS "anonymous"

typedef struct um_pyzor_account {
    char *name;
    char hashed_key[UM_SHA1_HEX + 1];
    uint64_t granted; /* bit i: operation i */
    uint32_t weight;  /* of its reports */
    bool listed;      /* in the passwd file */
} um_pyzor_account;

typedef struct um_pyzor_accounts {
    um_pyzor_account *account; /* sorted by name; anonymous is one of them */
    size_t n;
    char *op[UM_PYZOR_MAX_OPS]; /* names; NULL behind the last */
} um_pyzor_accounts;

/* warn is called for each line that is no rule and is ignored, for each unknown
 * operation or user in a rule, and for a file that does not exist. */
typedef struct um_line_warning {
    um_warn_line *warn;
    void *ctx;
    const char *passwd, *access; /* what the files are called */
} um_line_warning;

/*
 * Reads both files. A path that is NULL, or a file that does not exist, means:
 * no accounts, and anonymous may check, report, ping, pong and info.
 */
umbel_status um_pyzor_accounts_init(um_pyzor_accounts *a, const char *passwd,
                                    const char *access, um_warn_line *warn,
                                    void *ctx, umbel_error *err);
/* The same from texts; data NULL: there is no such file. */
umbel_status um_pyzor_accounts_read(um_pyzor_accounts *a, umbel_slice passwd,
                                    umbel_slice access,
                                    const um_line_warning *w, umbel_error *err);
/* Accepts half-built and zeroed ones. */
void um_pyzor_accounts_fini(um_pyzor_accounts *a);

/* NULL: no such account. */
um_pyzor_account *um_pyzor_account_find(const um_pyzor_accounts *a,
                                        umbel_slice name);
/* The number of an operation; UM_PYZOR_MAX_OPS if none has that name. */
unsigned um_pyzor_op_find(const um_pyzor_accounts *a, umbel_slice name);

#endif
