/* For fuzz targets: the input as text or as a file, and, without libFuzzer, a main that replays a corpus as TAP.
   Knows nothing of any parser. A target defines fuzz_one and says FUZZ_TARGET(name), which is also its corpus:
   tests/fuzz/corpus/NAME. Replayed by `make test`, run by `make fuzz`. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FUZZ_MOST_BYTES = 1 << 16 };

/* What a parser promises beyond not crashing. */
static inline void fuzz_expect(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "broken promise: %s\n", what);
    abort();
}

/* Ended by a NUL; free it. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    fuzz_expect(text != NULL, "host memory");
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* The one file that parsers read; in memory, where there is such a folder. */
static inline const char *fuzz_path(void)
{
    static char path[64];
    const char *folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    if (!path[0]) snprintf(path, sizeof path, "%s/gpuarena_fuzz_%ld", folder, (long)getpid());
    return path;
}

static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path();
    FILE *file = fopen(path, "wb");
    fuzz_expect(file && fwrite(data, 1, size, file) == size && !fclose(file), "a file of its own");
    return path;
}

static void fuzz_one(const uint8_t *data, size_t size);

static inline void fuzz_clean(void)
{
    remove(fuzz_path());
}

#ifdef GPUARENA_LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#define FUZZ_TARGET(name) \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) \
    { \
        static int is_known; \
        if (!is_known++) atexit(fuzz_clean); \
        if (size <= FUZZ_MOST_BYTES) fuzz_one(data, size); \
        return 0; \
    }
#else
static int fuzz_replay_file(const char *path)
{
    static uint8_t data[FUZZ_MOST_BYTES];
    FILE *file = fopen(path, "rb");
    if (!file) return -1;
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    fuzz_one(data, size);
    return 0;
}

/* Every file of the corpus; a crash ends the program without its plan, so the last "# " line names the culprit. */
static int fuzz_replay(const char *name)
{
    char path[512];
    int count = 0, failed = 0;
    snprintf(path, sizeof path, "tests/fuzz/corpus/%s", name);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "tests/fuzz/corpus/%s/%s", name, entry->d_name);
        printf("# %s\n", path);
        fflush(stdout);
        int bad = fuzz_replay_file(path);
        printf("%sok %d - %s\n", bad ? "not " : "", ++count, path);
        failed |= bad;
    }
    if (folder) closedir(folder);
    if (!count) printf("not ok %d - a corpus in %s\n", ++count, path);
    printf("1..%d\n", count);
    fuzz_clean();
    return failed || count < 2;
}
#define FUZZ_TARGET(name) \
    int main(void) \
    { \
        return fuzz_replay(#name); \
    }
#endif

#endif
