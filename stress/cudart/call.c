/* The life of the substitute in its process; the frame of calls; last errors, their names, and versions.
   Must not know which call an error came from. The order at the end: handler of the first call, destructors,
   findings, status 3. */
#include "call.h"

#include <pthread.h>
#include <unistd.h>

#include "../sim/sim.h"
#include "options.h"

extern char **environ;

/* ---- First call, fork and exit. Everything here but life_lock is called with the lock held */

enum { LIFE_INITIALIZATION_ERROR = 3, LIFE_EXIT_FINDINGS = 3 };

typedef struct life {
    int      begun;                              /* a call was made: the exit handler is registered */
    int      forked;                             /* the parent had begun */
    int      unloading;                          /* the exit handler has run */
    int      initialized;                        /* libcuda is: call_initialized */
    sim     *own;                                /* GPUARENA_SIM's; NULL: not needed yet */
    options  read;                               /* GPUARENA_SIM, once there is `own` */
    sim     *attached;
    uint64_t epoch;                              /* changes with the machine */
} life;

static life life_state;
static pthread_mutex_t life_mutex = PTHREAD_MUTEX_INITIALIZER;

/* One call at a time is inside the engine. */
static void life_lock(void)
{
    pthread_mutex_lock(&life_mutex);
}

static void life_unlock(void)
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

/* Begins the life, the first time. Then 0, or the code that every call answers: a child of fork, the end of the
   process. */
static int life_begin(void)
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

/* The machine that GPUARENA_SIM describes, which is read here. The process ends if the text is wrong. */
static sim *life_create(options *read)
{
    problem why = { 0, "" };
    if (options_read(getenv("GPUARENA_SIM"), read, &why)) life_refuse(why.text);
    read->machine.costs = &read->costs;
    read->machine.faults = read->faults;
    sim *made = sim_create(&read->machine, &why);
    if (!made) life_refuse(why.text);
    return made;
}

static void life_make_own(void)
{
    options *read = &life_state.read;
    life_state.own = life_create(read);
    life_state.own->runtime_work_ns = read->work_ns;
    life_state.own->runtime_skips_kernels = read->skips_kernels;
}

/* Takes the request of the command gpuarena-sim for a check out of the environment. 1: there was one. The environment
   itself is changed: unsetenv may be the program's own, and bash's does nothing before its main. */
static int life_take_check(void)
{
    static const char name[] = "GPUARENA_SIM_CHECK=";
    int is_asked = 0;
    char **kept = environ;
    for (char **at = environ; at && *at; at++) {
        if (strncmp(*at, name, sizeof name - 1)) *kept++ = *at;
        else is_asked = 1;
    }
    if (is_asked) *kept = NULL;
    return is_asked;
}

/* Runs when the library is loaded, not at the first call: a fork in the midst of that call must not take its lock
   along. Fails for want of memory alone, and then a child is not told that it is one.
   A check for gpuarena-sim is made in its program, before that runs, and in no process that the program starts. */
__attribute__((constructor)) static void life_load(void)
{
    program_begin("gpuarena-sim");
    (void)pthread_atfork(life_lock, life_unlock, life_fork_child);
    if (life_take_check()) sim_destroy(life_create(&life_state.read));
}

/* A machine may lie where another one lay: numbers tell them apart. */
static sim *life_number(sim *machine)
{
    static uint64_t last;
    if (machine->handles.serial == 0) machine->handles.serial = ++last;
    return machine;
}

/* The machine that serves calls, made now if need be; NULL: no device. life_begin has answered 0. */
static sim *life_machine(void)
{
    if (life_state.attached) return life_number(life_state.attached);
    if (!life_state.own) life_make_own();
    return life_state.read.machine.device_count == 0 ? NULL : life_number(life_state.own);
}

CUDART_EXPORT void cudart_attach(sim *machine)
{
    life_lock();
    if (life_state.attached != machine) {
        life_state.attached = machine;
        life_state.epoch++;
    }
    life_unlock();
}

CUDART_EXPORT sim *cudart_machine(void)
{
    life_lock();
    sim *machine = life_begin() == SIM_SUCCESS ? life_machine() : NULL;
    life_unlock();
    return machine;
}

CUDART_EXPORT const char *cudart_build(void)
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
    sim_counters counters;
    for (int device = 0; device < machine->device_count; device++) {
        sim_get_counters(machine, device, &counters);
        fprintf(out, "device %d peak %" PRIu64 "\n", device, counters.held_peak_bytes);
        for (int kind = 0; kind < SIM_CALL_KINDS; kind++) {
            if (counters.calls[kind] > 0) {
                fprintf(out, "call %s %" PRIu64 " %" PRIu64 "\n", sim_call_rows[kind].name, counters.calls[kind],
                        counters.vns[kind]);
            }
        }
    }
    fprintf(out, "clock %" PRIu64 "\nskipped %" PRIu64 "\n", sim_now_ns(machine), machine->runtime_skipped_kernels);
    refused_print(out);
}

static void life_print_report(const sim *machine)
{
    int is_stderr = strcmp(life_state.read.report, "-") == 0;
    FILE *out = is_stderr ? stderr : fopen(life_state.read.report, "w");
    if (out) life_write_report(out, machine);
    if (!out || (!is_stderr && fclose(out))) {
        fprintf(stderr, "gpuarena sim: report=%s: cannot be written\n", life_state.read.report);
    }
}

/* Runs after all exit handlers, and after the destructors of this library's users. Threads that still run are told
   that the process is ending, and do not come near the machine. */
__attribute__((destructor)) static void life_end(void)
{
    life_lock();
    life_state.unloading = 1;
    if (life_state.forked || !life_state.own) {
        life_unlock();
        return;
    }
    uint64_t skipped = life_state.own->runtime_skipped_kernels;
    if (skipped > 0) {
        fprintf(stderr, "gpuarena sim: %" PRIu64 " kernel%s skipped: results mean nothing, and uses by kernels are "
                "not judged\n", skipped, skipped == 1 ? " was" : "s were");
    }
    if (life_state.read.report[0]) life_print_report(life_state.own);
    uint64_t findings = life_print_findings(life_state.own);
    sim_destroy(life_state.own);
    life_state.own = NULL;
    if (findings > 0 && !life_state.read.findings_pass) {
        fflush(NULL);
        _exit(LIFE_EXIT_FINDINGS);
    }
    life_unlock();
}

/* ---- The frame of calls */

static call_thread *call_this_thread(void)
{
    static __thread call_thread state;
    if (state.epoch != life_state.epoch) {
        memset(&state, 0, sizeof state);
        state.epoch = life_state.epoch;
    }
    return &state;
}

int call_initialized(int is_now)
{
    life_lock();
    life_state.initialized |= is_now;
    int is_initialized = life_state.initialized;
    life_unlock();
    return is_initialized;
}

int call_enter(call *self)
{
    memset(self, 0, sizeof *self);
    life_lock();
    self->code = life_begin();
    self->thread = call_this_thread();
    if (self->code == SIM_SUCCESS) self->machine = life_machine();
    return self->code;
}

int call_leave(call *self)
{
    life_unlock();
    return self->code;
}

int call_open(call *self, sim_call kind)
{
    call_enter(self);
    self->kind = kind;
    life_state.initialized = 1;
    if (self->code == SIM_SUCCESS && self->thread->is_called_back) self->code = cudaErrorNotPermitted;
    else if (self->code == SIM_SUCCESS && !self->machine) self->code = cudaErrorNoDevice;
    if (self->code != SIM_SUCCESS) return 0;
    self->device = engine_device(self->machine, self->thread->device);
    if (self->machine == life_state.own) {      /* nobody else counts its operations */
        sim_begin_op(self->machine, self->machine->faults.calls[SIM_CALL_KINDS] + 1);
    }
    return 1;
}

int call_serve(call *self, sim_device *device, uint64_t bytes)
{
    if (device) self->device = device;
    if (!(sim_call_rows[self->kind].traits & (SIM_BARE | SIM_EXPORT))) {
        engine_open_context(self->device);
        self->thread->has_context = 1;
    }
    work_begin_call(self, bytes, sim_call_rows[self->kind].name);
    return self->code == SIM_SUCCESS;
}

int call_begin(call *self, sim_call kind)
{
    return call_open(self, kind) && call_serve(self, NULL, 0);
}

int call_begin_at(call *self, sim_call kind, const void *ptr)
{
    return call_open(self, kind) && call_serve(self, engine_owner(self->machine, (uint64_t)(uintptr_t)ptr, NULL), 0);
}

int call_end_driver(call *self)
{
    if (self->device) engine_end_call(self);
    return call_leave(self);
}

/* The last error of a lost device stays: nothing clears it any more. */
cudaError_t call_end(call *self)
{
    int *last = &self->thread->last_error;
    if (self->code != SIM_SUCCESS && codes_of(*last)->status != GPUARENA_STATUS_LOST) {
        *last = self->code;
    }
    return (cudaError_t)call_end_driver(self);
}

/* ---- Last errors, their names, and versions */

static int error_take(call_thread *thread)
{
    int code = thread->last_error;
    if (codes_of(code)->status != GPUARENA_STATUS_LOST) thread->last_error = SIM_SUCCESS;
    return code;
}

/* A child of fork and a process that is ending hear of nothing else. */
CUDART_EXPORT cudaError_t cudaGetLastError(void)
{
    CALL_LOOKS(cudaError_t, error_take(self.thread));
}

CUDART_EXPORT cudaError_t cudaPeekAtLastError(void)
{
    CALL_LOOKS(cudaError_t, self.thread->last_error);
}

CUDART_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
    return codes_of((int)error)->name;
}

CUDART_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    return codes_of((int)error)->text;
}

CUDART_EXPORT cudaError_t cudaRuntimeGetVersion(int *version)
{
    CALL_LOOKS(cudaError_t, version ? CALL_PUT(version, CUDART_VERSION)
                                    : (self.thread->last_error = SIM_INVALID_VALUE));
}

/* Without a driver, and with one that only pretends, the version is 0; without a device it is the driver's. */
CUDART_EXPORT cudaError_t cudaDriverGetVersion(int *version)
{
    call self;
    (void)call_begin(&self, SIM_CALL_DRIVER_GET_VERSION);
    int has_none = self.code == cudaErrorInsufficientDriver || self.code == cudaErrorStubLibrary;
    if (self.code == SIM_SUCCESS || has_none || self.code == cudaErrorNoDevice) {
        self.code = CALL_PUT(version, has_none ? 0 : CUDART_VERSION);
    }
    return call_end(&self);
}
