/* Rows as CSV; lines end in a plain newline, as scripts and git expect. */
#include "csv.h"

#include <errno.h>

#include "../base/text.h"

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

void csv_write(FILE *out, const row_list *list)
{
    for (size_t line = 0; line <= list->count; line++) {
        const char *comma = "";
        for (const row_column *at = row_columns(list->kind); *at != COLUMN_COUNT; at++) {
            char text[CELL_ROOM];
            if (list->lacks[*at]) continue;
            fputs(comma, out);
            csv_text(out, line ? cell_text(&list->rows[line - 1].cells[*at], text) : row_table[*at].name);
            comma = ",";
        }
        fputc('\n', out);
    }
    if (list->partial) fprintf(out, CSV_PARTIAL "%s\n", list->partial);
}

/* ---- Reading CSV in place: cells are unquoted where they stand and ended by a NUL */

enum {
    CSV_MOST_BYTES = 1 << 28,                    /* of a file */
    CSV_MOST_ROWS = (1 << 30) / (int)sizeof(row) /* a row has room for all columns, even those the file lacks */
};

typedef struct csv_table {                       /* a header, and rows of as many cells; all are texts */
    const char *name;
    char       *at, *end;                        /* the unread rest of the text, which cells point into */
    size_t      line;                            /* from 1 */
    char      **cells;                           /* the header's first */
    size_t      used, room;                      /* cells read; room for cells */
    char       *partial;                         /* the last line's reason for missing rows; NULL: none are */
    size_t      column_count, row_count;         /* rows without the header */
} csv_table;

char *csv_slurp(const char *path, size_t *length, problem *why)
{
    static const char mark[] = "\xef\xbb\xbf";
    errno = 0;
    FILE *file = fopen(path, "rb");
    char *text = file ? program_read(file, CSV_MOST_BYTES, length) : NULL;
    int failed = 0;
    if (!file || ferror(file)) {
        failed = problem_set(why, EXIT_USAGE, "%s: cannot be read: %s", path, strerror(errno));
    } else if (memchr(text, '\0', *length)) {
        failed = problem_set(why, EXIT_USAGE, "%s: a NUL byte: expected text", path);
    } else if (*length > CSV_MOST_BYTES) {
        failed = problem_set(why, EXIT_USAGE, "%s: more than %d bytes, expected a shorter file", path,
                             CSV_MOST_BYTES);
    } else if (!strncmp(text, mark, sizeof mark - 1)) {
        *length -= sizeof mark - 1;
        memmove(text, text + sizeof mark - 1, *length + 1);
    }
    if (file) fclose(file);
    if (!failed) return text;
    free(text);
    return NULL;
}

static int csv_fails(const csv_table *self, const char *what, problem *why)
{
    return problem_set(why, EXIT_USAGE, "%s: line %zu: %s", self->name, self->line, what);
}

/* Reads one cell, which a NUL ends. Text in quotes is unquoted in place. *last: it is the line's last cell. */
static int csv_cell(csv_table *self, char **made, int *last, problem *why)
{
    const int is_quoted = *self->at == '"';
    char *at = self->at + is_quoted, *to = at;
    *made = at;
    if (!is_quoted) {
        at += strcspn(at, ",\n");
        if (!*at && at < self->end) return csv_fails(self, "a NUL byte: this is no CSV", why);
        to = at > *made && at[-1] == '\r' && *at != ',' ? at - 1 : at;
    } else {
        for (;; *to++ = *at++) {
            if (at == self->end) return csv_fails(self, "a quote that does not end", why);
            self->line += *at == '\n';
            if (*at == '"' && *++at != '"') break;
        }
        int has_return = *at == '\r';            /* its line ends then */
        at += has_return;
        if (at < self->end && !strchr(has_return ? "\n" : ",\n", *at)) {
            return csv_fails(self, "expected ',' behind a quote", why);
        }
    }
    *last = *at != ',';
    self->at = at + (at < self->end);
    *at = *to = '\0';                            /* to is never behind at */
    return 0;
}

static int csv_not_ours(const char *name, const char *what, problem *why)
{
    return problem_set(why, EXIT_USAGE, "%s: %s: expected CSV as --out csv writes it", name, what);
}

static int csv_take_line(csv_table *self, problem *why)
{
    const size_t from = self->used;
    if (!strncmp(self->at, CSV_PARTIAL, strlen(CSV_PARTIAL))) {
        self->partial = self->at + strlen(CSV_PARTIAL);
        self->at += strcspn(self->at, "\n");
        if (self->at < self->end) *self->at++ = '\0';
        self->line++;
        return 0;
    }
    for (int last = 0; !last; self->used++) {
        ARRAY_RESERVE(self->cells, self->room, self->used + 1);
        if (csv_cell(self, &self->cells[self->used], &last, why)) return -1;
    }
    size_t count = self->used - from, same = 0;
    while (same < self->column_count && same < count && !strcmp(self->cells[same], self->cells[from + same])) same++;
    if (!self->column_count) {
        int has_policy = 0;
        self->column_count = count;
        for (size_t at = 0; at < count; at++) has_policy |= !strcmp(self->cells[at], row_table[COLUMN_POLICY].name);
        if (!has_policy) return csv_not_ours(self->name, "no column 'policy'", why);
    } else if (count != self->column_count) {
        return problem_set(why, EXIT_USAGE, "%s: line %zu: expected %zu cells, as the header has, found %zu",
                           self->name, self->line, self->column_count, count);
    } else if (same == count) {                  /* the header once more */
        self->used = from;
    } else if (self->row_count++ == CSV_MOST_ROWS) {
        return problem_set(why, EXIT_USAGE, "%s: more than %d rows, expected a shorter file", self->name,
                           CSV_MOST_ROWS);
    }
    self->line++;
    return 0;
}

/* ---- Rows of these texts */

/* The command that has the most of the columns; of several the first. */
static row_kind csv_kind(const csv_table *table)
{
    row_kind best = ROW_RUN;
    size_t most = 0;
    for (row_kind kind = ROW_RUN; kind <= ROW_BENCH; kind++) {
        size_t known = 0;
        for (size_t column = 0; column < table->column_count; column++) {
            known += (size_t)row_has(kind, column_find(table->cells[column]));
        }
        if (known <= most) continue;
        best = kind;
        most = known;
    }
    return best;
}

static void csv_rows_of(const csv_table *table, row_list *made)
{
    made->kind = csv_kind(table);
    made->partial = table->partial;
    made->rows = program_need(table->row_count, sizeof *made->rows);
    made->count = table->row_count;
    made->others = program_need(table->column_count, sizeof *made->others);
    memset(made->lacks, 1, sizeof made->lacks);
    for (size_t at = 0; at < table->column_count; at++) {
        const row_column named = column_find(table->cells[at]);
        if (!row_has(made->kind, named) || !made->lacks[named]) {
            made->others[made->other_count++] = table->cells[at];
            continue;
        }
        made->lacks[named] = 0;
        const column_unit unit = row_table[named].unit;
        for (size_t line = 0; line < made->count; line++) {
            const char *text = table->cells[(line + 1) * table->column_count + at];
            uint64_t number;                     /* any other text is kept, and printed as it was read */
            if ((unit == UNIT_COUNT || unit == UNIT_BYTES) && slice_decimal(slice_of(text), &number)) {
                row_count(&made->rows[line], named, number);
            } else if (*text || named == COLUMN_POLICY) {            /* a row has a policy, be it "" */
                row_text(&made->rows[line], named, text);
            }
        }
    }
    for (row *read = made->rows; read < made->rows + made->count; read++) {
        const char *status = row_status(read);
        if (!*status || !strcmp(status, "ok") || !strcmp(status, "oom")) continue;
        snprintf(read->note, sizeof read->note, "%.100s, as %.300s says", status, table->name);
    }
}

int csv_parse(row_list *made, const char *name, const char *text, size_t length, problem *why)
{
    memset(made, 0, sizeof *made);
    made->text = program_copy(text, length);
    csv_table table = { .name = name, .at = made->text, .end = made->text + length, .line = 1 };
    int failed = 0;
    while (table.at < table.end && !failed) failed = csv_take_line(&table, why);
    if (!failed && !table.column_count) failed = csv_not_ours(name, "empty", why);
    if (!failed) csv_rows_of(&table, made);
    free(table.cells);
    return failed;
}

void csv_free(row_list *self)
{
    free(self->text);
    free(self->rows);
    free(self->others);
    memset(self, 0, sizeof *self);
}

/* If the file is a shard, JSON, XML or HTML, the problem says that, instead of naming a line that is no row. */
int csv_read(row_list *made, const char *path, problem *why)
{
    size_t length;
    int failed;
    memset(made, 0, sizeof *made);
    char *text = csv_slurp(path, &length, why);
    if (!text) return -1;
    char first = text[strspn(text, " \t\r\n")];
    if (!strncmp(text, "# gpuarena-stress shard", strlen("# gpuarena-stress shard"))) {
        failed = problem_set(why, EXIT_USAGE, "%s: has the rows of one shard: %s merge makes a whole of all", path,
                             program_name());
    } else if (first == '{' || first == '[' || first == '<') {
        failed = csv_not_ours(path, first == '<' ? "XML or HTML" : "JSON", why);
    } else {
        failed = csv_parse(made, path, text, length, why);
    }
    free(text);
    return failed;
}
