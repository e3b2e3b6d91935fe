/* Problems: the first one reported stays, shortened to its buffer, with control characters made harmless. */
#include "problem.h"

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
