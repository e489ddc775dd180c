/*
 * cmd_publish.c - umbel publish: filters where any web server can serve them.
 */
#include "base/error.h"
#include "base/text.h"
#include "cli/confirmed.h"
#include "cli/content.h"
#include "cli/files.h"
#include "cli/keys.h"
#include "cli/report.h"
#include "cli/shelf.h"
#include "cli/sniff.h"
#include "cli/table.h"
#include "exchange/publish.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const um_option options[] = {
    {"sign", 0, "KEY", "sign with this key (umbel keygen --sign)"},
    {"valid", 0, "DAYS", "readers refuse it after so many days"},
    {"keep", 0, "N", "differences that are kept, up to 64 (default 16)"},
    {"never", 0, "FILE",
     "keys that readers found to match falsely: retouch; may be given again"},
    {"members", 0, "FILE", "with --never: all keys of the filter"},
    {0}};

enum { KEEP = 16, DAY = 86400 };

/* All filters of one call. */
typedef struct publishing {
    const um_args *args;
    um_shelf shelf;
    uint64_t keep, valid, memory;
    const uint8_t *secret; /* NULL: do not sign */
    um_blob *until_now;    /* filters that were replaced */
    size_t nuntil_now;
} publishing;

/* One filter on its way. */
typedef struct edition {
    char name[UM_NAME_MAX + 1];
    um_content file;
    um_manifest last, next;
    um_blob step;
    bool has_step;
    umbel_error no_step; /* why there is none */
    um_taken_back taken_back;
} edition;

/* The file's name without directories and .umb. */
static umbel_status name_of(const char *path, char out[UM_NAME_MAX + 1],
                            umbel_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t len = strlen(name);

    if (len > 4 && strcmp(name + len - 4, ".umb") == 0)
        len -= 4;
    if (!um_name_is_fine(name, len))
        return um_fail(err, UMBEL_E_RANGE,
                       "%s%s has no name for an address: letters, digits and "
                       "._- inside, up to %d, please",
                       um_path_dots(path), um_path_tail(path), UM_NAME_MAX);
    memcpy(out, name, len);
    out[len] = '\0';
    return UMBEL_OK;
}

/* Damage is told, and what the library does not know: options, other files. */
static umbel_status decode(const publishing *p, const char *path,
                           const um_content *file, const uint8_t *secret,
                           umbel_filter **out, umbel_error *err)
{
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_error inner;

    source.verify = true;
    source.secret = secret;
    source.memory_limit = p->memory;
    umbel_status status =
        umbel_decode(file->bytes, file->len, &source, out, &inner);
    if (status == UMBEL_OK)
        return UMBEL_OK;
    um_set_error(err, status, "%s%s: %.180s%s", um_path_dots(path),
                 um_path_tail(path), inner.text, um_memory_advice(inner.text));
    if (status == UMBEL_E_FORMAT)
        um_sniff_filter(path, err);
    return status;
}

/* Only what readers will be able to read is published. */
static umbel_status read_filter(const publishing *p, const char *path,
                                um_content *file, umbel_filter **out,
                                umbel_error *err)
{
    uint8_t secret[UMBEL_SECRET_LEN];
    bool given;
    umbel_status status = um_content_read(file, path, err);

    if (status == UMBEL_OK)
        status = um_read_secret(p->args, secret, &given, err);
    if (status == UMBEL_OK)
        status = decode(p, path, file, given ? secret : NULL, out, err);
    sodium_memzero(secret, sizeof secret);
    return status;
}

static umbel_status load_piece(const publishing *p, const um_blob *piece,
                               umbel_filter **out, umbel_error *err)
{
    um_content c;
    umbel_source source = UMBEL_SOURCE_INIT;
    umbel_status status =
        um_shelf_get(&p->shelf, piece, UM_BLOB_FILTER, &c, err);

    if (status != UMBEL_OK)
        return status;
    source.memory_limit = p->memory;
    status = umbel_decode(c.bytes, c.len, &source, out, err);
    um_content_fini(&c);
    return status;
}

/* The difference from old, where there can be one and it is the smaller. */
static umbel_status make_step(const publishing *p, edition *e,
                              const umbel_filter *old, const umbel_filter *now,
                              umbel_error *err)
{
    um_content c;
    umbel_diff_result bill;
    umbel_status status = UMBEL_OK;

    if (um_content_diff(&c, old, now, &bill, &e->no_step) != UMBEL_OK)
        return UMBEL_OK;
    e->has_step = c.len < e->file.len;
    if (e->has_step) {
        um_digest_of(c.bytes, c.len, e->step.digest);
        e->step.len = c.len;
        status = um_shelf_put(&p->shelf, &e->step, UM_BLOB_STEP, c.bytes, err);
    } else {
        um_set_error(&e->no_step, UMBEL_OK, "too much has changed");
    }
    um_content_fini(&c);
    return status;
}

/* Whoever lost the last filter publishes without a difference. */
static umbel_status step_from_last(const publishing *p, edition *e,
                                   const umbel_filter *now,
                                   const um_blob *filter, umbel_error *err)
{
    umbel_filter *old;

    if (e->last.serial == 0 || p->keep == 0 ||
        memcmp(e->last.filter.digest, filter->digest, UM_DIGEST_LEN) == 0 ||
        load_piece(p, &e->last.filter, &old, &e->no_step) != UMBEL_OK)
        return UMBEL_OK;
    umbel_status status = make_step(p, e, old, now, err);
    umbel_close(old);
    return status;
}

/* Two who sign with different keys would lock each other's readers out. */
static umbel_status check_signer(const publishing *p, const edition *e,
                                 umbel_error *err)
{
    uint8_t key[UM_TRUST_KEY_LEN] = {0};

    if (p->secret)
        crypto_sign_ed25519_sk_to_pk(key, p->secret);
    if (!e->last.is_signed ||
        (p->secret && memcmp(key, e->last.key, sizeof key) == 0))
        return UMBEL_OK;
    return um_fail(err, UMBEL_E_REFUSED,
                   "%s was published with %s key: sign with that one, or "
                   "remove its manifest; readers must then %s",
                   e->name, p->secret ? "another" : "a",
                   p->secret ? "name the new key with --trust"
                             : "remove FILE.pull");
}

static umbel_status put_manifest(const publishing *p, edition *e,
                                 umbel_error *err)
{
    char text[UM_MANIFEST_MAX];
    size_t len = um_manifest_write(&e->next, p->secret, text);

    return um_shelf_put_manifest(&p->shelf, e->name, text, len, err);
}

/* Pieces first, the manifest last: at every moment what it names is there. */
static umbel_status publish(const publishing *p, edition *e,
                            const umbel_filter *f, umbel_error *err)
{
    um_edition next = {.valid = p->valid, .keep = (size_t)p->keep};

    umbel_status status = um_shelf_manifest(&p->shelf, e->name, &e->last, err);
    if (status == UMBEL_OK)
        status = check_signer(p, e, err);
    if (status != UMBEL_OK)
        return status;
    um_digest_of(e->file.bytes, e->file.len, next.filter.digest);
    next.filter.len = e->file.len;
    status = um_shelf_put(&p->shelf, &next.filter, UM_BLOB_FILTER,
                          e->file.bytes, err);
    if (status == UMBEL_OK)
        status = step_from_last(p, e, f, &next.filter, err);
    if (status != UMBEL_OK)
        return status;
    next.step = e->has_step ? &e->step : NULL;
    next.now = (uint64_t)time(NULL);
    um_manifest_next(&e->last, &next, &e->next);
    if (e->next.serial == UINT64_MAX)
        return um_fail(err, UMBEL_E_LIMIT,
                       "%s was published too often: take another name",
                       e->name);
    return put_manifest(p, e, err);
}

static void info_taken_back(const publishing *p, const edition *e,
                            umbel_info *out)
{
    const um_taken_back *t = &e->taken_back;

    if (!um_has(p->args, "never"))
        return;
    um_info_count(out, "never_matched", t->matched);
    um_info_count(out, "never_left", t->left);
    um_info_count(out, "never_members", t->members);
    um_info_count(out, "members_lost", t->lost);
}

/* What costs readers bytes, or an assurance that they had. */
static void tell_reasons(const edition *e)
{
    if (*e->no_step.text)
        printf("all readers fetch the whole file: %s\n", e->no_step.text);
    if (e->last.expires && !e->next.expires)
        puts("the manifest before this one was to expire, this one is not: "
             "--valid DAYS");
}

static void report(const publishing *p, const edition *e, const umbel_filter *f)
{
    umbel_info info = {0};
    char digest[UM_DIGEST_HEX];
    bool again =
        e->last.serial && memcmp(e->last.filter.digest, e->next.filter.digest,
                                 UM_DIGEST_LEN) == 0;

    um_digest_text(e->next.filter.digest, digest);
    if (um_has(p->args, "json")) {
        um_info_text(&info, "name", e->name);
        um_info_count(&info, "serial", e->next.serial);
        um_info_text(&info, "digest", digest);
        um_info_count(&info, "bytes", e->next.filter.len);
        um_info_count(&info, "difference_bytes", e->has_step ? e->step.len : 0);
        um_info_count(&info, "differences", e->next.nsteps);
        um_info_flag(&info, "signed", e->next.is_signed);
        um_info_count(&info, "expires", e->next.expires);
        info_taken_back(p, e, &info);
        um_print_json(stdout, &info);
    } else if (!um_has(p->args, "quiet")) {
        if (um_has(p->args, "never"))
            um_tell_taken_back(stdout, e->name, p->args, f, &e->taken_back);
        printf("%s: serial %" PRIu64 ", %s bytes", e->name, e->next.serial,
               um_grouped(e->next.filter.len).text);
        if (e->has_step)
            printf(", or %s for who has the last one",
                   um_grouped(e->step.len).text);
        else if (again)
            fputs(", as before", stdout);
        puts(e->next.is_signed ? ", signed" : ", not signed");
        tell_reasons(e);
    }
}

/* The file anew, after the filter changed. */
static umbel_status encode_again(um_content *file, const umbel_filter *f,
                                 umbel_error *err)
{
    um_content again;
    umbel_status status = um_content_encode(&again, f, err);

    if (status != UMBEL_OK)
        return status;
    um_content_fini(file);
    *file = again;
    return UMBEL_OK;
}

/* What nothing was taken from stays as it is, to the last byte. */
static umbel_status take_back(const publishing *p, edition *e, umbel_filter *f,
                              umbel_error *err)
{
    if (!um_has(p->args, "never"))
        return UMBEL_OK;
    umbel_status status = um_take_back(p->args, f, &e->taken_back, err);
    return status == UMBEL_OK && e->taken_back.matched > e->taken_back.left
               ? encode_again(&e->file, f, err)
               : status;
}

static umbel_status publish_file(publishing *p, const char *path,
                                 umbel_error *err)
{
    edition e = {.has_step = false};
    umbel_filter *f = NULL;

    umbel_status status = name_of(path, e.name, err);
    if (status == UMBEL_OK)
        status = read_filter(p, path, &e.file, &f, err);
    if (status == UMBEL_OK)
        status = take_back(p, &e, f, err);
    if (status == UMBEL_OK)
        status = publish(p, &e, f, err);
    if (status == UMBEL_OK) {
        report(p, &e, f);
        p->until_now[p->nuntil_now++] = e.last.filter;
    }
    umbel_close(f);
    um_content_fini(&e.file);
    return status;
}

/* Two of one name would be one after the other, and the first for nothing. */
static umbel_status check_names(const um_args *args, umbel_error *err)
{
    char a[UM_NAME_MAX + 1], b[UM_NAME_MAX + 1];
    umbel_status status = UMBEL_OK;

    for (size_t i = 1; status == UMBEL_OK && i < args->noperands; i++) {
        status = name_of(args->operands[i], a, err);
        for (size_t j = 1; status == UMBEL_OK && j < i; j++)
            if (name_of(args->operands[j], b, err) == UMBEL_OK &&
                strcmp(a, b) == 0)
                status = um_fail(err, UMBEL_E_RANGE,
                                 "two filters have the name \"%s\"", a);
    }
    return status;
}

/* Who reads that it failed must not think that it is not published. */
static umbel_status tidy(const publishing *p, umbel_error *err)
{
    umbel_error inner;
    umbel_status status =
        um_shelf_tidy(&p->shelf, p->until_now, p->nuntil_now, &inner);

    if (status != UMBEL_OK)
        return um_fail(err, status,
                       "published, but what is old was not removed: %.200s",
                       inner.text);
    return UMBEL_OK;
}

static umbel_status publish_all(publishing *p, umbel_error *err)
{
    const um_args *args = p->args;
    umbel_status status = um_shelf_open(&p->shelf, args->operands[0], err);

    if (status != UMBEL_OK)
        return status;
    p->until_now = calloc(args->noperands, sizeof *p->until_now);
    if (!p->until_now)
        status = um_fail(err, UMBEL_E_NOMEM, "no memory to begin");
    for (size_t i = 1; status == UMBEL_OK && i < args->noperands; i++)
        status = publish_file(p, args->operands[i], err);
    if (status == UMBEL_OK)
        status = tidy(p, err);
    free(p->until_now);
    um_shelf_close(&p->shelf);
    return status;
}

static umbel_status take_options(const um_args *args, publishing *p,
                                 uint8_t secret[UM_SIGN_KEY_LEN],
                                 umbel_error *err)
{
    uint64_t days = 0;
    const char *key = um_value(args, "sign");

    p->keep = KEEP;
    umbel_status status = um_value_count(args, "keep", &p->keep, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "valid", &days, err);
    if (status == UMBEL_OK)
        status = um_value_count(args, "max-memory", &p->memory, err);
    if (status == UMBEL_OK && p->keep > UM_STEPS_MAX)
        status =
            um_fail(err, UMBEL_E_RANGE, "--keep goes up to %d", UM_STEPS_MAX);
    if (status == UMBEL_OK &&
        (days > 36500 || (um_has(args, "valid") && days == 0)))
        status = um_fail(err, UMBEL_E_RANGE, "--valid is 1 to 36500 days");
    p->valid = days * DAY;
    if (status == UMBEL_OK && key) {
        status = um_read_sign_key(key, secret, err);
        p->secret = secret;
    }
    return status;
}

static int run(const um_args *args)
{
    uint8_t secret[UM_SIGN_KEY_LEN];
    publishing p = {.args = args};
    umbel_error err;

    if (args->noperands < 2)
        return um_misuse(args,
                         "give a directory, and filters to publish there");
    if (um_has(args, "never") != um_has(args, "members"))
        return um_misuse(args, "--never and --members go together");
    if (um_has(args, "never") && args->noperands > 2)
        return um_misuse(args, "--never is for one filter at a time");
    if (sodium_init() < 0)
        return um_misuse(args, "the system gives no random numbers");
    umbel_status status = check_names(args, &err);
    if (status == UMBEL_OK)
        status = take_options(args, &p, secret, &err);
    if (status == UMBEL_OK)
        status = publish_all(&p, &err);
    sodium_memzero(secret, sizeof secret);
    return status == UMBEL_OK ? UM_EXIT_FINE : um_trouble(args, &err);
}

const um_command um_cmd_publish = {
    .name = "publish",
    .args = "DIR FILTER...",
    .summary = "put filters where any web server can serve them",
    .options = {options, um_keys_options, um_secret_options, um_memory_options},
    .example = "shelf words.umb --sign key --valid 30",
    .details = "DIR is made if need be, in a directory that is there. Readers "
               "fetch with 'umbel pull ADDRESS-OF-DIR/NAME', NAME being "
               "FILTER's file name without .umb. FILTER stays as it is. "
               "--sign, --valid and --never are for this time: repeat them.",
    .run = run,
};
