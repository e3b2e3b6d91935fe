/* The contract of a CUDA device, asked of whoever claims to keep it: cases are scripts, a face is a way to make the
   calls. It must not know what any case says, nor who is behind a face.
   Included by test_sim_contract.c and test_cuda_contract.c; the cases are in tests/contract, whose README is the
   language. */
#ifndef TESTS_CONTRACT_H
#define TESTS_CONTRACT_H

#include <unistd.h>

#include "sim_device.h"
#include "stress/sim/memory.h"
#include "stress/sim/work.h"

enum { CONTRACT_DEVICES = 4, CONTRACT_THINGS = 48, CONTRACT_WORDS = 12, CONTRACT_TEXT = 400, CONTRACT_HANDLES = 16 };
#define CONTRACT_UNTOUCHED ((uint64_t)0x5EED00)  /* what outputs hold before a call */

typedef struct contract contract;
typedef struct step step;

typedef struct face {                            /* codes are the CUDA runtime's */
    const char *name;
    int    cuda;                                 /* the version; 0: the simulator, where contents are patterns */
    void (*attach)(sim *machine);                /* NULL: nothing to attach; machine NULL: none any more */
    void (*table)(sim *machine, int device, gpuarena_driver *driver);
    void *(*find)(const char *name);             /* a function of CUDA; NULL: there is none */
    void (*select)(int device);                  /* makes it the runtime's current one */
    int  (*call)(contract *self, step *at, int *code);       /* 1: it made a call that words cannot; else as below */
    int  (*has)(const contract *self, void *ptr, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset);
    const char *(*settle)(const contract *self, int code, int is_table);     /* after a call: what it left behind that
                                                                                it must not; NULL: nothing */
    void (*other)(contract *self, const char *text, size_t length);          /* a step of another process */
} face;

typedef struct thing { char name[16], kind; uint64_t value, bytes; } thing;

struct step {                                    /* as it is written, and what became of it */
    char        text[CONTRACT_TEXT];
    char       *words[CONTRACT_WORDS];           /* NULL behind the last */
    int         count;
    char       *name;                            /* of what it makes; NULL: nothing */
    const char *code, *finding;                  /* expected; NULL: success, and none */
    uint64_t    finding_count;
    char        kind;                            /* of what was made */
    uint64_t    made, bytes;
    int         is_table;                        /* it called the driver table, or CUDA by name */
};

struct contract {
    const face *face;
    sim        *machine;
    gpuarena_driver drivers[CONTRACT_DEVICES], *driver;      /* the current device's */
    int         device, device_count;
    thing       things[CONTRACT_THINGS];
    int         thing_count;
    unsigned char handles[CONTRACT_HANDLES][GPUARENA_IPC_BYTES];         /* of cudaIpc, by their numbers from 1 */
    int         handle_count;
    uint64_t    marked_ns, op;
    int         is_astray, is_over;              /* the caller's device need not be what it was; no step follows */
    unsigned char outputs[4][256];               /* of the latest call by name */
    char        why[400];                        /* what is wrong; "": nothing yet */
};

static inline void contract_blame(contract *self, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (!self->why[0]) vsnprintf(self->why, sizeof self->why, format, values);
    va_end(values);
}

/* ---- values: sums of numbers with units and of things */

static inline thing *contract_thing(contract *self, const char *name, size_t length)
{
    for (thing *at = self->things + self->thing_count; at-- > self->things;)
        if (strncmp(at->name, name, length) == 0 && !at->name[length]) return at;
    return NULL;
}

static inline uint64_t contract_number(contract *self, const char *text, size_t length)
{
    static const struct { const char *unit; uint64_t factor; } units[] = {
        { "", 1 }, { "K", 1 << 10 }, { "M", 1 << 20 }, { "G", 1 << 30 }, { "T", (uint64_t)1 << 40 }, { "us", 1000 },
        { "ms", 1000000 }, { "s", 1000000000 },
    };
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    length -= (size_t)(end - text);
    for (size_t i = 0; i < COUNT(units); i++)
        if (strlen(units[i].unit) == length && !strncmp(end, units[i].unit, length)) return number * units[i].factor;
    contract_blame(self, "%s is no number", text);
    return 0;
}

static inline uint64_t contract_value(contract *self, const char *text)
{
    static const struct { const char *name; uint64_t value; } fixed[] = {
        { "null", 0 }, { "legacy", 1 }, { "own", 2 }, { "nothing", 99 }, { "max", UINT64_MAX },
        { "global", 0 }, { "local", 1 }, { "relaxed", 2 }, { "off", 0 }, { "on", 1 },
        { "none", 0 }, { "active", 1 }, { "host", 0x10000 },
        { "h2h", 0 }, { "h2d", 1 }, { "d2h", 2 }, { "d2d", 3 }, { "any", 4 },          /* enum cudaMemcpyKind */
    };
    static unsigned char here[1 << 20];          /* memory of the host */
    uint64_t sum = 0, sign = 1;
    if (!text) {
        contract_blame(self, "a word is missing");
        return 0;
    }
    for (const char *term = text;; term++) {
        size_t length = strcspn(term, "+-");
        const thing *known = contract_thing(self, term, length);
        uint64_t value = 0;
        size_t i = 0;
        while (!known && i < COUNT(fixed) && (strncmp(fixed[i].name, term, length) || fixed[i].name[length])) i++;
        if (known) value = known->value;
        else if (i < COUNT(fixed)) value = fixed[i].value;
        else if (strncmp(term, "here", length) == 0) value = (uint64_t)(uintptr_t)here;
        else if (strncmp(term, "out", 3) == 0)   /* out1: the first output; out1.3: its third word of 8 bytes */
            memcpy(&value, self->outputs[term[3] - '1'] + (term[4] == '.' ? term[5] - '1' : 0) * 8, sizeof value);
        else value = contract_number(self, term, length);
        sum += sign * value;
        term += length;
        if (!*term) return sum;
        sign = *term == '+' ? 1 : UINT64_MAX;
    }
}

static inline void *contract_ptr(contract *self, const char *text)
{
    return (void *)(uintptr_t)contract_value(self, text);
}

/* The thing that a value starts with. */
static inline const thing *contract_base(contract *self, const char *text)
{
    static const thing none = { "", 'm', 0, 0 };
    const thing *known = text ? contract_thing(self, text, strcspn(text, "+-")) : NULL;
    return known ? known : &none;
}

/* ---- one step: `[sim:|cuda:] [NAME =] WORD .. [-> CODE] [! FINDING]`; `!!`: two findings, the latest says this */

static inline void contract_parse(step *at, const char *text, size_t length)
{
    memset(at, 0, sizeof *at);
    snprintf(at->text, sizeof at->text, "%.*s", (int)length, text);
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
        } else if (at->count < CONTRACT_WORDS - 1) {
            at->words[at->count++] = word;
        }
    }
}

/* The size that a word says, or that the thing of another word has. */
static inline uint64_t contract_size(contract *self, const step *at, int word, int of)
{
    return at->words[word] ? contract_value(self, at->words[word]) : contract_base(self, at->words[of])->bytes;
}

/* ---- calls: any function by its name, whose arguments are numbers and pointers: as words, in its own order. `&` is
        an output, `&=VALUE,VALUE` one that holds these words of 8 bytes before, 'text' a text. `.memory.obtain` is an
        entry of the driver table, which is its first argument; sim_* has the machine. On the machines that this runs
        on numbers and pointers lie in registers, and a function leaves alone what it is given too much. */

typedef int contract_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static const struct { const char *name; size_t at; } contract_entries[] = {
#define ENTRY(name) { "." #name, offsetof(gpuarena_driver, name) }
    ENTRY(memory.info), ENTRY(memory.obtain), ENTRY(memory.give_back), ENTRY(vm.reserve), ENTRY(vm.release),
    ENTRY(vm.create), ENTRY(vm.destroy), ENTRY(vm.map), ENTRY(vm.access), ENTRY(vm.unmap), ENTRY(ipc.get_handle),
    ENTRY(ipc.open_handle), ENTRY(ipc.close_handle), ENTRY(fd.from_page), ENTRY(fd.to_page), ENTRY(peer),
    ENTRY(clear), ENTRY(events.create), ENTRY(events.destroy), ENTRY(events.record), ENTRY(events.query),
    ENTRY(events.host_wait), ENTRY(events.stream_wait), ENTRY(events.device_wait), ENTRY(capture.active),
    ENTRY(capture.exchange_mode),
#undef ENTRY
};

static const struct { const char *name; void (*function)(void); } contract_simulator[] = {
#define SIM(name) { #name, (void (*)(void))name }
    SIM(sim_stream_create), SIM(sim_stream_destroy), SIM(sim_stream_query), SIM(sim_stream_wait),
    SIM(sim_stream_follow), SIM(sim_work), SIM(sim_capture_begin), SIM(sim_capture_end), SIM(sim_graph_destroy),
#undef SIM
};

static inline contract_function *contract_find(const contract *self, const char *name)
{
    contract_function *found = NULL;
    void *of_cuda = self->face->find ? self->face->find(name) : NULL;
    for (size_t i = 0; i < COUNT(contract_entries); i++)
        if (!strcmp(contract_entries[i].name, name))
            memcpy(&found, (const char *)self->driver + contract_entries[i].at, sizeof found);
    for (size_t i = 0; i < COUNT(contract_simulator); i++)
        if (!strcmp(contract_simulator[i].name, name))
            memcpy(&found, &contract_simulator[i].function, sizeof found);
    if (of_cuda) memcpy(&found, &of_cuda, sizeof found);
    return found;
}

static inline uint64_t contract_argument(contract *self, const char *word, int *outputs)
{
    static char texts[4][64];
    if (word[0] == '\'') {
        snprintf(texts[*outputs], sizeof texts[0], "%.*s", (int)strcspn(word + 1, "'"), word + 1);
        return (uint64_t)(uintptr_t)texts[*outputs];
    }
    if (word[0] != '&') return contract_value(self, word);
    unsigned char *output = self->outputs[(*outputs)++];
    uint64_t before = CONTRACT_UNTOUCHED, begin = (uint64_t)(uintptr_t)output;
    char held[64] = "";
    memset(output, 0, sizeof self->outputs[0]);
    memcpy(output, &before, sizeof before);
    if (word[1]) snprintf(held, sizeof held, "%s", word + 2);
    for (char *each = strtok(held, ","); each; each = strtok(NULL, ","), output += sizeof before) {
        before = contract_value(self, each);
        memcpy(output, &before, sizeof before);
    }
    return begin;
}

static inline int contract_made(step *at, char kind, uint64_t made)
{
    at->kind = kind;
    at->made = made;
    return 0;
}

/* What it makes is its first output, unless that held something before. */
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
static inline int contract_by_name(contract *self, step *at)
{
    const char *name = at->words[0];
    contract_function *function = contract_find(self, name);
    uint64_t values[8] = { 0 }, made;
    int count = 0, outputs = 0, bare = 0;        /* bare: a bit for each output that held nothing */
    if (!function) return contract_blame(self, "there is no such word or function"), 0;
    if (name[0] == '.') values[count++] = (uint64_t)(uintptr_t)self->driver;
    if (!strncmp(name, "sim_", 4)) values[count++] = (uint64_t)(uintptr_t)self->machine;
    for (int i = 1; i < at->count && count < 8; i++) {
        bare |= !strcmp(at->words[i], "&") << outputs;
        values[count++] = contract_argument(self, at->words[i], &outputs);
    }
    at->is_table = 1;
    int code = function(values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7]);
    int writes_null = strstr(name, "EndCapture") || strstr(name, "capture_end") || strstr(name, "cuGetErrorString");
    for (int i = outputs - 1; i >= 0; i--) {
        if (!(bare >> i & 1)) continue;
        memcpy(&made, self->outputs[i], sizeof made);
        if (code && made == 0 && writes_null) made = CONTRACT_UNTOUCHED;
        if (code && made != CONTRACT_UNTOUCHED) contract_blame(self, "it failed, and wrote its output");
        if (i == 0) contract_made(at, 'n', made);
    }
    return code;
}

/* ---- verbs as calls by name: of the table or the simulator, and of CUDA. $1 to $4: the step's words, ?1 to ?4: or
        0; $S: word 2, or the first thing's size; $R: word 3, or that; $B: word 3, or the second's. $D: the device,
        $P: as a place. Memory: $K: the first thing's kind, $I: that of a letter; $H: where a handle is. `size`: the
        word with the size of what is made. */

static const struct { const char *verb; char kind, made; int size; const char *own, *cuda; } contract_calls[] = {
    { "get", 0, 'm', 1, ".memory.obtain 0 & $1 0", "cudaMalloc & $1" },
    { "pin", 0, 'p', 1, ".memory.obtain 1 & $1 0", "cudaHostAlloc & $1 0" },
    { "manage", 0, 'u', 1, ".memory.obtain 2 & $1 0", "cudaMallocManaged & $1 1" },
    { "draw", 0, 'a', 1, ".memory.obtain 3 & $1 $2", "cudaMallocAsync & $1 $2" },
    { "free", 'p', 0, 0, ".memory.give_back $K $1 $S 0", "cudaFreeHost $1" },
    { "free", 0, 0, 0, ".memory.give_back $K $1 $S 0", "cudaFree $1" },
    { "return", 0, 0, 0, ".memory.give_back 3 $1 $R $2", "cudaFreeAsync $1 $2" },
    { "info", 0, 0, 0, ".memory.info $I & &; is out1 $2; is out2 $3", "cudaMemGetInfo & &; is out1 $2; is out2 $3" },
    { "reserve", 0, 'r', 1, ".vm.reserve & $1 ?2", "cuMemAddressReserve & $1 ?2 0 0" },
    { "release", 0, 0, 0, ".vm.release $1 $S", "cuMemAddressFree $1 $S" },
    { "create", 0, 'h', 1, ".vm.create & $1 0", "cuMemCreate & $1 &=1,$P 0" },
    { "shared", 0, 'h', 1, ".vm.create & $1 1", "cuMemCreate & $1 &=4294967297,$P 0" },
    { "destroy", 0, 0, 0, ".vm.destroy $1 $S", "cuMemRelease $1" },
    { "map", 0, 0, 0, ".vm.map $1 $B $2", "cuMemMap $1 $B 0 $2 0" },
    { "access", 0, 0, 0, ".vm.access $1 $2 $3", NULL },
    { "unmap", 0, 0, 0, ".vm.unmap $1 $2", "cuMemUnmap $1 $2" },
    { "back", 0, 'h', 2, ".vm.create & $2 0; .vm.map $1 $2 out1; .vm.access $1 $2 1",
      "cuMemCreate & $2 &=1,$P 0; cuMemMap $1 $2 0 out1 0; cuMemSetAccess $1 $2 &=$P,3 1" },
    { "describe", 0, 'd', 0, ".ipc.get_handle $1 &", "cudaIpcGetMemHandle & $1" },
    { "open", 0, 'o', 0, ".ipc.open_handle $H &", NULL },
    { "close", 0, 0, 0, ".ipc.close_handle $1", "cudaIpcCloseMemHandle $1" },
    { "export", 0, 'f', 0, ".fd.from_page $1 &", "cuMemExportToShareableHandle & $1 1 0" },
    { "import", 0, 'h', 2, ".fd.to_page $1 &", "cuMemImportFromShareableHandle & $1 1" },
    { "peer", 0, 0, 0, ".peer $1", NULL },
    { "clear", 0, 0, 0, ".clear $1 $2 $3", "cudaMemsetAsync $1 0 $2 $3" },
    { "fill", 0, 0, 0, NULL, "cudaMemset $1 $3 $2; cudaDeviceSynchronize" },
    { "event", 0, 'e', 0, ".events.create &", "cudaEventCreateWithFlags & 2" },
    { "stream", '-', 's', 0, "sim_stream_create $D 1 &", "cudaStreamCreateWithFlags & 0" },
    { "stream", 0, 's', 0, "sim_stream_create $D 0 &", "cudaStreamCreateWithFlags & 1" },
    { "drop", 'e', 0, 0, ".events.destroy $1", "cudaEventDestroy $1" },
    { "drop", 'g', 0, 0, "sim_graph_destroy $1", "cudaGraphDestroy $1" },
    { "drop", 0, 0, 0, "sim_stream_destroy $D $1", "cudaStreamDestroy $1" },
    { "query", 'e', 0, 0, ".events.query $1", "cudaEventQuery $1" },
    { "query", 0, 0, 0, "sim_stream_query $D $1", "cudaStreamQuery $1" },
    { "sync", '-', 0, 0, ".events.device_wait", "cudaDeviceSynchronize" },
    { "sync", 'e', 0, 0, ".events.host_wait $1", "cudaEventSynchronize $1" },
    { "sync", 0, 0, 0, "sim_stream_wait $D $1", "cudaStreamSynchronize $1" },
    { "record", 0, 0, 0, ".events.record $1 $2", "cudaEventRecord $1 $2" },
    { "await", 0, 0, 0, ".events.stream_wait $1 $2", "cudaStreamWaitEvent $1 $2 0" },
    { "follow", 0, 0, 0, "sim_stream_follow $D $1 $2", NULL },
    { "work", 0, 0, 0, "sim_work $D $1 $2", "cudart_kernel $1 $2 0 0 0" },
    { "begin", 0, 0, 0, "sim_capture_begin $D $1 $2", "cudaStreamBeginCapture $1 $2" },
    { "end", 0, 'g', 0, "sim_capture_end $D $1 &", "cudaStreamEndCapture $1 &" },
    { "launch", 0, 0, 0, NULL, "cudaGraphInstantiateWithFlags & $1 0; cudaGraphLaunch out1 $2" },
    { "capturing", 0, 0, 0, ".capture.active $1 &; truth out1 $2", "cudaStreamIsCapturing $1 &; truth out1 $2" },
    { "mode", 0, 0, 0, ".capture.exchange_mode &=$1; is out1 $2",
      "cudaThreadExchangeStreamCaptureMode &=$1; is out1 $2" },
};

static inline gpuarena_memory contract_memory(char kind)
{
    return kind == 'p' ? GPUARENA_MEMORY_PINNED : kind == 'u' ? GPUARENA_MEMORY_MANAGED
         : kind == 'a' ? GPUARENA_MEMORY_ASYNC : GPUARENA_MEMORY_DEVICE;
}

static inline uint64_t contract_term(contract *self, const step *at, char letter)
{
    switch (letter) {
    case 'S': return contract_size(self, at, 2, 1);
    case 'R': return contract_size(self, at, 3, 1);
    case 'B': return contract_size(self, at, 3, 2);
    case 'D': return (uint64_t)self->device;
    case 'P': return 1 + ((uint64_t)self->device << 32);
    case 'K': return (uint64_t)contract_memory(contract_base(self, at->words[1])->kind);
    case 'I': return (uint64_t)contract_memory(at->words[1][0]);
    default:  return (uint64_t)(uintptr_t)self->handles[contract_value(self, at->words[1]) - 1];
    }
}

static inline void contract_rewrite(contract *self, const step *at, const char *calls, char *text, size_t room)
{
    for (size_t length = 0; *calls; calls++, length = strlen(text)) {
        char mark = *calls;
        if (mark != '$' && mark != '?') {
            snprintf(text + length, room - length, "%c", mark);
            continue;
        }
        const char *word = *++calls <= '4' ? at->words[*calls - '0'] : NULL;
        if (*calls <= '4' && !word && mark == '$') contract_blame(self, "a word is missing");
        if (*calls <= '4') snprintf(text + length, room - length, "%s", word ? word : "0");
        else snprintf(text + length, room - length, "%" PRIu64, contract_term(self, at, *calls));
    }
}

/* Handles are kept, and known by their numbers: the last sixteen. */
static inline void contract_handle(contract *self, step *at, const void *handle)
{
    at->kind = 'd';
    at->made = 1 + (uint64_t)(self->handle_count % CONTRACT_HANDLES);
    memcpy(self->handles[self->handle_count++ % CONTRACT_HANDLES], handle, sizeof self->handles[0]);
}

static int contract_make(contract *self, step *at);

/* Makes the calls until one fails; what the first one makes is what the step makes. */
static inline int contract_make_all(contract *self, step *at, const char *calls)
{
    char text[CONTRACT_TEXT] = "";
    int code = 0, is_first = 1;
    contract_rewrite(self, at, calls, text, sizeof text);
    for (char *next = text; next && code == 0; is_first = 0) {
        step one;
        char *call = next;
        next = strchr(call, ';');
        contract_parse(&one, call, next ? (size_t)(next++ - call) : strlen(call));
        code = contract_make(self, &one);
        if (is_first) at->made = one.made;
    }
    return code;
}

/* 1: it is one of these. */
static inline int contract_call(contract *self, step *at, int *code)
{
    char kind = at->words[1] ? contract_base(self, at->words[1])->kind : '-';
    int has_table = self->driver->classify != NULL;
    for (size_t i = 0; i < COUNT(contract_calls); i++) {
        const char *own = contract_calls[i].own, *calls = contract_calls[i].cuda;
        if (!self->face->cuda || !calls || (own && own[0] == '.' && has_table)) calls = own;
        if (strcmp(contract_calls[i].verb, at->words[0]) || !calls) continue;
        if (contract_calls[i].kind && contract_calls[i].kind != kind) continue;
        if (calls != own) self->face->select(self->device);
        *code = contract_make_all(self, at, calls);
        at->is_table = calls == own ? own[0] == '.' : !has_table;
        at->kind = contract_calls[i].made;
        if (contract_calls[i].size) at->bytes = contract_value(self, at->words[contract_calls[i].size]);
        if (at->kind == 'd' && *code == 0) contract_handle(self, at, self->outputs[0]);
        return 1;
    }
    return 0;
}

/* ---- what is told to the machine, and asked of it */

#define A(word) contract_value(self, at->words[word])
#define P(word) contract_ptr(self, at->words[word])
#define S(word) ((gpuarena_stream)contract_ptr(self, at->words[word]))

static int tell_device(contract *self, step *at)
{
    self->device = (int)A(1);
    self->driver = &self->drivers[self->device];
    return 0;
}

static int call_fill(contract *self, step *at)
{
    sim_fill(self->machine, self->device, P(1), A(2), A(3));
    return 0;
}

static int call_use(contract *self, step *at)
{
    if (!self->face->cuda) sim_begin_op(self->machine, self->op);
    return sim_access(self->machine, self->device, S(1), P(2), A(3), A(4), self->op++);
}

static int call_launch(contract *self, step *at)
{
    sim_begin_op(self->machine, self->op);
    return sim_graph_launch(self->machine, self->device, P(1), S(2), self->op++);
}

/* A stream's number. */
static int call_id(contract *self, step *at)
{
    int code;
    const stream_queue *found = work_find_stream(&self->machine->devices[self->device], P(1), &code);
    return contract_made(at, 'n', found ? found->id : CONTRACT_UNTOUCHED), code;
}

static int tell_astray(contract *self, step *at)  { (void)at; self->is_astray = 1; return 0; }
static int tell_peers(contract *self, step *at)   { self->driver->peers = A(1); return 0; }
static int tell_thread(contract *self, step *at)  { sim_thread(self->machine, A(1)); return 0; }
static int tell_op(contract *self, step *at)      { self->op = A(1); sim_begin_op(self->machine, A(1)); return 0; }
static int tell_advance(contract *self, step *at) { sim_advance(self->machine, A(1)); return 0; }
static int tell_rival(contract *self, step *at)   { sim_rival(self->machine, self->device, A(1), 0); return 0; }
static int tell_takes(contract *self, step *at)   { self->machine->runtime_work_ns = A(1); return 0; }
static int tell_reset(contract *self, step *at)
{
    (void)at;
    sim_reset_counters(self->machine, self->device);
    return 0;
}

/* Closes a descriptor. */
static int tell_shut(contract *self, step *at)
{
    if (close((int)A(1))) contract_blame(self, "there is no such descriptor");
    return 0;
}

static int tell_reuse(contract *self, step *at)   { sim_reuse_handles(self->machine, (int)A(1)); return 0; }
static int tell_chunk(contract *self, step *at)   { return sim_pool_chunk(self->machine, self->device, A(1)); }

/* What cudaMemPoolSetAttribute and cudaMemPoolTrimTo do to the device's own pool. */
static int tell_pool(contract *self, step *at)
{
    mempool *own = mempool_of(&self->machine->devices[self->device]);
    const char *asked = at->words[1];
    if (strcmp(asked, "trim") == 0) mempool_trim(&self->machine->devices[self->device], own, A(2));
    else if (strcmp(asked, "threshold") == 0) own->threshold_bytes = A(2);
    else {
        own->follow = strcmp(asked, "follow") == 0;
        own->opportunistic = strcmp(asked, "opportunistic") == 0;
        own->internal = strcmp(asked, "internal") == 0;
    }
    return 0;
}

static inline int contract_kind(contract *self, const char *name)
{
    static const struct { const char *text, *cuda_name; } names[SIM_CALL_KINDS] = {
#define X(kind, text, cuda_name, code, cost, trait) { text, #cuda_name },
        SIM_CALLS(X)
#undef X
    };
    for (int i = 0; name && i < SIM_CALL_KINDS; i++)
        if (strcmp(names[i].cuda_name, name) == 0 || (names[i].text && strcmp(names[i].text, name) == 0)) return i;
    for (int i = 0; name && i < SIM_CALL_KINDS; i++)         /* cudaGraphInstantiateWithFlags: cudaGraphInstantiate */
        if (strncmp(names[i].cuda_name, name, strlen(names[i].cuda_name)) == 0) return i;
    contract_blame(self, "%s is no call", name ? name : "nothing");
    return 0;
}

static int tell_fail(contract *self, step *at)
{
    sim_fail_call(self->machine, (sim_call)contract_kind(self, at->words[1]), A(2), 0, (int)A(3));
    return 0;
}

static inline sim_counters contract_counters(const contract *self, int device)
{
    sim_counters counters;
    sim_get_counters(self->machine, device, &counters);
    return counters;
}

static inline int contract_expect(contract *self, uint64_t found, uint64_t expected)
{
    if (found != expected) contract_blame(self, "it is %" PRIu64 ", expected %" PRIu64, found, expected);
    return 0;
}

static int ask_calls(contract *self, step *at)
{
    sim_counters counters = contract_counters(self, self->device);
    return contract_expect(self, counters.calls[contract_kind(self, at->words[1])], A(2));
}

static int ask_spent(contract *self, step *at)
{
    sim_counters counters = contract_counters(self, self->device);
    return contract_expect(self, counters.vns[contract_kind(self, at->words[1])], A(2));
}

static int ask_is(contract *self, step *at) { return contract_expect(self, A(1), A(2)); }

static int ask_truth(contract *self, step *at) { return contract_expect(self, A(1) != 0, A(2)); }

static int ask_differ(contract *self, step *at)
{
    if (A(1) == A(2)) contract_blame(self, "they are the same");
    return 0;
}

static int ask_aligned(contract *self, step *at) { return contract_expect(self, A(1) % A(2), 0); }

static int ask_holds(contract *self, step *at)
{
    return contract_expect(self, (uint64_t)sim_holds(self->machine, self->device, P(1), A(2)), 1);
}

static int ask_lacks(contract *self, step *at)
{
    return contract_expect(self, (uint64_t)sim_holds(self->machine, self->device, P(1), A(2)), 0);
}

/* What went by since the last time, to a millisecond: calls take some of it. Or exactly, and no less. */
static int ask_clock(contract *self, step *at)
{
    uint64_t now_ns = sim_now_ns(self->machine), since_ns = now_ns - self->marked_ns, slack_ns = 1000000;
    self->marked_ns = now_ns;
    if (at->words[1] && (since_ns + slack_ns < A(1) || since_ns > A(1) + slack_ns))
        contract_blame(self, "%" PRIu64 " ns went by", since_ns);
    return 0;
}

static int ask_took(contract *self, step *at)
{
    return contract_expect(self, sim_now_ns(self->machine) - self->marked_ns, A(1));
}

static int ask_has(contract *self, step *at)
{
    uint64_t bad_offset = CONTRACT_UNTOUCHED;
    int found = self->face->has ? self->face->has(self, P(1), A(2), A(3), &bad_offset)
                                : sim_verify(self->machine, self->device, P(1), A(2), A(3), &bad_offset);
    if (found != !at->words[4] || (!found && bad_offset != A(4)))
        contract_blame(self, found ? "it has" : "it has not, from byte %" PRIu64, bad_offset);
    return 0;
}

/* 1: it is one. */
static int ask_figure(contract *self, const step *at)
{
    static const struct { const char *name; size_t offset; } figures[] = {
#define FIGURE(name, field) { name, offsetof(sim_counters, field) }
        FIGURE("held", held_bytes), FIGURE("peak", held_peak_bytes), FIGURE("handles", handle_count),
        FIGURE("mappings", mapping_count), FIGURE("addresses", reserved_address_bytes),
        FIGURE("rivals", rival_bytes), FIGURE("host", host_bytes), FIGURE("host_peak", host_peak_bytes),
        FIGURE("managed", managed_bytes), FIGURE("managed_peak", managed_peak_bytes),
        FIGURE("pool", pool_reserved_bytes), FIGURE("pool_peak", pool_reserved_peak_bytes),
        FIGURE("drawn", pool_used_bytes), FIGURE("lies", lies_held), FIGURE("found", findings),
#undef FIGURE
    };
    sim_counters counters = contract_counters(self, self->device);
    for (size_t i = 0; i < COUNT(figures); i++) {
        uint64_t value;
        memcpy(&value, (const char *)&counters + figures[i].offset, sizeof value);
        if (strcmp(figures[i].name, at->words[0])) continue;
        contract_expect(self, value, A(1));
        return 1;
    }
    return 0;
}

static int ask_says(contract *self, step *at)
{
    const char *said = (const char *)self->outputs[0];
    if (strcmp(said, at->words[1])) contract_blame(self, "it says %s", said);
    return 0;
}

static int ask_nothing_left(contract *self, step *at)
{
    (void)at;
    for (int i = 0; i < self->device_count; i++) {
        sim_counters now = contract_counters(self, i);
        contract_expect(self, now.held_bytes + now.handle_count + now.mapping_count + now.reserved_address_bytes
                        + now.host_bytes + now.managed_bytes, 0);
    }
    return 0;
}

static const struct { const char *word; int (*make)(contract *self, step *at); } contract_verbs[] = {
    { "fill", call_fill }, { "use", call_use }, { "launch", call_launch }, { "id", call_id }, { "shut", tell_shut },
    { "device", tell_device }, { "astray", tell_astray }, { "peers", tell_peers }, { "thread", tell_thread },
    { "op", tell_op },
    { "advance", tell_advance }, { "rival", tell_rival }, { "reset", tell_reset }, { "reuse", tell_reuse },
    { "takes", tell_takes }, { "chunk", tell_chunk }, { "rule", tell_pool }, { "fail", tell_fail },
    { "calls", ask_calls }, { "spent", ask_spent }, { "is", ask_is }, { "truth", ask_truth },
    { "differ", ask_differ }, { "aligned", ask_aligned }, { "holds", ask_holds }, { "lacks", ask_lacks },
    { "clock", ask_clock }, { "took", ask_took }, { "has", ask_has }, { "empty", ask_nothing_left },
    { "says", ask_says },
};
#undef A
#undef P
#undef S

/* ---- a step is made, and judged */

/* A code as scripts name it: CUDA's name without `cudaError`, or the number. */
static inline int contract_is_code(const char *expected, int code)
{
    const char *name = codes_of(code)->name;
    char number[16];
    snprintf(number, sizeof number, "%d", code);
    return strcmp(expected, number) == 0 || (strncmp(name, "cudaError", 9) == 0 && strcmp(expected, name + 9) == 0);
}

/* All that a call which fails must leave as it was. */
static inline void contract_state(const contract *self, uint64_t *state)
{
    for (int i = 0; i < self->device_count; i++) {
        sim_counters now = contract_counters(self, i);
        *state++ = now.held_bytes;
        *state++ = now.handle_count;
        *state++ = now.mapping_count;
        *state++ = now.reserved_address_bytes;
        *state++ = now.host_bytes + now.managed_bytes + now.pool_reserved_bytes + now.pool_used_bytes;
    }
}

static inline void contract_judge(contract *self, step *at, int code, uint64_t findings, const uint64_t *before)
{
    uint64_t now = sim_finding_count(self->machine), after[CONTRACT_DEVICES * 5] = { 0 };
    const char *last = now ? sim_finding(self->machine, now - 1) : NULL;
    if (at->code ? !contract_is_code(at->code, code) : code != 0)
        contract_blame(self, "answers %d, %s", code, codes_of(code)->name);
    if (now != findings + at->finding_count || (at->finding && !strstr(last ? last : "", at->finding)))
        contract_blame(self, "%" PRIu64 " findings, the latest: %s", now - findings, now > findings ? last : "none");
    if (code) {
        contract_state(self, after);
        if (memcmp(before, after, sizeof after)) contract_blame(self, "it failed, and something changed");
        if (at->kind && at->made != CONTRACT_UNTOUCHED) contract_blame(self, "it failed, and wrote its output");
    }
    const char *left = self->face->settle ? self->face->settle(self, code, at->is_table) : NULL;
    if (left) contract_blame(self, "%s", left);
    if (self->thing_count == CONTRACT_THINGS) contract_blame(self, "too many names");
    else if (at->name) {
        thing *made = &self->things[self->thing_count++];
        snprintf(made->name, sizeof made->name, "%s", at->name);
        made->kind = at->kind;
        made->value = at->made;
        made->bytes = at->bytes;
    }
}

static int contract_make(contract *self, step *at)
{
    int code = 0;
    if (self->face->call && self->face->call(self, at, &code)) return code;
    if (contract_call(self, at, &code)) return code;
    for (size_t i = 0; i < COUNT(contract_verbs); i++)
        if (!strcmp(contract_verbs[i].word, at->words[0])) return contract_verbs[i].make(self, at);
    return ask_figure(self, at) ? 0 : contract_by_name(self, at);
}

/* `twice CALL`: the call is made to fail, which changes nothing, and made again. Which calls were: */
static unsigned char contract_refused[SIM_CALL_KINDS];

static inline void contract_refuse(contract *self, step failing, const uint64_t *before)
{
    int kind = contract_kind(self, failing.words[0]);
    contract_refused[kind] = 1;
    failing.code = "Unknown";
    failing.name = NULL;
    sim_fail_call(self->machine, (sim_call)kind, 1, 0, SIM_UNKNOWN);
    uint64_t findings = sim_finding_count(self->machine);
    failing.finding_count = 0;
    contract_judge(self, &failing, contract_make(self, &failing), findings, before);
}

/* 1, and the first word is gone, if it is this one. */
static inline int contract_begins(step *at, const char *word)
{
    if (!at->words[0] || strcmp(at->words[0], word)) return 0;
    for (int i = 0; i < at->count; i++) at->words[i] = at->words[i + 1];
    at->count--;
    return 1;
}

static inline void contract_step(contract *self, const char *text, size_t length)
{
    step at;
    uint64_t before[CONTRACT_DEVICES * 5] = { 0 }, findings = sim_finding_count(self->machine);
    size_t skip = strspn(text, " \n");
    if (skip >= length) return;
    if (self->face->other && !strncmp(text + skip, "other: ", 7)) {
        self->face->other(self, text + skip + 7, length - skip - 7);
        return;
    }
    contract_parse(&at, text + skip, length - skip);
    if (contract_begins(&at, self->face->cuda ? "sim:" : "cuda:")) return;
    (void)contract_begins(&at, self->face->cuda ? "cuda:" : "sim:");
    int is_twice = contract_begins(&at, "twice");
    if (!at.words[0]) return;
    contract_state(self, before);
    if (is_twice) contract_refuse(self, at, before);
    contract_judge(self, &at, contract_make(self, &at), findings, before);
    if (self->why[0] && strncmp(self->why, "step ", 5)) {
        char said[sizeof self->why];
        memcpy(said, self->why, sizeof said);
        snprintf(self->why, sizeof self->why, "step `%.*s`: %.250s", (int)(length - skip), text + skip, said);
    }
}

/* ---- cases */

static inline void contract_steps(contract *self, const char *steps)
{
    while (*steps && !self->why[0] && !self->is_over) {
        size_t length = strcspn(steps, ";\n");
        contract_step(self, steps, length);
        steps += length + (steps[length] != '\0');
    }
}

/* The machine of a case: `devices=2 memory=256M context=0 mappings=0 vm=on faults=..`. */
static inline void contract_open(contract *self, const face *asked, const char *options)
{
    sim_config config = { 2, MIB(256), 0, NULL, NULL, 0, 0 };
    char text[CONTRACT_TEXT];
    memset(self, 0, sizeof *self);
    self->face = asked;
    snprintf(text, sizeof text, "%s", options);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        if (!value) continue;
        *value++ = '\0';
        uint64_t number = strcmp(word, "faults") ? contract_value(self, value) : 0;
        if (!strcmp(word, "devices")) config.device_count = (uint32_t)number;
        if (!strcmp(word, "memory")) config.capacity_bytes = number;
        if (!strcmp(word, "context")) config.context_bytes = number;
        if (!strcmp(word, "mappings")) config.most_mappings = (uint32_t)number;
        if (!strcmp(word, "vm")) config.without_vm = !number;
        if (!strcmp(word, "faults")) config.faults = value;
    }
    self->machine = bench_open(&config).machine;
    self->device_count = config.device_count < CONTRACT_DEVICES ? (int)config.device_count : CONTRACT_DEVICES;
    if (asked->attach) asked->attach(self->machine);
    for (int i = 0; i < self->device_count; i++) asked->table(self->machine, i, &self->drivers[i]);
    self->driver = &self->drivers[0];
    for (int i = self->device_count; asked->cuda && i-- > 0;) {              /* contexts are there from the start */
        self->device = i;
        self->driver = &self->drivers[i];
        contract_steps(self, "sync");
        sim_reset_counters(self->machine, i);
        self->why[0] = '\0';
    }
    self->marked_ns = sim_now_ns(self->machine);
}

static inline void contract_close(contract *self)
{
    if (self->face->attach) self->face->attach(NULL);
    sim_destroy(self->machine);
}

/* One case by one face: one check. */
static inline void contract_case(const face *asked, const char *title, const char *options, const char *steps)
{
    contract self;
    contract_open(&self, asked, options);
    contract_steps(&self, steps);
    if (!CHECK_MSG(!self.why[0], "%s: %s", asked->name, title)) printf("#   %s\n", self.why);
    contract_close(&self);
}

/* Whom a capture prohibits what, by its mode and the caller's: each such call is refused, and the capture is invalid.
   Waiting for the device is prohibited whatever the modes are. */
static inline void contract_prohibitions(const face *asked)
{
    static const struct { const char *mode, *caller, *caller_mode; int prohibited; } rows[] = {
        { "global", "1", "global", 1 }, { "global", "1", "local", 1 }, { "global", "1", "relaxed", 0 },
        { "local", "1", "global", 1 }, { "local", "1", "local", 1 }, { "local", "1", "relaxed", 0 },
        { "relaxed", "1", "global", 0 }, { "relaxed", "1", "local", 0 }, { "relaxed", "1", "relaxed", 0 },
        { "global", "2", "global", 1 }, { "global", "2", "local", 0 }, { "global", "2", "relaxed", 0 },
        { "local", "2", "global", 0 }, { "local", "2", "local", 0 }, { "relaxed", "2", "global", 0 },
    };
    static const char *const calls[] = {
        "sync", "get 2M", "pin 2M", "free a", "query e0", "sync e0", "query s3", "sync s3", "reserve 2M", "release r",
        "create 2M", "destroy q", "map t q", "access t+2M 2M off", "unmap t+2M 2M", "open d", "close o",
        "import f 2M",
    };
    static const char stage[] = "s1 = stream; s3 = stream; e0 = event; a = get 4M; r = reserve 2M; q = create 2M\n"
                                "t = reserve 4M; p = back t+2M 2M; b = get 2M; d = describe b; o = open d\n"
                                "m = shared 2M; f = export m; thread 1; begin s1";
    static const char no[] = " -> StreamCaptureUnsupported ! while stream 1 captures: answered 900, and the capture "
                             "is invalid";
    for (size_t i = 0; i < COUNT(rows); i++) {
        contract self;
        self.why[0] = '\0';
        for (size_t call = 0; call < COUNT(calls) && !self.why[0]; call++) {
            int refused = rows[i].prohibited || call == 0;
            char steps[600];
            snprintf(steps, sizeof steps, "%s %s; thread %s; mode %s global; %s%s; capturing s1 active; thread 1; "
                     "end s1%s; shut f", stage, rows[i].mode, rows[i].caller, rows[i].caller_mode, calls[call],
                     refused ? no : "", refused ? " -> StreamCaptureInvalidated" : "");
            contract_open(&self, asked, "");
            contract_steps(&self, steps);
            contract_close(&self);
        }
        if (!CHECK_MSG(!self.why[0], "%s: captured in mode %s by 1: thread %s in mode %s is %s", asked->name,
                       rows[i].mode, rows[i].caller, rows[i].caller_mode, rows[i].prohibited ? "prohibited" : "free"))
            printf("#   %s\n", self.why);
    }
}

/* A title at the start of a line, with options in braces; steps in the indented lines below; # is a comment. Before
   the first title: steps that every case of the file begins with. */
static inline void contract_file(const face *faces, size_t face_count, const char *name)
{
    static char text[1 << 16], steps[1 << 13], prologue[1 << 10];
    char path[300], title[160] = "", options[CONTRACT_TEXT] = "", *line, *next;
    int root = (int)(strlen(__FILE__) - strlen("support/contract.h"));
    snprintf(path, sizeof path, "%.*scontract/%s.txt", root, __FILE__, name);
    FILE *in = fopen(path, "r");
    size_t length = in ? fread(text, 1, sizeof text - 1, in) : 0;
    if (!in || !length || length == sizeof text - 1) {
        printf("Bail out! cannot read %s\n", path);
        exit(1);
    }
    fclose(in);
    text[length] = '\0';
    steps[0] = '\0';
    for (line = text; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        if (line[strspn(line, " ")] == '#') continue;
        if (strlen(steps) + strlen(line) + 2 > sizeof steps) {
            printf("Bail out! %s: a case is too long: %s\n", path, title);
            exit(1);
        }
        if (line[0] == ' ') strcat(strcat(steps, line), "\n");
        if (next && (line[0] == ' ' || !line[0])) continue;
        if (!title[0]) memcpy(prologue, steps, sizeof prologue);
        for (size_t i = 0; title[0] && i < face_count; i++) {
            char all[sizeof steps + sizeof prologue];
            if ((strstr(options, "only-sim") && faces[i].cuda)
                || (strstr(options, "not-runtime") && !strcmp(faces[i].name, "runtime"))
                || (strstr(options, "cuda=") && faces[i].cuda < atoi(strstr(options, "cuda=") + 5))) continue;
            snprintf(all, sizeof all, "%s%s", strstr(options, "bare") ? "" : prologue, steps);
            contract_case(&faces[i], title, options, all);
        }
        steps[0] = '\0';
        char *brace = strchr(line, '{');
        snprintf(options, sizeof options, "%.*s", brace ? (int)strcspn(brace + 1, "}") : 0, brace ? brace + 1 : "");
        snprintf(title, sizeof title, "%.*s", brace ? (int)(brace - line) : 150, line);
    }
}

#endif
