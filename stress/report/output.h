/* The report of a command: rows, rules about them, and its files, --out KIND=PATH. Each writer is a function of the
   report alone. It ignores write errors, which ferror(out) tells. A new format is a file and a word here.
   Files are tried before anything runs, and written at the end; every write error is noticed.
   Knows nothing of how rows are made. */
#ifndef STRESS_REPORT_OUTPUT_H
#define STRESS_REPORT_OUTPUT_H

#include "../device/cuda_environment.h"
#include "../measure/costs.h"
#include "../result/gate.h"
#include "../result/record.h"
#include "../workload/stream.h"

struct output;

typedef struct report {                          /* zeroed but for asked, plain and shard: nothing */
    const cli         *asked;
    const char        *plain;                    /* KIND=PATH, if no file is asked for; NULL: none */
    const struct shard_mark *shard;              /* the shard whose rows are here; NULL: all are */
    struct output     *outputs;                  /* each is a file; owned */
    size_t             output_count;
    int                takes_stdout;             /* an output is stdout: the table goes to stderr */
    unsigned           record;                   /* record_part bits: parts of every row's run that outputs need */
    row_list           list;                     /* rows; writers see none of the baselines */
    gate               gates;
    const char        *device;                   /* NULL: the rows were read, and name it */
    const op_stream   *stream;                   /* of the one workload; NULL: there are several */
    const cuda_environment *environment;         /* NULL: the device is simulated */
    const costs_table *costs;                    /* of the command costs */
} report;

typedef struct output_kind {
    const char *name, *commands;                 /* commands: that write it, a | between them */
    int         needs_one_workload;
    unsigned    record;                          /* record_part bits: parts of every row's run that it needs */
    void      (*write)(FILE *out, const report *of);
    const char *note;                            /* for help */
} output_kind;

/* All kinds, in the order of help. */
#define OUTPUTS(X) \
    X(csv) X(json) X(junit) X(md) X(html) X(svg) X(map) X(series) X(latency) X(perfetto) X(memviz) X(trace) X(costs)
#define X(name) extern const output_kind output_##name;
OUTPUTS(X)
#undef X

typedef struct latency_point { unsigned per_mille; const char *name; } latency_point;
enum { LATENCY_POINTS = 7 };
extern const latency_point latency_points[LATENCY_POINTS];

/* ---- The host of measured times: compiler, its flags, processor, load of the machine */

/* Writes a line for people. Returns text. */
const char *host_line(char *text, size_t size);

/* Writes one object. Values that are not known are null. */
void environment_json(FILE *out, const cuda_environment *self);

/* ---- Trying and writing outputs */

struct plan;

extern const output_kind *const output_kinds[];  /* all kinds, in this order, then NULL */

typedef struct output {
    const output_kind *kind;
    char              *path;                     /* "-": stdout; owned */
    int                is_new;                   /* no file was there before it was tried */
} output;

/* Flushes stdout or stderr: -1 and a problem, EXIT_HARNESS, if anything written to it was lost. */
int output_finish(FILE *ours, problem *why);

/* Reads the texts of --out, of the kinds that the command writes, and fills in {shard}. -1 and a problem, EXIT_USAGE,
   also if two are stdout. report_free in both cases. */
int  report_parse(report *self, problem *why);
void report_free(report *self);                  /* outputs and gates; rows are the command's */

/* Checks, before anything runs, that each output can be written, is a file of its own, and is not read by an option
   of the command or a workload of the plan, which may be NULL. The text in a file stays. */
int  report_try(const report *self, const struct plan *of, problem *why);
/* Writes every file, even if another fails. If there are rows, the step summary is written, too: Markdown for a job's
   page, without baselines, added to the file that GITHUB_STEP_SUMMARY names. -1 and EXIT_HARNESS: not all of it
   arrived. */
int  report_files(const report *self, problem *why);
/* Writes the files; then the table for people and the verdicts, on stdout, or on stderr if an output is stdout. With
   -q: on stderr the verdicts that do not pass. */
int  report_write(const report *self, problem *why);

#endif
