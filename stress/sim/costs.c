/* The cost table: defaults, exact integer arithmetic, and its text form. */
#include "costs.h"

#include <errno.h>

#include "../base/text.h"

enum { COSTS_LINE_BYTES = 200 };

static const struct { const char *name, *meaning; } costs_rows[SIM_COST_KINDS] = {
#define X(name, text, fixed, per_mib, what) { text, what },
    SIM_COSTS(X)
#undef X
};

typedef struct costs_file {                      /* a file being read, for messages */
    const char *path;
    uint64_t    line;
    int         seen[SIM_COST_KINDS];
    problem    *why;
} costs_file;

const sim_costs *sim_costs_default(void)
{
    static const sim_costs defaults = { {
#define X(name, text, fixed, per_mib, what) { fixed, per_mib },
        SIM_COSTS(X)
#undef X
    } };
    return &defaults;
}

uint64_t sim_costs_ns(const sim_costs *costs, sim_cost_kind kind, uint64_t bytes)
{
    if (kind == SIM_COST_NONE) return 0;
    const sim_cost *cost = &costs->of[kind];
    uint64_t whole_mib = bytes >> 20, rest = bytes & (((uint64_t)1 << 20) - 1);
    return cost->fixed_ns + whole_mib * cost->per_mib_ns + (rest * cost->per_mib_ns >> 20);
}

static int costs_expected(const costs_file *file, slice found, const char *expected)
{
    return problem_set(file->why, EXIT_USAGE, "%s:%" PRIu64 ": found %s, expected %s", file->path, file->line,
                       slice_show(found).text, expected);
}

/* Takes the next column off the front of the line; empty when there is none. */
static slice costs_take_word(slice *line)
{
    slice word = { line->bytes, 0 };
    while (word.length == 0 && slice_take(line, ' ', &word)) continue;
    return word;
}

static int costs_read_name(costs_file *file, slice word, sim_cost_kind *kind)
{
    for (int i = 0; i < SIM_COST_KINDS; i++) {
        if (slice_is(word, costs_rows[i].name)) {
            *kind = (sim_cost_kind)i;
            if (file->seen[i]) return costs_expected(file, word, "each name once");
            file->seen[i] = 1;
            return 0;
        }
    }
    char expected[512] = "one of";
    for (int i = 0; i < SIM_COST_KINDS; i++) text_add(expected, sizeof expected, " %s", costs_rows[i].name);
    return costs_expected(file, word, expected);
}

static int costs_read_number(const costs_file *file, slice word, uint64_t highest, const char *what, uint64_t *number)
{
    if (slice_decimal(word, number) && *number <= highest) return 0;
    char expected[96];
    snprintf(expected, sizeof expected, "%s, a whole number up to %" PRIu64, what, highest);
    return costs_expected(file, word, expected);
}

static int costs_read_line(costs_file *file, slice line, sim_costs *costs)
{
    slice all = line;
    (void)slice_take(&all, '#', &line);
    slice name = costs_take_word(&line);
    if (name.length == 0) return 0;
    sim_cost_kind kind = SIM_COST_CONTEXT;
    if (costs_read_name(file, name, &kind)) return -1;
    sim_cost *cost = &costs->of[kind];
    slice fixed = costs_take_word(&line), per_mib = costs_take_word(&line);
    if (costs_read_number(file, fixed, SIM_COST_MAX_FIXED_NS, "fixed_ns", &cost->fixed_ns)
        || costs_read_number(file, per_mib, SIM_COST_MAX_PER_MIB_NS, "per_mib_ns", &cost->per_mib_ns)) {
        return -1;
    }
    slice surplus = costs_take_word(&line);
    return surplus.length > 0 ? costs_expected(file, surplus, "the end of the line after three columns") : 0;
}

/* Reads one line without its newline. 1: a line; 0: the end of the file; -1: a problem. */
static int costs_next_line(costs_file *file, FILE *in, char *text, size_t *length)
{
    int byte;
    file->line++;
    for (*length = 0; (byte = fgetc(in)) > '\0' && byte != '\n' && *length < COSTS_LINE_BYTES;) {
        text[(*length)++] = byte == '\t' ? ' ' : (char)byte;
    }
    if (byte == '\n' || (byte == EOF && *length == 0 && !ferror(in))) return byte == '\n';
    const char *wrong = byte == '\0'  ? "found a NUL byte, expected text"
                      : byte != EOF   ? "expected at most 200 bytes a line"
                      : ferror(in)    ? "expected a readable file: "
                                      : "expected a newline at the end of the last line";
    return problem_set(file->why, EXIT_USAGE, "%s:%" PRIu64 ": %s%s", file->path, file->line, wrong,
                       ferror(in) ? strerror(errno) : "");
}

int sim_costs_read(const char *path, sim_costs *costs, problem *why)
{
    FILE *in = fopen(path, "r");
    if (!in) {
        return problem_set(why, EXIT_USAGE, "%s: expected a file of costs: %s", path, strerror(errno));
    }
    costs_file file = { path, 0, { 0 }, why };
    sim_costs read = *sim_costs_default();
    char text[COSTS_LINE_BYTES];
    slice line = { text, 0 };
    int more;
    do more = costs_next_line(&file, in, text, &line.length);
    while (more > 0 && !costs_read_line(&file, line, &read));
    fclose(in);
    if (more != 0) return -1;                    /* no line, or one that is wrong */
    *costs = read;
    return 0;
}

const char *sim_costs_name(sim_cost_kind kind)
{
    return costs_rows[kind].name;
}

void sim_costs_write_line(sim_cost_kind kind, const sim_cost *cost, FILE *out)
{
    fprintf(out, "%s %" PRIu64 " %" PRIu64 "  # %s\n", costs_rows[kind].name, cost->fixed_ns, cost->per_mib_ns,
            costs_rows[kind].meaning);
}

int sim_costs_write(const sim_costs *costs, FILE *out)
{
    fprintf(out, "# name fixed_ns per_mib_ns\n");
    for (int i = 0; i < SIM_COST_KINDS; i++) {
        sim_costs_write_line((sim_cost_kind)i, &costs->of[i], out);
    }
    return ferror(out) ? -1 : 0;
}
