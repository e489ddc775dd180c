/*
 * header.h - values of header fields, read as Python's email package reads
 * them, and the few facts that rules ask for.
 */
#ifndef UM_MAIL_HEADER_H
#define UM_MAIL_HEADER_H

#include <umbel/base.h>

/* Content-Type: the main type and subtype, "text/plain" if it makes no sense.
 * Lower case is up to the caller; the slices lie in value. */
typedef struct um_content_type {
    umbel_slice type, subtype;
} um_content_type;

um_content_type um_content_type_read(umbel_slice value);

/* Compares without regard to case. */
bool um_slice_is(umbel_slice s, const char *word);

/*
 * Copies the parameter of that name, unquoted, into out, cut at cap - 1 bytes;
 * returns its length. False: there is none. value is the whole field.
 */
bool um_content_param(umbel_slice value, const char *name, char *out,
                      size_t cap, size_t *len);

/* Cuts blanks and line ends off both ends. */
umbel_slice um_slice_trim(umbel_slice s);

/* The domain of an address; lower case, "" if it has none that is a name. */
void um_address_domain(const char *address, char *out, size_t cap);
/* The text between < and > of List-Id, the same. */
void um_list_id(umbel_slice value, char *out, size_t cap);
/* The address in brackets that a Received line gives the client, the same. */
void um_received_client(umbel_slice value, char *out, size_t cap);

#endif
