/* GPUARENA_SIM, read part by part: each key at most once, each value with its own reader. */
#include "options.h"

#include <string.h>

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
