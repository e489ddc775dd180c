/*
 * doctor_rows.h - the probes of the fronts, for their rows (doctor.h).
 */
#ifndef UM_CLEARINGHOUSE_DOCTOR_ROWS_H
#define UM_CLEARINGHOUSE_DOCTOR_ROWS_H

#include "clearinghouse/admin/doctor.h"

um_doctor_probe um_doctor_pyzor, um_doctor_http, um_doctor_dccifd,
    um_doctor_scan_pyzor, um_doctor_scan_razor, um_doctor_razor,
    um_doctor_fuzzy;

/* A filter of a mail server, as libmilter names its socket. */
void um_doctor_milter(um_doctor *d, const char *socket);

#endif
