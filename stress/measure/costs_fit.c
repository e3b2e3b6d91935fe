/* Medians of slopes and remainders, and their text.
   It must not know where the rows come from.
   Tested by tests/test_costs.c. */
#include "costs_fit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FIT_MOST_PAIRS = COSTS_MOST_ROWS * (COSTS_MOST_ROWS - 1) / 2, FIT_COMMENT = 116 };

typedef struct fit_value { double value, weight; } fit_value;

static int fit_by_value(const void *left, const void *right)
{
    double first = ((const fit_value *)left)->value, second = ((const fit_value *)right)->value;
    return first < second ? -1 : first > second;
}

static double fit_median(fit_value *values, size_t count)
{
    double total = 0.0, below = 0.0;
    size_t at = 0;
    for (size_t index = 0; index < count; index++) total += values[index].weight;
    qsort(values, count, sizeof *values, fit_by_value);
    while (at + 1 < count && (below += values[at].weight) * 2.0 < total) at++;
    return values[at].value;
}

static uint64_t fit_whole(double value, uint64_t most)
{
    if (!(value > 0.0)) return 0;
    return value >= (double)most ? most : (uint64_t)(value + 0.5);
}

static uint64_t fit_per_mib(const costs_row *const *rows, size_t count)
{
    static fit_value slopes[FIT_MOST_PAIRS];
    size_t pairs = 0;
    for (size_t first = 0; first < count; first++) {
        for (size_t second = first + 1; second < count; second++) {
            double mib = ((double)rows[second]->bytes - (double)rows[first]->bytes) / (double)(1 << 20);
            if (mib <= 0.0) continue;
            slopes[pairs].value = ((double)rows[second]->median_ns - (double)rows[first]->median_ns) / mib;
            slopes[pairs++].weight = mib;
        }
    }
    return pairs ? fit_whole(fit_median(slopes, pairs), SIM_COST_MAX_PER_MIB_NS) : 0;
}

/* What the simulated device would charge for this row. */
static uint64_t fit_charge(const costs_fit *fit, const costs_row *row)
{
    sim_costs costs = { { { 0, 0 } } };
    costs.of[row->kind] = fit->cost;
    return sim_costs_ns(&costs, row->kind, fit->cost.per_mib_ns ? row->bytes : 0);
}

static uint64_t fit_fixed(const costs_fit *fit, const costs_row *const *rows, size_t count)
{
    fit_value rests[COSTS_MOST_ROWS];
    for (size_t index = 0; index < count; index++) {
        rests[index].value = (double)rows[index]->median_ns - (double)fit_charge(fit, rows[index]);
        rests[index].weight = 1.0;
    }
    return fit_whole(fit_median(rests, count), SIM_COST_MAX_FIXED_NS);
}

costs_fit costs_fit_kind(const costs_table *table, sim_cost_kind kind)
{
    costs_fit fit;
    const costs_row *rows[COSTS_MOST_ROWS];
    memset(&fit, 0, sizeof fit);
    for (size_t index = 0; index < table->count; index++) {
        if (table->rows[index].kind == kind) rows[fit.row_count++] = &table->rows[index];
    }
    if (!fit.row_count) return fit;
    if (costs_takes_memory(kind)) fit.cost.per_mib_ns = fit_per_mib(rows, fit.row_count);
    fit.cost.fixed_ns = fit_fixed(&fit, rows, fit.row_count);
    for (size_t index = 0; index < fit.row_count; index++) {
        double median = (double)rows[index]->median_ns, off = (double)fit_charge(&fit, rows[index]) - median;
        double share = (off < 0.0 ? -off : off) / (median > 0.0 ? median : 1.0);
        if (index && share <= fit.worst) continue;
        fit.worst = share;
        fit.worst_bytes = rows[index]->bytes;
    }
    return fit;
}

static void costs_write_rows(FILE *out, const costs_table *table)
{
    for (size_t index = 0; index < table->count; index++) {
        const costs_row *row = &table->rows[index];
        fprintf(out, "# %-12s %11" PRIu64 " bytes: median %" PRIu64 " ns of %" PRIu64, sim_costs_name(row->kind),
                row->bytes, row->median_ns, row->sample_count);
        fprintf(out, ", from %" PRIu64 " to %" PRIu64 "\n", row->least_ns, row->most_ns);
    }
}

/* How much of a text goes on one line of comment: up to a line's end, else whole words, else as much as there is
   room for. */
static size_t costs_line(const char *text)
{
    size_t length = strcspn(text, "\n");
    if (length <= FIT_COMMENT) return length;
    for (length = FIT_COMMENT; length && text[length] != ' '; length--) continue;
    return length ? length : FIT_COMMENT;
}

static void costs_write_about(FILE *out, const char *about)
{
    while (*about) {
        size_t length = costs_line(about);
        fprintf(out, "# %.*s\n", (int)length, about);
        about += length;
        about += *about == ' ' || *about == '\n';
    }
}

void costs_write(FILE *out, const costs_table *table, const char *about)
{
    costs_write_about(out, about);
    costs_write_rows(out, table);
    for (size_t index = 0; index < table->refused_count; index++) {
        fprintf(out, "# stopped at %" PRIu64 " bytes: no memory\n", table->refused[index]);
    }
    fputs("# per MiB: median of the slopes between sizes, weighted by their distance; fixed: median of the rest\n"
          "# name fixed_ns per_mib_ns\n", out);
    for (int kind = 0; kind < SIM_COST_KINDS; kind++) {
        costs_fit fit = costs_fit_kind(table, (sim_cost_kind)kind);
        if (!fit.row_count) continue;
        fprintf(out, "# worst of %zu sizes: %.1f %% off, at %" PRIu64 " bytes\n", fit.row_count, fit.worst * 100.0,
                fit.worst_bytes);
        sim_costs_write_line((sim_cost_kind)kind, &fit.cost, out);
    }
}
