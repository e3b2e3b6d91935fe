/* Edit distance over short names: insert, delete, replace, swap of neighbours. */
#include "nearest.h"

#include <stdio.h>
#include <string.h>

enum { NEAREST_LONGEST = 40 }; /* longer names are never offered: no option or policy is that long */

static size_t nearest_min(size_t left, size_t right)
{
    return left < right ? left : right;
}

/* One cell of the table of distances: from[..line] to to[..column]. */
static size_t nearest_cell(size_t table[][NEAREST_LONGEST + 1], const char *from, size_t line, const char *to,
                           size_t column)
{
    size_t best = table[line - 1][column - 1] + (from[line - 1] != to[column - 1]);
    best = nearest_min(best, nearest_min(table[line - 1][column], table[line][column - 1]) + 1);
    int swapped = line > 1 && column > 1 && from[line - 1] == to[column - 2] && from[line - 2] == to[column - 1];
    return swapped ? nearest_min(best, table[line - 2][column - 2] + 1) : best;
}

static size_t nearest_distance(const char *from, size_t from_length, const char *to, size_t to_length)
{
    size_t table[NEAREST_LONGEST + 1][NEAREST_LONGEST + 1];
    for (size_t line = 0; line <= from_length; line++) {
        for (size_t column = 0; column <= to_length; column++) {
            if (!line || !column) table[line][column] = line + column;
            else table[line][column] = nearest_cell(table, from, line, to, column);
        }
    }
    return table[from_length][to_length];
}

nearest nearest_to(const char *typed)
{
    nearest search = { typed, NULL, 0 };
    return search;
}

void nearest_offer(nearest *search, const char *name)
{
    size_t typed_length = strlen(search->typed), name_length = name ? strlen(name) : 0;
    if (!name || name_length > NEAREST_LONGEST || typed_length > NEAREST_LONGEST) return;
    size_t distance = nearest_distance(search->typed, typed_length, name, name_length);
    size_t allowed = nearest_min(3, nearest_min(typed_length, name_length) / 2);
    if (distance > allowed || (search->name && distance >= search->distance)) return;
    search->name = name;
    search->distance = distance;
}

const char *nearest_hint(const nearest *search, char *text, size_t size)
{
    if (size) text[0] = '\0';
    if (search->name) snprintf(text, size, ", did you mean '%s'?", search->name);
    return text;
}
