/* The program's name, as it was called, in all that it prints: build/stress says `stress`, what is installed says
   `gpuarena-stress`. The files that come along with it. And how all ask for host memory, and what happens without.
   It must not know any command or page. */
#ifndef STRESS_BASE_PROGRAM_H
#define STRESS_BASE_PROGRAM_H

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>

#include "problem.h"

void program_begin(const char *argv0);           /* may be NULL; the text must stay */
const char *program_name(void);                  /* the last part of argv[0]; `stress` where that is no name */

const char *program_environment(const char *name);           /* NULL: it is not there, or empty */

/* `NAME: ` on stderr, and the text. */
void program_say(const char *format, ...) PROBLEM_FORMAT(1, 2);
/* A page of help: where it calls the program `stress`, it is written with the name. */
void program_page(FILE *out, const char *text);

/* There is no host memory: the thread goes on at its program_rescue, once that is set; else the program ends: one
   line on stderr, EXIT_HARNESS. Nobody who asks as follows is answered without memory. */
extern __thread jmp_buf *program_rescue;
void  program_no_memory(void);
/* Zeroed memory for so many items; free it. And what was had so, or NULL, for another number of items: more of them
   hold anything. */
void *program_need(size_t count, size_t item_bytes);
void *program_resize(void *held, size_t count, size_t item_bytes);
/* A copy of so many bytes of a text; a text that is written to a stream, and there when that is closed; what is left
   of a file, up to its end, an error of it, or more than so many bytes. A NUL follows it. */
char *program_copy(const char *text, size_t length);
FILE *program_stream(char **text, size_t *length);
char *program_read(FILE *file, size_t most, size_t *length);

/* The path of a file that comes along, by its path below stress/: installed, PREFIX/share/gpuarena has it, beside
   PREFIX/bin with the program; else the checkout in which the program was built. 0, or -1: there is none. */
enum { PROGRAM_PATH_BYTES = 4096 };
int program_file(const char *relative, char *path, size_t size);

#endif
