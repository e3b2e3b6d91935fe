/* GPUARENA_SIM, read part by part: each key at most once, each value with its own reader. */
#include "options.h"

#include <string.h>

#include "../sim/sim.h"

typedef struct options_key {
    const char *name, *expected;
    int (*read)(options *self, slice value, problem *why);   /* 0: not what was expected; -1: has said so itself */
} options_key;

static int options_read_device(options *self, slice value, problem *why)
{
    slice size = value;
    uint64_t count = 1, *bytes = &self->machine.capacity_bytes;
    (void)why;
    if (slice_cut(&value, '*', &size) && !slice_decimal(value, &count)) return 0;
    self->machine.device_count = (uint32_t)(count <= SIM_MAX_DEVICES ? count : 0);
    return slice_size(size, bytes) && count <= SIM_MAX_DEVICES && *bytes > 0 && *bytes <= SIM_MAX_CAPACITY;
}

static int options_read_context(options *self, slice value, problem *why)
{
    (void)why;
    return slice_size(value, &self->machine.context_bytes);
}

static int options_copy(slice value, char *text)
{
    if (value.length == 0 || value.length >= OPTIONS_TEXT) return 0;
    memcpy(text, value.bytes, value.length);
    text[value.length] = '\0';
    return 1;
}

static int options_read_faults(options *self, slice value, problem *why)
{
    (void)why;
    return options_copy(value, self->faults);
}

static int options_read_costs(options *self, slice value, problem *why)
{
    char path[OPTIONS_TEXT];
    if (!options_copy(value, path)) return 0;
    return sim_costs_read(path, &self->costs, why) ? -1 : 1;
}

static int options_read_work(options *self, slice value, problem *why)
{
    (void)why;
    return slice_decimal(value, &self->work_ns) && self->work_ns <= SIM_COST_MAX_FIXED_NS;
}

static int options_read_vm(options *self, slice value, problem *why)
{
    (void)why;
    return sim_config_read(&self->machine, slice_of("vm"), value);
}

static int options_read_mappings(options *self, slice value, problem *why)
{
    (void)why;
    return sim_config_read(&self->machine, slice_of("mappings"), value);
}

static int options_read_kernels(options *self, slice value, problem *why)
{
    (void)why;
    self->skips_kernels = slice_is(value, "skip");
    return self->skips_kernels || slice_is(value, "refuse");
}

static int options_read_findings(options *self, slice value, problem *why)
{
    (void)why;
    self->findings_pass = slice_is(value, "pass");
    return self->findings_pass || slice_is(value, "fail");
}

static int options_read_report(options *self, slice value, problem *why)
{
    (void)why;
    return options_copy(value, self->report);
}

static const options_key options_keys[] = {
    { "device",  "SIZE[*COUNT] up to 4T, such as 24G*2, COUNT from 0 to 32", options_read_device },
    { "context", "SIZE, such as 500M", options_read_context },
    { "fail",    "faults such as cudaMalloc:3=2;any:90+=719, separated by semicolons", options_read_faults },
    { "costs",   "the name of a file, without commas", options_read_costs },
    { "work",    "virtual nanoseconds, such as 20000, up to 1000 s", options_read_work },
    { "vm",      "on or off", options_read_vm },
    { "mappings", "a number of mappings, such as 523000", options_read_mappings },
    { "kernels", "refuse or skip", options_read_kernels },
    { "findings", "fail or pass", options_read_findings },
    { "report",  "the name of a file, without commas, or - for stderr", options_read_report },
};

enum { OPTIONS_KEYS = sizeof options_keys / sizeof options_keys[0] };

static int options_read_part(options *self, slice part, int *seen, problem *why)
{
    slice value = part, name = part;
    int has_value = slice_cut(&value, '=', &name);
    for (int i = 0; i < OPTIONS_KEYS; i++) {
        const options_key *key = &options_keys[i];
        if (!slice_is(name, key->name)) continue;
        if (seen[i]) {
            return problem_set(why, EXIT_USAGE, "%s: given twice, expected once", key->name);
        }
        seen[i] = 1;
        int fits = has_value ? key->read(self, value, why) : 0;
        return fits == 1 ? 0 : problem_set(why, EXIT_USAGE, "%s: expected %s=%s", key->name, key->name,
                                           key->expected);
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
