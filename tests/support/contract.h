/* The contract of a CUDA device, asked of every implementation that claims to keep it: cases are scripts, a face is a
   way to make the calls. It must not know the contents of any case, nor the implementation behind a face. Included by
   test_sim_contract.c and test_cuda_contract.c; the cases are in tests/contract, whose README is the language. */
#ifndef TESTS_CONTRACT_H
#define TESTS_CONTRACT_H

#include <unistd.h>

#include "script_cases.h"
#include "sim_device.h"
#include "stress/sim/entries.h"
#include "stress/sim/memory.h"
#include "stress/sim/engine.h"

enum { MOST_DEVICES = 4, MOST_THINGS = 48, MOST_WORDS = 12, MOST_HANDLES = 16 };
#define UNTOUCHED ((uint64_t)0x5EED00)           /* contents of outputs before a call */

typedef struct step {                            /* its text, and its results */
    char        text[LINE_BYTES];
    char       *words[MOST_WORDS];               /* NULL behind the last */
    int         count;
    char       *name;                            /* of the object that it makes; NULL: nothing */
    const char *code, *finding;                  /* expected; NULL: success, and none */
    uint64_t    finding_count;
    char        kind;                            /* of the object made */
    uint64_t    made, bytes;
    int         is_table;                        /* it called the driver table, or CUDA by name */
} step;

typedef struct face {                            /* codes are the CUDA runtime's */
    const char *name;
    int    cuda;                                 /* the version; 0: the simulator, where contents are patterns */
    void (*attach)(sim *machine);                /* NULL: nothing to attach; machine NULL: none any more */
    void (*table)(sim *machine, int device, gpuarena_driver *driver);
    void *(*find)(const char *name);             /* a function of CUDA; NULL: there is none */
    void (*select)(int device);                  /* makes it the runtime's current one */
    int  (*call)(step *at, int *code);           /* 1: it made a call that words cannot; else as below */
    int  (*has)(void *ptr, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset);
    const char *(*settle)(int code, int is_table);           /* after a call: the state that it must not have left
                                                                behind; NULL: nothing */
    void (*other)(const char *text);             /* a step of another process */
} face;

typedef struct thing { char name[16], kind; uint64_t value, bytes; } thing;

static struct {
    const face *face;
    sim        *machine;
    gpuarena_driver drivers[MOST_DEVICES], *driver;          /* the current device's */
    int         device, device_count;
    thing       things[MOST_THINGS];
    int         thing_count;
    unsigned char handles[MOST_HANDLES][GPUARENA_IPC_BYTES]; /* of cudaIpc, by their numbers from 1 */
    int         handle_count;
    uint64_t    marked_ns, op, memory_bytes;
    int         is_astray, is_over;              /* the caller's device need not be what it was; no step follows */
    unsigned char outputs[4][256];               /* of the latest call by name */
    const step *verb;                            /* that is a row of verbs; NULL: none */
} world;

/* ---- values: sums of numbers with units and of names */

static thing *find_thing(const char *name, size_t length)
{
    for (thing *at = world.things + world.thing_count; at-- > world.things;)
        if (strncmp(at->name, name, length) == 0 && !at->name[length]) return at;
    return NULL;
}

/* The thing that a value starts with. */
static const thing *base_of(const char *word)
{
    static const thing none = { "", 'm', 0, 0 };
    const thing *known = word ? find_thing(word, strcspn(word, "+-")) : NULL;
    return known ? known : &none;
}

static uint64_t value_of(const char *word)
{
    reader in = { word ? word : "" };
    uint64_t value = read_sum(&in);
    if (!at_end(&in)) blame("%s is no number", word);
    return value;
}

static void *ptr_of(const char *word) { return (void *)(uintptr_t)value_of(word); }

/* The size that a word says, or that the thing of another word has. */
static uint64_t size_of(const step *at, int word, int of)
{
    return at->words[word] ? value_of(at->words[word]) : base_of(at->words[of])->bytes;
}

static gpuarena_memory memory_of(char kind)
{
    return kind == 'p' ? GPUARENA_MEMORY_PINNED : kind == 'u' ? GPUARENA_MEMORY_MANAGED
         : kind == 'a' ? GPUARENA_MEMORY_ASYNC : GPUARENA_MEMORY_DEVICE;
}

/* The value that a letter stands for in a row of verbs. 0: none. */
static int letter_value(char letter, uint64_t *value)
{
    const step *at = world.verb;
    switch (at ? letter : 0) {
    case 'A': return *value = at->words[2] ? value_of(at->words[2]) : 0, 1;
    case 'S': return *value = size_of(at, 2, 1), 1;
    case 'R': return *value = size_of(at, 3, 1), 1;
    case 'B': return *value = size_of(at, 3, 2), 1;
    case 'D': return *value = (uint64_t)world.device, 1;
    case 'P': return *value = 1 + ((uint64_t)world.device << 32), 1;
    case 'K': return *value = (uint64_t)memory_of(base_of(at->words[1])->kind), 1;
    case 'I': return *value = (uint64_t)memory_of(at->words[1][0]), 1;
    case 'H': return *value = bench_number(world.handles[value_of(at->words[1]) - 1]), 1;
    default:  return 0;
    }
}

/* out1: the first output; out1.3: its third word of 8 bytes. */
static int name_value(const char *name, uint64_t *value)
{
    static const struct { const char *name; uint64_t value; } fixed[] = {
        { "null", 0 }, { "legacy", 1 }, { "own", 2 }, { "nothing", 99 }, { "max", UINT64_MAX },
        { "global", 0 }, { "local", 1 }, { "relaxed", 2 }, { "off", 0 }, { "on", 1 },
        { "none", 0 }, { "active", 1 }, { "host", 0x10000 },
        { "h2h", 0 }, { "h2d", 1 }, { "d2h", 2 }, { "d2d", 3 }, { "any", 4 },          /* enum cudaMemcpyKind */
    };
    static unsigned char here[1 << 20];          /* memory of the host */
    const thing *known = find_thing(name, strlen(name));
    if (known) return *value = known->value, 1;
    for (size_t at = 0; at < COUNT(fixed); at++)
        if (!strcmp(fixed[at].name, name)) return *value = fixed[at].value, 1;
    if (!strcmp(name, "here")) return *value = bench_number(here), 1;
    if (strncmp(name, "out", 3)) return !name[1] && letter_value(name[0], value);
    memcpy(value, world.outputs[name[3] - '1'] + (name[4] == '.' ? name[5] - '1' : 0) * 8, sizeof *value);
    return 1;
}

/* ---- one step: `[sim:|cuda:] [NAME =] WORD .. [-> CODE] [! FINDING]`; `!!`: two findings, the latest says this */

static void parse(step *at, const char *text)
{
    memset(at, 0, sizeof *at);
    snprintf(at->text, sizeof at->text, "%s", text);
    char *finding = strstr(at->text, " !"), *rest = at->text;
    if (finding) {
        *finding++ = '\0';
        at->finding_count = strspn(finding, "!");
        at->finding = finding + at->finding_count + 1;
    }
    while (*(rest += strspn(rest, " "))) {
        char *word = rest;
        rest += strcspn(rest, " ");
        if (*rest) *rest++ = '\0';
        if (at->count > 1 && strcmp(at->words[at->count - 1], "->") == 0) {
            at->code = word;
            at->words[--at->count] = NULL;
        } else if (strcmp(word, "=") == 0) {
            at->name = at->words[0];
            at->count = 0;
            at->words[0] = NULL;
        } else if (at->count < MOST_WORDS - 1) {
            at->words[at->count++] = word;
        }
    }
}

/* ---- calls: any function by its name, whose arguments are numbers and pointers: as words, in its own order. `&` is
        an output, `&=VALUE,VALUE` one that holds these words of 8 bytes before, 'text' a text. A function that was
        looked up is called by the name that it was given. `.memory.obtain` is an entry of the driver table, which is
        its first argument; sim_* has the machine. On the machines that this runs on numbers and pointers lie in
        registers, and a function ignores arguments beyond its own. */

typedef int any_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static any_function *find_function(const char *name)
{
    static const struct { const char *name; size_t at; } entries[] = {
#define X(group, name, names) { "." #group "." #name, offsetof(gpuarena_driver, group.name) },
        ENTRIES_MEMORY(X) ENTRIES_VM(X) ENTRIES_EVENTS(X) ENTRIES_CAPTURE(X) ENTRIES_IPC(X) ENTRIES_FD(X)
#undef X
        { ".peer", offsetof(gpuarena_driver, peer) }, { ".clear", offsetof(gpuarena_driver, clear) },
    };
    static const struct { const char *name; void (*function)(void); } of_simulator[] = {
#define SIM(name) { #name, (void (*)(void))name }
        SIM(sim_stream_create), SIM(sim_stream_destroy), SIM(sim_stream_query), SIM(sim_stream_wait),
        SIM(sim_stream_follow), SIM(sim_work), SIM(sim_capture_begin), SIM(sim_capture_end), SIM(sim_graph_destroy),
#undef SIM
    };
    any_function *found = NULL;
    void *of_cuda = world.face->find ? world.face->find(name) : NULL;
    const thing *looked_up = find_thing(name, strlen(name));
    for (size_t i = 0; i < COUNT(entries); i++)
        if (!strcmp(entries[i].name, name))
            memcpy(&found, (const char *)world.driver + entries[i].at, sizeof found);
    for (size_t i = 0; i < COUNT(of_simulator); i++)
        if (!strcmp(of_simulator[i].name, name)) memcpy(&found, &of_simulator[i].function, sizeof found);
    if (of_cuda) memcpy(&found, &of_cuda, sizeof found);
    if (looked_up) memcpy(&found, &looked_up->value, sizeof found);
    return found;
}

static uint64_t argument_of(const char *word, int *outputs)
{
    static char texts[4][64];
    if (word[0] == '\'') {
        snprintf(texts[*outputs], sizeof texts[0], "%.*s", (int)strcspn(word + 1, "'"), word + 1);
        return bench_number(texts[*outputs]);
    }
    if (word[0] != '&') return value_of(word);
    uint64_t words[sizeof world.outputs[0] / sizeof(uint64_t)] = { UNTOUCHED };
    unsigned char *output = world.outputs[(*outputs)++];
    reader in = { word[1] ? word + 2 : "" };
    for (int at = 0; !at_end(&in); at++) {
        words[at] = read_sum(&in);
        if (!take_mark(&in, ",")) break;
    }
    memcpy(output, words, sizeof words);
    return bench_number(output);
}

static int made(step *at, char kind, uint64_t value)
{
    at->kind = kind;
    at->made = value;
    return 0;
}

/* Calls a function by name. The object that the step makes is the first output, unless the output held something
   before. */
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
static int call_by_name(step *at)
{
    const char *name = at->words[0];
    any_function *function = find_function(name);
    uint64_t values[8] = { 0 }, value;
    int count = 0, outputs = 0, bare = 0;        /* bare: a bit for each output that held nothing */
    if (!function) blame("there is no such word or function");
    if (name[0] == '.') values[count++] = bench_number(world.driver);
    if (!strncmp(name, "sim_", 4)) values[count++] = bench_number(world.machine);
    for (int i = 1; i < at->count && count < 8; i++) {
        bare |= !strcmp(at->words[i], "&") << outputs;
        values[count++] = argument_of(at->words[i], &outputs);
    }
    if (place.trouble[0]) return 0;
    at->is_table = 1;
    int code = function(values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7]);
    int writes_null = strstr(name, "EndCapture") || strstr(name, "capture_end") || strstr(name, "cuGetError")
                   || strstr(name, "cuGetProcAddress");
    for (int i = outputs - 1; i >= 0; i--) {
        if (!(bare >> i & 1)) continue;
        memcpy(&value, world.outputs[i], sizeof value);
        if (code && value == 0 && writes_null) value = UNTOUCHED;
        if (code && value != UNTOUCHED) blame("it failed, and wrote its output");
        if (i == 0) made(at, 'n', value);
    }
    return code;
}

/* ---- verbs as calls by name, of which tests/contract/verbs tells */

typedef struct verb_row { char verb[12], own[96], cuda[128], kind, made; int size; } verb_row;
static verb_row verb_rows[64];

static void read_verbs(void)
{
    char *text = tap_text(TESTS_FOLDER "/contract/verbs");
    verb_row *row = verb_rows;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        int end = 0;
        if (line[0] == '#') continue;
        if (row == verb_rows + COUNT(verb_rows) - 1
            || sscanf(line, "%11[a-z] %c %c %d | %95[^|]| %127[^\n]%n", row->verb, &row->kind, &row->made, &row->size,
                      row->own, row->cuda, &end) != 6 || line[end]) {
            printf("Bail out! tests/contract/verbs: %s?\n", line);
            exit(1);
        }
        row++;
    }
    free(text);
}

/* Handles are kept, and known by their numbers: the last sixteen. */
static void keep_handle(step *at, const void *handle)
{
    made(at, 'd', 1 + (uint64_t)(world.handle_count % MOST_HANDLES));
    memcpy(world.handles[world.handle_count++ % MOST_HANDLES], handle, sizeof world.handles[0]);
}

static int make(step *at);

/* Makes the calls until one fails; the object of the first one becomes that of the step. */
static int make_all(step *at, const char *text)
{
    char filled[LINE_BYTES], next[LINE_BYTES];
    int code = 0, is_first = 1;
    snprintf(filled, sizeof filled, "%s", text);
    for (char number[] = "1"; number[0] <= '4'; number[0]++) {
        if (!at->words[number[0] - '0']) continue;
        put_in(next, filled, number, at->words[number[0] - '0']);
        memcpy(filled, next, sizeof next);
    }
    world.verb = at;
    for (reader in = { filled }; code == 0 && next_command(&in, ';', next); is_first = 0) {
        step one;
        parse(&one, next);
        code = make(&one);
        if (is_first) at->made = one.made;
    }
    world.verb = NULL;
    return code;
}

/* Makes a call as a row of verbs tells. 1: the word is one of these verbs. */
static int make_call(step *at, int *code)
{
    char kind = at->words[1] ? base_of(at->words[1])->kind : '-';
    int has_table = world.driver->classify != NULL;
    for (const verb_row *row = verb_rows; row->verb[0]; row++) {
        const char *own = row->own, *text = row->cuda;
        if (!world.face->cuda || text[0] == '-' || (own[0] == '.' && has_table)) text = own;
        if (strcmp(row->verb, at->words[0]) || text[0] == '-' || (row->kind != '.' && row->kind != kind)) continue;
        if (text != own) world.face->select(world.device);
        *code = make_all(at, text);
        at->is_table = text == own ? own[0] == '.' : !has_table;
        at->kind = row->made == '.' ? '\0' : row->made;
        if (row->size) at->bytes = value_of(at->words[row->size]);
        if (at->kind == 'd' && *code == 0) keep_handle(at, world.outputs[0]);
        return 1;
    }
    return 0;
}

/* ---- rules set for the machine, and questions to it */

static sim_counters counters_of(int device)
{
    sim_counters counters;
    sim_get_counters(world.machine, device, &counters);
    return counters;
}

static void want(uint64_t found, uint64_t expected)
{
    if (found != expected) blame("it is %" PRIu64 ", expected %" PRIu64, found, expected);
}

static sim_call kind_of(const char *name)
{
    static const struct { const char *text, *cuda_name; } names[SIM_CALL_KINDS] = {
#define X(kind, text, cuda_name, code, cost, trait) { text, #cuda_name },
        SIM_CALLS(X)
#undef X
    };
    for (int i = 0; name && i < SIM_CALL_KINDS; i++)
        if (strcmp(names[i].cuda_name, name) == 0 || (names[i].text && strcmp(names[i].text, name) == 0))
            return (sim_call)i;
    for (int i = 0; name && i < SIM_CALL_KINDS; i++)         /* cudaGraphInstantiateWithFlags: cudaGraphInstantiate */
        if (strncmp(names[i].cuda_name, name, strlen(names[i].cuda_name)) == 0) return (sim_call)i;
    blame("%s is no call", name ? name : "nothing");
    return (sim_call)0;
}

/* The number of a stream. */
static int make_id(step *at)
{
    int code;
    const stream_queue *found = work_find_stream(&world.machine->devices[world.device], ptr_of(at->words[1]), &code);
    made(at, 'n', found ? found->id : UNTOUCHED);
    return code;
}

/* Makes the effects of cudaMemPoolSetAttribute and cudaMemPoolTrimTo on the device's own pool. */
static void tell_rule(const char *rule, const char *bytes)
{
    sim_device *device = &world.machine->devices[world.device];
    mempool *own = mempool_of(device);
    if (!strcmp(rule, "trim")) mempool_trim(own, value_of(bytes));
    else if (!strcmp(rule, "threshold")) own->threshold_bytes = value_of(bytes);
    else {
        own->follow = strcmp(rule, "follow") == 0;
        own->opportunistic = strcmp(rule, "opportunistic") == 0;
        own->internal = strcmp(rule, "internal") == 0;
    }
}

/* Judges the time that went by since the last question, to a millisecond: calls take some of it. */
static void ask_clock(const char *expected)
{
    uint64_t now_ns = sim_now_ns(world.machine), since_ns = now_ns - world.marked_ns, slack_ns = 1000000;
    world.marked_ns = now_ns;
    if (expected && (since_ns + slack_ns < value_of(expected) || since_ns > value_of(expected) + slack_ns))
        blame("%" PRIu64 " ns went by", since_ns);
}

static void ask_has(void *ptr, uint64_t bytes, uint64_t pattern, const char *offset)
{
    uint64_t bad_offset = UNTOUCHED;
    int found = world.face->has ? world.face->has(ptr, bytes, pattern, &bad_offset)
                                : sim_verify(world.machine, world.device, ptr, bytes, pattern, &bad_offset);
    if (found != !offset || (!found && bad_offset != value_of(offset)))
        blame(found ? "it has" : "it has not, from byte %" PRIu64, bad_offset);
}

static void ask_empty(void)
{
    for (int i = 0; i < world.device_count; i++) {
        sim_counters now = counters_of(i);
        want(now.held_bytes + now.handle_count + now.mapping_count + now.reserved_address_bytes + now.host_bytes
             + now.managed_bytes, 0);
    }
}

/* X(verb, statement): a statement with a result puts it into `code`. A, P, S: a word as number, address, stream.
   `took`: as `clock`, but exactly that, and nothing less. */
#define A(word) value_of(at->words[word])
#define P(word) ptr_of(at->words[word])
#define S(word) ((gpuarena_stream)ptr_of(at->words[word]))
#define VERBS(X) \
    X(device, world.device = (int)A(1), world.driver = &world.drivers[world.device]) \
    X(fill, sim_fill(world.machine, world.device, P(1), A(2), A(3))) \
    X(use, if (!world.face->cuda) sim_begin_op(world.machine, world.op); \
      code = sim_access(world.machine, world.device, S(1), P(2), A(3), A(4), world.op++)) \
    X(launch, sim_begin_op(world.machine, world.op); \
      code = sim_graph_launch(world.machine, world.device, P(1), S(2), world.op++)) \
    X(id, code = make_id(at)) \
    X(shut, if (close((int)A(1))) blame("there is no such descriptor")) \
    X(astray, world.is_astray = 1) \
    X(peers, world.driver->peers = A(1)) \
    X(thread, sim_thread(world.machine, A(1))) \
    X(op, sim_begin_op(world.machine, world.op = A(1))) \
    X(advance, sim_advance(world.machine, A(1))) \
    X(rival, sim_rival(world.machine, world.device, A(1), 0)) \
    X(reset, sim_reset_counters(world.machine, world.device)) \
    X(reuse, sim_reuse_handles(world.machine, (int)A(1))) \
    X(takes, world.machine->runtime_work_ns = A(1)) \
    X(chunk, code = sim_pool_chunk(world.machine, world.device, A(1))) \
    X(rule, tell_rule(at->words[1], at->words[2])) \
    X(fail, sim_fail_call(world.machine, kind_of(at->words[1]), A(2), 0, (int)A(3))) \
    X(calls, want(counters_of(world.device).calls[kind_of(at->words[1])], A(2))) \
    X(spent, want(counters_of(world.device).vns[kind_of(at->words[1])], A(2))) \
    X(is, want(A(1), A(2))) \
    X(truth, want(A(1) != 0, A(2))) \
    X(differ, if (A(1) == A(2)) blame("they are the same")) \
    X(aligned, want(A(1) % A(2), 0)) \
    X(holds, want((uint64_t)sim_holds(world.machine, world.device, P(1), A(2)), 1)) \
    X(lacks, want((uint64_t)sim_holds(world.machine, world.device, P(1), A(2)), 0)) \
    X(clock, ask_clock(at->words[1])) \
    X(took, want(sim_now_ns(world.machine) - world.marked_ns, A(1))) \
    X(has, ask_has(P(1), A(2), A(3), at->words[4])) \
    X(empty, ask_empty()) \
    X(says, if (strcmp((const char *)world.outputs[0], at->words[1])) blame("it says %s", world.outputs[0]))
/* X(figure, field of sim_counters) */
#define FIGURES(X) \
    X(held, held_bytes) X(peak, held_peak_bytes) X(handles, handle_count) X(mappings, mapping_count) \
    X(addresses, reserved_address_bytes) X(rivals, rival_bytes) X(host, host_bytes) X(host_peak, host_peak_bytes) \
    X(managed, managed_bytes) X(managed_peak, managed_peak_bytes) X(pool, pool_reserved_bytes) \
    X(pool_peak, pool_reserved_peak_bytes) X(drawn, pool_used_bytes) X(lies, lies_held) X(found, findings)

#define X(verb, ...) static int do_##verb(step *at) { int code = 0; (void)at; __VA_ARGS__; return code; }
VERBS(X)
#undef X
#define X(figure, field) static int do_##figure(step *at) { return want(counters_of(world.device).field, A(1)), 0; }
FIGURES(X)
#undef X
#undef A
#undef P
#undef S

static const struct { const char *word; int (*make)(step *at); } verbs[] = {
#define X(verb, ...) { #verb, do_##verb },
    VERBS(X) FIGURES(X)
#undef X
};

/* ---- a step is made, and judged */

/* A code as scripts name it: CUDA's name without `cudaError`, or the number. */
static int is_code(const char *expected, int code)
{
    const char *name = codes_of(code)->name;
    char number[16];
    snprintf(number, sizeof number, "%d", code);
    return strcmp(expected, number) == 0 || (strncmp(name, "cudaError", 9) == 0 && strcmp(expected, name + 9) == 0);
}

/* All state that a call which fails must leave unchanged. */
typedef struct state { uint64_t figures[MOST_DEVICES][5]; } state;

static state state_now(void)
{
    state now = { { { 0 } } };
    for (int i = 0; i < world.device_count; i++) {
        sim_counters of = counters_of(i);
        const uint64_t figures[] = { of.held_bytes, of.handle_count, of.mapping_count, of.reserved_address_bytes,
            of.host_bytes + of.managed_bytes + of.pool_reserved_bytes + of.pool_used_bytes };
        memcpy(now.figures[i], figures, sizeof figures);
    }
    return now;
}

static void keep_thing(const step *at)
{
    if (world.thing_count == MOST_THINGS) blame("too many names");
    else if (at->name) {
        thing *kept = &world.things[world.thing_count++];
        *kept = (thing){ "", at->kind, at->made, at->bytes };
        snprintf(kept->name, sizeof kept->name, "%s", at->name);
    }
}

static int make(step *at)
{
    int code = 0;
    if ((world.face->call && world.face->call(at, &code)) || make_call(at, &code)) return code;
    for (size_t i = 0; i < COUNT(verbs); i++) if (!strcmp(verbs[i].word, at->words[0])) return verbs[i].make(at);
    return call_by_name(at);
}

static void make_and_judge(step *at)
{
    uint64_t findings = sim_finding_count(world.machine);
    state before = state_now(), after;
    int code = make(at);
    uint64_t now = sim_finding_count(world.machine);
    const char *last = now ? sim_finding(world.machine, now - 1) : "";
    if (at->code ? !is_code(at->code, code) : code != 0) blame("answers %d, %s", code, codes_of(code)->name);
    if (now != findings + at->finding_count || (at->finding && !strstr(last, at->finding)))
        blame("%" PRIu64 " findings, the latest: %s", now - findings, now > findings ? last : "none");
    if (code) {
        after = state_now();
        if (memcmp(&before, &after, sizeof after)) blame("it failed, and something changed");
        if (at->kind && at->made != UNTOUCHED) blame("it failed, and wrote its output");
    }
    const char *left = world.face->settle ? world.face->settle(code, at->is_table) : NULL;
    if (left) blame("%s", left);
    keep_thing(at);
}

/* `twice CALL`: the call is made to fail, which changes nothing, and made again. Which calls were: */
static unsigned char was_refused[SIM_CALL_KINDS];

static void refuse(step failing)
{
    sim_call kind = kind_of(failing.words[0]);
    was_refused[kind] = 1;
    failing.code = "Unknown";
    failing.name = NULL;
    failing.finding_count = 0;
    sim_fail_call(world.machine, kind, 1, 0, SIM_UNKNOWN);
    make_and_judge(&failing);
}

/* Takes the first word away, if it is this one, and returns 1. */
static int begins(step *at, const char *word)
{
    if (!at->words[0] || strcmp(at->words[0], word)) return 0;
    for (int i = 0; i < at->count; i++) at->words[i] = at->words[i + 1];
    at->count--;
    return 1;
}

static void run_step(const char *text)
{
    step at;
    if (world.face->other && !strncmp(text, "other: ", 7)) {
        world.face->other(text + 7);
        return;
    }
    parse(&at, text);
    if (begins(&at, world.face->cuda ? "sim:" : "cuda:")) return;
    (void)begins(&at, world.face->cuda ? "cuda:" : "sim:");
    int is_twice = begins(&at, "twice");
    if (!at.words[0]) return;
    if (is_twice) refuse(at);
    make_and_judge(&at);
}

static void run_steps(const char *text)
{
    char one[LINE_BYTES];
    for (reader in = { text }; !place.trouble[0] && !world.is_over && next_command(&in, ';', one);) {
        run_step(one);
        size_t length = strlen(place.trouble);
        if (length) snprintf(place.trouble + length, sizeof place.trouble - length, ": step `%s`", one);
    }
}

/* ---- cases */

/* The value behind NAME= in a case's options. */
static uint64_t option(const char *options, const char *name, uint64_t otherwise)
{
    const char *found = strstr(options, name);
    reader in = { found ? found + strlen(name) : "" };
    return found ? read_sum(&in) : otherwise;
}

/* The machine of a case: `devices=2 memory=256M context=0 mappings=0 vm=on faults=..`. */
static void open_world(const face *asked, const char *options)
{
    const char *told = strstr(options, "faults=");
    char faulty[LINE_BYTES] = "";
    if (told) snprintf(faulty, sizeof faulty, "%.*s", (int)strcspn(told + 7, " }"), told + 7);
    if (!verb_rows[0].verb[0]) read_verbs();
    memset(&world, 0, sizeof world);
    world.face = asked;
    world.memory_bytes = option(options, "memory=", MIB(256));
    sim_config config = { (uint32_t)option(options, "devices=", 2), world.memory_bytes,
                          option(options, "context=", 0), NULL, told ? faulty : NULL, 0, 0 };
    config.most_mappings = (uint32_t)option(options, "mappings=", 0);
    config.without_vm = !option(options, "vm=", 1);
    world.machine = bench_machine(&config);
    world.device_count = config.device_count < MOST_DEVICES ? (int)config.device_count : MOST_DEVICES;
    if (asked->attach) asked->attach(world.machine);
    for (int i = 0; i < world.device_count; i++) asked->table(world.machine, i, &world.drivers[i]);
    world.driver = &world.drivers[0];
    for (int i = world.device_count; asked->cuda && i-- > 0;) {              /* contexts are there from the start */
        world.device = i;
        world.driver = &world.drivers[i];
        run_steps("sync");
        sim_reset_counters(world.machine, i);
        place.trouble[0] = '\0';
    }
    world.marked_ns = sim_now_ns(world.machine);
}

static void close_world(void)
{
    if (world.face->attach) world.face->attach(NULL);
    sim_destroy(world.machine);
}

static const face *asked_face;                   /* by the file that is run */

/* Tells whether a word in a title's braces is an option. */
static int is_option(const char *word, size_t length)
{
    static const char *const names[] = { "devices=", "memory=", "context=", "mappings=", "vm=", "faults=", "cuda=" };
    for (size_t at = 0; at < COUNT(names); at++)
        if (!strncmp(word, names[at], strlen(names[at]))) return 1;
    return (length == 8 && !strncmp(word, "only-sim", 8)) || (length == 11 && !strncmp(word, "not-runtime", 11));
}

/* Blames parts that no case of the contract may have. */
static void check_head(const script_case *self)
{
    const char *word = strchr(self->title, '{');
    if (self->turn[0] || self->orders || !self->line_count) blame("a case has steps here, no turns or orders");
    for (word = word ? word + 1 : ""; *word && *word != '}'; word += strcspn(word, " }"))
        if (*word == ' ') word++;
        else if (!is_option(word, strcspn(word, " }"))) blame("no option: %.40s", word);
}

/* Options stand in braces behind the title. */
static int run_values(const script_case *self, char note[NOTE_BYTES])
{
    const char *options = self->title + strcspn(self->title, "{");
    if ((strstr(options, "only-sim") && asked_face->cuda)
        || (strstr(options, "not-runtime") && !strcmp(asked_face->name, "runtime"))
        || (strstr(options, "cuda=") && (uint64_t)asked_face->cuda < option(options, "cuda=", 0))) return 0;
    snprintf(note, NOTE_BYTES, ": %s", asked_face->name);
    check_head(self);
    open_world(asked_face, options);
    for (int at = 0; at < self->line_count; at++) {
        char line[LINE_BYTES];
        put_values(line, self, self->lines[at]);
        place.line = self->numbers[at];
        run_steps(line);
    }
    close_world();
    return 1;
}

static void run_contract(const face *asked, const char *name)
{
    char path[300];
    snprintf(path, sizeof path, TESTS_FOLDER "/contract/%s.txt", name);
    asked_face = asked;
    run_file(path);
}

#endif
