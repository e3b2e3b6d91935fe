/* What a command reports: rows, rules about them, and its files, --out KIND=PATH. Their writers are each a function
   of the report alone, which goes on where the file fails: ferror(out) tells. A new format is a file and a word here.
   Files are tried before anything runs, and written at the end, every write error noticed.
   Knows nothing of how rows are made. */
#ifndef STRESS_REPORT_OUTPUT_H
#define STRESS_REPORT_OUTPUT_H

#include "../device/cuda_environment.h"
#include "../measure/costs.h"
#include "../result/gate.h"
#include "../result/record.h"
#include "../workload/stream.h"

struct output;

typedef struct report {                          /* zeroed but for asked, the plain output and the shard: nothing */
    const cli         *asked;
    const char        *plain;                    /* KIND=PATH, where no file is asked for; NULL: none */
    const struct shard_mark *shard;              /* which rows are here; NULL: all */
    struct output     *outputs;                  /* each a file; owned */
    size_t             output_count;
    int                takes_stdout;             /* a file does: the table goes to stderr */
    unsigned           record;                   /* record_part bits: what of every row's run they are made of */
    row_list           list;                     /* rows; writers see none of the baselines */
    gate               gates;
    const char        *device;                   /* NULL: as the rows say, which were read */
    const op_stream   *stream;                   /* of the one workload; NULL: there are several */
    const cuda_environment *environment;         /* NULL: the device is simulated */
    const costs_table *costs;                    /* of the command costs */
} report;

typedef struct output_kind {
    const char *name, *commands;                 /* commands: that write it, a | between them */
    int         needs_one_workload;
    unsigned    record;                          /* record_part bits: what of every row's run it is made of */
    void      (*write)(FILE *out, const report *of);
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

extern const output_kind *const output_kinds[];  /* all of them, in this order, then NULL */

typedef struct output {
    const output_kind *kind;
    char              *path;                     /* "-": stdout; owned */
    int                is_new;                   /* nothing was there before it was tried */
} output;

/* Flushes stdout or stderr: -1 and a problem, EXIT_HARNESS, if anything written to it was lost. */
int output_finish(FILE *ours, problem *why);

/* The texts of --out, of the kinds that the command writes, {shard} filled in. -1 and a problem: EXIT_USAGE, also
   where two are stdout. report_free in both cases. */
int  report_parse(report *self, problem *why);
void report_free(report *self);                  /* outputs and gates; rows are the command's */

/* Before anything runs: each can be written, is a file of its own, and none that the command reads: as options say,
   or a workload of the plan, which may be NULL. What a file holds stays. */
int  report_try(const report *self, const struct plan *of, problem *why);
/* Every file, whatever becomes of another; of rows, without baselines, the step summary too, where there is one:
   Markdown for people who look at a job's page, added to the file that GITHUB_STEP_SUMMARY names. EXIT_HARNESS: not
   all of it arrived. */
int  report_files(const report *self, problem *why);
/* Those; then the table for people and the verdicts, on whichever of stdout and stderr is left. With -q: on stderr
   the verdicts that do not pass. */
int  report_write(const report *self, problem *why);

#endif
