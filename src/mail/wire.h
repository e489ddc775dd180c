/*
 * wire.h - what server and worker say to each other, over a stream socket.
 *
 * A request is a head and the mail; an answer has a fixed length. The server
 * trusts no answer: whatever a worker sends, decoded facts are in range, texts
 * end and hold no byte that a terminal or a document would mind.
 */
#ifndef UM_MAIL_WIRE_H
#define UM_MAIL_WIRE_H

#include "mail/facts.h"

enum {
    UM_MAIL_REQUEST = 12, /* bytes of the head */
    UM_MAIL_ANSWER = 12 + 2 * (1 + UM_SIGNATURE_LEN) + 4 + 8 * UM_SHINGLES +
                     2 * UM_MAIL_NAME + UM_MAIL_CLIENT + UM_MAIL_SAMPLE + 4 +
                     8 + 4
};

typedef struct um_mail_request {
    uint32_t id, len; /* of the mail that follows */
    bool cut;         /* the mail was longer */
} um_mail_request;

typedef enum um_mail_answer_kind {
    UM_MAIL_READY, /* the first one: the worker is closed in and waits */
    UM_MAIL_READ,
    UM_MAIL_NO_MEMORY,
    UM_MAIL_ANSWER_KINDS
} um_mail_answer_kind;

typedef struct um_mail_answer {
    uint32_t id;
    um_mail_answer_kind kind;
    um_mail_facts facts; /* of UM_MAIL_READ */
} um_mail_answer;

void um_mail_request_encode(const um_mail_request *r,
                            uint8_t out[UM_MAIL_REQUEST]);
/* False: no request. */
bool um_mail_request_decode(const uint8_t in[UM_MAIL_REQUEST],
                            um_mail_request *r);

void um_mail_answer_encode(const um_mail_answer *a,
                           uint8_t out[UM_MAIL_ANSWER]);
/* False: nothing that an honest worker would send. */
bool um_mail_answer_decode(const uint8_t in[UM_MAIL_ANSWER], um_mail_answer *a);

#endif
