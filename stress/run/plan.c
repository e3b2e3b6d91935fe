/* From options to a plan: device, policies, op streams, filter, shards, each checked; and back to a command line.
   It must not run anything but trial openings of policies. */
#include "plan.h"

#include "../workload/workload.h"
#include "../workload/stream.h"

/* ---- --device: the device asked for, and whether it is there */

#define PLAN_DEVICE_TEXT "sim:80G"

/* The first given option that only a simulated device has; NULL: none. */
static const cli_option *plan_simulated_option(const cli *asked)
{
    for (size_t index = 0; index < CLI_COUNT; index++) {
        const cli_option *option = &cli_options[index];
        if (asked->values[index].given && option->effect == CLI_SHAPES_SIMULATION) return option;
    }
    return NULL;
}

/* Reads SIZE{,PART}. 1, or 0: the text is malformed. */
static int plan_read_simulated(const char *text, sim_config *shape)
{
    slice rest = slice_of(text), part;
    slice_take(&rest, ',', &part);
    if (!slice_size(part, &shape->capacity_bytes) || shape->capacity_bytes < SIM_GRANULE) return 0;
    while (slice_take(&rest, ',', &part)) {
        slice value = part, key;
        if (!slice_cut(&value, '=', &key) || !sim_config_read(shape, key, value)) return 0;
    }
    return 1;
}

static int plan_simulated(plan *self, const cli *asked, const char *text, problem *why)
{
    const cli_value *values = asked->values;
    device_config *config = &self->settings.device;
    if (!plan_read_simulated(text + strlen("sim:"), &config->sim) || strlen(text) >= sizeof self->device) {
        return problem_set(why, EXIT_USAGE, "--device: expected sim:SIZE[,vm=off][,mappings=N] with a size such as "
                           "80G, at least 2M, found '%s'", text);
    }
    snprintf(self->device, sizeof self->device, "%s", text);
    config->sim.context_bytes = values[CLI_CONTEXT].number;
    config->sim.faults = values[CLI_FAULTS].text;
    config->op_ns = values[CLI_OP_NS].number;
    self->settings.rate = values[CLI_RATE].number;
    if (values[CLI_COSTS].text) {
        self->costs = *sim_costs_default();
        if (sim_costs_read(values[CLI_COSTS].text, &self->costs, why)) return -1;
        config->sim.costs = &self->costs;
    }
    device *trial = device_open(config, why);    /* checks capacity, context and faults */
    return !trial || device_close(trial, why) ? -1 : 0;
}

static int plan_cuda(plan *self, int ordinal, problem *why)
{
    self->settings.device.is_cuda = 1;
    self->settings.device.ordinal = ordinal;
    snprintf(self->device, sizeof self->device, "cuda:%d", ordinal);
    return cuda_environment_record(ordinal, &self->environment, why);
}

static int plan_cuda_asked(plan *self, const cli *asked, const char *text, problem *why)
{
    uint64_t number;
    const cli_option *surplus = plan_simulated_option(asked);
    if (!slice_digits(slice_of(text + strlen("cuda:")), &number) || number > INT32_MAX) {
        return problem_set(why, EXIT_USAGE, "--device: expected cuda:N with N from 0, found '%s'", text);
    }
    if (surplus) {
        return problem_set(why, EXIT_USAGE, "--%s shapes simulated devices alone, and --device is %s", surplus->name,
                           text);
    }
    problem trouble = { 0, "" };
    if (plan_cuda(self, (int)number, &trouble))
        problem_set(&self->absent, trouble.exit_code, "--device %s: %.400s", text, trouble.text);
    return 0;
}

int plan_present(const plan *self, problem *why)
{
    return self->absent.exit_code ? problem_set(why, self->absent.exit_code, "%s", self->absent.text) : 0;
}

/* --device auto: CUDA's device, if it answers and no given option needs the simulated one. */
static int plan_auto(plan *self, const cli *asked, problem *why)
{
    problem obstacle = { 0, "" };
    const cli_option *simulated = plan_simulated_option(asked);
    const int is_told = !asked->values[CLI_QUIET].given;
    if (simulated) problem_set(&obstacle, EXIT_NO_DEVICE, "--%s shapes simulated devices", simulated->name);
    else if (cuda_environment_count(&obstacle) > 0) plan_cuda(self, 0, &obstacle);
    if (!obstacle.exit_code) {
        if (is_told) program_say("--device auto: running on cuda:0, %s\n", self->environment.name);
        return 0;
    }
    if (is_told) program_say("--device auto: running on " PLAN_DEVICE_TEXT ", simulated: %s\n", obstacle.text);
    memset(&self->settings.device, 0, sizeof self->settings.device);
    return plan_simulated(self, asked, PLAN_DEVICE_TEXT, why);
}

int plan_device(plan *self, const cli *asked, problem *why)
{
    const char *text = asked->values[CLI_DEVICE].text;
    if (!strcmp(text, "auto")) return plan_auto(self, asked, why);
    if (!strcmp(text, "sim")) text = PLAN_DEVICE_TEXT;
    if (!strncmp(text, "sim:", 4)) return plan_simulated(self, asked, text, why);
    if (!strncmp(text, "cuda:", 5)) return plan_cuda_asked(self, asked, text, why);
    return problem_set(why, EXIT_USAGE, "--device: expected sim, sim:SIZE, auto or cuda:N, found '%s'", text);
}

/* ---- From options to a plan: policies, op streams, filter, each checked */

const char *plan_verify_name(verify_mode mode)
{
    static const char *const names[] = { "off", "sample", "full" };
    return names[mode];
}

const cuda_environment *plan_environment(const plan *self)
{
    return self->settings.device.is_cuda ? &self->environment : NULL;
}

/* Tells whether one of the patterns of --filter fits. */
static int plan_fits(const char *filter, const char *workload, const char *name)
{
    char text[2048];
    slice rest = slice_of(filter), pattern;
    snprintf(text, sizeof text, "%s/%s", workload, name);
    while (slice_take(&rest, '|', &pattern)) {
        if (slice_fits(pattern, text)) return 1;
    }
    return 0;
}

/* Opens a policy for trial, because only then is it known whether its keys agree with each other and with the device.
   If the device is not there, they are checked on the largest simulated one. Too little memory is no mistake of the
   user's: the row will say so. */
static int plan_try_policy(plan *self, const policy *chosen, problem *why)
{
    device_config config = self->settings.device;
    problem trouble = { 0, "" };
    pool trial;
    config.sim.faults = NULL;
    if (config.is_cuda && self->absent.exit_code) {
        config.is_cuda = 0;
        config.sim.capacity_bytes = SIM_MAX_CAPACITY;
    }
    device *made = device_open(&config, why);
    if (!made) return -1;
    if (!pool_open(&trial, chosen, made, &trouble)) pool_close(&trial);
    if (device_close(made, why)) return -1;
    if (trouble.exit_code == EXIT_NO_DEVICE) problem_set(&self->absent, EXIT_NO_DEVICE, "%s", trouble.text);
    return trouble.exit_code == EXIT_USAGE ? problem_set(why, EXIT_USAGE, "%s", trouble.text) : 0;
}

/* Checks that `all` has no keys: it stands for many, each with keys of its own. */
static int plan_check_all(const cli_value *items, const char *option, problem *why)
{
    for (size_t index = 0; index < items->item_count; index++) {
        const char *item = items->items[index];
        if (strncmp(item, "all:", 4)) continue;
        return problem_set(why, EXIT_USAGE, "--%s: '%s': 'all' has no keys, expected all, or NAME%s", option, item,
                           item + 3);
    }
    return 0;
}

int plan_asks_many(const cli *asked)
{
    const cli_value *items = &asked->values[CLI_WORKLOAD];
    return items->item_count > 1 || (items->item_count == 1 && !strcmp(items->items[0], "all"));
}

static int plan_add_policy(plan *self, const cli *asked, const char *text, problem *why)
{
    self->policies = program_resize(self->policies, self->policy_count + 1, sizeof *self->policies);
    policy *made = &self->policies[self->policy_count];
    if (policy_parse(text, asked->values[CLI_LIMIT].number, made, why) || plan_try_policy(self, made, why)) return -1;
    self->policy_count++;
    return 0;
}

/* Adds the policies of `-p all`. Those that the device cannot have are left out and named, because they were not
   asked for by name. */
static int plan_add_all(plan *self, const cli *asked, problem *why)
{
    policy_kind kind;
    for (size_t index = 0; policy_kind_at(index, &kind); index++) {
        problem trouble = { 0, "" };
        if (!policy_kind_in_all(&kind) || !plan_add_policy(self, asked, kind.name, &trouble)) continue;
        if (trouble.exit_code != EXIT_USAGE) return problem_set(why, trouble.exit_code, "%s", trouble.text);
        if (!asked->values[CLI_QUIET].given) program_say("-p all: left out: %s\n", trouble.text);
    }
    return 0;
}

int plan_policies(plan *self, const cli *asked, problem *why)
{
    const cli_value *items = &asked->values[CLI_POLICY];
    if (!items->item_count) {
        return problem_set(why, EXIT_USAGE, "no policy: -p NAME (%s list policies)", program_name());
    }
    if (plan_check_all(items, "policy", why)) return -1;
    for (size_t index = 0; index < items->item_count; index++) {
        const char *item = items->items[index];
        int failed = strcmp(item, "all") ? plan_add_policy(self, asked, item, why) : plan_add_all(self, asked, why);
        if (failed) return -1;
        policy_name_shorten(items->items[index]);
    }
    return 0;
}

static int plan_add_workload(plan *self, const char *text, problem *why)
{
    self->workloads = program_resize(self->workloads, self->workload_count + 1, sizeof *self->workloads);
    plan_workload *added = &self->workloads[self->workload_count];
    const op_stream *stream = &added->stream;
    const int is_cuda = self->settings.device.is_cuda;
    const uint64_t times = self->settings.times > 1 ? self->settings.times : 1;
    problem trouble = { 0, "" };
    *added = (plan_workload){ .text = text };
    if (mix_make(text, &self->options, &added->stream, why)) return -1;
    self->workload_count++;
    self->op_count += stream->op_count;
    if (self->op_count > PLAN_MOST_OPS) {
        return problem_set(why, EXIT_USAGE,
                           "workload %s: with those before it more than %d operations, expected fewer workloads in "
                           "one run, or --ops", text, (int)PLAN_MOST_OPS);
    }
    if (is_cuda && stream->rival_count) {
        return problem_set(why, EXIT_USAGE, "workload %s: another process takes memory, expected --device sim", text);
    }
    if (pass_streams_fit(stream, &trouble)) {
        return problem_set(why, trouble.exit_code, "workload %s: %s", text, trouble.text);
    }
    if (is_cuda || stream->work_ns <= STREAM_MAX_WORK_NS / times) return 0;  /* the virtual clock has room for it */
    return problem_set(why, EXIT_USAGE, "--rounds %" PRIu64 ": so often the work of %s, %" PRIu64 " ns, is more than "
                       "2^62 ns, which the virtual clock may not pass", times, text, stream->work_ns);
}

/* Adds the workloads of `-w all`: those that need no file, and on CUDA no simulated device. */
static int plan_add_workloads(plan *self, problem *why)
{
    for (size_t index = 0; workload_family_at(index); index++) {
        const workload_family *each = workload_family_at(index);
        int is_left_out = !each->peak || (self->settings.device.is_cuda && !strcmp(each->name, "rival"));
        if (!is_left_out && plan_add_workload(self, each->name, why)) return -1;
    }
    return 0;
}

static int plan_workloads(plan *self, const cli *asked, problem *why)
{
    const cli_value *items = &asked->values[CLI_WORKLOAD];
    if (!items->item_count) {
        return problem_set(why, EXIT_USAGE, "no workload: -w NAME (%s list workloads)", program_name());
    }
    if (plan_check_all(items, "workload", why)) return -1;
    for (size_t index = 0; index < items->item_count; index++) {
        const char *item = items->items[index];
        const char *next = index + 1 < items->item_count ? items->items[index + 1] : "all";
        problem trouble = { 0, "" };
        int is_all = !strcmp(item, "all");
        int failed = is_all ? plan_add_workloads(self, &trouble) : plan_add_workload(self, item, &trouble);
        if (!failed) continue;
        /* the end of a path that was cut at its comma names no workload */
        int is_cut = strstr(item, "replay:") && strcmp(next, "all") && !mix_is_name(slice_of(next));
        if (!is_cut) return problem_set(why, trouble.exit_code, "%s", trouble.text);
        return problem_set(why, trouble.exit_code, "%.280s; '%.120s' names no workload, and a path may have no comma",
                           trouble.text, next);
    }
    return 0;
}

static void plan_tell_without(const plan_workload *workload, const char *key)
{
    slice rest = slice_of(workload->text), spec;
    while (mix_take(&rest, &spec)) {
        if (workload_has_option(spec, key)) continue;
        program_say("workload %s: has no %s, --%s changes nothing\n", slice_show(spec).text, key, key);
    }
}

/* Names options that change nothing. That is no mistake: other workloads of a list may have steps. The seed also
   draws the turns of several threads, and so changes every workload of several threads. */
static void plan_tell_idle(const plan *self, const cli *asked)
{
    if (asked->values[CLI_QUIET].given) return;
    for (size_t index = 0; index < self->workload_count; index++) {
        const plan_workload *workload = &self->workloads[index];
        if (self->options.steps_given) plan_tell_without(workload, "steps");
        if (self->options.seed_given && op_stream_threads(&workload->stream) < 2)
            plan_tell_without(workload, "seed");
    }
    int takes_limit = !asked->values[CLI_LIMIT].given;
    for (size_t index = 0; index < self->policy_count; index++) {
        takes_limit |= policy_takes_limit(&self->policies[index]);
    }
    if (!takes_limit) program_say("--limit changes nothing: none of these policies has one\n");
}

/* Makes the cases that --filter leaves; NULL: all. */
static int plan_cases(plan *self, const char *filter, problem *why)
{
    char shown[1024];
    self->cases = program_need(self->workload_count * self->policy_count, sizeof *self->cases);
    for (plan_workload *of = self->workloads; of < self->workloads + self->workload_count; of++) {
        of->first = self->case_count;
        for (const policy *chosen = self->policies; chosen < self->policies + self->policy_count; chosen++) {
            if (filter && !plan_fits(filter, of->text, chosen->text)
                && !plan_fits(filter, of->text, policy_name_shown(chosen->text, shown, sizeof shown))) continue;
            self->cases[self->case_count++] = (plan_case){ of, chosen };
            of->case_count++;
        }
    }
    if (self->case_count) return 0;
    return problem_set(why, EXIT_USAGE,
                       "--filter: fits none of the rows, which are named WORKLOAD/POLICY; * is any text");
}

/* Sets the settings. On a GPU the default is --verify sample, because reading all contents back takes longer than all
   the rest. */
static void plan_settings(plan *self, const cli_value *values)
{
    const cli_value *verify = &values[CLI_VERIFY], *warmup = &values[CLI_WARMUP];
    const int is_cuda = self->settings.device.is_cuda;
    pass_settings *settings = &self->settings;
    settings->skip_oom = !strcmp(values[CLI_ON_OOM].text, "skip");
    settings->times = values[CLI_ROUNDS].number;
    settings->verify = is_cuda && !verify->given ? VERIFY_SAMPLE : VERIFY_FULL;
    while (verify->given && strcmp(verify->text, plan_verify_name(settings->verify))) settings->verify--;
    settings->warmup = warmup->given ? warmup->number : (uint64_t)is_cuda;
    self->timed = !values[CLI_NO_TIMING].given;
    self->vary = values[CLI_VARY].text;
    self->repeats = values[CLI_TIMES].number;
    self->options = (workload_options){
        .seed_given = values[CLI_SEED].given, .seed = values[CLI_SEED].number,
        .steps_given = values[CLI_STEPS].given, .steps = values[CLI_STEPS].number,
        .threads_given = values[CLI_THREADS].given, .threads = values[CLI_THREADS].number,
        .ops_given = values[CLI_OPS].given || values[CLI_QUICK].given,
        .ops = values[CLI_OPS].given ? values[CLI_OPS].number : PLAN_QUICK_OPS,
    };
}

int plan_make(plan *self, const cli *asked, problem *why)
{
    memset(self, 0, sizeof *self);
    if (plan_device(self, asked, why)) return -1;
    plan_settings(self, asked->values);
    if (plan_policies(self, asked, why) || plan_workloads(self, asked, why)) return -1;
    plan_tell_idle(self, asked);
    return plan_cases(self, asked->values[CLI_FILTER].text, why);
}

/* ---- Which shard this process is, and marks */

enum { SHARD_MOST = 1000000 };

typedef struct shard_source { const char *index, *first, *last, *step, *count; } shard_source;
static const shard_source shard_sources[] = {    /* the first match counts; first, last, step: of an array's
                                                    indices, else NULL */
    { "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP",
      "SLURM_ARRAY_TASK_COUNT" },
    { "JOB_COMPLETION_INDEX", NULL, NULL, NULL, NULL },                      /* Kubernetes */
    { "SLURM_PROCID", NULL, NULL, NULL, "SLURM_NTASKS" },
    { "OMPI_COMM_WORLD_RANK", NULL, NULL, NULL, "OMPI_COMM_WORLD_SIZE" },
    { "PMI_RANK", NULL, NULL, NULL, "PMI_SIZE" },
    { .index = NULL },
};

static int shard_number(const char *name, uint64_t *number, problem *why)
{
    const char *text = program_environment(name);
    if (text && slice_decimal(slice_of(text), number)) return 0;
    return problem_set(why, EXIT_USAGE, "%s: expected a number, found %s (--shard none: all rows)", name,
                       text ? slice_show(slice_of(text)).text : "nothing");
}

/* Checks an array's indices and makes them begin at 0. An array may begin anywhere and have a step, but must have no
   other gaps: rows would be left out. */
static int shard_array(const shard_source *source, shard_mark *made, problem *why)
{
    uint64_t first, last, step = 1;
    if (shard_number(source->first, &first, why) || shard_number(source->last, &last, why)) return -1;
    if (program_environment(source->step) && shard_number(source->step, &step, why)) return -1;
    int is_even = step && last >= first && made->index >= first && (last - first) % step == 0
        && (last - first) / step + 1 == made->count && (made->index - first) % step == 0;
    if (!is_even) {
        return problem_set(why, EXIT_USAGE, "%s: the array is from %" PRIu64 " to %" PRIu64 " and has %" PRIu64
                           " tasks: expected one without gaps (--shard none: all rows)", source->index, first, last,
                           made->count);
    }
    made->index = (made->index - first) / step;
    return 0;
}

static int shard_check(const shard_mark *made, problem *why)
{
    if (made->count && made->count <= SHARD_MOST && made->index < made->count) return 0;
    return problem_set(why, EXIT_USAGE, "%s: shard %" PRIu64 " of %" PRIu64
                       ": expected i/n, i from 0 to n - 1, n up to %d", made->source, made->index, made->count,
                       SHARD_MOST);
}

/* Finds the shard in the environment. count 0: the number of shards is found there, too. */
static int shard_detect(shard_mark *made, uint64_t count, problem *why)
{
    for (const shard_source *source = shard_sources; source->index; source++) {
        if (!program_environment(source->index)) continue;
        made->source = source->index;
        made->count = count;
        if (shard_number(source->index, &made->index, why)) return -1;
        if (!count && !source->count) {
            return problem_set(why, EXIT_USAGE, "%s says which shard this is, and not of how many: give --shard "
                               "auto/N, or --shard none for all rows", source->index);
        }
        if (!count && shard_number(source->count, &made->count, why)) return -1;
        if (source->first && shard_array(source, made, why)) return -1;
        return shard_check(made, why);
    }
    if (!count) return 0;
    return problem_set(why, EXIT_USAGE, "--shard auto: no Slurm array or tasks, MPI or Kubernetes job is here");
}

int shard_find(shard_mark *made, const char *text, problem *why)
{
    slice rest = slice_of(text ? text : ""), index;
    *made = (shard_mark){ .count = 1, .source = "" };
    if (!text) return shard_detect(made, 0, why);
    if (!strcmp(text, "none")) return 0;
    made->source = "--shard";
    if (!slice_take(&rest, '/', &index) || !slice_decimal(rest, &made->count)) made->count = 0;
    if (made->count && slice_is(index, "auto")) return shard_detect(made, made->count, why);
    if (!made->count || !slice_decimal(index, &made->index)) {
        return problem_set(why, EXIT_USAGE, "--shard: expected i/n, such as 0/16, auto/n or none, found '%s'", text);
    }
    return shard_check(made, why);
}

uint64_t shard_rows(const shard_mark *mark, uint64_t rows)
{
    return rows / mark->count + (rows % mark->count > mark->index);
}

const char *shard_mark_print(const shard_mark *mark, char *text, size_t size)
{
    snprintf(text, size, "# gpuarena-stress shard %" PRIu64 "/%" PRIu64 " rows %" PRIu64 " version %s seed %" PRIu64
             " sweep %" PRIu64, mark->index, mark->count, mark->rows, mark->version, mark->seed, mark->sweep);
    return text;
}

/* Reads a mark. The line must be exactly the one that shard_mark_print makes of its values. */
int shard_mark_read(slice line, shard_mark *mark)
{
    char text[SHARD_MARK_ROOM], again[SHARD_MARK_ROOM];
    snprintf(text, sizeof text, "%.*s", (int)(line.length < sizeof text ? line.length : 0), line.bytes);
    int found = sscanf(text, "# gpuarena-stress shard %" SCNu64 "/%" SCNu64 " rows %" SCNu64 " version %23s seed %"
                       SCNu64 " sweep %" SCNu64, &mark->index, &mark->count, &mark->rows, mark->version, &mark->seed,
                       &mark->sweep);
    return found == 6 && mark->count <= SHARD_MOST && mark->index < mark->count
        && !strcmp(text, shard_mark_print(mark, again, sizeof again)) ? 0 : -1;
}

char *shard_path(const char *text, const shard_mark *mark)
{
    static const char word[] = "{shard}";
    char last[24], *made;
    size_t length;
    if (!mark) return program_copy(text, strlen(text));
    FILE *out = program_stream(&made, &length);
    int digits = snprintf(last, sizeof last, "%" PRIu64, mark->count - 1);
    for (const char *at; (at = strstr(text, word)) != NULL; text = at + strlen(word)) {
        fprintf(out, "%.*s%0*" PRIu64 "-of-%" PRIu64, (int)(at - text), text, digits, mark->index, mark->count);
    }
    fputs(text, out);
    fclose(out);
    return made;
}

/* ---- The rows of a run */

const char *shard_part(const shard_mark *mark, char *text, size_t size)
{
    if (mark->count == 1) return NULL;
    snprintf(text, size, "shard %" PRIu64 "/%" PRIu64 ": %" PRIu64 " of %" PRIu64 " rows", mark->index, mark->count,
             shard_rows(mark, mark->rows), mark->rows);
    return text;
}

static uint64_t shard_mix(uint64_t hash, uint64_t more)
{
    return hash * UINT64_C(0x100000001b3) ^ more;
}

/* Hashes all options that shape rows, and the lengths of workloads, which may be files. Shards of one run have the
   same hash. */
static uint64_t shard_hash(const cli *asked, const plan *made)
{
    uint64_t hash = slice_hash(slice_of(asked->command));
    for (size_t index = 0; index < CLI_COUNT; index++) {
        const cli_value *value = &asked->values[index];
        int counts = cli_options[index].effect != CLI_NO_EFFECT;
        if (!counts || !value->given || index == CLI_SEED) continue;
        hash = shard_mix(hash, slice_hash(slice_of(cli_options[index].name)));
        for (size_t item = 0; item < value->item_count; item++) {
            hash = shard_mix(hash, slice_hash(slice_of(value->items[item])));
        }
        if (value->text) hash = shard_mix(hash, slice_hash(slice_of(value->text)));
    }
    for (size_t index = 0; index < made->workload_count; index++) {
        hash = shard_mix(shard_mix(hash, made->workloads[index].stream.alloc_count),
                         made->workloads[index].stream.free_count);
    }
    return hash;
}

int shard_start(shard_mark *mark, const cli *asked, const plan *made, uint64_t times, problem *why)
{
    mark->seed = asked->values[CLI_SEED].number;
    mark->sweep = shard_hash(asked, made);
    snprintf(mark->version, sizeof mark->version, "%s", GPUARENA_VERSION_TEXT);
    mark->times = times;
    mark->rows = made->case_count * times;
    if (mark->count == 1) return 0;
    program_say("shard %" PRIu64 "/%" PRIu64 ", %" PRIu64 " of %" PRIu64 " rows, from %s\n", mark->index,
            mark->count, shard_rows(mark, mark->rows), mark->rows, mark->source);
    if (!asked->values[CLI_FAIL_IF].given) return 0;
    return problem_set(why, EXIT_USAGE, "--fail-if: not on one shard: give it to %s merge, for all rows",
                       program_name());
}

/* ---- One line from the option table */

/* Tells whether the line leaves an option out: the line has another form of it, or a recording has it in itself. */
static int repro_omits(const repro *line, size_t index, const char *faults)
{
    if (index == CLI_DEVICE) return line->capacity_bytes != 0;
    if (index == CLI_OPS || index == CLI_QUICK) return line->is_recording || line->ops != UINT64_MAX;
    if (index == CLI_FAULTS) return *faults != '\0';
    return line->is_recording && (index == CLI_SEED || index == CLI_STEPS || index == CLI_THREADS);
}

static void repro_option(FILE *out, const char *option, const char *text)
{
    fprintf(out, " %s", option);
    if (!text) return;
    fputc(' ', out);
    cli_print_word(out, text);
}

char *repro_line(const repro *line)
{
    const char *faults = line->faults ? line->faults : "", *asked = line->asked->values[CLI_FAULTS].text;
    char text[4200], *made;
    size_t length;
    FILE *out = program_stream(&made, &length);
    cli_print_word(out, line->asked->argv[0]);
    fprintf(out, " %s", line->command);
    if (line->workload) repro_option(out, "-w", line->workload);
    if (line->policy) repro_option(out, "-p", line->policy);
    for (size_t index = 0; index < CLI_COUNT; index++) {
        const cli_option *option = &cli_options[index];
        const cli_value *value = &line->asked->values[index];
        if (!value->given || option->effect < CLI_SHAPES_RESULTS || repro_omits(line, index, faults)) continue;
        snprintf(text, sizeof text, "--%s", option->name);
        repro_option(out, text, index == CLI_DEVICE ? line->device : value->text);
    }
    if (*faults) {                               /* the recording's faults come behind those asked for */
        snprintf(text, sizeof text, "%s%s%s", asked ? asked : "", asked ? ";" : "", faults);
        repro_option(out, "--faults", text);
    }
    if (line->times) fprintf(out, " --repeat %" PRIu64, line->times);
    if (line->ops && line->ops != UINT64_MAX) fprintf(out, " --ops %" PRIu64, line->ops);
    if (line->limit_bytes) fprintf(out, " --limit %" PRIu64, line->limit_bytes);
    if (line->capacity_bytes) fprintf(out, " --device sim:%" PRIu64, line->capacity_bytes);
    fclose(out);
    return made;
}

void repro_write(FILE *out, const repro *line)
{
    char *text = repro_line(line);
    fprintf(out, "repro: %s\n", text);
    free(text);
}
