/* The writers of files and what they are made of: each is a function of that alone. What writes to a file that fails
   goes on: ferror(out) tells. A new format is a file and a word here.
   Knows nothing of how rows are made, nor of paths. */
#ifndef STRESS_REPORT_WRITERS_H
#define STRESS_REPORT_WRITERS_H

#include <stdio.h>

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

#endif
