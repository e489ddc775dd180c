/* doctor.c - the doctor's test mail, and its output. */
#include "support/test.h"

#include "clearinghouse/admin/doctor.h"
#include "clearinghouse/runtime/digest_text.h"
#include "mail/mail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Checks that the digest queried in Pyzor's list is that of the mail sent to
 * the other protocols.
 */
static void the_digest_is_the_one_of_the_mail(void **state)
{
    um_mail_reader *reader;
    um_mail_facts facts = {0};
    um_mail m;
    char text[UM_DIGEST_TEXT];

    (void)state;
    assert_ok(um_mail_reader_open(&reader, &test_refusal));
    assert_ok(um_mail_read(reader, um_doctor_mail().data, um_doctor_mail().len,
                           NULL, &m, &test_refusal));
    um_mail_sign(&m, &facts);
    assert_true(facts.exact.present && facts.pyzor.present);
    assert_int_equal(facts.nshingles, UM_SHINGLES);
    um_signature_print(facts.pyzor.digest, text);
    assert_string_equal(text, um_doctor_digest);
    um_mail_reader_close(reader);
}

/* Checks that a full table keeps its first findings and does not grow. */
static void a_full_table_keeps_its_first_findings(void **state)
{
    um_doctor *d = calloc(1, sizeof *d);

    (void)state;
    assert_non_null(d);
    for (int i = 0; i < 2 * UM_FINDINGS; i++)
        um_doctor_add(d, "a name that is longer than the column of names",
                      "an address")
            ->health = UM_WORKS;
    assert_int_equal(d->n, UM_FINDINGS);
    assert_true(um_doctor_is_well(d));
    um_doctor_add(d, "last", "")->health = UM_BROKEN;
    assert_false(um_doctor_is_well(d));
    free(d);
}

/* Checks that the doctor can test every listening protocol. */
static void each_protocol_has_a_row(void **state)
{
    (void)state;
    for (size_t i = 0; um_protocols[i]; i++) {
        const um_doctor_row *row = um_protocols[i]->doctor;
        if (!row || !row->name || !row->probe)
            fail_msg("protocol %s has no row for the doctor",
                     um_protocols[i]->service.name);
    }
}

TEST_GROUP(doctor)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_digest_is_the_one_of_the_mail),
        cmocka_unit_test(a_full_table_keeps_its_first_findings),
        cmocka_unit_test(each_protocol_has_a_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
