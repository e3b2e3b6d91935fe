/* Files of a command: --out KIND=PATH. What they are made of, and their writers, each a function of that alone, which
   goes on where the file fails: ferror(out) tells. A new format is a file and a word here. Files are tried before
   anything runs, and written at the end, every write error noticed.
   Knows nothing of how rows are made. */
#ifndef STRESS_REPORT_OUTPUT_H
#define STRESS_REPORT_OUTPUT_H

#include "../device/cuda_environment.h"
#include "../measure/costs.h"
#include "../result/gate.h"
#include "../result/record.h"
#include "../workload/stream.h"

typedef struct output_material {                 /* what files are made of */
    const row_list    *list;                     /* without baselines */
    const char        *device;                   /* NULL: as the rows say, which were read */
    const op_stream   *stream;                   /* of the one workload; NULL: there are several */
    const cuda_environment *environment;         /* NULL: the device is simulated */
    const costs_table *costs;                    /* of the command costs */
    const gate        *gates;                    /* judged; NULL: the command has none */
    const struct shard_mark *shard;              /* NULL: all rows are here */
    const cli         *asked;                    /* NULL: the command has no html */
} output_material;

typedef struct output_kind {
    const char *name, *commands;                 /* commands: that write it, a | between them */
    int         needs_one_workload;
    unsigned    record;                          /* record_part bits: what of every row's run it is made of */
    void      (*write)(FILE *out, const output_material *material);
    const char *note;                            /* for help */
} output_kind;

/* All of them, in the order of help. */
#define OUTPUTS(X) \
    X(csv) X(json) X(junit) X(md) X(html) X(svg) X(map) X(series) X(latency) X(perfetto) X(memviz) X(trace) X(costs)
#define X(name) extern const output_kind output_##name;
OUTPUTS(X)
#undef X

typedef struct latency_point { unsigned per_mille; const char *name; } latency_point;
enum { LATENCY_POINTS = 7 };
extern const latency_point latency_points[LATENCY_POINTS];

/* ---- What measured times depend on beside the device: compiler, its flags, processor, how busy the machine is */

/* A line for people. Returns text. */
const char *host_line(char *text, size_t size);

/* One object; what is not known is null. */
void environment_json(FILE *out, const cuda_environment *self);

/* ---- Trying and writing them */

struct plan;

const output_kind *output_kind_at(size_t index); /* NULL past the last */

typedef struct output {
    const output_kind *kind;
    const char        *path;                     /* "-": stdout */
    int                is_new;                   /* nothing was there before it was tried */
} output;

/* Flushes stdout or stderr: -1 and a problem, EXIT_HARNESS, if anything written to it was lost. */
int output_finish(FILE *ours, problem *why);

/* ---- All that a command writes: its files, and the table for people, on whichever of stdout and stderr is left */

typedef struct output_list {                     /* zeroed: nothing */
    output *items;
    size_t  count;
    int     takes_stdout;                        /* a file does: the table goes to stderr */
} output_list;

/* The texts of --out, of the kinds that the command writes; items can be freed. -1 and a problem: EXIT_USAGE, also
   where two are stdout. */
int  output_list_parse(output_list *self, char *const *texts, size_t count, const char *command, problem *why);

/* Before anything runs: each can be written, is a file of its own, and none that the command reads: as options say,
   or a workload of the plan, which may be NULL. What a file holds stays. */
int  output_list_try(const output_list *self, const cli *asked, const struct plan *of, problem *why);
/* Every file, whatever becomes of another; of rows, without baselines, the step summary too, where there is one:
   Markdown for people who look at a job's page, added to the file that GITHUB_STEP_SUMMARY names. EXIT_HARNESS: not
   all of it arrived. */
int  output_list_files(const output_list *self, const output_material *material, problem *why);
/* Those; then, unless quiet, the table. color: as table_style_for. */
int  output_list_write(const output_list *self, const output_material *material, int is_quiet, const char *color,
                       problem *why);

#endif
