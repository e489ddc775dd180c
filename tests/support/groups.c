/*
 * groups.c - main of a test program: PROGRAM [GROUP [ARGUMENT...]].
 *
 * Without a group it runs all of them. A program with only one group passes it
 * all arguments unless the first is its name, because a test may start itself
 * as a worker process.
 */
#include "support/groups.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    for (const test_row *row = test_rows; argc > 1 && row->name; row++)
        if (strcmp(argv[1], row->name) == 0)
            return row->run(argc - 1, argv + 1);
    if (argc > 1 && !test_rows[1].name)
        return test_rows[0].run(argc, argv);
    if (argc > 1) {
        fprintf(stderr, "%s: no group \"%s\"\n", argv[0], argv[1]);
        return 2;
    }

    int failed = 0;
    for (const test_row *row = test_rows; row->name; row++)
        failed |= row->run(1, argv);
    return failed;
}
