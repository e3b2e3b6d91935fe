/* The header by example: calls and expected answers as text. It runs the scripts that are named, or all *.script in
   two folders, or those whose names have a given part. tests/README.md has the language. */
#include "script_files.h"

int main(int argc, char **argv)
{
    static const char *const folders[] = { TESTS_FOLDER "/scenario", TESTS_FOLDER "/unit/arena" };
    run_scripts(folders, COUNT(folders), argc, argv);
    return tap_done();
}
