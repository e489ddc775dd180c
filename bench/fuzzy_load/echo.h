/*
 * echo.h - the minimum that a server of fuzzy requests does.
 */
#ifndef UM_BENCH_ECHO_H
#define UM_BENCH_ECHO_H

/* Answers datagrams on a free loopback port, which it prints, with the first
 * bytes of each, until standard input ends. Returns an exit code. */
int um_echo(void);

#endif
