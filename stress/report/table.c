/* The texts of cells for people; the table's lines: columns dropped for lack of room, notes, legend. */
#include "table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "../base/text.h"

/* ---- The texts of cells for people, and the columns of tables */

enum { TABLE_NAME_MAX = 40 };

/* The text of a duration. The heading tells whether it is modelled or measured. */
static const char *table_duration(double ns, char *text, size_t size)
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
    size_t unit = 0;
    for (; ns >= 999.5 && unit < 3; unit++) ns /= 1000.0;
    snprintf(text, size, !unit || ns >= 99.95 ? "%.0f %s" : "%.1f %s", ns, units[unit]);
    return text;
}

/* The text of a number; below 0: none. Numbers below 0.095 have one significant digit. */
static const char *table_number(double number, char *text, size_t size)
{
    if (number < 0.0) return "-";
    int is_whole = number >= 99.95 || number == (double)(uint64_t)number;
    snprintf(text, size, is_whole ? "%.0f" : number < 0.095 ? "%.1g" : "%.1f", number);
    return text;
}

void table_cut(char *text, size_t room)
{
    if (strlen(text) > room) memcpy(text + utf8_fits(text, room > 2 ? room - 2 : 0), "..", 3);
}

const char *table_name(const char *name, char *text, size_t size)
{
    const char *slash = strrchr(name, '/');
    const char *colon = strchr(name, ':');
    if (slash && colon && colon < slash) snprintf(text, size, "%.*s%s", (int)(colon - name + 1), name, slash + 1);
    else snprintf(text, size, "%s", name);
    table_cut(text, TABLE_NAME_MAX);
    return text;
}

static const char *table_policy_name(const row *of, char *text, size_t size)
{
    char shown[1024];
    return table_name(row_policy_shown(of, shown, sizeof shown), text, size);
}

int table_is_dull(const row *shown, row_column column)
{
    char text[CELL_ROOM];
    if (column == COLUMN_THREADS) return !strcmp(cell_text(&shown->cells[column], text), "1");
    return column == COLUMN_FRAGMENTATION && shown->cells[COLUMN_OOM_OP].kind == CELL_NONE;
}

int table_is_ok(const row *shown)
{
    return !strcmp(row_status(shown), "ok");
}

const char *table_why(const row *shown, row_kind kind)
{
    if (shown->cells[COLUMN_STOP_TEXT].kind == CELL_TEXT) return shown->cells[COLUMN_STOP_TEXT].text;
    return kind == ROW_CAPACITY && table_is_ok(shown) ? "" : shown->note;    /* the column STOP_REASON tells it */
}

/* ---- Numbers of run that are better when they are less */

static double table_number_of(const row *shown, row_column column)
{
    const cell *value = &shown->cells[column];
    if (value->kind == CELL_NONE || value->kind == CELL_TEXT) return -1.0;
    return value->kind == CELL_COUNT ? (double)value->count : value->real;
}

/* The warm-up's part of a whole run's number. A row that ended early has none, because it did less. */
static double table_warm_up_of(const row *shown, row_column whole, row_column steady)
{
    if (!table_is_ok(shown) || shown->cells[whole].kind == CELL_NONE) return -1.0;
    return (double)(shown->cells[whole].count - shown->cells[steady].count);
}

/* The number that `run` shows of a column: for the whole run's calls those of the warm-up, for the steady ones those
   of a step. Below 0: none. */
static double table_weight(const row *shown, row_column column)
{
    const uint64_t steps = shown->cells[COLUMN_STEADY_STEPS].count;
    double requested = table_number_of(shown, COLUMN_REQUESTED_PEAK);
    double reserved = table_number_of(shown, COLUMN_RESERVED_PEAK);
    switch (column) {
    case COLUMN_FOOTPRINT:    return requested > 0.0 && reserved >= 0.0 ? reserved / requested : -1.0;
    case COLUMN_DRIVER_CALLS: return table_warm_up_of(shown, column, COLUMN_STEADY_CALLS);
    case COLUMN_DRIVER_VNS:   return table_warm_up_of(shown, column, COLUMN_STEADY_VNS);
    case COLUMN_STEADY_CALLS:
    case COLUMN_STEADY_VNS:
        return shown->cells[column].kind == CELL_NONE || !steps ? -1.0
             : (double)shown->cells[column].count / (double)steps;
    default:                  return table_number_of(shown, column);
    }
}

const char *table_overhead(const row *shown, char *text, size_t size)
{
    double share = table_weight(shown, COLUMN_FOOTPRINT);
    if (share < 0.0) return "-";
    snprintf(text, size, "%+.1f %%", (share - 1.0) * 100.0);
    return text;
}

const char *table_fill(const table_column *of, const row *shown, char *text, size_t size)
{
    const cell *value = &shown->cells[of->column], *high = &shown->cells[COLUMN_RATIO_HIGH];
    const double weight = table_weight(shown, of->column);
    const int is_none = value->kind == CELL_NONE, is_dull = table_is_dull(shown, of->column);
    switch (of->show) {
    case SHOW_NAME:     return table_name(value->text, text, size);
    case SHOW_POLICY:   return table_policy_name(shown, text, size);
    case SHOW_OVERHEAD: return table_overhead(shown, text, size);
    case SHOW_NUMBER:   return table_number(weight, text, size);
    case SHOW_TIME:     return weight < 0.0 ? "-" : table_duration(weight, text, size);
    case SHOW_BYTES:    return is_none ? "-" : text_bytes(value->count, text, size);
    case SHOW_SOME:
        if (is_dull || (value->kind == CELL_COUNT && !value->count)) return "-";
        break;
    case SHOW_SHARE:
        if (is_none || is_dull) return "-";
        snprintf(text, size, "%.1f %%", value->real * 100.0);
        return text;
    case SHOW_INTERVAL:
        if (is_none || high->kind == CELL_NONE) return "-";
        snprintf(text, size, "[%.4f,%.4f]", value->real, high->real);
        return text;
    case SHOW_CELL:
        break;
    }
    return is_none ? "-" : cell_text(value, text);
}

int table_is_used(const row_list *list, const table_column *column)
{
    char text[1024];
    for (size_t at = 0; at < list->count; at++) {
        if (strcmp(table_fill(column, &list->rows[at], text, sizeof text), "-")) return 1;
    }
    return !(column->flags & TABLE_OPTIONAL);
}

static int table_is_weighed(const row *shown)
{
    return table_is_ok(shown) && !shown->is_baseline;
}

/* The text of the best cell of these rows, by its number; "": all have the same, or none has a number. */
static void table_find_best(const table_best *self, const table_column *column, char best[TABLE_BEST_ROOM])
{
    size_t weighed = 0;
    int differs = 0;
    double least = 0.0;
    char any[TABLE_BEST_ROOM] = "", text[TABLE_BEST_ROOM];
    best[0] = '\0';
    if (!(column->flags & TABLE_LEAST)) return;
    for (const row *shown = self->list->rows + self->first; shown < self->list->rows + self->end; shown++) {
        double weight = table_is_weighed(shown) ? table_weight(shown, column->column) : -1.0;
        if (weight < 0.0) continue;
        const char *filled = table_fill(column, shown, text, sizeof text);
        if (!weighed) snprintf(any, sizeof any, "%s", filled);
        differs |= strcmp(filled, any) != 0;
        if (weighed++ && weight >= least) continue;
        least = weight;
        snprintf(best, TABLE_BEST_ROOM, "%s", filled);
    }
    if (!differs) best[0] = '\0';
}

/* Cells of the same text are as good. */
int table_is_best(table_best *self, size_t row_index, const table_column *column)
{
    const table_column *columns = table_columns(self->list->kind);
    char text[TABLE_BEST_ROOM];
    if (row_index < self->first || row_index >= self->end) {
        row_group(self->list, row_index, &self->first, &self->end);
        self->end += self->first;
        for (size_t at = 0; columns[at].heading; at++) table_find_best(self, &columns[at], self->texts[at]);
    }
    const char *best = self->texts[column - columns];
    const row *shown = &self->list->rows[row_index];
    return *best && table_is_weighed(shown) && !strcmp(table_fill(column, shown, text, sizeof text), best);
}

/* The columns that name the row of a workload, and its status. */
#define TABLE_NAMES \
    { "workload", SHOW_NAME, COLUMN_WORKLOAD, TABLE_TEXT, 0, NULL }, \
    { "policy", SHOW_POLICY, COLUMN_POLICY, TABLE_TEXT, 0, NULL }, \
    { "status", SHOW_CELL, COLUMN_STATUS, TABLE_TEXT, 0, NULL }, \
    { "threads", SHOW_SOME, COLUMN_THREADS, TABLE_OPTIONAL, 4, NULL }

#define TABLE_END { NULL, SHOW_CELL, COLUMN_COUNT, 0, 0, NULL },

static const table_column table_run_columns[] = {
    TABLE_NAMES,
    { "memory", SHOW_BYTES, COLUMN_RESERVED_PEAK, TABLE_LEAST, 1, "held from the driver, at its peak" },
    { "overhead", SHOW_OVERHEAD, COLUMN_FOOTPRINT, TABLE_LEAST, 1,
      "of that over the requested peak" },
    { "warm-up calls", SHOW_NUMBER, COLUMN_DRIVER_CALLS, TABLE_OPTIONAL | TABLE_LEAST, 3,
      "of the driver until the first step comes again, or in the whole run" },
    { "warm-up time", SHOW_TIME, COLUMN_DRIVER_VNS, TABLE_OPTIONAL | TABLE_LEAST, 5, "in them, modelled" },
    { "calls/step", SHOW_NUMBER, COLUMN_STEADY_CALLS, TABLE_OPTIONAL | TABLE_LEAST, 2, "in each step after that" },
    { "time/step", SHOW_TIME, COLUMN_STEADY_VNS, TABLE_OPTIONAL | TABLE_LEAST, 4, "in them, modelled" },
    { "time/op", SHOW_TIME, COLUMN_VNS_PER_OP, TABLE_OPTIONAL | TABLE_LEAST, 6,
      "of an allocation or free, modelled: driver, waits, and the program's own time" },
    { "host/op", SHOW_TIME, COLUMN_HOST_NS, TABLE_OPTIONAL | TABLE_TIME | TABLE_LEAST, 7, NULL },
    { "fragmentation", SHOW_SHARE, COLUMN_FRAGMENTATION, TABLE_OPTIONAL, 3,
      "free memory beside its longest piece, where memory ran out" },
    { "OOM at op", SHOW_CELL, COLUMN_OOM_OP, TABLE_OPTIONAL, 1, NULL },
    TABLE_END
};

static const table_column table_capacity_columns[] = {
    TABLE_NAMES,
    { "min limit / peak", SHOW_CELL, COLUMN_RATIO, 0, 0, NULL },
    { "min limit", SHOW_BYTES, COLUMN_MIN_LIMIT, 0, 1, NULL },
    { "requested", SHOW_BYTES, COLUMN_REQUESTED_PEAK, 0, 3, NULL },
    { "remapped", SHOW_SOME, COLUMN_REMAPPED_PAGES, TABLE_OPTIONAL, 5, NULL },
    { "driver calls", SHOW_CELL, COLUMN_DRIVER_CALLS, 0, 4, NULL },
    { "probes", SHOW_CELL, COLUMN_PROBES, TABLE_OPTIONAL, 9, NULL },
    { "ends at op", SHOW_CELL, COLUMN_STOP_OP, 0, 2, NULL },
    { "reason", SHOW_CELL, COLUMN_STOP_REASON, TABLE_TEXT, 2, NULL },
    TABLE_END
};

static const table_column table_batch_columns[] = {
    TABLE_NAMES,
    { "varied", SHOW_CELL, COLUMN_KEY, TABLE_TEXT, 1, NULL },
    { "largest", SHOW_CELL, COLUMN_LARGEST, 0, 0, NULL },
    { "allowed", SHOW_CELL, COLUMN_ALLOWED, 0, 0, NULL },
    { "requested", SHOW_BYTES, COLUMN_REQUESTED_PEAK, 0, 3, NULL },
    { "remapped", SHOW_SOME, COLUMN_REMAPPED_PAGES, TABLE_OPTIONAL, 5, NULL },
    { "driver calls", SHOW_CELL, COLUMN_DRIVER_CALLS, TABLE_OPTIONAL, 6, NULL },
    { "probes", SHOW_CELL, COLUMN_PROBES, TABLE_OPTIONAL, 9, NULL },
    { "ends at op", SHOW_CELL, COLUMN_STOP_OP, 0, 2, NULL },
    { "reason", SHOW_CELL, COLUMN_STOP_REASON, TABLE_TEXT, 2, NULL },
    TABLE_END
};

static const table_column table_holes_columns[] = {
    { "policy", SHOW_POLICY, COLUMN_POLICY, TABLE_TEXT, 0, NULL },
    { "free blocks", SHOW_CELL, COLUMN_HOLES, 0, 0, NULL },
    { "status", SHOW_CELL, COLUMN_STATUS, TABLE_TEXT, 2, NULL },
    { "ns a pair", SHOW_CELL, COLUMN_NS_PER_PAIR, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "over the first", SHOW_CELL, COLUMN_RATIO, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "95 %", SHOW_INTERVAL, COLUMN_RATIO_LOW, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "instructions", SHOW_CELL, COLUMN_PAIR_INSTRUCTIONS, TABLE_OPTIONAL, 5, NULL },
    { "driver calls", SHOW_CELL, COLUMN_DRIVER_CALLS, 0, 1, NULL },
    { "target", SHOW_CELL, COLUMN_TARGET, TABLE_TEXT | TABLE_OPTIONAL, 5, NULL },
    { "met", SHOW_CELL, COLUMN_MET, TABLE_TEXT | TABLE_OPTIONAL, 5, NULL },
    TABLE_END
};

static const table_column table_bench_columns[] = {
    { "case", SHOW_CELL, COLUMN_CASE, TABLE_TEXT, 0, NULL },
    { "policy", SHOW_POLICY, COLUMN_POLICY, TABLE_TEXT, 0, NULL },
    { "against", SHOW_CELL, COLUMN_AGAINST, TABLE_TEXT, 3, NULL },
    { "ns", SHOW_CELL, COLUMN_NS_PER_PAIR, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "against", SHOW_CELL, COLUMN_AGAINST_NS, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "ratio", SHOW_CELL, COLUMN_RATIO, TABLE_OPTIONAL, 5, NULL },
    { "95 %", SHOW_INTERVAL, COLUMN_RATIO_LOW, TABLE_TIME | TABLE_OPTIONAL, 6, NULL },
    { "instr", SHOW_CELL, COLUMN_PAIR_INSTRUCTIONS, TABLE_OPTIONAL, 5, NULL },
    { "against", SHOW_CELL, COLUMN_AGAINST_INSTRUCTIONS, TABLE_OPTIONAL, 7, NULL },
    { "target", SHOW_CELL, COLUMN_TARGET, TABLE_TEXT, 1, NULL },
    { "met", SHOW_CELL, COLUMN_MET, TABLE_TEXT, 0, NULL },
    TABLE_END
};

const table_column *table_columns(row_kind kind)
{
    static const table_column *const lists[] = {
        [ROW_RUN] = table_run_columns, [ROW_ROUNDS] = table_run_columns, [ROW_CAPACITY] = table_capacity_columns,
        [ROW_BATCH] = table_batch_columns, [ROW_HOLES] = table_holes_columns, [ROW_BENCH] = table_bench_columns,
    };
    return lists[kind];
}

/* ---- The verdict on the rows of a workload: the least of memory and of driver calls among complete rows, and the
        ends of the other rows */

enum { VERDICT_MOST_NAMES = 4 };                 /* policies named in a list; of more the rest is counted */

typedef struct verdict {
    const row_list *list;
    size_t          first, end;                  /* rows of the workload */
    const row     **found;                       /* by the latest verdict_find */
    char           *text;                        /* of VERDICT_ROOM bytes */
} verdict;

static const char verdict_whole[] = "ok";
static const char *const verdict_ends[][2] = {
    { "oom", "ran out of memory" }, { "verify_failed", "failed verification" }, { "error", "failed" },
    { "skipped", "did not run" },
};
enum { VERDICT_ENDS = sizeof verdict_ends / sizeof verdict_ends[0] };

/* Tells whether a row was asked for, ended with this status (NULL: any) and has this value in the column
   (COLUMN_COUNT: any). A whole row must also have its figures. */
static int verdict_is(const row *shown, const char *status, row_column column, uint64_t value)
{
    const cell *memory = &shown->cells[COLUMN_RESERVED_PEAK], *calls = &shown->cells[COLUMN_DRIVER_CALLS];
    if (shown->is_baseline || (status && strcmp(row_status(shown), status))) return 0;
    if (status == verdict_whole && (memory->kind != CELL_COUNT || calls->kind != CELL_COUNT)) return 0;
    return column == COLUMN_COUNT || shown->cells[column].count == value;
}

/* Finds the first such row of each policy, which may have several with --repeat. Returns their number. */
static size_t verdict_find(verdict *self, const char *status, row_column column, uint64_t value)
{
    size_t count = 0;
    for (size_t at = self->first; at < self->end; at++) {
        const row *shown = &self->list->rows[at];
        size_t before = 0;
        while (before < count && strcmp(row_policy(self->found[before]), row_policy(shown))) before++;
        if (before == count && verdict_is(shown, status, column, value)) self->found[count++] = shown;
    }
    return count;
}

/* Adds the names of the first `count` rows found: "paged, best-fit and segments". */
static void verdict_names(verdict *self, size_t count)
{
    char name[1024];
    size_t most = count > VERDICT_MOST_NAMES ? VERDICT_MOST_NAMES - 1 : count;
    for (size_t said = 0; said < most; said++) {
        text_add(self->text, VERDICT_ROOM, "%s%s", !said ? "" : said + 1 == count ? " and " : ", ",
                 table_policy_name(self->found[said], name, sizeof name));
    }
    if (count > most) text_add(self->text, VERDICT_ROOM, " and %zu others", count - most);
}

static uint64_t verdict_least(const verdict *self, row_column column)
{
    uint64_t least = UINT64_MAX;
    for (size_t at = self->first; at < self->end; at++) {
        const row *shown = &self->list->rows[at];
        uint64_t here = shown->cells[column].count;
        if (verdict_is(shown, verdict_whole, COLUMN_COUNT, 0) && here < least) least = here;
    }
    return least;
}

static void verdict_amount(verdict *self, const row *shown)
{
    char bytes[32], overhead[32];
    const char *above = table_overhead(shown, overhead, sizeof overhead);
    text_bytes(shown->cells[COLUMN_RESERVED_PEAK].count, bytes, sizeof bytes);
    text_add(self->text, VERDICT_ROOM, strcmp(above, "-") ? "%s, %s" : "%s", bytes, above);
}

/* Adds the memory that the fewest calls cost. It is told of one policy alone, because several may differ in it. */
static void verdict_price(verdict *self, const row *fewest, uint64_t least)
{
    uint64_t taken = fewest->cells[COLUMN_RESERVED_PEAK].count;
    if (taken == least || !least) return;
    double more = ((double)taken / (double)least - 1.0) * 100.0;
    text_add(self->text, VERDICT_ROOM, more < 9.95 ? ", %+.1f %% memory" : ", %+.0f %% memory", more);
}

static void verdict_several(verdict *self, size_t whole)
{
    uint64_t least = verdict_least(self, COLUMN_RESERVED_PEAK), calls = verdict_least(self, COLUMN_DRIVER_CALLS);
    size_t of_calls = verdict_find(self, verdict_whole, COLUMN_DRIVER_CALLS, calls);
    const row *fewest = self->found[0];
    size_t of_memory = verdict_find(self, verdict_whole, COLUMN_RESERVED_PEAK, least);
    const row *smallest = self->found[0];
    int is_same = of_memory == 1 && of_calls == 1 && !strcmp(row_policy(smallest), row_policy(fewest));
    if (of_memory == whole) text_add(self->text, VERDICT_ROOM, "all take the same memory, ");
    else {
        text_add(self->text, VERDICT_ROOM, is_same ? "least memory and fewest driver calls " : "least memory ");
        verdict_names(self, of_memory);
        text_add(self->text, VERDICT_ROOM, ", ");
    }
    verdict_amount(self, smallest);
    if (is_same) text_add(self->text, VERDICT_ROOM, ", %" PRIu64 " calls", calls);
    else if (of_calls == whole) {
        text_add(self->text, VERDICT_ROOM, "; all make the same number of driver calls, %" PRIu64, calls);
    } else {
        text_add(self->text, VERDICT_ROOM, "; fewest driver calls ");
        verdict_names(self, verdict_find(self, verdict_whole, COLUMN_DRIVER_CALLS, calls));
        text_add(self->text, VERDICT_ROOM, ", %" PRIu64, calls);
        if (of_calls == 1) verdict_price(self, fewest, least);
    }
}

/* Adds "; cudaMalloc and segments ran out of memory"; of one policy alone also the operation. */
static void verdict_failures(verdict *self, const char *gap)
{
    for (size_t end = 0; end < VERDICT_ENDS; end++) {
        size_t count = verdict_find(self, verdict_ends[end][0], COLUMN_COUNT, 0);
        if (!count) continue;
        const row *failed = self->found[0];
        text_add(self->text, VERDICT_ROOM, "%s", gap);
        verdict_names(self, count);
        text_add(self->text, VERDICT_ROOM, " %s", verdict_ends[end][1]);
        if (count == 1 && failed->cells[COLUMN_OOM_OP].kind != CELL_NONE) {
            text_add(self->text, VERDICT_ROOM, " at operation %" PRIu64, failed->cells[COLUMN_OOM_OP].count);
        }
        gap = "; ";
    }
}

/* Makes the line of a workload; "": there is nothing to tell. */
static void verdict_line(verdict *self)
{
    char name[1024];
    const char *workload = row_workload(&self->list->rows[self->first]);
    size_t asked = verdict_find(self, NULL, COLUMN_COUNT, 0);
    size_t whole = verdict_find(self, verdict_whole, COLUMN_COUNT, 0);
    snprintf(self->text, VERDICT_ROOM, "%s: ", table_name(workload, name, sizeof name));
    size_t named = strlen(self->text);
    if (whole > 1) verdict_several(self, whole);
    if (whole == 1) {
        const row *only = self->found[0];
        uint64_t calls = only->cells[COLUMN_DRIVER_CALLS].count;
        text_add(self->text, VERDICT_ROOM, asked == 1 ? "%s takes " : "only %s completes, with ",
                 table_policy_name(only, name, sizeof name));
        verdict_amount(self, only);
        text_add(self->text, VERDICT_ROOM, ", and %s%" PRIu64 " driver call%s", asked == 1 ? "makes " : "", calls,
                 calls == 1 ? "" : "s");
    }
    verdict_failures(self, whole ? "; " : asked > 1 ? "no policy completes: " : "");
    if (!*workload || !self->text[named]) self->text[0] = '\0';      /* rows that were read, and hold too little */
}

int verdict_take(const row_list *list, size_t *at, char text[VERDICT_ROOM])
{
    text[0] = '\0';
    while (*at < list->count && !text[0]) {
        verdict self = { list, 0, 0, NULL, text };
        row_group(list, *at, &self.first, &self.end);
        self.end += self.first;
        self.found = program_need(self.end - self.first, sizeof *self.found);
        verdict_line(&self);
        free(self.found);
        *at = self.end;
    }
    return text[0] != '\0';
}

/* ---- The look of the table on its terminal or file: width and colour */

enum { TABLE_WIDTH_MIN = 40, TABLE_WIDTH_DEFAULT = 120 };

table_style table_style_for(FILE *out, const char *choice)
{
    const int descriptor = fileno(out);
    const char *columns = program_environment("COLUMNS"), *terminal = getenv("TERM");
    table_style made = { columns && *columns != '-' ? (size_t)strtoul(columns, NULL, 10) : 0, 0 };
#ifdef TIOCGWINSZ
    struct winsize size;
    if (!made.width && isatty(descriptor) && !ioctl(descriptor, TIOCGWINSZ, &size)) made.width = size.ws_col;
#endif
    if (!made.width) made.width = TABLE_WIDTH_DEFAULT;
    if (made.width < TABLE_WIDTH_MIN) made.width = TABLE_WIDTH_MIN;
    if (strcmp(choice, "auto")) made.color = !strcmp(choice, "always");
    else if (program_environment("NO_COLOR")) made.color = 0;
    else if (program_environment("FORCE_COLOR")) made.color = strcmp(getenv("FORCE_COLOR"), "0") != 0;
    else made.color = isatty(descriptor) && terminal && strcmp(terminal, "dumb");
    return made;
}

/* ---- The sums of rows that occur more than once */

static void table_percentile(const histogram *latency, unsigned per_mille, const char *name, char *text, size_t size)
{
    if (!histogram_supports(latency, per_mille)) return;
    text_add(text, size, ", %s %" PRIu64, name, histogram_percentile(latency, per_mille));
}

const char *table_repeats(const case_index *in, size_t row_index, char *text, size_t size)
{
    repeats of;
    text[0] = '\0';
    if (!repeats_of(&of, in, row_index) || of.ns.count < 2 || !of.sums[REPEATS_ALLOC]) return text;
    const interval *time = &of.ns;
    const histogram *allocs = of.sums[REPEATS_ALLOC];
    text_add(text, size, ", %zu times: host ns/op %.1Lf", time->count, time->middle);
    if (!time->is_known) text_add(text, size, " (an interval takes six times)");
    else text_add(text, size, " [%.1Lf,%.1Lf]", time->low, time->high);
    text_add(text, size, "; ns of all %" PRIu64 " allocations together: max %" PRIu64, allocs->count, allocs->max);
    table_percentile(allocs, 500, "p50", text, size);
    table_percentile(allocs, 990, "p99", text, size);
    table_percentile(allocs, 999, "p99.9", text, size);
    return text;
}

/* ---- The columns that are dropped for lack of room */

typedef struct table_place {
    const table_column *column;
    size_t              whole, width;            /* needed width; width in the table, 0: it is dropped */
} table_place;

typedef struct table {
    FILE                   *out;
    const row_list         *list;
    const cuda_environment *environment;
    const table_style      *style;
    table_place             places[TABLE_MOST];  /* columns with a value in some row */
    size_t                  count;
    int                     has_marks;           /* some column's last cell may have one behind it */
    table_best              best;
} table;

static size_t table_total(const table *self)
{
    size_t total = 0;
    for (size_t at = 0; at < self->count; at++) {
        if (self->places[at].width) total += self->places[at].width + 2;
    }
    return total ? total - 2 + (size_t)self->has_marks : 0;
}

/* Drops the last column of the highest rank, if that is at least this rank. 0: there is none to drop. */
static int table_drop(table *self, int rank)
{
    table_place *worst = NULL;
    for (table_place *place = self->places; place < self->places + self->count; place++) {
        if (!place->width || place->column->rank < rank) continue;
        if (!worst || place->column->rank >= worst->column->rank) worst = place;
    }
    if (worst) worst->width = 0;
    return worst != NULL;
}

/* Makes the widest column of texts narrower by one, if it is wider than `least`. 0: none is. */
static int table_shrink(table *self, size_t least)
{
    table_place *widest = NULL;
    for (table_place *place = self->places; place < self->places + self->count; place++) {
        if (!(place->column->flags & TABLE_TEXT) || place->width <= least) continue;
        if (!widest || place->width > widest->width) widest = place;
    }
    if (widest) widest->width--;
    return widest != NULL;
}

/* Fits the table to its width. In each step columns of a rank and above are dropped, then texts are cut to a least
   width. At the end cut texts get back the room that dropped columns have left. */
static void table_fit(table *self)
{
    static const struct { int rank; size_t least; } steps[] = { { 3, 20 }, { 2, 12 }, { 1, 6 } };
    const size_t width = self->style->width;
    for (size_t step = 0; step < sizeof steps / sizeof steps[0]; step++) {
        while (table_total(self) > width && table_drop(self, steps[step].rank)) continue;
        while (table_total(self) > width && table_shrink(self, steps[step].least)) continue;
    }
    for (table_place *place = self->places; place < self->places + self->count; place++) {
        while (place->width && place->width < place->whole && table_total(self) < width) place->width++;
    }
}

static void table_measure(table *self)
{
    char text[1024];
    for (const table_column *column = table_columns(self->list->kind); column->heading; column++) {
        size_t width = strlen(column->heading);
        self->has_marks |= (column->flags & TABLE_LEAST) != 0;
        if (!table_is_used(self->list, column)) continue;
        for (size_t index = 0; index < self->list->count; index++) {
            size_t length = strlen(table_fill(column, &self->list->rows[index], text, sizeof text));
            if (length > width) width = length;
        }
        self->places[self->count++] = (table_place){ column, width, width };
    }
    table_fit(self);
}

/* ---- The table's lines */

static const char *table_paint(const row *shown, const table_style *style)
{
    const char *status = shown ? row_status(shown) : "";
    if (!style->color || !*status) return "";
    if (!strcmp(status, "ok")) return shown->is_baseline ? "\033[2m" : "";
    return strcmp(status, "oom") ? "\033[31m" : "\033[33m";
}

/* index of a row; list->count: the headings. Text that does not fit is cut, aloud; numbers always fit. The best are
   bold, or, without colours, starred. */
static void table_line(table *self, size_t index)
{
    const row *shown = index < self->list->count ? &self->list->rows[index] : NULL;
    const char *paint = table_paint(shown, self->style);
    size_t owed = 0;                             /* spaces not yet written: none at a line's end */
    fputs(paint, self->out);
    for (const table_place *place = self->places; place < self->places + self->count; place++) {
        const table_column *column = place->column;
        char text[1024], value[1024];
        if (!place->width) continue;
        snprintf(value, sizeof value, "%s", shown ? table_fill(column, shown, text, sizeof text) : column->heading);
        table_cut(value, place->width);
        size_t length = strlen(value), pad = length < place->width ? place->width - length : 0;
        int is_text = (column->flags & TABLE_TEXT) != 0, is_best = shown && table_is_best(&self->best, index, column);
        int is_bold = is_best && self->style->color, is_starred = is_best && !is_bold;
        fprintf(self->out, "%*s%s%s%s%s", (int)(owed + (is_text ? 0 : pad)), "", is_bold ? "\033[1m" : "", value,
                is_starred ? "*" : "", is_bold ? "\033[0m" : "");
        owed = 2 - (size_t)is_starred + (is_text ? pad : 0);
    }
    fprintf(self->out, "%s\n", *paint ? "\033[0m" : "");
}

/* ---- Sentences below the table */

/* Writes a text folded at spaces, and indented. A word that is too long for a line is broken. */
static void table_fold(const table *self, const char *text)
{
    size_t at = 0, room = self->style->width > 24 ? self->style->width : 24;
    while (*text) {
        size_t word = strcspn(text, " "), most = at ? room - 4 : room;
        if (word > most) word = utf8_fits(text, most);
        if (at && at + 1 + word > room) {
            fputs("\n   ", self->out);
            at = 3;
        }
        if (at) fputc(' ', self->out);
        fprintf(self->out, "%.*s", (int)word, text);
        at += word + (at != 0);
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', self->out);
}

/* Writes a sentence about a row, with the table's names. */
static void table_sentence(const table *self, const row *named, const char *between, const char *text)
{
    char name[1024], policy[1024], line[2700];
    const cell *of = &named->cells[self->list->kind == ROW_HOLES ? COLUMN_HOLES : COLUMN_WORKLOAD];
    snprintf(line, sizeof line, "%s/%s%s%s", of->kind == CELL_TEXT ? table_name(of->text, name, sizeof name)
             : cell_text(of, name),
             table_policy_name(named, policy, sizeof policy), between, text);
    table_fold(self, line);
}

/* Writes why rows ended; then, for runs, the sums of repeats. */
static void table_notes(const table *self)
{
    const row_list *list = self->list;
    case_index cases;
    char text[512];
    int told = 0;
    for (size_t index = 0; index < list->count; index++) {
        const char *why = table_why(&list->rows[index], list->kind);
        if (*why) table_sentence(self, &list->rows[index], ": ", why);
        told |= *why != '\0';
    }
    if (!row_is_run(list->kind)) return;
    if (told) fputc('\n', self->out);
    told = 0;
    case_index_make(&cases, list, list);
    for (size_t index = 0; index < list->count; index++) {
        if (!*table_repeats(&cases, index, text, sizeof text)) continue;
        table_sentence(self, &list->rows[index], text, "");
        told = 1;
    }
    case_index_free(&cases);
    if (told) fputc('\n', self->out);
}

static int table_shows_time(const table *self)
{
    int shown = 0;
    for (const table_place *place = self->places; place < self->places + self->count; place++) {
        shown |= (place->column->flags & TABLE_TIME) && place->width;
    }
    return shown;
}

static void table_run_legend(const table *self)
{
    char line[1200];
    const cuda_environment *environment = self->environment;
    int has_baseline = 0;
    for (size_t at = 0; at < self->list->count; at++) has_baseline |= self->list->rows[at].is_baseline;
    if (environment) table_fold(self, cuda_environment_line(environment, line, sizeof line));
    line[0] = '\0';
    for (const table_place *place = self->places; place < self->places + self->count; place++) {
        if (!place->width || !place->column->note) continue;
        text_add(line, sizeof line, "%s: %s; ", place->column->heading, place->column->note);
    }
    if (table_shows_time(self)) {
        text_add(line, sizeof line, "host/op: measured on this machine%s; ",
                 environment ? "" : ", simulated driver included");
    }
    text_add(line, sizeof line, "*: best of the workload. ");
    if (environment)
        text_add(line, sizeof line, "Memory of cudaMalloc, cudaMallocAsync and cub-library is a lower bound: the "
                 "2 MiB granules in which their blocks lie.");
    else text_add(line, sizeof line, "The device is simulated (%s help costs).", program_name());
    if (has_baseline) text_add(line, sizeof line, " cudaMalloc was not asked for: it is there to compare with, and "
                               "neither marked nor judged.");
    table_fold(self, line);
}

#define TABLE_INTERVAL " 95 %: the confidence interval of the median of all rounds' ratios, each of measurements " \
                       "next to each other."

/* The meanings of a table's columns; and, if times are shown, those of the times. */
static const struct { const char *columns, *times; } table_legends[] = {
    [ROW_CAPACITY] = { "min limit: the smallest limit found by bisection in steps of 2 MiB: the workload completes "
        "under it, with one step less it ends at that op, for that reason; peak: the requested peak. "
        "cudaMalloc, cudaMallocAsync and cub-library have no limit: it is the memory of the smallest simulated "
        "device on which the workload completes, on CUDA the memory that they held.", NULL },
    [ROW_BATCH] = { "largest: the largest value of the workload's option with which it completes; one more ends at "
        "that op, for that reason; allowed: the largest value found whose requested peak fits into the memory: "
        "if peaks grow with the option, no policy can do better.", NULL },
    [ROW_HOLES] = { "a pair: an allocation that finds one of so many free blocks, and its free; instructions: "
        "counted by callgrind; driver calls: of 4,096 pairs.",
        "ns: processor time, measured on this machine, the median of all rounds; over the first: over "
        "the same among the fewest." TABLE_INTERVAL },
    [ROW_BENCH] = { "a pair: the free of a random block and an allocation; instr: instructions, counted by "
        "callgrind; against: the other side of the comparison.",
        "ns: measured on this machine, the median of all rounds, in processor time but for threads and "
        "cold caches; ratio: over the other's, of threads the throughput over one thread's." TABLE_INTERVAL },
};

static void table_legend(const table *self)
{
    char line[512];
    const char *times = table_legends[self->list->kind].times, *device = "simulated device.";
    if (self->environment) device = cuda_environment_line(self->environment, line, sizeof line);
    if (!times) table_fold(self, device);        /* tables with times do not measure the device */
    table_fold(self, table_legends[self->list->kind].columns);
    if (times && table_shows_time(self)) table_fold(self, times);
}

void table_write(FILE *out, const row_list *list, const cuda_environment *environment, const table_style *style)
{
    table self = { .out = out, .list = list, .environment = environment, .style = style, .best = { .list = list } };
    const int has_groups = list->kind != ROW_HOLES && list->kind != ROW_BENCH;
    char text[VERDICT_ROOM];
    size_t dropped = 0;
    table_measure(&self);
    table_line(&self, list->count);
    for (size_t index = 0; index < list->count; index++) {           /* between workloads stands a blank line */
        const row *shown = &list->rows[index];
        if (has_groups && index && strcmp(row_workload(shown - 1), row_workload(shown))) fputc('\n', out);
        table_line(&self, index);
    }
    snprintf(text, sizeof text, "no room in %zu columns for:", style->width);
    for (size_t at = 0; at < self.count; at++) {
        if (self.places[at].width) continue;
        text_add(text, sizeof text, "%s %s", dropped++ ? "," : "", self.places[at].column->heading);
    }
    if (dropped) table_fold(&self, text);
    if (list->partial) {
        fputs("partial: ", out);
        table_fold(&self, list->partial);
    }
    if (row_is_run(list->kind)) {                /* one line for each workload */
        fputc('\n', out);
        for (size_t at = 0; verdict_take(list, &at, text);) table_fold(&self, text);
        fputc('\n', out);
    }
    table_notes(&self);
    if (row_is_run(list->kind)) table_run_legend(&self);
    else table_legend(&self);
}
