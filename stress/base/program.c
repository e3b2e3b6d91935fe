/* Problems, the program's name in messages and pages, host memory, and arrays that grow. */
#include "program.h"

#include <unistd.h>

/* ---- Problems: the first one reported stays, shortened to its buffer, with control characters made harmless */

int problem_set(problem *why, int exit_code, const char *format, ...)
{
    if (why->exit_code != 0) return -1;
    why->exit_code = exit_code;
    PROBLEM_PRINT(why->text, sizeof why->text, format);
    for (char *at = why->text; *at != '\0'; at++) {      /* one line, whatever bytes a file name or a text held */
        if ((unsigned char)*at < ' ' || *at == 127) *at = '?';
    }
    return -1;
}

/* ---- The program */

#ifndef STRESS_FOLDER
#define STRESS_FOLDER "stress"                   /* the Makefile says where it is */
#endif

static const char program_word[] = "stress";     /* in the texts of pages */
static const char *program_called = program_word;

/* An empty name, or one with spaces or control characters, is not used. */
void program_begin(const char *argv0)
{
    const char *last = argv0 ? strrchr(argv0, '/') : NULL;
    const char *name = last ? last + 1 : argv0;
    program_called = program_word;
    if (!name || !*name) return;
    for (const char *at = name; *at; at++) {
        if ((unsigned char)*at <= ' ' || *at == 127) return;
    }
    program_called = name;
}

const char *program_name(void)
{
    return program_called;
}

const char *program_environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

void program_say(const char *format, ...)
{
    va_list values;
    fprintf(stderr, "%s: ", program_called);
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
}

/* The program is meant by `stress run` and `stress: ..`. It is not meant by a part of a longer word or path, nor by
   the product's name: `gpuarena stress`. */
void program_page(FILE *out, const char *text)
{
    static const char joins[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/.";
    static const char product[] = "gpuarena ";
    const size_t length = sizeof program_word - 1, before = sizeof product - 1;
    const char *rest = text;
    for (const char *at = strstr(text, program_word); at; at = strstr(at + 1, program_word)) {
        int is_word = at[length] && strchr(" :\n", at[length]) && (at == text || !strchr(joins, at[-1]));
        if (!is_word || ((size_t)(at - text) >= before && !strncmp(at - before, product, before))) continue;
        fwrite(rest, 1, (size_t)(at - rest), out);
        fputs(program_called, out);
        rest = at + length;
    }
    fputs(rest, out);
}

__thread jmp_buf *program_rescue;

/* Ends the process at once, without exit handlers, because this thread may hold locks. */
void program_no_memory(void)
{
    if (program_rescue) longjmp(*program_rescue, 1);
    program_say("no host memory\n");
    fflush(stdout);                              /* not all files: another thread may hold one's lock in a read */
    _exit(EXIT_HARNESS);
}

void *program_need(size_t count, size_t item_bytes)
{
    void *made = calloc(count ? count : 1, item_bytes);
    if (!made) program_no_memory();
    return made;
}

void *program_resize(void *held, size_t count, size_t item_bytes)
{
    void *made = count <= SIZE_MAX / item_bytes ? realloc(held, count * item_bytes) : NULL;
    if (!made) program_no_memory();
    return made;
}

char *program_copy(const char *text, size_t length)
{
    return memcpy(program_need(length + 1, 1), text, length);
}

FILE *program_stream(char **text, size_t *length)
{
    FILE *made = open_memstream(text, length);
    if (!made) program_no_memory();
    return made;
}

char *program_read(FILE *file, size_t most, size_t *length)
{
    enum { PROGRAM_PIECE = 1 << 16 };
    char *text = NULL;
    size_t capacity = 0, got = 1;
    for (*length = 0; got > 0 && *length <= most; *length += got) {
        size_t wanted = *length + PROGRAM_PIECE + 1;
        if (wanted > capacity) text = program_resize(text, capacity = wanted * 2, 1);
        got = fread(text + *length, 1, PROGRAM_PIECE, file);
    }
    text[*length] = '\0';
    return text;
}

int program_file(const char *relative, char *path, size_t size)
{
    char prefix[PROGRAM_PATH_BYTES];             /* the folder above the program's own; "" if it is not known */
    ssize_t own = readlink("/proc/self/exe", prefix, sizeof prefix - 1);
    prefix[own > 0 ? own : 0] = '\0';
    for (int level = 0; level < 2; level++) {
        char *last = strrchr(prefix, '/');
        if (last) *last = '\0';
    }
    int length = snprintf(path, size, "%s/share/gpuarena/%s", prefix, relative);
    if (length > 0 && (size_t)length < size && !access(path, R_OK)) return 0;
    length = snprintf(path, size, "%s/%s", STRESS_FOLDER, relative);
    return length > 0 && (size_t)length < size && !access(path, R_OK) ? 0 : -1;
}

/* ---- Arrays: pointers of any type are read and written as bytes */

enum { ARRAY_LEAST = 4 };

static void array_resize(void *list, size_t item_bytes, size_t count)
{
    void *old;
    memcpy(&old, list, sizeof old);
    void *grown = program_resize(old, count, item_bytes);
    memcpy(list, &grown, sizeof grown);
}

void array_grow(void *list, size_t item_bytes, void *other, size_t other_bytes, size_t *capacity, size_t wanted)
{
    size_t count = wanted > *capacity * 2 ? wanted : *capacity * 2;
    if (count < ARRAY_LEAST) count = ARRAY_LEAST;
    array_resize(list, item_bytes, count);
    if (other) array_resize(other, other_bytes, count);
    *capacity = count;
}
