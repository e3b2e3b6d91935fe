/* Cells: setting and printing them. */
#include "row.h"

#include "../policy/policy.h"
#include "record.h"

#define ROW_REASON(name, text) "|" text
#define ROW_REASONS GPUARENA_REASONS(ROW_REASON)
const column_info row_table[COLUMN_COUNT] = {
#define X(name, text, unit, timed, sense, note) \
    { text, UNIT_##unit, COLUMN_IS_##timed, SENSE_##sense, note },
    ROW_COLUMNS(X)
#undef X
};

const char *column_words(row_column which)
{
    static const char *const words[COLUMN_COUNT] = {
        [COLUMN_STATUS] = "|ok|oom|verify_failed|error", [COLUMN_OOM_REASON] = ROW_REASONS,
        [COLUMN_ENDED] = "|precise|rounds|time", [COLUMN_MET] = "|yes|no|unclear",
        [COLUMN_STOP_REASON] = ROW_REASONS "|not_opened|not_made|option_maximum",
    };
    return words[which];
}

int column_decimals(row_column which)
{
    static const int tenths[COLUMN_COUNT] = {    /* of units COUNT and NS */
        [COLUMN_HOST_NS] = 1, [COLUMN_VNS_PER_OP] = 1, [COLUMN_NS_PER_PAIR] = 1, [COLUMN_PAIR_INSTRUCTIONS] = 1,
        [COLUMN_AGAINST_NS] = 1, [COLUMN_AGAINST_INSTRUCTIONS] = 1,
    };
    return row_table[which].unit == UNIT_SHARE ? 4 : tenths[which];
}

row_column column_find(const char *name)
{
    int at = 0;
    while (at < COLUMN_COUNT && strcmp(name, row_table[at].name)) at++;
    return (row_column)at;
}

#define X(name, text, unit, timed, sense, note) COLUMN_##name,
static const row_column row_run_columns[] = {
    ROW_RUN_COLUMNS(X) ROW_APART_COLUMNS(X) ROW_STEADY_COLUMNS(X) COLUMN_COUNT,
};
static const row_column row_rounds_columns[] = {
    ROW_RUN_COLUMNS(X) ROW_APART_COLUMNS(X) COLUMN_ROUNDS, COLUMN_OOM_ROUND, COLUMN_OOM_ROUND_OP,
    ROW_STEADY_COLUMNS(X) COLUMN_COUNT,
};
#undef X
static const row_column row_capacity_columns[] = {
    COLUMN_WORKLOAD, COLUMN_POLICY, COLUMN_DEVICE, COLUMN_SEED, COLUMN_REQUESTED_PEAK, COLUMN_MIN_LIMIT, COLUMN_RATIO,
    COLUMN_REMAPPED_PAGES, COLUMN_DRIVER_CALLS, COLUMN_STATUS, COLUMN_GPU_WAITS, COLUMN_PROBES, COLUMN_STOP_OP,
    COLUMN_STOP_REASON, COLUMN_THREADS, COLUMN_COUNT,
};
static const row_column row_batch_columns[] = {
    COLUMN_WORKLOAD, COLUMN_POLICY, COLUMN_DEVICE, COLUMN_SEED, COLUMN_KEY, COLUMN_LARGEST, COLUMN_ALLOWED,
    COLUMN_REQUESTED_PEAK, COLUMN_NEXT_PEAK, COLUMN_STATUS, COLUMN_REMAPPED_PAGES, COLUMN_DRIVER_CALLS,
    COLUMN_GPU_WAITS, COLUMN_REPEATS, COLUMN_PROBES, COLUMN_STOP_OP, COLUMN_STOP_REASON, COLUMN_STOP_TEXT,
    COLUMN_THREADS, COLUMN_COUNT,
};
static const row_column row_holes_columns[] = {
    COLUMN_POLICY, COLUMN_HOLES, COLUMN_NS_PER_PAIR, COLUMN_PAIR_INSTRUCTIONS, COLUMN_RATIO, COLUMN_RATIO_LOW,
    COLUMN_RATIO_HIGH, COLUMN_DEVICE, COLUMN_SEED, COLUMN_STATUS, COLUMN_DRIVER_CALLS, COLUMN_ROUNDS, COLUMN_TARGET,
    COLUMN_MET, COLUMN_ENDED, COLUMN_COUNT,
};
static const row_column row_bench_columns[] = {
    COLUMN_CASE, COLUMN_POLICY, COLUMN_AGAINST, COLUMN_NS_PER_PAIR, COLUMN_AGAINST_NS, COLUMN_RATIO, COLUMN_RATIO_LOW,
    COLUMN_RATIO_HIGH, COLUMN_PAIR_INSTRUCTIONS, COLUMN_AGAINST_INSTRUCTIONS, COLUMN_TARGET, COLUMN_MET,
    COLUMN_SEED, COLUMN_ROUNDS, COLUMN_ENDED, COLUMN_COUNT,
};

const row_column *row_columns(row_kind kind)
{
    static const row_column *const lists[] = {
        [ROW_RUN] = row_run_columns, [ROW_ROUNDS] = row_rounds_columns, [ROW_CAPACITY] = row_capacity_columns,
        [ROW_BATCH] = row_batch_columns, [ROW_HOLES] = row_holes_columns, [ROW_BENCH] = row_bench_columns,
    };
    return lists[kind];
}

int row_is_run(row_kind kind)
{
    return kind == ROW_RUN || kind == ROW_ROUNDS;
}

int row_has(row_kind kind, row_column column)
{
    const row_column *at = row_columns(kind);
    while (*at != COLUMN_COUNT && *at != column) at++;
    return *at != COLUMN_COUNT;
}

int row_list_has(const row_list *list, row_column column)
{
    return !list->lacks[column] && row_has(list->kind, column);
}

void row_untime(row *self)
{
    free(self->times);
    self->times = NULL;
}

void row_free(row *self)
{
    row_untime(self);
    free(self->arrivals);
    self->arrivals = NULL;
    record_destroy(self->recording);
    self->recording = NULL;
}

const char *row_workload(const row *self)
{
    const cell *of = &self->cells[self->cells[COLUMN_CASE].kind == CELL_TEXT ? COLUMN_CASE : COLUMN_WORKLOAD];
    return of->kind == CELL_TEXT ? of->text : "";
}

const char *row_policy(const row *self)
{
    return self->cells[COLUMN_POLICY].text;
}

const char *row_policy_shown(const row *self, char *text, size_t size)
{
    return policy_name_shown(row_policy(self), text, size);
}

void row_name(FILE *out, text_escape *escape, const row *self, int is_shown)
{
    char shown[1024], held[CELL_ROOM];
    const char *workload = row_workload(self), *holes = cell_text(&self->cells[COLUMN_HOLES], held);
    const char *between = is_shown ? " free blocks " : " holes ";
    const char *policy_text = is_shown ? row_policy_shown(self, shown, sizeof shown) : row_policy(self);
    text_print(out, escape, "%s%s%s%s%s", workload, *workload ? "/" : "", policy_text, *holes ? between : "", holes);
}

const char *row_status(const row *self)
{
    return self->cells[COLUMN_STATUS].kind == CELL_TEXT ? self->cells[COLUMN_STATUS].text : "";
}

void row_group(const row_list *list, size_t row_index, size_t *first, size_t *count)
{
    const char *workload = row_workload(&list->rows[row_index]);
    size_t from = row_index, end = row_index;
    while (from && !strcmp(row_workload(&list->rows[from - 1]), workload)) from--;
    while (end < list->count && !strcmp(row_workload(&list->rows[end]), workload)) end++;
    *first = from;
    *count = end - from;
}

size_t row_firsts(const row_list *list, size_t first, size_t count, size_t *found)
{
    size_t found_count = 0;
    for (size_t at = first; at < first + count; at++) {
        const char *named = row_policy(&list->rows[at]);
        size_t before = 0;
        while (before < found_count && strcmp(row_policy(&list->rows[found[before]]), named)) before++;
        if (before == found_count) found[found_count++] = at;
    }
    return found_count;
}

void row_count(row *self, row_column column, uint64_t count)
{
    self->cells[column] = (cell){ .kind = CELL_COUNT, .count = count };
}

void row_real(row *self, row_column column, double real)
{
    self->cells[column] = (cell){ .kind = column_decimals(column) == 4 ? CELL_RATIO : CELL_TENTHS, .real = real };
}

void row_text(row *self, row_column column, const char *text)
{
    self->cells[column] = (cell){ .kind = CELL_TEXT, .text = text };
}

const char *row_list_note(const row_list *list, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s%s", list->shard ? list->shard : "", list->shard && list->partial ? "; " : "",
             list->partial ? "partial: " : "", list->partial ? list->partial : "");
    return text;
}

const char *cell_text(const cell *self, char text[CELL_ROOM])
{
    text[0] = '\0';
    switch (self->kind) {
    case CELL_NONE:   break;
    case CELL_COUNT:  snprintf(text, CELL_ROOM, "%" PRIu64, self->count); break;
    case CELL_TENTHS: snprintf(text, CELL_ROOM, "%.1f", self->real); break;
    case CELL_RATIO:  snprintf(text, CELL_ROOM, "%.4f", self->real); break;
    case CELL_HEX:    snprintf(text, CELL_ROOM, "%016" PRIx64, self->count); break;
    case CELL_TEXT:   return self->text;
    }
    return text;
}
