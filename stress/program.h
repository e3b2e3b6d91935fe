/* The program's name, as it was called, in all that it prints: build/stress says `stress`, what is installed says
   `gpuarena-stress`.
   It must not know any command or page. Tested by tests/installed.t. */
#ifndef STRESS_PROGRAM_H
#define STRESS_PROGRAM_H

#include <stdio.h>

#include "problem.h"

void program_begin(const char *argv0);           /* may be NULL; the text must stay */
const char *program_name(void);                  /* the last part of argv[0]; `stress` where that is no name */

/* `NAME: ` on stderr, and the text. */
void program_say(const char *format, ...) PROBLEM_FORMAT(1, 2);
/* A page of help: where it calls the program `stress`, it is written with the name. */
void program_page(FILE *out, const char *text);

#endif
