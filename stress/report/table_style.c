/* How the table may look on what it is written to: width and colour.
   It must not know what the table holds.
   Tested by tests/cli.t. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "table.h"

enum { TABLE_WIDTH_MIN = 40, TABLE_WIDTH_DEFAULT = 120 };

static const char *table_environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static size_t table_width(int descriptor)
{
    const char *columns = table_environment("COLUMNS");
    size_t width = columns && *columns != '-' ? (size_t)strtoul(columns, NULL, 10) : 0;
#ifdef TIOCGWINSZ
    struct winsize size;
    if (!width && isatty(descriptor) && !ioctl(descriptor, TIOCGWINSZ, &size)) width = size.ws_col;
#else
    (void)descriptor;
#endif
    if (!width) return TABLE_WIDTH_DEFAULT;
    return width < TABLE_WIDTH_MIN ? TABLE_WIDTH_MIN : width;
}

static int table_color(int descriptor, const char *choice)
{
    const char *terminal = getenv("TERM");
    if (strcmp(choice, "auto")) return !strcmp(choice, "always");
    if (table_environment("NO_COLOR")) return 0;
    if (table_environment("FORCE_COLOR")) return strcmp(getenv("FORCE_COLOR"), "0") != 0;
    return isatty(descriptor) && terminal && strcmp(terminal, "dumb");
}

table_style table_style_for(FILE *out, const char *choice)
{
    table_style style;
    style.width = table_width(fileno(out));
    style.color = table_color(fileno(out), choice);
    return style;
}
