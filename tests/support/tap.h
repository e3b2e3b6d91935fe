/* TAP for C tests, whole: CHECK prints one line a check, with both values when an integer comparison fails. It also
   reads the length of a test from the environment. It must not know the subjects of tests. Each test program ends
   with `return tap_done();` and is run under prove. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 4, 5)))
static inline int tap_ok(int passed, const char *file, int line, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    printf("%sok %d - ", passed ? "" : "not ", ++tap_count);
    vprintf(format, values);
    printf("\n");
    va_end(values);
    if (!passed) {
        tap_failed++;
        printf("#   at %s:%d\n", file, line);
    }
    fflush(stdout);
    return passed;
}

/* CHECK(condition): the condition's text is the name. CHECK_MSG(condition, format, ..): a name of your own. */
#define CHECK(condition) tap_ok((condition) ? 1 : 0, __FILE__, __LINE__, "%s", #condition)
#define CHECK_MSG(condition, ...) tap_ok((condition) ? 1 : 0, __FILE__, __LINE__, __VA_ARGS__)

/* CHECK_INT(a, ==, b): any operator; values are compared and shown as int64_t. CHECK_U64: as uint64_t. */
#define CHECK_INT(left, operator, right) do { \
        int64_t tap_left = (int64_t)(left), tap_right = (int64_t)(right); \
        if (!tap_ok(tap_left operator tap_right, __FILE__, __LINE__, "%s %s %s", #left, #operator, #right)) \
            printf("#   left: %" PRId64 "\n#   right: %" PRId64 "\n", tap_left, tap_right); \
    } while (0)
#define CHECK_U64(left, operator, right) do { \
        uint64_t tap_left = (uint64_t)(left), tap_right = (uint64_t)(right); \
        if (!tap_ok(tap_left operator tap_right, __FILE__, __LINE__, "%s %s %s", #left, #operator, #right)) \
            printf("#   left: %" PRIu64 "\n#   right: %" PRIu64 "\n", tap_left, tap_right); \
    } while (0)
#define CHECK_STR(left, right) do { \
        const char *tap_left = (left), *tap_right = (right); \
        if (!tap_ok(strcmp(tap_left, tap_right) == 0, __FILE__, __LINE__, "%s is %s", #left, #right)) \
            printf("#   left: %s\n#   right: %s\n", tap_left, tap_right); \
    } while (0)

/* One skipped check, said aloud. */
#define SKIP(...) do { printf("ok %d # SKIP ", ++tap_count); printf(__VA_ARGS__); printf("\n"); } while (0)

/* TAP_SANITIZED 1: under a sanitizer, where everything takes longer. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TAP_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TAP_SANITIZED 1
#endif
#endif
#ifndef TAP_SANITIZED
#define TAP_SANITIZED 0
#endif

/* The number that the environment has under a name. */
static inline uint64_t tap_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

#ifndef TESTS_FOLDER
#define TESTS_FOLDER "tests"
#endif

/* Reads all of a text file, which the caller frees. Ends the test program if there is no such file. */
static inline char *tap_text(const char *path)
{
    FILE *in = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    if (in && getdelim(&text, &size, '\0', in) > 0 && !fclose(in)) return text;
    printf("Bail out! cannot read %s\n", path);
    exit(1);
}

/* Writes a trouble where there is none yet: the first one is told. */
__attribute__((format(printf, 3, 4)))
static inline void tap_keep(char *first, size_t size, const char *format, ...)
{
    va_list values;
    if (first[0]) return;
    va_start(values, format);
    vsnprintf(first, size, format, values);
    va_end(values);
}

static inline int tap_done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}

#endif
