/* One file that a command writes: made beside its path and moved there when it is whole, so that whatever ends the
   program in between, what stands at the path is what stood there before, or all of it, or says that it is not.
   Knows nothing of formats. Tested by tests/interrupt.t. */
#ifndef STRESS_REPORT_OUTPUT_FILE_H
#define STRESS_REPORT_OUTPUT_FILE_H

#include <stdio.h>
#include <sys/types.h>

#include "../base/problem.h"

typedef struct output_file {
    FILE       *stream;
    const char *path;
    char       *made;                            /* where it is written; NULL: at the path itself. Owned, as is: */
    char       *target;                          /* where that is moved: the path, links followed */
    off_t       begun;                           /* where what we write begins */
    int         is_kept;                         /* what stands at the path stays, unless all is written */
} output_file;

/* Written in place is what is no regular file, has other names or another owner, is our stdout or stderr, or lies in
   a folder that takes no other file. -1 and a problem, EXIT_HARNESS: it cannot be written. */
int output_file_open(output_file *self, const char *path, problem *why);
/* For adding to what the file holds, in place. */
int output_file_append(output_file *self, const char *path, problem *why);
/* -1 and a problem, EXIT_HARNESS: not all of it arrived. What stood at the path stands there still; where nothing
   did, or it was written in place, the file's last line says that it is partial. format: its kind, for the message;
   "": none. errno is that of the first write that failed, or 0: nothing since the opening may reset it. */
int output_file_close(output_file *self, const char *format, problem *why);

#endif
