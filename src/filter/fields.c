/*
 * fields.c - describes filters and tables as named fields.
 */
#include "base/error.h"
#include "filter/envelope.h"
#include "filter/sizing.h"

#include <umbel/file.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *umbel_kind(const umbel_filter *f)
{
    return f->kind->name;
}

uint64_t umbel_cells(const umbel_filter *f)
{
    return f->layout.cells;
}

uint32_t umbel_hashes(const umbel_filter *f)
{
    return f->layout.hashes;
}

double umbel_target_fpr(const umbel_filter *f)
{
    return f->fpr;
}

umbel_key_form umbel_key_form_of(const umbel_filter *f)
{
    return (umbel_key_form)f->key_form;
}

bool umbel_has_false_negatives(const umbel_filter *f)
{
    return f->false_negatives || f->difference || f->kind->forgets;
}

uint64_t umbel_known_false_negatives(const umbel_filter *f)
{
    return f->false_negatives;
}

static void add_error(void *ctx, const umbel_filter *slice, double share)
{
    *(double *)ctx += share * slice->kind->predict(slice->self);
}

double umbel_predict(const umbel_filter *f)
{
    double error = 0;

    if (!f->kind->predict || um_each_slice(f, add_error, &error, NULL))
        return NAN;
    return error;
}

double umbel_fpr_at(const umbel_filter *f, double keys)
{
    return um_shape_error(um_shape_of(f), keys);
}

static umbel_field *append(umbel_info *out, const char *name,
                           umbel_field_type type)
{
    size_t i = out->n < UMBEL_MAX_FIELDS ? out->n++ : UMBEL_MAX_FIELDS - 1;
    umbel_field *field = &out->field[i];

    field->name = name;
    field->type = type;
    return field;
}

void um_info_text(umbel_info *out, const char *name, const char *text)
{
    append(out, name, UMBEL_FIELD_TEXT)->value.text = text;
}

void um_info_count(umbel_info *out, const char *name, uint64_t count)
{
    append(out, name, UMBEL_FIELD_COUNT)->value.count = count;
}

void um_info_real(umbel_info *out, const char *name, double real)
{
    append(out, name, UMBEL_FIELD_REAL)->value.real = real;
}

void um_info_hex(umbel_info *out, const char *name, uint64_t hex)
{
    append(out, name, UMBEL_FIELD_HEX)->value.count = hex;
}

void um_info_flag(umbel_info *out, const char *name, bool flag)
{
    append(out, name, UMBEL_FIELD_FLAG)->value.count = flag;
}

/* Adds the settings. Most settings of a static kind follow from its keys; those
 * at their default are left out. */
static void add_settings(const um_shape *s, umbel_info *out)
{
    const umbel_setting_info *info = s->kind->settings;

    for (size_t i = 0; i < um_count_settings(s->kind); i++)
        if (!s->kind->built || s->setting[i] != info[i].standard)
            um_info_count(out, info[i].name, s->setting[i]);
}

static void add_shape(const um_shape *s, umbel_info *out)
{
    um_info_text(out, "kind", s->kind->name);
    um_info_text(out, "addressing", s->addressing->name);
    um_info_text(out, "hash", s->hash->name);
    um_info_count(out, "seed", s->seed);
    if (s->hash->keyed)
        um_info_hex(out, "secret_id", s->secret_id);
    um_info_count(out, "bits", s->cells);
    um_info_count(out, "hashes", s->hashes);
    add_settings(s, out);
    um_info_text(out, "key_form",
                 umbel_key_form_name((umbel_key_form)s->key_form));
    um_info_count(out, "capacity", s->capacity);
    um_info_real(out, "fpr", s->fpr);
}

static void add_bytes(const umbel_filter *f, umbel_info *out)
{
    size_t head, stored = um_stored_len(f, &head);

    um_info_count(out, "bytes", head + stored);
    um_info_flag(out, "coded", f->coded);
    um_info_count(out, "payload_bytes", f->payload_len);
    um_info_count(out, "stored_bytes", stored);
    um_info_count(out, "shannon_bytes", (uint64_t)ceil(um_shannon_bytes(f)));
}

static void add_keys(const umbel_filter *f, umbel_info *out)
{
    um_info_count(out, "added", umbel_added(f));
    um_info_flag(out, "added_is_estimate", f->estimated);
    um_info_flag(out, "has_false_negatives", umbel_has_false_negatives(f));
    um_info_count(out, "known_false_negatives", f->false_negatives);
    if (!um_is_delta(um_delta_of(f)))
        return;
    um_info_hex(out, "difference_from", um_delta_of(f)->from);
    um_info_hex(out, "difference_to", um_delta_of(f)->to);
}

void umbel_describe_shape(const umbel_filter *f, umbel_info *out)
{
    out->n = 0;
    add_shape(um_shape_of(f), out);
    um_info_flag(out, "coded", f->coded);
    um_info_count(out, "payload_bytes", f->payload_len);
    add_keys(f, out);
    if (f->attached)
        um_info_count(out, "data_bytes", f->attached);
}

void umbel_describe(const umbel_filter *f, umbel_info *out)
{
    const um_kind *kind = f->kind;

    out->n = 0;
    add_shape(um_shape_of(f), out);
    add_bytes(f, out);
    add_keys(f, out);
    if (kind->bits)
        um_info_real(out, "fill",
                     (double)kind->bits->used(f->self, NULL) /
                         (double)f->layout.cells);
    um_info_real(out, "predicted_error", umbel_predict(f));
    um_info_hex(out, "payload_checksum", umbel_payload_checksum(f));
    if (f->attached)
        um_info_count(out, "data_bytes", f->attached);
    if (kind->info)
        kind->info(f->self, out);
}

static const umbel_field *find_field(const umbel_info *info, const char *name)
{
    for (size_t i = 0; i < info->n; i++)
        if (strcmp(info->field[i].name, name) == 0)
            return &info->field[i];
    return NULL;
}

static umbel_status fail_field(const umbel_info *info, const char *name,
                               umbel_error *err)
{
    char names[sizeof(umbel_error)] = "";
    size_t len = 0, room = 160;

    for (size_t i = 0; i < info->n; i++) {
        size_t more = strlen(info->field[i].name);
        if (len + more + 7 > room) { /* ", " and ", ..." */
            memcpy(names + len, ", ...", 6);
            break;
        }
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%s",
                                i ? ", " : "", info->field[i].name);
    }
    return um_fail(err, UMBEL_E_UNKNOWN,
                   "there is no field \"%.32s\"; names are %s", name, names);
}

umbel_status umbel_info_get(const umbel_filter *f, const char *name,
                            umbel_field *out, umbel_error *err)
{
    umbel_info info;
    const umbel_field *field;

    umbel_describe_shape(f, &info); /* cheaper than reading all cells */
    field = find_field(&info, name);
    if (!field) {
        umbel_describe(f, &info);
        field = find_field(&info, name);
    }
    if (!field)
        return fail_field(&info, name, err);
    *out = *field;
    return UMBEL_OK;
}

const char *umbel_fast_path(const umbel_filter *f)
{
    return f->fast ? f->fast->name : "plain";
}
