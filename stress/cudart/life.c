/* First call, fork and exit. The order at the end: handler of the first call, destructors, findings, status 3. */
#include "call.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../sim/sim.h"
#include "../sim/engine.h"
#include "../sim/costs.h"

/* ---- GPUARENA_SIM, read part by part: each key at most once, each value with its own reader. The grammar is in
        cudart.h */

enum { OPTIONS_TEXT = 4096 };                    /* of one value, at most, with its end */

typedef struct options {
    sim_config machine;                          /* device_count 0: none at all; costs and faults are not in it */
    uint64_t   work_ns;
    int        skips_kernels, findings_pass;
    sim_costs  costs;
    char       faults[OPTIONS_TEXT], report[OPTIONS_TEXT];
} options;

static int options_read_device(options *self, slice value)
{
    slice size = value;
    uint64_t count = 1, *bytes = &self->machine.capacity_bytes;
    if (slice_cut(&value, '*', &size) && !slice_decimal(value, &count)) return 0;
    self->machine.device_count = (uint32_t)(count <= SIM_MAX_DEVICES ? count : 0);
    return slice_size(size, bytes) && count <= SIM_MAX_DEVICES && *bytes > 0 && *bytes <= SIM_MAX_CAPACITY;
}

static int options_copy(slice value, char *text)
{
    if (value.length == 0 || value.length >= OPTIONS_TEXT) return 0;
    memcpy(text, value.bytes, value.length);
    text[value.length] = '\0';
    return 1;
}

static int options_read_costs(options *self, slice value, problem *why)
{
    char path[OPTIONS_TEXT];
    if (!options_copy(value, path)) return 0;
    return sim_costs_read(path, &self->costs, why) ? -1 : 1;
}

/* yes or no, as one of two words. */
static int options_read_word(slice value, const char *yes, const char *no, int *is_yes)
{
    *is_yes = slice_is(value, yes);
    return *is_yes || slice_is(value, no);
}

typedef enum options_key {
    OPTIONS_DEVICE, OPTIONS_CONTEXT, OPTIONS_FAIL, OPTIONS_COSTS, OPTIONS_WORK, OPTIONS_VM, OPTIONS_MAPPINGS,
    OPTIONS_KERNELS, OPTIONS_FINDINGS, OPTIONS_REPORT
} options_key;

static const struct { const char *name, *expected; } options_keys[] = {
    [OPTIONS_DEVICE] = { "device", "SIZE[*COUNT] up to 4T, such as 24G*2, COUNT from 0 to 32" },
    [OPTIONS_CONTEXT] = { "context", "SIZE, such as 500M" },
    [OPTIONS_FAIL] = { "fail", "faults such as cudaMalloc:3=2;any:90+=719, separated by semicolons" },
    [OPTIONS_COSTS] = { "costs", "the name of a file, without commas" },
    [OPTIONS_WORK] = { "work", "virtual nanoseconds, such as 20000, up to 1000 s" },
    [OPTIONS_VM] = { "vm", "on or off" },
    [OPTIONS_MAPPINGS] = { "mappings", "a number of mappings, such as 523000" },
    [OPTIONS_KERNELS] = { "kernels", "refuse or skip" },
    [OPTIONS_FINDINGS] = { "findings", "fail or pass" },
    [OPTIONS_REPORT] = { "report", "the name of a file, without commas, or - for stderr" },
};

/* 1; 0: not what was expected; -1: has said so itself. */
static int options_read_value(options *self, options_key key, slice value, problem *why)
{
    switch (key) {
    case OPTIONS_DEVICE:   return options_read_device(self, value);
    case OPTIONS_CONTEXT:  return slice_size(value, &self->machine.context_bytes);
    case OPTIONS_FAIL:     return options_copy(value, self->faults);
    case OPTIONS_COSTS:    return options_read_costs(self, value, why);
    case OPTIONS_WORK:     return slice_decimal(value, &self->work_ns) && self->work_ns <= SIM_COST_MAX_FIXED_NS;
    case OPTIONS_VM:
    case OPTIONS_MAPPINGS: return sim_config_read(&self->machine, slice_of(options_keys[key].name), value);
    case OPTIONS_KERNELS:  return options_read_word(value, "skip", "refuse", &self->skips_kernels);
    case OPTIONS_FINDINGS: return options_read_word(value, "pass", "fail", &self->findings_pass);
    case OPTIONS_REPORT:   return options_copy(value, self->report);
    }
    return 0;
}

enum { OPTIONS_KEYS = sizeof options_keys / sizeof options_keys[0] };

static int options_read_part(options *self, slice part, int *seen, problem *why)
{
    slice value = part, name = part;
    int has_value = slice_cut(&value, '=', &name);
    for (int i = 0; i < OPTIONS_KEYS; i++) {
        const char *key = options_keys[i].name;
        if (!slice_is(name, key)) continue;
        if (seen[i]) return problem_set(why, EXIT_USAGE, "%s: given twice, expected once", key);
        seen[i] = 1;
        if (has_value && options_read_value(self, (options_key)i, value, why) == 1) return 0;
        return problem_set(why, EXIT_USAGE, "%s: expected %s=%s", key, key, options_keys[i].expected);
    }
    return problem_set(why, EXIT_USAGE, "%s: expected device=SIZE[*COUNT], context=SIZE, fail=FAULTS, costs=FILE, "
                       "work=NS, vm=off, mappings=N, kernels=skip, findings=pass or report=FILE",
                       slice_show(name).text);
}

/* NULL or "": the defaults. -1 and a problem that names the key and what is allowed, EXIT_USAGE. */
static int options_read(const char *text, options *read, problem *why)
{
    slice rest = slice_of(text ? text : ""), part;
    int seen[OPTIONS_KEYS] = { 0 };
    memset(read, 0, sizeof *read);
    read->machine.capacity_bytes = SIM_DEFAULT_CAPACITY;
    read->machine.device_count = 1;
    read->costs = *sim_costs_default();
    if (rest.length == 0) return 0;
    while (slice_take(&rest, ',', &part)) {
        if (options_read_part(read, part, seen, why)) return -1;
    }
    if (read->machine.context_bytes > read->machine.capacity_bytes) {
        return problem_set(why, EXIT_USAGE, "context: expected context=SIZE, at most the device's");
    }
    return 0;
}

/* ---- First call, fork and exit */

enum { LIFE_INITIALIZATION_ERROR = 3, LIFE_EXIT_FINDINGS = 3 };

typedef struct life {
    int      begun;                              /* a call was made: the exit handler is registered */
    int      forked;                             /* the parent had begun */
    int      unloading;                          /* the exit handler has run */
    sim     *own;                                /* GPUARENA_SIM's; NULL: not needed yet */
    int      own_without_devices;
    sim     *attached;
    uint64_t epoch;
    int      findings_pass;                      /* of GPUARENA_SIM, as is the report */
    char     report[OPTIONS_TEXT];
} life;

static life life_state;
static pthread_mutex_t life_mutex = PTHREAD_MUTEX_INITIALIZER;

void life_lock(void)
{
    pthread_mutex_lock(&life_mutex);
}

void life_unlock(void)
{
    pthread_mutex_unlock(&life_mutex);
}

static void life_unload(void)
{
    life_lock();
    life_state.unloading = 1;
    life_unlock();
}

static void life_fork_child(void)
{
    life_state.forked = life_state.begun;
    life_unlock();
}

/* When the library is loaded, not at the first call: a fork in the midst of that one must not take its lock along.
   Fails for want of memory alone, and then a child is not told that it is one. */
__attribute__((constructor)) static void life_load(void)
{
    (void)pthread_atfork(life_lock, life_unlock, life_fork_child);
}

int life_begin(void)
{
    if (!life_state.begun) {
        life_state.begun = 1;
        (void)atexit(life_unload);               /* fails for want of memory alone: unloading is then not seen */
    }
    return life_state.forked ? LIFE_INITIALIZATION_ERROR : life_state.unloading ? SIM_UNLOADING : SIM_SUCCESS;
}

/* A program must not run on another device than the one that was asked for, so it does not run at all. */
static void life_refuse(const char *text)
{
    fflush(NULL);
    fprintf(stderr, "gpuarena sim: GPUARENA_SIM: %s\n", text);
    _exit(EXIT_USAGE);
}

static void life_make_own(void)
{
    static options read;                         /* large, and read once */
    problem why = { 0, "" };
    if (options_read(getenv("GPUARENA_SIM"), &read, &why)) life_refuse(why.text);
    read.machine.costs = &read.costs;
    read.machine.faults = read.faults;
    life_state.own = sim_create(&read.machine, &why);
    life_state.own_without_devices = read.machine.device_count == 0;
    if (!life_state.own) life_refuse(why.text);
    life_state.own->runtime_work_ns = read.work_ns;
    life_state.own->runtime_skips_kernels = read.skips_kernels;
    life_state.findings_pass = read.findings_pass;
    snprintf(life_state.report, sizeof life_state.report, "%s", read.report);
}

/* A machine may lie where another one lay: numbers tell them apart. */
static sim *life_number(sim *machine)
{
    static uint64_t last;
    if (machine->runtime_serial == 0) machine->runtime_serial = ++last;
    return machine;
}

sim *life_machine(void)
{
    if (life_state.attached) return life_number(life_state.attached);
    if (!life_state.own) life_make_own();
    return life_state.own_without_devices ? NULL : life_number(life_state.own);
}

int life_is_own(const sim *machine)
{
    return machine == life_state.own;
}

uint64_t life_epoch(void)
{
    return life_state.epoch;
}

__attribute__((visibility("default"))) void cudart_attach(sim *machine)
{
    life_lock();
    if (life_state.attached != machine) {
        life_state.attached = machine;
        life_state.epoch++;
    }
    life_unlock();
}

__attribute__((visibility("default"))) sim *cudart_machine(void)
{
    life_lock();
    sim *machine = life_begin() == SIM_SUCCESS ? life_machine() : NULL;
    life_unlock();
    return machine;
}

__attribute__((visibility("default"))) const char *cudart_build(void)
{
    return sim_build();
}

static uint64_t life_print_findings(const sim *machine)
{
    uint64_t count = sim_finding_count(machine), shown = 0;
    const char *text;
    if (count == 0) return 0;
    fprintf(stderr, "gpuarena sim: %" PRIu64 " finding%s:\n", count, count == 1 ? "" : "s");
    while ((text = sim_finding(machine, shown)) != NULL) {
        fprintf(stderr, "  %s\n", text);
        shown++;
    }
    if (shown < count) fprintf(stderr, "  and %" PRIu64 " more\n", count - shown);
    return count;
}

/* A device: its peak, then a line for each kind of call that was made: how often, and virtual nanoseconds in all. */
static void life_write_report(FILE *out, const sim *machine)
{
#define LIFE_NAME(name, text, runtime_name, code, cost) runtime_name,
    static const char *const names[] = { SIM_CALLS(LIFE_NAME) };
    sim_counters counters;
    for (int device = 0; device < machine->device_count; device++) {
        sim_get_counters(machine, device, &counters);
        fprintf(out, "device %d peak %" PRIu64 "\n", device, counters.held_peak_bytes);
        for (int kind = 0; kind < SIM_CALL_KINDS; kind++) {
            if (counters.calls[kind] > 0) {
                fprintf(out, "call %s %" PRIu64 " %" PRIu64 "\n", names[kind], counters.calls[kind],
                        counters.vns[kind]);
            }
        }
    }
    fprintf(out, "clock %" PRIu64 "\nskipped %" PRIu64 "\n", sim_now_ns(machine), machine->runtime_skipped_kernels);
    refused_print(out);
}

static void life_print_report(const sim *machine)
{
    int is_stderr = strcmp(life_state.report, "-") == 0;
    FILE *out = is_stderr ? stderr : fopen(life_state.report, "w");
    if (out) life_write_report(out, machine);
    if (!out || (!is_stderr && fclose(out))) {
        fprintf(stderr, "gpuarena sim: report=%s: cannot be written\n", life_state.report);
    }
}

/* After all exit handlers and the destructors of whatever uses this library. What still runs is told that the process
   is ending, and does not come near the machine. */
__attribute__((destructor)) static void life_end(void)
{
    life_lock();
    life_state.unloading = 1;
    if (life_state.forked || !life_state.own) {
        life_unlock();
        return;
    }
    if (life_state.own->runtime_skipped_kernels > 0) {
        fprintf(stderr, "gpuarena sim: %" PRIu64 " kernels were skipped: results mean nothing, and what they use is "
                "not judged\n", life_state.own->runtime_skipped_kernels);
    }
    if (life_state.report[0]) life_print_report(life_state.own);
    uint64_t findings = life_print_findings(life_state.own);
    sim_destroy(life_state.own);
    life_state.own = NULL;
    if (findings > 0 && !life_state.findings_pass) {
        fflush(NULL);
        _exit(LIFE_EXIT_FINDINGS);
    }
    life_unlock();
}
