/*
 * publish.h - a publish directory: manifests by name, blobs by digest.
 */
#ifndef UM_PUBLISH_PUBLISH_H
#define UM_PUBLISH_PUBLISH_H

#include "filter/content.h"
#include "publish/manifest.h"
#include "query/digest_set.h"

#include <umbel/diff.h>

/*
 * Reads the manifest of a name; serial 0 if it does not exist yet. E_FORMAT if
 * it is the manifest of another name.
 */
umbel_status um_publish_dir_manifest(const umbel_store *dir, const char *name,
                                     um_manifest *out, umbel_error *err);
/* Decodes a filter of the directory; E_CHECKSUM if its digest differs. */
umbel_status um_publish_dir_load(const umbel_store *dir, const um_blob *blob,
                                 const umbel_source *source, umbel_filter **out,
                                 umbel_error *err);

/* Computes the difference between two filters. */
umbel_status um_content_diff(um_content *c, const umbel_filter *old,
                             const umbel_filter *now, umbel_diff_result *cost,
                             umbel_error *err);

/*
 * Does the work of umbel_remove_reported; reads the members a few times. Sets
 * member[i] if reported key i is a member and the first with its digest. member
 * has one element more than there are reported keys, and must be zeroed.
 */
umbel_status um_remove_reported(umbel_filter *f,
                                const um_digest_source *members,
                                const umbel_key_list *reported,
                                const umbel_filter *like, bool *member,
                                umbel_removed_reports *out, umbel_error *err);

/*
 * A command that follows each new filter. A reader that has one records, before
 * it replaces the filter, that the command is due; it stays due until it is
 * done, also for later readers of the same store.
 */
void um_pull_set_command(umbel_puller *p);
/* Returns true if a command is due after the last round. */
bool um_pull_is_due(const umbel_puller *p);
/* Records that the command of the last round has succeeded. */
umbel_status um_pull_done(umbel_puller *p, umbel_error *err);

/* The content name of a filter, in hexadecimal. */
typedef struct um_name_text {
    char text[UM_DIGEST_HEX];
} um_name_text;
um_name_text um_name_of(const umbel_filter *f);

/* Checks that a reader without demands of its own admits the filter. Otherwise
 * E_REFUSED with the detail UMBEL_D_NOT_ADMITTED. */
umbel_status um_check_readers(const umbel_filter *f, umbel_error *err);

#endif
