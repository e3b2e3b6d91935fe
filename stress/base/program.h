/* The foundation of every part of stress: the C library, problems, the program's name and files, host memory, arrays
   that grow. It must not know any command or page. */
#ifndef STRESS_BASE_PROGRAM_H
#define STRESS_BASE_PROGRAM_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Problems, for the person at the terminal: one clear line and its exit code. The first problem reported
        stays */

#if defined(__GNUC__)
#define PROBLEM_FORMAT(text, values) __attribute__((format(printf, text, values)))
#else
#define PROBLEM_FORMAT(text, values)
#endif

/* Prints the format and the values of the calling function, which is variadic, into a text. */
#define PROBLEM_PRINT(text, size, format) \
    do { \
        va_list problem_values; \
        va_start(problem_values, format); \
        (void)vsnprintf(text, size, format, problem_values); \
        va_end(problem_values); \
    } while (0)

enum { EXIT_PASS = 0, EXIT_GATE = 1, EXIT_USAGE = 2, EXIT_VERIFY = 3, EXIT_HARNESS = 4, EXIT_NO_DEVICE = 77 };

typedef struct problem {
    int exit_code;                               /* 0: no problem */
    char text[512];                              /* one line, no newline: names the thing and the expected value */
} problem;

/* Records the first problem (later ones are ignored) and returns -1, so that `return problem_set(..)` reads well. */
int problem_set(problem *problem, int exit_code, const char *format, ...) PROBLEM_FORMAT(3, 4);

/* ---- The program's name: all output uses the name it was called by, so build/stress says `stress` and an installed
        one says `gpuarena-stress`. Its data files. Host memory, and its exhaustion */

void program_begin(const char *argv0);           /* may be NULL; the text must stay */
const char *program_name(void);                  /* the last part of argv[0]; `stress` where that is no name */

const char *program_environment(const char *name);           /* NULL: it is not there, or empty */

/* Prints `NAME: ` and the text on stderr. */
void program_say(const char *format, ...) PROBLEM_FORMAT(1, 2);
/* Prints a page of help. Where it calls the program `stress`, program_name is printed instead. */
void program_page(FILE *out, const char *text);

/* Called when host memory runs out. The thread continues at its program_rescue if that is set. Without one the
   program prints a line on stderr and exits with EXIT_HARNESS. The functions below call it and never return NULL. */
extern __thread jmp_buf *program_rescue;
void  program_no_memory(void);
/* program_need returns zeroed memory for so many items; free it. program_resize changes the number of items of such
   memory, or of NULL. Added items are not initialized. */
void *program_need(size_t count, size_t item_bytes);
void *program_resize(void *held, size_t count, size_t item_bytes);
/* program_copy copies so many bytes of a text. program_stream opens a stream that writes a text; the text is complete
   once the stream is closed. program_read reads the rest of a file: it stops at the end, at an error, or once it has
   more than `most` bytes. A NUL follows each text. Free the texts. */
char *program_copy(const char *text, size_t length);
FILE *program_stream(char **text, size_t *length);
char *program_read(FILE *file, size_t most, size_t *length);

/* Finds a data file by its path below stress/. It is looked for in PREFIX/share/gpuarena, where PREFIX/bin has the
   program, and then in the checkout in which the program was built. 0, or -1: there is none. */
enum { PROGRAM_PATH_BYTES = 4096 };
int program_file(const char *relative, char *path, size_t size);

/* ---- Arrays that grow: each time to twice the room, so that n additions cost O(n) */

/* Room for so many items in `list`, which has room for `capacity` now, a variable of type size_t; wanted is evaluated
   twice. New items hold anything. Without host memory, program_no_memory. */
#define ARRAY_RESERVE(list, capacity, wanted) \
    ((wanted) <= (capacity) ? (void)0 : array_grow(&(list), sizeof *(list), NULL, 0, &(capacity), wanted))

/* ARRAY_RESERVE for two lists that share one capacity. */
#define ARRAY_RESERVE_BOTH(list, other, capacity, wanted) \
    ((wanted) <= (capacity) ? (void)0 \
     : array_grow(&(list), sizeof *(list), &(other), sizeof *(other), &(capacity), wanted))

/* Sets *rank to the number of items for which `is_first` is true. is_first is an expression in the item's index `i`;
   it must be true of the first items and false of all behind them. O(log count). */
#define ARRAY_RANK(rank, count, i, is_first) \
    do { \
        size_t array_low = 0, array_high = (count); \
        while (array_low < array_high) { \
            size_t i = array_low + (array_high - array_low) / 2; \
            if (is_first) array_low = i + 1; \
            else array_high = i; \
        } \
        *(rank) = array_low; \
    } while (0)

/* Defines a comparison function for qsort, by a member such as ->op, or by the items themselves: [0]. */
#define ARRAY_ORDER(function, type, member) \
    static int function(const void *left, const void *right) \
    { \
        const type *one = left, *other = right; \
        return (one member > other member) - (one member < other member); \
    }

/* For RESERVE and RESERVE_BOTH: list and other point to the lists' pointers, of whatever type. */
void array_grow(void *list, size_t item_bytes, void *other, size_t other_bytes, size_t *capacity, size_t wanted);

/* ---- Byte counts */

/* Rounds bytes up to a multiple of the unit. Returns bytes unchanged if bytes + unit would not fit 64 bits. */
static inline uint64_t memory_round_up(uint64_t bytes, uint64_t unit)
{
    return bytes > UINT64_MAX - unit ? bytes : (bytes + unit - 1) / unit * unit;
}

/* Raises the peak to the value, if the value is higher. */
static inline void memory_raise(uint64_t *peak, uint64_t value)
{
    if (value > *peak) *peak = value;
}

#endif
