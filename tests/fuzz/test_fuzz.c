/* Parsers, and bytes that nobody meant for them: none may crash, and further promises of each are tested here. It
   must not act on the text read: no workload runs, and no arena is opened. A row of the table below is a parser with
   a corpus, tests/fuzz/corpus/NAME. Replays the corpora, or those named: build/tests/test_fuzz trace csv. With
   libFuzzer: make fuzz FUZZ=trace, where $GPUARENA_FUZZ says which one. */
#include <dirent.h>
#include <unistd.h>

#include "stress/base/cli.h"
#include "stress/base/text.h"
#include "stress/command/command.h"
#include "stress/policy/policy.h"
#include "stress/result/csv.h"
#include "stress/result/gate.h"
#include "stress/run/plan.h"
#include "stress/sim/costs.h"
#include "stress/cudart/options.c"               /* part of the substitute alone, which needs the toolkit */
#include "workload_text.h"

#define COUNT_OF(array) (sizeof (array) / sizeof (array)[0])

static void expect(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "broken promise: %s\n", what);
    abort();
}

/* A failure is the user's mistake, and has a message; success leaves no problem. */
static void expect_answer(int failed, const problem *why)
{
    expect(failed ? why->exit_code == EXIT_USAGE && why->text[0] : !why->exit_code, "refused with a problem, or not");
}

/* The one file that parsers read; in memory, where there is such a folder. */
static char path[64];

static void remove_file(void)
{
    remove(path);
}

static const char *file_of(const char *text, size_t size)
{
    if (!path[0]) {
        snprintf(path, sizeof path, "%s/gpuarena_fuzz_%ld", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm",
                 (long)getpid());
        expect(!atexit(remove_file), "host memory");
    }
    FILE *file = fopen(path, "wb");
    expect(file && fwrite(text, 1, size, file) == size && !fclose(file), "a file of its own");
    return path;
}

/* ---- the command line, a word a line; variables that say which shard this is; the pattern of --filter */

static const char *const variables[] = {
    "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_COUNT",
    "JOB_COMPLETION_INDEX", "SLURM_PROCID", "SLURM_NTASKS",
};

/* 1: the word was NAME=VALUE, and is in the environment now. */
static int is_variable(const char *word)
{
    for (size_t at = 0; at < COUNT_OF(variables); at++) {
        size_t length = strlen(variables[at]);
        if (strncmp(word, variables[at], length) || word[length] != '=') continue;
        expect(!setenv(variables[at], word + length + 1, 1), "host memory");
        return 1;
    }
    return 0;
}

static void find_shard(const char *text)
{
    shard_mark made;
    problem why = { 0, "" };
    int failed = shard_find(&made, text, &why);
    expect_answer(failed, &why);
    if (failed) return;
    expect(made.count && made.index < made.count, "a shard is one of its count");
    free(shard_path("a{shard}b", &made));
}

static void fuzz_cli(char *text, size_t size)
{
    enum { WORDS = 64 };
    char program[] = "stress", *argv[WORDS + 1] = { program };
    int argc = 1;
    cli asked;
    problem why = { 0, "" };
    (void)size;
    for (char *at = text, *next; at && argc < WORDS; at = next) {
        next = strchr(at, '\n');
        if (next) *next++ = '\0';
        if (!is_variable(at)) argv[argc++] = at;
    }
    int failed = cli_parse(&asked, argc, argv, &why);
    expect_answer(failed, &why);
    if (!failed) {
        const char *filter = asked.values[CLI_FILTER].text;
        find_shard(asked.values[CLI_SHARD].text);
        if (filter) (void)slice_fits(slice_of(filter), "train:seq=512/paged");
    }
    for (size_t at = 0; at < COUNT_OF(variables); at++) unsetenv(variables[at]);
    cli_free(&asked);
}

/* ---- configuration text */

static void fuzz_config(char *text, size_t size)
{
    char first[2048], second[2048], message[256];
    gpuarena_config config = GPUARENA_INIT, again = GPUARENA_INIT, untouched = GPUARENA_INIT;
    (void)size;
    if (gpuarena_config_parse(text, &config, message, sizeof message)) {
        expect(message[0] && strlen(message) < sizeof message, "a refusal has a message");
        expect(!memcmp(&config, &untouched, sizeof config), "a refusal changes nothing");
        return;
    }
    expect(gpuarena_config_text(&config, first, sizeof first) < sizeof first, "the text has an end");
    expect(!gpuarena_config_parse(first, &again, message, sizeof message), "the text parses back");
    gpuarena_config_text(&again, second, sizeof second);
    expect(!strcmp(first, second), "to the same");
}

/* ---- the file of --costs */

static void fuzz_costs(char *text, size_t size)
{
    sim_costs costs = *sim_costs_default(), again = *sim_costs_default();
    problem why = { 0, "" };
    if (sim_costs_read(file_of(text, size), &costs, &why)) {
        expect(why.text[0] && !memcmp(&costs, &again, sizeof costs), "a refusal has a problem and changes nothing");
        return;
    }
    char *written = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&written, &length);
    expect(out && !sim_costs_write(&costs, out) && !fclose(out), "host memory");
    expect(!sim_costs_read(file_of(written, length), &again, &why) && !memcmp(&costs, &again, sizeof costs),
           "what is written reads back to the same");
    free(written);
}

/* ---- CSV as compare and --base read it, and gates on its cells */

/* The table judged by rules of every kind, with itself as base. */
static void judge(const char *text, size_t size)
{
    static char rules[][40] = { "footprint > base*1.01", "*/raw: driver_vns <= raw/2", "status != ok", "ops == 7",
                                "host_ns_per_op > raw", "fragmentation > base+3pp", "oom_reason == base" };
    for (size_t at = 0; at < COUNT_OF(rules); at++) {
        char *const one[1] = { rules[at] };
        problem why = { 0, "" };
        row_list found;
        gate gates;
        memset(&gates, 0, sizeof gates);
        gates.base_path = "base";
        gates.base = &gates.read;
        int failed = rule_file_all(&gates.rules, &gates.rule_count, one, 1, &why);
        expect(!failed && !csv_parse(&gates.read, "base", text, size, &why)
               && !csv_parse(&found, "found", text, size, &why), "what was read is read again");
        if (gate_judge(&gates, &found, "found", &why)) expect(why.text[0], "refused with a problem");
        else expect(gate_failed(&gates) + gate_undecided(&gates) <= gates.verdict_count, "verdicts are counted");
        gate_free(&gates);
        csv_free(&found);
    }
}

static void fuzz_csv(char *text, size_t size)
{
    row_list table;
    problem why = { 0, "" };
    size_t bytes = 0;
    int failed = csv_parse(&table, "input", text, size, &why);
    expect_answer(failed, &why);
    for (size_t line = 0; !failed && line < table.count; line++) {
        for (int at = 0; at < COLUMN_COUNT; at++) {
            char shown[CELL_ROOM];
            bytes += strlen(cell_text(&table.rows[line].cells[at], shown));
        }
    }
    expect(bytes <= size, "cells are no longer than the file");
    if (!failed) judge(text, size);
    csv_free(&table);
}

/* ---- --device in the first line, --faults in the others: opened, and closed; all of it as GPUARENA_SIM */

static void read_options(const char *text)
{
    options made;
    problem why = { 0, "" };
    if (strstr(text, "costs=")) return;          /* which names a file */
    int failed = options_read(text, &made, &why);
    expect_answer(failed, &why);
    expect(failed || (made.machine.capacity_bytes > 0 && made.machine.device_count <= SIM_MAX_DEVICES),
           "a machine that can be");
}

static void fuzz_device(char *text, size_t size)
{
    char words[3][16] = { "stress", "run", "--device" }, flag[] = "--faults", name[128];
    size_t line = strcspn(text, "\n");
    char *argv[6] = { words[0], words[1], words[2], name, flag, text + line + (text[line] != '\0') };
    cli asked;
    plan made;
    problem why = { 0, "" };
    (void)size;
    read_options(text);
    snprintf(name, sizeof name, "sim:%.*s", (int)(line < 100 ? line : 100), text);
    memset(&made, 0, sizeof made);
    if (!cli_parse(&asked, argv[5][0] ? 6 : 4, argv, &why) && !plan_device(&made, &asked, &why))
        expect(!why.exit_code && made.settings.device.sim.capacity_bytes, "a device has memory");
    else
        expect(why.exit_code && why.text[0], "refused with a problem");
    cli_free(&asked);
}

/* ---- one shard's file, as merge reads it */

static void fuzz_merge(char *text, size_t size)
{
    char words[5][96] = { "stress", "merge", "", "--out", "csv=/dev/null" };
    char *argv[6] = { words[0], words[1], words[2], words[3], words[4], NULL };
    cli asked;
    problem why = { 0, "" };
    snprintf(words[2], sizeof words[2], "%s", file_of(text, size));
    expect(!cli_parse(&asked, 5, argv, &why), "the words are right");
    int code = command_merge.act(&asked, &why);
    if (code < 0) code = why.exit_code;
    expect(code == why.exit_code && (code == EXIT_PASS || code == EXIT_USAGE || code == EXIT_HARNESS),
           "its exit code");
    cli_free(&asked);
}

/* ---- one item of -p */

static void fuzz_policy(char *text, size_t size)
{
    (void)size;
    for (uint64_t limit_bytes = 0; limit_bytes <= 1 << 20; limit_bytes += 1 << 20) {
        problem why = { 0, "" };
        policy made;
        int failed = policy_parse(text, limit_bytes, &made, &why);
        expect_answer(failed, &why);
    }
}

/* ---- rules of --fail-if, as words and as a file */

static void fuzz_rule(char *text, size_t size)
{
    char named[96], *const texts[1] = { named };
    rule made, *rules = NULL;
    size_t count = 0;
    problem why = { 0, "" }, trouble = { 0, "" };
    int failed = rule_parse(&made, text, &why);
    expect_answer(failed, &why);
    if (!failed) {
        (void)rule_matches(&made, "train:seq=512", "paged");
        (void)rule_holds(&made, 3.0L, rule_limit(&made, 7.0L));
        (void)rule_refers_to_base(&made);
    }
    rule_free(&made);
    snprintf(named, sizeof named, "@%s", file_of(text, size));
    if (rule_file_all(&rules, &count, texts, 1, &trouble)) expect(trouble.text[0], "refused with a problem");
    for (size_t index = 0; index < count; index++) rule_free(&rules[index]);
    free(rules);
}

/* ---- recordings: gpuarena-trace 1, RMM's CSV and intervals, told apart by content */

/* 1 if every operation names blocks that are live, and the figures are those of a walk. */
static int is_sound(const op_stream *stream)
{
    uint64_t live = 0, peak = 0, allocs = 0, frees = 0, *sizes = calloc(stream->block_count + 1, sizeof *sizes);
    char *is_live = calloc(stream->block_count + 1, 1);
    int sound = sizes && is_live;
    for (size_t i = 0; sound && i < stream->op_count; i++) {
        const op *at = &stream->ops[i];
        if (at->kind == OP_ALLOC) {
            sound = at->first == allocs && !is_live[at->first];
            sizes[at->first] = at->value;
            is_live[at->first] = 1;
            live += at->value;
            allocs++;
        } else if (at->kind == OP_FREE) {
            sound = at->first < allocs && is_live[at->first];
            is_live[at->first] = 0;
            live -= sizes[at->first];
            frees++;
        }
        for (uint32_t touch = 0; at->kind == OP_KERNEL && sound && touch < at->count; touch++)
            sound = is_live[stream->touches[at->first + touch]];
        peak = live > peak ? live : peak;
    }
    free(sizes);
    free(is_live);
    return sound && allocs == stream->alloc_count && frees == stream->free_count && allocs == stream->block_count &&
           peak == stream->requested_peak_bytes;
}

static int read_recording(const char *text, size_t size, op_stream *stream)
{
    problem why = { 0, "" };
    char spec[96];
    size_t length = (size_t)snprintf(spec, sizeof spec, "replay:%s", file_of(text, size)) - strlen("replay:");
    int failed = make_plain(spec, stream, &why);
    const char *behind = why.text + length;
    int is_named = failed && why.exit_code == EXIT_USAGE && !strncmp(why.text, path, length)
                && (!strncmp(behind, ": a pickle", 10)
                    || (behind[1] >= '1' && behind[1] <= '9' && strstr(why.text, "expected")));
    expect(failed ? is_named && !stream->ops : !why.exit_code && is_sound(stream),
           "sound, or refused with file and line");
    return failed;
}

static void fuzz_trace(char *text, size_t size)
{
    op_stream stream, again;
    if (read_recording(text, size, &stream)) return;
    buffer written = stream_text(&stream);
    expect(!read_recording(written.bytes, written.length, &again), "what is written can be read");
    buffer twice = stream_text(&again);
    expect(written.length == twice.length && !memcmp(written.bytes, twice.bytes, twice.length), "and is the same");
    free(written.bytes);
    free(twice.bytes);
    op_stream_free(&stream);
    op_stream_free(&again);
}

/* ---- one item of -w, and the first operations that it makes */

static void fuzz_workload(char *text, size_t size)
{
    workload_options cut = { .ops_given = 1, .ops = 100 };
    (void)size;
    for (cut.threads = 0; cut.threads <= 3 && !strstr(text, "replay"); cut.threads += 3) {
        op_stream stream;
        problem why = { 0, "" }, unvaried = { 0, "" };
        workload_key key;
        cut.threads_given = cut.threads != 0;
        if (mix_make(text, &cut, &stream, &why)) expect(why.exit_code && why.text[0], "refused with a problem");
        else expect(stream.alloc_count + stream.free_count <= cut.ops, "no more operations than asked for");
        op_stream_free(&stream);
        (void)workload_vary(text, NULL, &key, &unvaried);
    }
}

/* ---- all of them */

static const struct parser { const char *name; void (*fuzz)(char *text, size_t size); } parsers[] = {
#define PARSER(name) { #name, fuzz_##name }
    PARSER(cli), PARSER(config), PARSER(costs), PARSER(csv), PARSER(device), PARSER(merge), PARSER(policy),
    PARSER(rule), PARSER(trace), PARSER(workload),
#undef PARSER
};

/* A copy of the bytes, which ends with them and a NUL, so that a sanitizer sees who reads on. */
static void fuzz(const struct parser *parser, const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    expect(text != NULL, "host memory");
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    parser->fuzz(text, size);
    free(text);
}

#ifdef GPUARENA_LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *asked = getenv("GPUARENA_FUZZ");
    size_t at = 0;
    while (at < COUNT_OF(parsers) && (!asked || strcmp(parsers[at].name, asked))) at++;
    expect(at < COUNT_OF(parsers), "GPUARENA_FUZZ names a parser");
    if (size <= 1 << 16) fuzz(&parsers[at], data, size);
    return 0;
}
#else
/* Every file of the corpus; a crash ends the program without its plan, so the last "# " line names the culprit. */
static void replay(const struct parser *parser)
{
    static uint8_t data[1 << 16];
    char name[512];
    int count = 0;
    snprintf(name, sizeof name, "tests/fuzz/corpus/%s", parser->name);
    DIR *folder = opendir(name);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "tests/fuzz/corpus/%s/%s", parser->name, entry->d_name);
        printf("# %s\n", name);
        fflush(stdout);
        FILE *file = fopen(name, "rb");
        if (file) fuzz(parser, data, fread(data, 1, sizeof data, file));
        count += CHECK_MSG(file && !fclose(file), "%s", name);
    }
    if (folder) closedir(folder);
    CHECK_MSG(count > 1, "a corpus of %s", parser->name);
}

int main(int count, char **words)
{
    for (size_t at = 0; at < COUNT_OF(parsers); at++) {
        int is_asked = count < 2;
        for (int i = 1; i < count; i++) is_asked |= !strcmp(words[i], parsers[at].name);
        if (is_asked) replay(&parsers[at]);
    }
    return tap_done();
}
#endif
