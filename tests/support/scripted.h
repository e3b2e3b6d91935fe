/* Tests in C that set up their arenas by commands of scripts; tests/README.md has the language. It must not know the
   subjects of tests. */
#ifndef TESTS_SCRIPTED_H
#define TESTS_SCRIPTED_H

#include "script_run.h"

/* Runs commands, which must do as they say: else nothing that follows could be tested. */
static inline void script(const char *text)
{
    place.file = "script";
    run_line(text, ';');
    if (!CHECK_MSG(!place.trouble[0], "%s%s", text, place.trouble)) exit(tap_done());
}

/* Frees live blocks, ends arenas, and checks that nothing is left. */
static inline void script_end(void)
{
    world.expected++;
    end_world();
    CHECK_MSG(!place.trouble[0], "nothing is left %s", place.trouble);
    place.trouble[0] = '\0';
    drop_world();
}

#endif
