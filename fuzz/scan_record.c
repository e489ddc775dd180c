/*
 * scan_record.c - arbitrary records of 'umbel scan --resume'.
 *
 * The first byte chooses the hash; the rest is the record. What is parsed once
 * more from its complete entries alone must be the same.
 */
#include "fuzz.h"

#include "keylist/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    um_scan_record *r, *again;
    size_t whole, same;

    if (len == 0)
        return 0;
    um_file_hash hash = (um_file_hash)(data[0] % (UM_FILE_SHA256 + 1));
    const char *text = (const char *)data + 1;
    if (um_scan_record_parse(text, len - 1, hash, &r, &whole))
        return 0;
    UM_WANT(whole <= len - 1);
    UM_WANT(um_scan_record_count(r) <= whole);
    UM_WANT(!um_scan_record_parse(text, whole, hash, &again, &same));
    UM_WANT(same == whole);
    UM_WANT(um_scan_record_count(again) == um_scan_record_count(r));
    um_scan_record_free(again);
    um_scan_record_free(r);
    return 0;
}
