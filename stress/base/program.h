/* What every part of stress begins with: the C library, problems, the program's name and files, host memory, arrays
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

/* ---- What went wrong, for the person at the terminal: one clear line and the exit code that goes with it. The first
        problem reported stays */

#if defined(__GNUC__)
#define PROBLEM_FORMAT(text, values) __attribute__((format(printf, text, values)))
#else
#define PROBLEM_FORMAT(text, values)
#endif

/* In a function that has a format and its values: these, printed into a text. */
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
    char text[512];                              /* one line, no newline: names the thing and what was expected */
} problem;

/* Records the first problem (later ones are ignored) and returns -1, so that `return problem_set(..)` reads well. */
int problem_set(problem *problem, int exit_code, const char *format, ...) PROBLEM_FORMAT(3, 4);

/* ---- The program's name, as it was called, in all that it prints: build/stress says `stress`, what is installed
        says `gpuarena-stress`. The files that come along with it. And how all ask for host memory, and what happens
        without */

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

/* ---- Arrays that grow: each time to twice the room, so that n additions cost O(n) */

/* Room for so many items in `list`, which has room for `capacity` now, a variable of type size_t; wanted is evaluated
   twice. New items hold anything. Without host memory, program_no_memory. */
#define ARRAY_RESERVE(list, capacity, wanted) \
    ((wanted) <= (capacity) ? (void)0 : array_grow(&(list), sizeof *(list), NULL, 0, &(capacity), wanted))

/* The same of two lists that have room for as many items. */
#define ARRAY_RESERVE_BOTH(list, other, capacity, wanted) \
    ((wanted) <= (capacity) ? (void)0 \
     : array_grow(&(list), sizeof *(list), &(other), sizeof *(other), &(capacity), wanted))

/* *rank: how many of so many items come first, of which `is_first` is true, an expression in the item's index `i`; it
   is of none behind them. O(log count). */
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

/* A function that qsort compares with: items by a member, as ->op, or by themselves: [0]. */
#define ARRAY_ORDER(function, type, member) \
    static int function(const void *left, const void *right) \
    { \
        const type *one = left, *other = right; \
        return (one member > other member) - (one member < other member); \
    }

/* For RESERVE and RESERVE_BOTH: list and other point to the lists' pointers, of whatever type. */
void array_grow(void *list, size_t item_bytes, void *other, size_t other_bytes, size_t *capacity, size_t wanted);

/* ---- Byte counts */

/* The first multiple of the unit that is not below; bytes, where a unit more passes 2^64. */
static inline uint64_t memory_round_up(uint64_t bytes, uint64_t unit)
{
    return bytes > UINT64_MAX - unit ? bytes : (bytes + unit - 1) / unit * unit;
}

/* The peak becomes the value, where that is higher. */
static inline void memory_raise(uint64_t *peak, uint64_t value)
{
    if (value > *peak) *peak = value;
}

#endif
