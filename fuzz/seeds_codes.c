/* seeds_codes.c - seeds of code.c: cells, and codes of cells. */
#include "seeds.h"

#include "base/bytes.h"
#include "base/error.h"
#include "filter/head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cells in the layout of code.c, from which their codes are made. */
typedef struct cells {
    const char *name;
    uint8_t shape[UM_FUZZ_SHAPE]; /* bit 7 of byte 0 is set when written */
    uint8_t fill[8];              /* start of the data; the rest is zero */
    size_t nfill;
} cells;

enum { REPEAT = 32, NOW = 64, ONES = 16, MANY = 8, AS_CELLS = 128 };

static const cells codes[] = {
    {"plain", {0, 200}, {0x5A, 0xC3}, 2},
    {"bits-half", {0 | REPEAT, 200}, {0x5A, 0xC3, 1}, 3},
    {"bits-dense", {0 | REPEAT, 200}, {0xFF, 0xF7, 0xBF, 0xFE}, 4},
    {"bits-all-v1", {0 | ONES, 200}, {0}, 0},
    {"bits-few", {0, 250}, {1, 0, 0, 64, 0, 8}, 6},
    {"bits-adaptive", {0 | NOW | REPEAT, 90}, {0x10, 0, 0, 3}, 4},
    {"bits-all", {0 | NOW | ONES, 90}, {0}, 0},
    {"holes", {0 | ONES | MANY, 255}, {0xFE, 0x7F}, 2},
    {"holes-regular",
     {0 | MANY | REPEAT, 255},
     {254, 255, 255, 255, 255, 255, 255, 255},
     8},
    {"holes-adaptive", {0 | ONES | NOW, 255}, {0xFE, 0x7F}, 2},
    {"values-2", {1 | REPEAT, 250}, {0x1B, 0x04, 0x40, 1}, 4},
    {"values-2-many", {1 | REPEAT | MANY, 255}, {0x1B, 0x04, 0x40, 1}, 4},
    {"values-3", {2 | REPEAT, 250}, {0x1B, 0x04, 0x40, 1}, 4},
    {"values-8", {4 | REPEAT, 250}, {1, 200, 3, 0, 0}, 5},
    {"values-13", {5 | REPEAT, 250}, {1, 200, 3, 0, 0, 77}, 6},
    {"values-32", {6 | REPEAT, 250}, {1, 200, 3, 0, 0, 77, 9}, 7},
    {"values-64", {7 | REPEAT, 250}, {1, 200, 3, 0, 0, 77, 9}, 7},
    {"gaps-4", {3, 255}, {1, 0, 0, 64, 0, 8}, 6},
    {"gaps-32", {6, 255}, {1, 0, 0, 64, 0, 8, 0, 1}, 8},
    {"gaps-64", {7, 255}, {1, 0, 0, 64, 0, 8, 0, 1}, 8},
    {"adaptive-4", {3 | NOW | REPEAT, 80}, {1, 0, 0, 64, 0, 8}, 6},
    {"adaptive-13", {5 | NOW | REPEAT, 80}, {1, 0, 0, 64, 0, 8}, 6},
    {"adaptive-64", {7 | NOW | REPEAT, 20}, {1, 0, 0, 64, 0, 8, 255}, 7},
    {"adaptive-full", {7 | NOW | ONES, 20}, {0}, 0},
};

/*
 * Writes the code of the cells with the shape `taken`, which may differ from
 * theirs.
 */
static void write_code(const char *name, const cells *t,
                       const uint8_t taken[UM_FUZZ_SHAPE])
{
    um_packed c = um_fuzz_cells(t->shape);
    uint8_t *out = malloc(UM_FUZZ_SHAPE + um_code_max(&c) + UM_CODE_SPACE);
    char full_name[64];

    if (!out)
        exit(EXIT_FAILURE);
    um_fuzz_fill(&c, t->shape[0], t->fill, t->nfill);
    memcpy(out, taken, UM_FUZZ_SHAPE);
    size_t len = um_code_encode(
        &c, t->shape[0] & NOW ? UM_CODE_NOW : UM_CODE_V1, out + UM_FUZZ_SHAPE);
    snprintf(full_name, sizeof full_name, "code-%s", name);
    if (len <= UM_SEED_ROOM)
        um_seed_write("code", full_name, out, UM_FUZZ_SHAPE + len);
    free(out);
    free(c.at);
}

static void write_good_codes(void)
{
    for (size_t i = 0; i < UM_COUNT(codes); i++) {
        const cells *t = &codes[i];
        uint8_t input[UM_FUZZ_SHAPE + sizeof t->fill];
        char name[64];
        input[0] = t->shape[0] | AS_CELLS;
        input[1] = t->shape[1];
        memcpy(input + UM_FUZZ_SHAPE, t->fill, sizeof t->fill);
        snprintf(name, sizeof name, "cells-%s", t->name);
        um_seed_write("code", name, input, UM_FUZZ_SHAPE + t->nfill);
        write_code(t->name, t, t->shape);
    }
}

/*
 * Writes the code of many ones with a zero near the end, with the shape of
 * fewer cells.
 */
static void write_late_hole(void)
{
    static const uint8_t shape[] = {0 | ONES | MANY, 255};
    static const uint8_t taken[] = {0 | MANY, 250};
    um_packed c = um_fuzz_cells(shape);
    uint8_t *out = malloc(UM_FUZZ_SHAPE + um_code_max(&c) + UM_CODE_SPACE);

    if (!out)
        exit(EXIT_FAILURE);
    um_fuzz_fill(&c, shape[0], NULL, 0);
    c.at[um_packed_bytes(&c) - 9] = 0x7F;
    memcpy(out, taken, UM_FUZZ_SHAPE);
    size_t len = um_code_encode(&c, UM_CODE_V1, out + UM_FUZZ_SHAPE);
    um_seed_write("code", "code-late-hole", out, UM_FUZZ_SHAPE + len);
    free(out);
    free(c.at);
}

/* Writes codes with the shape of other cells. */
static void write_wrong_codes(void)
{
    static const struct {
        const char *name;
        cells of;
        uint8_t taken[UM_FUZZ_SHAPE];
    } wrongs_of[] = {
        {"wider", {"", {2 | REPEAT, 250}, {0x1B, 0x04, 0x40, 1}, 4}, {1, 125}},
        {"more-gaps", {"", {3, 255}, {1, 0, 0, 64, 0, 8}, 6}, {3, 240}},
    };
    /* Decodes to ones throughout: more wide cells in use than allowed. */
    static const uint8_t all_used[] = {1 | MANY | NOW, 255, 5, 0, 0, 0, 0, 0};

    for (size_t i = 0; i < UM_COUNT(wrongs_of); i++)
        write_code(wrongs_of[i].name, &wrongs_of[i].of, wrongs_of[i].taken);
    for (size_t n = 4; n <= sizeof all_used; n++) {
        char name[32];
        snprintf(name, sizeof name, "code-all-used-%zu", n);
        um_seed_write("code", name, all_used, n);
    }
}

void um_seed_codes(void)
{
    write_good_codes();
    write_wrong_codes();
    write_late_hole();
}
