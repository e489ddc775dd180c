/*
 * admit_read.c - admission from the first byte on: size, encoding, content.
 *
 * Cheap refusals come first. What a head claims is refused before memory is
 * taken for it, and a file that is too long before it is read.
 */
#include "analysis/admit.h"
#include "base/error.h"
#include "filter/envelope.h"

#include <sys/stat.h>
#include <unistd.h>

/* What is wrong with the bytes, and what with us. */
static bool is_their_fault(umbel_status status)
{
    return status == UMBEL_E_FORMAT || status == UMBEL_E_VERSION ||
           status == UMBEL_E_CHECKSUM || status == UMBEL_E_UNKNOWN ||
           status == UMBEL_E_LIMIT || status == UMBEL_E_SECRET;
}

static umbel_refusal code_of(umbel_status status)
{
    return status == UMBEL_E_LIMIT    ? UMBEL_REFUSED_BYTES
           : status == UMBEL_E_SECRET ? UMBEL_REFUSED_SECRET
                                      : UMBEL_REFUSED_ENCODING;
}

/* Judge what was decoded, or refuse what was not. */
static umbel_status conclude(umbel_status decoded, const umbel_error *refusal,
                             umbel_filter *f, const umbel_admission *wants,
                             umbel_filter **out, umbel_ruling *ruling,
                             umbel_error *err)
{
    if (decoded != UMBEL_OK && !is_their_fault(decoded)) {
        if (err)
            *err = *refusal;
        return decoded;
    }
    if (decoded != UMBEL_OK) {
        um_add_reason(ruling, code_of(decoded), refusal->text);
        return UMBEL_OK;
    }
    umbel_status status = umbel_admit(f, wants, ruling, err);
    if (status == UMBEL_OK && ruling->admitted && out)
        *out = f;
    else
        umbel_close(f);
    return status;
}

static umbel_status prepare(const umbel_source *given, umbel_source *source,
                            const umbel_admission **wants, umbel_error *err)
{
    UM_TRY(um_check_source(&given, err));
    UM_TRY(um_check_admission(wants, err));
    *source = *given;
    source->verify = true;
    return UMBEL_OK;
}

/* Returns len, or the bytes of a regular file from here on; 0: unknown. */
static uint64_t bytes_ahead(int fd, uint64_t len)
{
    struct stat st;

    if (len != UMBEL_TO_END)
        return len;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    off_t at = lseek(fd, 0, SEEK_CUR);
    return at < 0 || at > st.st_size ? 0 : (uint64_t)(st.st_size - at);
}

/* Where the bytes come from: memory, or a file descriptor. */
typedef struct origin {
    const void *bytes;
    uint64_t len; /* of a file, perhaps UMBEL_TO_END */
    bool is_file;
    int fd;
} origin;

static umbel_status admit_from(const origin *o, const umbel_source *given,
                               const umbel_admission *wants, umbel_filter **out,
                               umbel_ruling *ruling, umbel_error *err)
{
    umbel_source source;
    umbel_filter *f = NULL;
    umbel_error refusal = {0};

    UM_TRY(prepare(given, &source, &wants, err));
    uint64_t len = o->is_file ? bytes_ahead(o->fd, o->len) : o->len;
    if (o->is_file && !len && !source.memory_limit)
        source.memory_limit = wants->max_bytes; /* a pipe: nothing bounds it */
    umbel_ruling r = um_ruling_begin(wants);
    if (um_hold_bytes(wants, len, &r)) {
        umbel_status decoded =
            o->is_file
                ? umbel_read(o->fd, o->len, &source, &f, &refusal)
                : umbel_decode(o->bytes, (size_t)o->len, &source, &f, &refusal);
        UM_TRY(conclude(decoded, &refusal, f, wants, out, &r, err));
    }
    *ruling = r;
    return UMBEL_OK;
}

umbel_status umbel_admit_bytes(const void *bytes, size_t len,
                               const umbel_source *source,
                               const umbel_admission *wants, umbel_filter **out,
                               umbel_ruling *ruling, umbel_error *err)
{
    origin o = {.bytes = bytes, .len = len};
    return admit_from(&o, source, wants, out, ruling, err);
}

umbel_status umbel_admit_read(int fd, uint64_t len, const umbel_source *source,
                              const umbel_admission *wants, umbel_filter **out,
                              umbel_ruling *ruling, umbel_error *err)
{
    origin o = {.is_file = true, .fd = fd, .len = len};
    return admit_from(&o, source, wants, out, ruling, err);
}
