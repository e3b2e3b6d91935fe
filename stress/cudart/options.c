/* GPUARENA_SIM, read part by part: each key at most once, each value with its own reader. */
#include "options.h"

#include "../sim/sim.h"

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

/* X(key, the expected value, its reader: 1; 0: another value; -1: another, and the problem is set) */
#define OPTIONS(X) \
    X(device, "SIZE[*COUNT] up to 4T, such as 24G*2, COUNT from 0 to 32", options_read_device(self, value)) \
    X(context, "SIZE, such as 500M", slice_size(value, &self->machine.context_bytes)) \
    X(fail, "faults such as cudaMalloc:3=2;any:90+=719, separated by semicolons", options_copy(value, self->faults)) \
    X(costs, "the name of a file, without commas", options_read_costs(self, value, why)) \
    X(work, "virtual nanoseconds, such as 20000, up to 1000 s", \
      slice_decimal(value, &self->work_ns) && self->work_ns <= SIM_COST_MAX_FIXED_NS) \
    X(vm, "on or off", sim_config_read(&self->machine, slice_of("vm"), value)) \
    X(mappings, "a number of mappings, such as 523000", \
      sim_config_read(&self->machine, slice_of("mappings"), value)) \
    X(kernels, "refuse or skip", options_read_word(value, "skip", "refuse", &self->skips_kernels)) \
    X(findings, "fail or pass", options_read_word(value, "pass", "fail", &self->findings_pass)) \
    X(report, "the name of a file, without commas, or - for stderr", options_copy(value, self->report))

enum {
#define X(key, expected, read) OPTIONS_##key,
    OPTIONS(X)
#undef X
    OPTIONS_KEYS, OPTIONS_TWICE
};

static int options_check(const char *key, const char *expected, int answer, problem *why)
{
    if (answer == 1) return 0;
    if (answer == OPTIONS_TWICE) return problem_set(why, EXIT_USAGE, "%s: given twice, expected once", key);
    return problem_set(why, EXIT_USAGE, "%s: expected %s=%s", key, key, expected);
}

static int options_read_part(options *self, slice part, int *seen, problem *why)
{
    slice value = part, name = part;
    int has_value = slice_cut(&value, '=', &name);
#define X(key, expected, read) \
    if (slice_is(name, #key)) { \
        return options_check(#key, expected, seen[OPTIONS_##key]++ ? OPTIONS_TWICE : has_value ? (read) : 0, why); \
    }
    OPTIONS(X)
#undef X
    return problem_set(why, EXIT_USAGE, "%s: expected device=SIZE[*COUNT], context=SIZE, fail=FAULTS, costs=FILE, "
                       "work=NS, vm=off, mappings=N, kernels=skip, findings=pass or report=FILE",
                       slice_show(name).text);
}

int options_read(const char *text, options *read, problem *why)
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
