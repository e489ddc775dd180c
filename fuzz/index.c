/*
 * index.c - arbitrary files of an index of filters.
 *
 * The first byte chooses the file that the rest becomes: bit 0 the file
 * "index" beside a whole file of filters, or a file of filters; bit 1 whether
 * checksums are corrected first. Every question and entry of what opens gives a
 * status or an answer, and so does writing its filters to another file.
 */
#include "fuzz.h"

#include "base/hash.h"
#include "base/rng.h"
#include "index/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BODY = UM_SLICES_PAGE - 8, MAX_LEN = 1 << 20, KEYS = 20 };

static char dir[] = "/tmp/umbel-fuzz-index-XXXXXX";
static bool made;

static char *path_of(const char *name)
{
    static char path[64];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void remove_all(void)
{
    unlink(path_of("index"));
    unlink(path_of("1.slices"));
    unlink(path_of("copy"));
    rmdir(dir);
}

static void write_file(const char *name, const uint8_t *bytes, size_t len)
{
    FILE *out = fopen(path_of(name), "w");

    UM_WANT(out && fwrite(bytes, 1, len, out) == len);
    fclose(out);
}

/* Corrects the checksum of each page. */
static void seal_pages(uint8_t *bytes, size_t len)
{
    for (size_t p = 0; p < len / UM_SLICES_PAGE; p++) {
        uint8_t *page = bytes + p * UM_SLICES_PAGE;
        um_store64(page + BODY, um_checksum(page, BODY) ^ um_remix(p + 1));
    }
}

static void use_slices(void)
{
    uint8_t hits[UM_SLICES_MAX / 8];
    um_slices_member *m;
    um_slices_entry entry;
    umbel_error err;
    um_slices *s;
    char copy[64];

    umbel_status status = um_slices_open(path_of("1.slices"), &s, &err);
    if (status) {
        um_fuzz_check_error(status, &err);
        return;
    }
    uint32_t n = um_slices_count(s);
    UM_WANT(n >= 1 && n <= UM_SLICES_MAX);
    for (uint64_t k = 0; k < KEYS; k++) {
        umbel_digest d = {um_mix(k), um_mix(~k)};
        status = um_slices_ask(s, &d, hits, &err);
        if (status)
            um_fuzz_check_error(status, &err);
    }
    m = calloc(n, sizeof *m);
    for (uint32_t i = 0; i < n; i++) {
        status = um_slices_entry_of(s, i, &entry, &err);
        UM_WANT(status || strlen(entry.name) <= UM_SLICES_NAME_MAX);
        m[i] = (um_slices_member){.name = "copy",
                                  .blocks = um_slices_blocks(s, i),
                                  .from = s,
                                  .number = i};
    }
    snprintf(copy, sizeof copy, "%s/copy", dir);
    unlink(copy);
    status = um_slices_write(copy, um_slices_prototype(s), um_slices_cells(s),
                             m, n, &err);
    if (status)
        um_fuzz_check_error(status, &err);
    free(m);
    um_slices_close(s);
}

static void use_index(void)
{
    umbel_error err;
    umbel_index *x;
    umbel_index_slot slot;

    umbel_status status = umbel_index_open(dir, NULL, &x, &err);
    if (status) {
        um_fuzz_check_error(status, &err);
        return;
    }
    uint8_t *hits = malloc(UMBEL_INDEX_HITS(umbel_index_slots(x)));
    for (char key = 'a'; key < 'a' + KEYS; key++)
        if (!umbel_index_ask(x, &key, 1, hits, NULL, &err))
            for (size_t i = 0; i < umbel_index_slots(x); i++)
                if (hits[i / 8] >> i % 8 & 1)
                    UM_WANT(umbel_index_slot_at(x, i, &slot, &err) ||
                            slot.name);
    free(hits);
    umbel_index_close(x);
}

/* Makes an index with one filter, so that "index" can name a file. */
static void create_index(void)
{
    umbel_params p = UMBEL_PARAMS_INIT;
    umbel_filter *f = NULL;

    p.capacity = 10;
    UM_WANT(!umbel_create(NULL, &p, &f, NULL));
    UM_WANT(!umbel_add(f, "a", 1, NULL, NULL));
    umbel_index_entry e = {"a", f};
    UM_WANT(!umbel_index_update(dir, 0, &e, 1, NULL, 0, NULL, NULL));
    umbel_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (!made) {
        UM_WANT(mkdtemp(dir));
        atexit(remove_all);
        made = true;
    }
    if (len < 2 || len > MAX_LEN)
        return 0;
    uint8_t *bytes = malloc(len);
    memcpy(bytes, data + 1, --len);
    if (data[0] & 1) {
        unlink(path_of("index"));
        unlink(path_of("1.slices"));
        create_index();
        if (data[0] & 2 && len > 8)
            um_store64(bytes + len - 8, um_checksum(bytes, len - 8));
        write_file("index", bytes, len);
        use_index();
    } else {
        if (data[0] & 2)
            seal_pages(bytes, len);
        write_file("1.slices", bytes, len);
        use_slices();
    }
    free(bytes);
    return 0;
}
