/* Markdown for a job's page: verdicts, then rows, and a list of sentences. Every text is escaped. */
#include <ctype.h>

#include "table.h"
#include "output.h"

enum { SUMMARY_MOST = 1000,                      /* lines of a table: GitHub takes 1 MiB of a step, or nothing */
       SUMMARY_MOST_SENTENCES = 100 };

typedef struct summary_column {
    row_column column;
    int        is_always;                        /* 0: only if a row has something in it */
} summary_column;

/* The columns that answer the questions of the table for people, with all digits. */
static const summary_column summary_columns[] = {
    { COLUMN_WORKLOAD, 1 }, { COLUMN_POLICY, 1 }, { COLUMN_HOLES, 1 }, { COLUMN_STATUS, 1 }, { COLUMN_THREADS, 0 },
    { COLUMN_KEY, 1 }, { COLUMN_LARGEST, 1 }, { COLUMN_ALLOWED, 1 }, { COLUMN_FOOTPRINT, 1 },
    { COLUMN_REQUESTED_PEAK, 0 }, { COLUMN_RESERVED_PEAK, 1 }, { COLUMN_MIN_LIMIT, 1 }, { COLUMN_RATIO, 1 },
    { COLUMN_RATIO_LOW, 0 }, { COLUMN_RATIO_HIGH, 0 }, { COLUMN_FRAGMENTATION, 0 }, { COLUMN_REMAPPED_PAGES, 0 },
    { COLUMN_DRIVER_CALLS, 1 }, { COLUMN_DRIVER_VNS, 0 }, { COLUMN_HOST_NS, 1 }, { COLUMN_ALLOC_P99, 0 },
    { COLUMN_WAITED_P99, 0 }, { COLUMN_NS_PER_PAIR, 1 }, { COLUMN_PAIR_INSTRUCTIONS, 0 }, { COLUMN_TARGET, 0 },
    { COLUMN_MET, 0 }, { COLUMN_ENDED, 0 }, { COLUMN_OOM_ROUND, 0 }, { COLUMN_OOM_OP, 0 }, { COLUMN_OOM_REASON, 0 },
    { COLUMN_STOP_OP, 0 }, { COLUMN_STOP_REASON, 0 },
};
enum { SUMMARY_COLUMNS = sizeof summary_columns / sizeof summary_columns[0] };

/* The heading for people, in place of a column's name in files. */
static const char *summary_heading(row_kind kind, row_column column)
{
    switch (column) {
    case COLUMN_FOOTPRINT:  return "overhead";
    case COLUMN_DRIVER_VNS: return "driver time (modelled), ns";
    case COLUMN_HOLES:      return "free blocks";
    case COLUMN_RATIO:      return kind == ROW_CAPACITY ? "min limit / peak" : row_table[column].name;
    default:                return row_table[column].name;
    }
}

static void summary_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (ispunct((unsigned char)*text) && !strchr(".,:", *text)) fputc('\\', out);
        fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
    }
}

/* Writes the verdicts. If there are more than SUMMARY_MOST, those that pass are left out, and the rest is cut to the
   first SUMMARY_MOST. */
static void summary_verdicts(FILE *out, const gate *gates)
{
    size_t left_out = 0, told = 0;
    gate_write_sum(out, gates);
    fputs("\n\n| verdict | row | fail if | value | limit |\n|---|---|---|---|---|\n", out);
    for (const gate_verdict *shown = gates->verdicts; shown < gates->verdicts + gates->verdict_count; shown++) {
        const char *strong = gate_fails(gates, shown) ? "**" : "";
        if (gates->verdict_count > SUMMARY_MOST && (shown->outcome == GATE_PASS || told == SUMMARY_MOST)) {
            left_out++;
            continue;
        }
        told++;
        fprintf(out, "| %s%s%s | ", strong, gate_outcome_name(shown->outcome), strong);
        row_name(out, summary_text, shown->of, 1);
        text_print(out, summary_text, " | %s | %s | %s |\n", shown->judged->text, shown->value, shown->limit);
    }
    if (left_out) fprintf(out, "\n%zu verdicts are left out, those that pass first\n", left_out);
    fputc('\n', out);
}

static int summary_is_shown(const row_list *list, const summary_column *shown)
{
    if (shown->is_always || !row_has(list->kind, shown->column)) return row_has(list->kind, shown->column);
    for (size_t index = 0; index < list->count; index++) {
        const cell *value = &list->rows[index].cells[shown->column];
        if (value->kind != CELL_NONE && !table_is_dull(&list->rows[index], shown->column)) return 1;
    }
    return 0;
}

static void summary_cell(FILE *out, const row *shown, row_column column)
{
    char text[1024];
    const cell *value = &shown->cells[column];
    int is_there = value->kind != CELL_NONE;
    summary_text(out, is_there && column == COLUMN_FOOTPRINT ? table_overhead(shown, text, sizeof text)
                    : is_there && column == COLUMN_POLICY ? row_policy_shown(shown, text, sizeof text)
                    : cell_text(value, text));
}

static void summary_rows(FILE *out, const row_list *list)
{
    row_column shown[SUMMARY_COLUMNS];
    size_t count = 0;
    for (size_t at = 0; at < SUMMARY_COLUMNS; at++) {
        if (summary_is_shown(list, &summary_columns[at])) shown[count++] = summary_columns[at].column;
    }
    for (size_t line = 0; line < list->count + 2 && line < SUMMARY_MOST + 2; line++) {
        for (size_t at = 0; at < count; at++) {
            fputs("| ", out);
            if (line > 1) summary_cell(out, &list->rows[line - 2], shown[at]);
            else fputs(line ? "---" : summary_heading(list->kind, shown[at]), out);
            fputc(' ', out);
        }
        fputs("|\n", out);
    }
    if (list->count > SUMMARY_MOST) fprintf(out, "\n%zu rows are left out\n", list->count - SUMMARY_MOST);
    fputc('\n', out);
}

static void summary_sentence(FILE *out, const row *named, const char *between, const char *text)
{
    fputs("- ", out);
    summary_cell(out, named, COLUMN_WORKLOAD);
    if (named->cells[COLUMN_WORKLOAD].kind != CELL_NONE) fputc('/', out);
    summary_cell(out, named, COLUMN_POLICY);
    if (named->cells[COLUMN_HOLES].kind != CELL_NONE) fputs(" free blocks ", out);
    summary_cell(out, named, COLUMN_HOLES);
    text_print(out, summary_text, "%s%s\n", between, text);
}

static void summary_sentences(FILE *out, const row_list *list)
{
    char text[512];
    size_t told = 0, repeated = 0;
    case_index cases;
    for (const row *shown = list->rows; shown < list->rows + list->count; shown++) {
        const char *why = table_why(shown, list->kind);
        if (*why && told++ < SUMMARY_MOST_SENTENCES) summary_sentence(out, shown, ": ", why);
    }
    case_index_make(&cases, list, list);
    for (size_t index = 0; row_is_run(list->kind) && index < list->count; index++) {
        if (!*table_repeats(&cases, index, text, sizeof text)) continue;
        summary_sentence(out, &list->rows[index], text, "");
        repeated++;
    }
    case_index_free(&cases);
    if (told || repeated) fputc('\n', out);
    if (told <= SUMMARY_MOST_SENTENCES) return;
    fprintf(out, "%zu sentences more are left out\n\n", told - SUMMARY_MOST_SENTENCES);
}

static void summary_write(FILE *out, const report *material)
{
    const row_list *list = &material->list;
    char text[VERDICT_ROOM];
    size_t told = 0, at = row_is_run(list->kind) ? 0 : list->count;      /* verdicts on rows of run alone */
    text_print(out, summary_text, "### gpuarena stress on %s\n\n", material->device);
    if (list->shard) text_print(out, summary_text, "**%s**\n\n", list->shard);
    if (list->partial) text_print(out, summary_text, "**partial**: %s\n\n", list->partial);
    if (material->gates.verdict_count) summary_verdicts(out, &material->gates);
    for (; told < SUMMARY_MOST_SENTENCES && verdict_take(list, &at, text); told++) { /* a line a workload */
        text_print(out, summary_text, "- %s\n", text);
    }
    if (told) fputc('\n', out);
    summary_rows(out, list);
    summary_sentences(out, list);
}

const output_kind output_md = {
    "md", "run|capacity|batch|holes|compare|merge", 0, 0, summary_write,
    "a table in Markdown, verdicts above it, below it why memory ran out and a summary of repeats",
};
