/* Rows as CSV; lines end in a plain newline, as scripts and git expect. */
#include "csv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/array.h"
#include "../base/program.h"

void csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void csv_row(FILE *out, const row *shown, const row_column *columns, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        const cell *value = &shown->cells[columns[at]];
        char text[64];
        if (at) fputc(',', out);
        csv_text(out, value->kind == CELL_TEXT ? value->text : cell_print(value, text, sizeof text));
    }
    fputc('\n', out);
}

void csv_write(FILE *out, const row_list *list)
{
    const row_column *columns;
    size_t count = row_columns(list->kind, &columns);
    for (size_t at = 0; at < count; at++) fprintf(out, "%s%s", at ? "," : "", row_column_name(columns[at]));
    fputc('\n', out);
    for (size_t index = 0; index < list->count; index++) csv_row(out, &list->rows[index], columns, count);
    if (list->partial) fprintf(out, CSV_PARTIAL "%s\n", list->partial);
}

/* ---- Reading CSV in place: cells are unquoted where they stand and ended by a NUL */

enum { CSV_NUMBER_ROOM = 40,                     /* bytes of the longest number, and more */
       CSV_MOST_BYTES = 1 << 28 };               /* of a file */

typedef struct csv_reader {
    const char *name;
    char       *at;
    char       *end;
    size_t      line;                            /* from 1 */
} csv_reader;

/* What was read last is text, and all that was read is not too much. */
static int csv_check_bytes(const char *read, size_t count, size_t all, const char *path, problem *why)
{
    if (all > CSV_MOST_BYTES) {
        return problem_set(why, EXIT_USAGE, "%s: more than %d bytes, expected a shorter file", path, CSV_MOST_BYTES);
    }
    return memchr(read, '\0', count) ? problem_set(why, EXIT_USAGE, "%s: a NUL byte: expected text", path) : 0;
}

char *csv_table_slurp(const char *path, size_t *length, problem *why)
{
    size_t room = 65536, used = 0, got = 0;
    int failed = 0;
    errno = 0;
    FILE *file = fopen(path, "rb");
    char *text = file ? malloc(room) : NULL;
    while (text && !failed && (got = fread(text + used, 1, room - used - 1, file)) > 0) {
        failed = csv_check_bytes(text + used, got, used + got, path, why);
        used += got;
        if (room - used > 1) continue;
        char *larger = realloc(text, room *= 2);
        if (!larger) free(text);
        text = larger;
    }
    size_t mark = text && used >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
    if (mark) memmove(text, text + mark, used -= mark);
    if (text) text[used] = '\0';
    *length = used;
    if (!file || ferror(file)) failed = problem_set(why, EXIT_USAGE, "%s: cannot be read: %s", path, strerror(errno));
    else if (!text) failed = problem_set(why, EXIT_HARNESS, "no host memory for %s", path);
    if (file) fclose(file);
    if (!failed) return text;
    free(text);
    return NULL;
}

static int csv_fails(const csv_reader *reader, const char *what, problem *why)
{
    return problem_set(why, EXIT_USAGE, "%s: line %zu: %s", reader->name, reader->line, what);
}

/* A cell in quotes, from behind the first one: unquoted to the left. The character behind it is *reader->at. */
static int csv_quoted(csv_reader *reader, problem *why)
{
    char *to = reader->at;
    for (;; reader->at++) {
        if (reader->at == reader->end) return csv_fails(reader, "a quote that does not end", why);
        if (*reader->at == '\n') reader->line++;
        if (*reader->at == '"' && *++reader->at != '"') break;
        *to++ = *reader->at;
    }
    if (reader->at < reader->end && !strchr(",\r\n", *reader->at)) {
        return csv_fails(reader, "expected ',' behind a quote", why);
    }
    *to = '\0';                                  /* at the closing quote or left of it */
    return 0;
}

/* One cell, ended by a NUL; *last: it is its line's last. */
static int csv_cell(csv_reader *reader, char **made, int *last, problem *why)
{
    int is_quoted = reader->at < reader->end && *reader->at == '"';
    reader->at += is_quoted;
    *made = reader->at;
    if (is_quoted && csv_quoted(reader, why)) return -1;
    while (!is_quoted && reader->at < reader->end && *reader->at != ',' && *reader->at != '\n') {
        if (!*reader->at) return csv_fails(reader, "a NUL byte: this is no CSV", why);
        reader->at++;
    }
    char *end = reader->at, separator = end < reader->end ? *end : '\n';
    if (is_quoted && separator == '\r') separator = *++end;
    if (!is_quoted && separator == '\n' && end > *made && end[-1] == '\r') end[-1] = '\0';
    *last = separator != ',';
    reader->at = end < reader->end ? end + 1 : end;
    *end = '\0';
    return 0;
}

static int csv_add_cell(csv_table *self, size_t *room, size_t used, char *made, problem *why)
{
    if (ARRAY_RESERVE(self->cells, *room, used + 1)) {
        return problem_set(why, EXIT_HARNESS, "no host memory for the rows");
    }
    self->cells[used] = made;
    return 0;
}

static int csv_is_header(const csv_table *self, size_t from)
{
    for (size_t at = 0; at < self->column_count; at++) {
        if (strcmp(self->cells[at], self->cells[from + at])) return 0;
    }
    return 1;
}

static int csv_take_line(csv_table *self, csv_reader *reader, size_t *room, size_t *used, problem *why)
{
    size_t from = *used;
    if (!strncmp(reader->at, CSV_PARTIAL, strlen(CSV_PARTIAL))) {
        self->partial = reader->at + strlen(CSV_PARTIAL);
        reader->at += strcspn(reader->at, "\n");
        if (reader->at < reader->end) *reader->at++ = '\0';
        reader->line++;
        return 0;
    }
    for (int last = 0; !last; (*used)++) {
        char *made;
        if (csv_cell(reader, &made, &last, why) || csv_add_cell(self, room, *used, made, why)) return -1;
    }
    size_t count = *used - from;
    if (!self->column_count) {
        self->column_count = count;
    } else if (count != self->column_count) {
        return problem_set(why, EXIT_USAGE, "%s: line %zu: expected %zu cells, as the header has, found %zu",
                           reader->name, reader->line, self->column_count, count);
    } else if (csv_is_header(self, from)) {
        *used = from;
    } else {
        self->row_count++;
    }
    reader->line++;
    return 0;
}

int csv_table_parse(csv_table *self, const char *name, const char *text, size_t length, problem *why)
{
    size_t room = 0, used = 0;
    memset(self, 0, sizeof *self);
    self->text = malloc(length + 1);
    if (!self->text) return problem_set(why, EXIT_HARNESS, "no host memory for %s", name);
    memcpy(self->text, text, length);
    self->text[length] = '\0';
    csv_reader reader = { name, self->text, self->text + length, 1 };
    while (reader.at < reader.end) {
        if (csv_take_line(self, &reader, &room, &used, why)) return -1;
    }
    if (self->column_count) return 0;
    return problem_set(why, EXIT_USAGE, "%s: empty: expected CSV as --out csv writes it", name);
}

void csv_table_write(FILE *out, const csv_table *self)
{
    for (size_t at = 0; at < (self->row_count + 1) * self->column_count; at++) {
        csv_text(out, self->cells[at]);
        fputc((at + 1) % self->column_count ? ',' : '\n', out);
    }
}

void csv_table_free(csv_table *self)
{
    free(self->text);
    free(self->cells);
    free(self->hidden);
    memset(self, 0, sizeof *self);
}

int csv_table_column(const csv_table *self, const char *name)
{
    for (size_t at = 0; at < self->column_count; at++) {
        if (!strcmp(self->cells[at], name)) return (int)at;
    }
    return CSV_NO_COLUMN;
}

/* Of a file that is something else, what it is, rather than the line that is no row. */
static int csv_check_file(csv_table *self, const char *path, const char *text, problem *why)
{
    if (!strncmp(text, "# gpuarena-stress shard", strlen("# gpuarena-stress shard"))) {
        return problem_set(why, EXIT_USAGE, "%s: has the rows of one shard: %s merge makes a whole of all", path,
                           program_name());
    }
    char first = text[strspn(text, " \t\r\n")];
    const char *other = first == '{' || first == '[' ? "JSON" : first == '<' ? "XML or HTML" : NULL;
    if (!other && csv_table_parse(self, path, text, strcspn(text, "\n"), why)) return -1;
    if (!other && csv_table_column(self, "policy") == CSV_NO_COLUMN) other = "no column 'policy'";
    csv_table_free(self);
    if (!other) return 0;
    return problem_set(why, EXIT_USAGE, "%s: %s: expected CSV as --out csv writes it", path, other);
}

int csv_table_read(csv_table *self, const char *path, problem *why)
{
    size_t length;
    memset(self, 0, sizeof *self);
    char *text = csv_table_slurp(path, &length, why);
    if (!text) return -1;
    int failed = csv_check_file(self, path, text, why) || csv_table_parse(self, path, text, length, why);
    free(text);
    return failed ? -1 : 0;
}

static size_t csv_room(const row_list *list, const row_column *columns, size_t count)
{
    size_t room = 1;
    for (size_t at = 0; at < count; at++) {
        room += strlen(row_column_name(columns[at])) + 1;
        for (size_t index = 0; index < list->count; index++) {
            const cell *value = &list->rows[index].cells[columns[at]];
            room += value->kind == CELL_TEXT ? strlen(value->text) + 1 : CSV_NUMBER_ROOM;
        }
    }
    return room;
}

int csv_table_of(csv_table *self, const row_list *list, problem *why)
{
    const row_column *columns;
    memset(self, 0, sizeof *self);
    self->column_count = row_columns(list->kind, &columns);
    self->row_count = list->count;
    size_t room = csv_room(list, columns, self->column_count);
    self->text = malloc(room);
    self->cells = calloc((list->count + 1) * self->column_count, sizeof *self->cells);
    self->hidden = calloc(list->count + 1, 1);
    if (!self->text || !self->cells || !self->hidden) {
        return problem_set(why, EXIT_HARNESS, "no host memory for the rows");
    }
    for (size_t index = 0; index < list->count; index++) self->hidden[index] = list->rows[index].is_baseline != 0;
    char *to = self->text, **next = self->cells;
    for (size_t line = 0; line <= list->count; line++) {
        for (size_t at = 0; at < self->column_count; at++) {
            size_t left = room - (size_t)(to - self->text);
            if (line) cell_print(&list->rows[line - 1].cells[columns[at]], to, left);
            else snprintf(to, left, "%s", row_column_name(columns[at]));
            *next++ = to;
            to += strlen(to) + 1;
        }
    }
    return 0;
}

const char *csv_table_name(const csv_table *self, size_t column)
{
    return self->cells[column];
}

const char *csv_table_cell(const csv_table *self, size_t line, int column)
{
    return column < 0 ? "" : self->cells[(line + 1) * self->column_count + (size_t)column];
}

int csv_table_is_hidden(const csv_table *self, size_t line)
{
    return self->hidden && self->hidden[line];
}
