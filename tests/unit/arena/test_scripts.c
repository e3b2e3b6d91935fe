/* The header by example: calls and expected answers as text. It runs the scripts that are named, or all *.script in
   two folders, or those whose names have a given part. tests/README.md has the language. */
#include <dirent.h>

#include "script_run.h"

#ifndef TESTS_FOLDER
#define TESTS_FOLDER "tests"
#endif

enum { MOST_FILES = 200 };

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* A new text of both, with / between. */
static char *joined(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *text = malloc(size);
    if (text) snprintf(text, size, "%s/%s", folder, name);
    return text;
}

static void run_folders(const char *part)
{
    static const char *const folders[] = { TESTS_FOLDER "/scenario", TESTS_FOLDER "/unit/arena" };
    char *names[MOST_FILES];
    int count = 0;
    for (size_t at = 0; at < COUNT(folders); at++) {
        DIR *opened = opendir(folders[at]);
        if (!CHECK_MSG(opened != NULL, "the folder of scripts is read")) return;
        for (struct dirent *entry; (entry = readdir(opened)) != NULL && count < MOST_FILES;)
            if (strstr(entry->d_name, ".script") && strstr(entry->d_name, part))
                names[count++] = joined(folders[at], entry->d_name);
        closedir(opened);
    }
    CHECK_MSG(count > 0, "there are scripts");
    qsort(names, (size_t)count, sizeof *names, compare_names);
    for (int at = 0; at < count; at++) {
        run_file(names[at]);
        free(names[at]);
    }
}

int main(int argc, char **argv)
{
    for (int at = 1; at < argc; at++)
        if (strchr(argv[at], '/')) run_file(argv[at]);
        else run_folders(argv[at]);
    if (argc == 1) run_folders("");
    return tap_done();
}
