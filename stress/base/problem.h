/* What went wrong, for the person at the terminal: one clear line and the exit code that goes with it.
   Knows nothing of devices or workloads. Used by every part of stress; the first problem reported stays. */
#ifndef STRESS_BASE_PROBLEM_H
#define STRESS_BASE_PROBLEM_H

#include <stdarg.h>
#include <stdio.h>

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

#endif
